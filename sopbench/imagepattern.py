"""Find the naming pattern under which a folder keeps a file's screens."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from sopbench.trajectory import image_namer

MAX_NAMES = 200_000
SAMPLE_NAMES = 20_000
SAMPLE_EPISODES = 200
CANDIDATES = 20
FITS = 0.95
"""Share of all screens that a pattern must find. A count that starts at one instead of zero finds less, since it misses each first screen."""

T = TypeVar("T")

_IMAGE = re.compile(r"\.(png|jpe?g|webp)\Z", re.IGNORECASE)


def propose_pattern(folder: Path, episodes: Sequence[tuple[str, int]]) -> str | None:
    """The `--image-pattern` that finds the most screens of `episodes` (id, number of steps), or None where none finds nearly all.

    Looks at names only, in `folder` and the folders directly in it.
    """
    names = set(islice(_names(folder), MAX_NAMES))
    lengths = dict(episodes)
    some_names = _spread(sorted(names), SAMPLE_NAMES)
    votes: Counter[str] = Counter()
    for episode, length in _spread(episodes, SAMPLE_EPISODES):
        for name in some_names:
            if episode in name:
                votes.update(set(_readings(name, episode, length)))
    total = sum(lengths.values())
    best, most = None, 0
    for pattern, _ in votes.most_common(CANDIDATES):
        expand = image_namer(pattern)
        hits = sum(expand("", episode, step) in names for episode, length in episodes for step in range(length))
        if hits > most:
            best, most = pattern, hits
    return best if most >= FITS * total else None


def _names(folder: Path) -> Iterator[str]:
    """Image names in `folder`, and in its own folders as `folder/name`."""
    inner = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                inner.append(entry)
            elif _IMAGE.search(entry.name):
                yield entry.name
    for sub in inner:
        if not os.access(sub.path, os.R_OK | os.X_OK):
            continue  # no screen in there could be read either
        with os.scandir(sub.path) as entries:
            yield from (f"{sub.name}/{entry.name}" for entry in entries if _IMAGE.search(entry.name))


def _spread(items: Sequence[T], count: int) -> Sequence[T]:
    """At most `count` of the items, evenly from all over."""
    return items[:: max(1, -(-len(items) // count))]


def _readings(name: str, episode: str, length: int) -> Iterator[str]:
    """The patterns that `name` may be an instance of: the id stands in it as a whole word, and any number beside it may be a step."""
    for word in re.finditer(rf"(?<![A-Za-z0-9]){re.escape(episode)}(?![A-Za-z0-9])", name):
        for number in re.finditer(r"[0-9]+", name):
            if (number.end() <= word.start() or number.start() >= word.end()) and int(number[0][:9]) < length:
                yield _pattern(name, word.span(), number)


def _pattern(name: str, episode: tuple[int, int], number: re.Match[str]) -> str:
    digits = number[0]
    step = f"{{step:0{len(digits)}}}" if len(digits) > 1 and digits[0] == "0" and len(digits) < 10 else "{step}"
    spans = sorted([(episode, "{episode}"), (number.span(), step)])
    out, at = "", 0
    for (start, end), field in spans:
        out += name[at:start].replace("{", "{{").replace("}", "}}") + field
        at = end
    return out + name[at:].replace("{", "{{").replace("}", "}}")
