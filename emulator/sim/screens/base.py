"""The interface between the phone's plumbing (adb, gRPC, shell) and what is on its screen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from PIL import Image

from emulator.sim.packages import LAUNCHER, Package
from emulator.sim.ui import Element
from sopbench.geometry import Size

if TYPE_CHECKING:
    from emulator.sim.android import Android

LONG_PRESS_MS = 500
"""A finger that rests this long is a long press (ViewConfiguration.getLongPressTimeout is 400 to 500 ms)."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What `am start` and `am broadcast` carry. `extras` keep the type that the option named."""

    action: str = ""
    component: str = ""
    data: str = ""
    type: str = ""
    package: str = ""
    categories: tuple[str, ...] = ()
    extras: Mapping[str, str | int | float | bool | tuple[str, ...]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        return str(self.extras.get(name, ""))


@dataclass(frozen=True, slots=True)
class Reply:
    """What a receiver of a broadcast gave back: `result` -1 is Activity.RESULT_OK, 0 is what nobody set."""

    result: int = 0
    data: str | None = None


class Screen(ABC):
    """One screen. Positions are pixels of `size`. Called by one thread at a time (the phone's lock)."""

    name: ClassVar[str]
    packages: Sequence[Package] = ()
    """Apps that this screen can show."""

    def attach(self, android: Android) -> None:
        """Told once, before anything else: the device that it is the screen of."""
        return

    @property
    @abstractmethod
    def size(self) -> Size: ...

    @abstractmethod
    def png(self) -> bytes: ...

    @abstractmethod
    def image(self) -> Image.Image:
        """The same picture, decoded, as "RGB"."""

    @abstractmethod
    def elements(self) -> list[Element]: ...

    @property
    def foreground(self) -> str:
        """The component in front, `package/activity`."""
        return LAUNCHER

    @abstractmethod
    def tap(self, x: float, y: float) -> None: ...

    @abstractmethod
    def hold(self, x: float, y: float, ms: float) -> None: ...

    @abstractmethod
    def swipe(self, x1: float, y1: float, x2: float, y2: float, ms: float) -> None: ...

    @abstractmethod
    def text(self, text: str) -> None: ...

    @abstractmethod
    def key(self, code: str) -> None:
        """A key by name without KEYCODE_, lower case, or number (android.view.KeyEvent): `back`, `volume_up`, `4`."""

    def wait(self, seconds: float) -> None:
        """Time passes (`sleep`)."""
        return

    def start(self, intent: Intent) -> bool:
        """Start an activity; False where there is none for it."""
        return False

    def stop(self, package: str) -> None:
        """Force-stop an app."""
        return

    def launch(self, name: str) -> bool:
        """Bring the app with this package name or label to the front; False where there is none."""
        return False

    def receive(self, intent: Intent) -> Reply | None:
        """A broadcast; None where nobody listens."""
        return None

    def save(self) -> object:
        """Everything that `load` needs to bring this state back."""
        return None

    def load(self, saved: object) -> None:
        return

    def close(self) -> None:
        return
