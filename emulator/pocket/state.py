"""The whole phone as plain data: what is stored (device, apps) and where the user is (nav).

Everything is a dataclass of strings, numbers, lists and dicts: `copy.deepcopy` it, compare it with ==, write it with `to_json`.
A task's check looks at `device` and `apps`; `nav` is only about the screen.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

HOME = "launcher"
RECENTS = "recents"


@dataclass(slots=True)
class Device:
    """What the settings app changes and the status bar shows. Levels go from 0 to 5."""

    now: str = "2025-03-14T09:41"
    battery: int = 82
    wifi: bool = True
    network: str = "Harbour"
    bluetooth: bool = False
    airplane: bool = False
    dark: bool = False
    location: bool = True
    silent: bool = False
    brightness: int = 3
    volume: int = 3
    text_size: str = "Default"
    language: str = "English"
    sleep: str = "1 minute"

    @property
    def time(self) -> datetime:
        """The phone's fixed clock."""
        return datetime.fromisoformat(self.now)


@dataclass(slots=True)
class OverlayState:
    """An open dialog, sheet or menu: its name, what it is about, how far it is scrolled."""

    name: str
    args: dict[str, str] = field(default_factory=dict)
    scroll: int = 0


@dataclass(slots=True)
class PageState:
    """A page on an app's stack. `fields` holds what was typed and not yet saved; `scroll` None means not touched yet."""

    name: str
    args: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    scroll: int | None = None
    overlay: OverlayState | None = None


@dataclass(slots=True)
class Nav:
    """Where the user is: the app in front, each app's page stack, the focused field, the keyboard's layer, a toast."""

    app: str = HOME
    stacks: dict[str, list[PageState]] = field(default_factory=dict)
    recent: list[str] = field(default_factory=list)
    focus: str | None = None
    layer: str = "abc"
    toast: str | None = None


@dataclass(slots=True)
class PhoneState:
    """Everything that a screen is drawn from."""

    device: Device
    apps: dict[str, Any]
    icons: list[str]
    nav: Nav = field(default_factory=Nav)
    serial: int = 100
    answers: list[str] = field(default_factory=list)
    finished: str | None = None

    def to_json(self) -> str:
        """The state as canonical JSON (sorted keys)."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    def stored(self) -> dict[str, Any]:
        """What outlasts the screen: device and apps, as plain dicts. Two equal ones mean that nothing was changed."""
        return {
            "device": asdict(self.device),
            "apps": {name: asdict(data) for name, data in self.apps.items()},
        }
