"""The fingerprint of a run: a hash over every fact that changes what its numbers mean, and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from sopbench.errors import FingerprintMismatch


def canonical_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fingerprint(facts: Mapping[str, Any]) -> str:
    """64 hex digits over the canonical JSON of `facts`."""
    return hashlib.sha256(canonical_json(facts).encode("utf-8", "surrogatepass")).hexdigest()


def differences(mine: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Each leaf in which two fact trees differ, as `path: mine / theirs`."""
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        for key in sorted(set(mine) | set(theirs)):
            yield from differences(mine.get(key), theirs.get(key), f"{path}.{key}" if path else str(key))
    elif mine != theirs:
        yield f"{path}: {_short(mine)} / {_short(theirs)}"


def require_same(
    mine: Mapping[str, Any],
    theirs: Mapping[str, Any],
    *,
    what: str,
    sides: str = "recorded / asked now",
    hint: str = "",
) -> None:
    """Raise `FingerprintMismatch` that names every differing field; `what` says what was being attempted, `sides` whose values they are, `hint` what to do."""
    if found := list(differences(mine, theirs)):
        raise FingerprintMismatch(
            f"{what}: these facts differ ({sides}):\n  " + "\n  ".join([*found, *([hint] if hint else [])])
        )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
