"""The API key: from the environment only, so that no command line, configuration or run folder ever holds it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from sopbench.errors import UsageError

_LOGIN = re.compile(r"//[^/@\s'\"]*@")

KEY_VARIABLES = ("SOPBENCH_API_KEY", "OPENAI_API_KEY")


def api_key_from_environment(
    environment: Mapping[str, str] | None = None, names: Sequence[str] = KEY_VARIABLES
) -> str | None:
    """The first of the variables `names` that is set and not empty, without surrounding blanks; None where there is none.

    Raises `UsageError` (which does not quote the key) where it could not stand in an HTTP header.
    """
    environment = os.environ if environment is None else environment
    for name in names:
        key = environment.get(name, "").strip()
        if not key:
            continue
        if not key.isascii() or not key.isprintable() or " " in key:
            raise UsageError(
                f"{name} holds characters that no API key has (blanks, line breaks or non-ASCII); set it again"
            )
        return key
    return None


def without_secrets(text: str, key: str | None) -> str:
    """`text` with the key and passwords in addresses blotted out: servers quote keys in their errors, libraries the address of a proxy."""
    text = _LOGIN.sub("//***@", text)
    return text.replace(key, "***") if key else text
