"""The two displays: one theme each lays out and draws every widget."""

from __future__ import annotations

from typing import Literal, TypeAlias

from emulator.pocket.themes.base import Frame, Theme, View
from emulator.pocket.themes.large import LargeTheme
from emulator.pocket.themes.regular import RegularTheme

Display: TypeAlias = Literal["regular", "large"]
THEMES: dict[str, type[Theme]] = {"regular": RegularTheme, "large": LargeTheme}

__all__ = ["THEMES", "Display", "Frame", "Theme", "View"]
