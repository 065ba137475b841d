"""Prompt texts with their origin.

A model must be asked in the words it was trained on, and those belong to its publisher. So a family's texts have a *source*: `builtin` (our own words for the
same action space and reply form), or `package` or `pulled` for a publisher's own. Whatever the source, an adapter sees the same thing: named templates,
and a hash over them that stands in the run record.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sopbench.adapters.base import PromptSource, PromptSourceKind

BUILTIN_NOTE = "our words"

_FIELD = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class PromptTexts:
    """The templates of one family from one source. A template holds fields such as `{goal}`; other braces are text."""

    family: str
    kind: PromptSourceKind
    templates: Mapping[str, str]
    note: str = ""
    origin: str = ""
    """Where they were found on this machine; empty for our own."""

    def fill(self, template: str, **fields: str | int) -> str:
        """The template of that name with its fields filled in, in one pass: a field's text is never searched for fields."""
        return _FIELD.sub(lambda m: str(fields.get(m[1], m[0])), self.templates[template])

    @cached_property
    def sha256(self) -> str:
        """Over names and templates, so that rows measured with other words are seen to be different."""
        return hash_of(self.templates)

    def source(self) -> PromptSource:
        return PromptSource(self.kind, self.sha256, self.note, self.origin)


def hash_of(templates: Mapping[str, str]) -> str:
    """sha256 over names and texts of templates, in hex."""
    return hashlib.sha256(json.dumps(dict(templates), sort_keys=True).encode()).hexdigest()
