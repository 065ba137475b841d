"""Colours: every app has one accent; a palette derives the rest from it, for light and for dark."""

from __future__ import annotations

from dataclasses import dataclass

Colour = tuple[int, int, int]

WHITE: Colour = (255, 255, 255)
BLACK: Colour = (0, 0, 0)
INK: Colour = (27, 29, 38)
NIGHT: Colour = (18, 19, 25)

AVATAR_HUES = ("#5B6CE0", "#D9662B", "#2A9D73", "#B0479B", "#C8922A", "#3A8FC4", "#C7485A", "#6D7F3C")
"""Backgrounds of avatars and of pictures that name no colour of their own."""


def hex_colour(text: str) -> Colour:
    """Read `#RRGGBB`."""
    value = int(text.removeprefix("#"), 16)
    return value >> 16, value >> 8 & 255, value & 255


def mix(base: Colour, other: Colour, percent: int) -> Colour:
    """`base` with `percent` of `other` in it (integers only: the same on every machine)."""
    r, g, b = (
        (mine * (100 - percent) + theirs * percent + 50) // 100 for mine, theirs in zip(base, other, strict=True)
    )
    return r, g, b


def hue_of(name: str) -> Colour:
    """The colour that stands for a name, always the same one."""
    return hex_colour(AVATAR_HUES[sum(name.encode()) % len(AVATAR_HUES)])


@dataclass(frozen=True, slots=True)
class Palette:
    """What the themes paint with."""

    accent: Colour
    on_accent: Colour
    soft: Colour
    """A pale accent: chips, tonal buttons, icon tiles."""
    on_soft: Colour
    background: Colour
    surface: Colour
    raised: Colour
    """Dialogs, menus and fields: on top of surfaces."""
    ink: Colour
    muted: Colour
    faint: Colour
    """Placeholders and things switched off."""
    line: Colour
    danger: Colour
    good: Colour
    dark: bool

    @classmethod
    def of(cls, accent: str, *, dark: bool) -> Palette:
        """The palette of an app whose accent is `#RRGGBB`."""
        pure = hex_colour(accent)
        if dark:
            bright = mix(pure, WHITE, 30)
            surface = mix((31, 33, 42), pure, 5)
            return cls(
                accent=bright,
                on_accent=NIGHT,
                soft=mix(surface, pure, 34),
                on_soft=mix(pure, WHITE, 68),
                background=mix(NIGHT, pure, 4),
                surface=surface,
                raised=mix((42, 44, 55), pure, 6),
                ink=(241, 242, 246),
                muted=(166, 170, 184),
                faint=(112, 116, 130),
                line=mix(surface, WHITE, 10),
                danger=(255, 128, 122),
                good=(96, 205, 144),
                dark=True,
            )
        return cls(
            accent=pure,
            on_accent=WHITE,
            soft=mix(WHITE, pure, 15),
            on_soft=mix(pure, INK, 42),
            background=mix((245, 246, 249), pure, 5),
            surface=WHITE,
            raised=WHITE,
            ink=INK,
            muted=(96, 101, 117),
            faint=(158, 163, 177),
            line=(230, 232, 238),
            danger=(206, 48, 56),
            good=(32, 138, 84),
            dark=False,
        )
