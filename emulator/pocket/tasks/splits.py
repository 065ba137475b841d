"""Which tasks belong to which split.

A template's parameters fall into shares by their hash, so no two splits ever ask for the same thing; phones (seeds) come from
ranges of their own. Templates marked `heldout` are only in the split of that name.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from emulator.pocket.phone import fresh_state
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks.base import Params, TaskError, Template
from emulator.pocket.tasks.session import TaskSpec, parameters_of, spec_of
from emulator.pocket.themes import Display

SCAN = 600
"""Seeds looked at, at most, for each task wanted, before a template counts as exhausted."""


@dataclass(frozen=True, slots=True)
class Split:
    """`share`: the part of the hash range, in percent, whose parameters belong here. `per_template`: tasks by default."""

    first_seed: int
    share: range
    per_template: int


SPLITS = {
    "train": Split(0, range(0, 60), 24),
    "validation": Split(1_000_000, range(60, 75), 1),
    "test": Split(2_000_000, range(75, 100), 1),
    "heldout": Split(3_000_000, range(0, 100), 4),
}


def load_split(name: str, per_template: int | None = None, display: Display = "regular") -> list[TaskSpec]:
    """The tasks of a split: `per_template` of each template (or as many as there are), in turn, so that the first few are a mixture.

    Parameters repeat only where a template has no others in this split. Raises `TaskError` for a split that there is none of.
    """
    from emulator.pocket.tasks import templates

    if name not in SPLITS:
        raise TaskError(f"no split {name!r}; there are {', '.join(SPLITS)}")
    wanted = SPLITS[name].per_template if per_template is None else per_template
    phones = lru_cache(maxsize=None)(fresh_state)  # parameters() looks at a phone and leaves it as it is
    rows = [
        [spec_of(template, seed, display) for seed in itertools.islice(seeds(template, name, wanted, phones), wanted)]
        for template in templates()
        if template.heldout == (name == "heldout")
    ]
    return [spec for turn in itertools.zip_longest(*rows) for spec in turn if spec is not None]


def seeds(
    template: Template, split: str, wanted: int, phones: Callable[[int], PhoneState] = fresh_state
) -> Iterator[int]:
    """Seeds whose tasks belong to `split`: first those with parameters of their own, then those that repeat some.

    `wanted`: how many will be asked for. `phones`: where fresh phones come from.
    """
    chosen = SPLITS[split]
    known: set[str] = set()
    repeats: list[int] = []
    for seed in range(chosen.first_seed, chosen.first_seed + SCAN * max(1, wanted) // 10 + SCAN):
        params = parameters_of(template, seed, phones(seed))
        key = parameter_key(template, params)
        if share_of(key) not in chosen.share:
            continue
        if key in known:
            repeats.append(seed)
            if len(known) + len(repeats) >= 4 * wanted + 8:
                break
            continue
        known.add(key)
        yield seed
    yield from repeats


def parameter_key(template: Template, params: Params) -> str:
    """Template and parameters as text: what two splits never have in common."""
    return json.dumps([template.name, params], sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def share_of(key: str) -> int:
    """0..99, evenly spread over keys."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % 100
