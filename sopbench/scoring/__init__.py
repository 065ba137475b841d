"""Scoring profiles by name. Each is loaded on first use, so that importing this package costs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from sopbench.errors import UsageError

if TYPE_CHECKING:
    from sopbench.scoring.base import Profile

__all__ = ["PROFILES", "get_profile"]

_CLASSES = {
    "uis1-released": ("sopbench.scoring.uis1_released", "Uis1Released"),
    "uis1-boxes": ("sopbench.scoring.uis1_boxes", "Uis1Boxes"),
    "strict": ("sopbench.scoring.strict", "Strict"),
    "androidcontrol": ("sopbench.scoring.androidcontrol", "AndroidControl"),
    "odyssey": ("sopbench.scoring.odyssey", "Odyssey"),
    "grounding": ("sopbench.scoring.grounding", "Grounding"),
}


class _Registry(Mapping[str, "Profile"]):
    """Name to profile, in the order in which people meet them."""

    def __getitem__(self, name: str) -> Profile:
        if name not in _CLASSES:
            raise KeyError(name)
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


PROFILES: Mapping[str, Profile] = _Registry()


def get_profile(name: str) -> Profile:
    """The profile called `name`, or `name@version` as run records write it.

    Raises `UsageError` for a name that does not exist and for a version that this sopbench does not have.
    """
    bare, _, version = name.partition("@")
    if bare not in _CLASSES:
        raise UsageError(f"no scoring profile {name[:60]!r}; there are: {', '.join(_CLASSES)}")
    profile = _load(bare)
    if version and version != str(profile.version):
        raise UsageError(f"this sopbench has {profile.id}, not {name[:60]!r}; score with the version that recorded it")
    return profile


@cache
def _load(name: str) -> Profile:
    module, cls = _CLASSES[name]
    profile: Profile = getattr(import_module(module), cls)()
    return profile
