"""List rows of the large display: one cell row each (two where a row is `tall` or its value needs the room)."""

from __future__ import annotations

from functools import partial

from emulator.pocket import fonts
from emulator.pocket.canvas import IntBox
from emulator.pocket.fonts import BOLD
from emulator.pocket.palette import WHITE, Colour, hex_colour, hue_of, mix
from emulator.pocket.scene import Scene
from emulator.pocket.themes.base import Theme, initials
from emulator.pocket.widgets import (
    Avatar,
    Choice,
    Glyph,
    Group,
    IconButton,
    Leading,
    Levels,
    ListRow,
    Row,
    Stepper,
    SwitchRow,
)
from sopbench.geometry import Size

C = 84
COLUMNS, ROWS = 6, 13
W, H = COLUMNS * C, ROWS * C
EDGE = 20
BIG, NORMAL, SMALL = 46, 44, 42
"""Font sizes in pixels: titles and choices, rows, secondary text."""


def cells(column: int, y: int, across: int = 1, down: int = 1) -> IntBox:
    """The box of whole cells that starts at a column and a pixel row."""
    return column * C, y, (column + across) * C, y + down * C


class LargeRows(Theme):
    """Everything lies on 84-pixel cells, targets are whole cells."""

    size = Size(W, H)
    step = C
    inset = (0, W)
    body_pad = 0
    fab_height = C
    toast_height = 0

    def group(self, s: Scene, w: Group, y: int, left: int, right: int) -> int:
        if w.title:
            s.fill((0, y, W, y + C), self.p.background)
            s.text_in((EDGE, y + 8, W - EDGE, y + C), w.title, SMALL, BOLD, self.p.accent)
            s.node(self.text_id(""), "heading", w.title, (0, y, W, y + C))
            y += C
        pictured = all(row.leading is None or self._room_for_picture(row) for row in w.rows)
        for row in w.rows:
            y = self._row(s, row, y, pictured)
        return y

    def row(self, s: Scene, w: ListRow, y: int, left: int, right: int) -> int:
        return self.group(s, Group((w,)), y, left, right)

    switchrow = choice = stepper = levels = row

    def _room_for_picture(self, row: ListRow) -> bool:
        """Whether the title fits beside a picture; if it does not in one row of a group, the group has no pictures."""
        if isinstance(row, Stepper | Levels):
            return False
        taken = C + EDGE
        if isinstance(row, SwitchRow | Choice) or row.trailing is not None:
            taken += C
        return fonts.width(row.title, NORMAL, BOLD) <= W - taken

    def _row(self, s: Scene, row: ListRow, y: int, pictured: bool) -> int:
        if isinstance(row, Stepper):
            return self._stepper(s, row, y)
        if isinstance(row, Levels):
            return self._levels(s, row, y)
        if isinstance(row, Row):
            return self._plain(s, row, y, pictured)
        box = cells(0, y, COLUMNS)
        self._ground(s, box)
        last = cells(COLUMNS - 1, y)
        if isinstance(row, SwitchRow):
            s.node(row.id, "switch", row.title, box, on_tap=row.on_tap, checked=row.on)
            self.switch_face(s, row.on, last)
        else:
            role = "radio" if row.style == "radio" else "checkbox"
            s.node(row.id, role, row.title, box, on_tap=row.on_tap, on_long=row.on_long, checked=row.chosen)
            self._mark(s, row, last)
        self._words(s, row, (0, y, W - C, y + C), self.p.ink, pictured)
        return y + C

    def _ground(self, s: Scene, box: IntBox) -> None:
        s.fill(box, self.p.surface)
        s.fill((box[0], box[3] - 2, box[2], box[3]), self.p.line)

    def _plain(self, s: Scene, row: Row, y: int, pictured: bool) -> int:
        edge = W - C if row.trailing is not None else W
        end = edge - EDGE
        picture = C if row.leading is not None and pictured else EDGE
        title = fonts.width(row.title, NORMAL, BOLD)
        value = fonts.width(row.value, SMALL, BOLD) if row.value else 0
        badge = fonts.width(str(row.badge), SMALL, BOLD) + 44 if row.badge else 0
        below = row.subtitle if row.tall else ""
        if value and title + value + badge + 24 > end - picture and not below:
            below, value = row.value, 0
        down = 2 if below else 1
        box = (0, y, edge, y + down * C)
        self._ground(s, (0, y, W, y + down * C))
        s.node(row.id, "row", row.title, box, on_tap=row.on_tap, on_long=row.on_long)
        if row.trailing is not None:
            area = cells(COLUMNS - 1, y, 1, down)
            if isinstance(row.trailing, IconButton):
                self.icon_button(s, row.trailing, area)
            else:
                self.switch_face(s, row.trailing.on, area)
                part = row.trailing
                s.node(part.id, "switch", part.label, area, on_tap=part.on_tap, checked=part.on)
        if badge:
            middle = y + C // 2
            s.fill((end - badge + 12, middle - 28, end, middle + 28), self.p.accent, 28)
            number = (end - badge + 12, y, end, y + C)
            s.text_in(number, str(row.badge), SMALL, BOLD, self.p.on_accent, "center")
            end -= badge
        if value:
            s.text_in((end - value, y, end, y + C), row.value, SMALL, BOLD, self.p.muted, "right")
            s.node(f"{row.id}.value", "text", row.value, (end - value, y, end, y + C), parent=row.id)
            end -= value + 12
        if below:
            name = "value" if below == row.value else "subtitle"
            s.text_in((picture, y + C - 8, edge - EDGE, y + 2 * C - 8), below, SMALL, BOLD, self.p.muted)
            s.node(f"{row.id}.{name}", "text", below, (picture, y + C, edge - EDGE, y + 2 * C), parent=row.id)
        self._words(s, row, (0, y, end, y + C), self.p.danger if row.danger else self.p.ink, pictured)
        return y + down * C

    def _words(self, s: Scene, row: Row | SwitchRow | Choice, box: IntBox, ink: Colour, pictured: bool) -> None:
        x = EDGE
        if row.leading is not None and pictured:
            self.leading(s, row.leading, 12, box[1] + 12, 60)
            x = C + 2
        s.text_in((x, box[1], box[2] - 4, box[3]), row.title, NORMAL, BOLD, ink)

    def _mark(self, s: Scene, row: Choice, box: IntBox) -> None:
        face = (box[0] + 18, box[1] + 18, box[2] - 18, box[3] - 18)
        radius = 24 if row.style == "radio" else 12
        if row.chosen:
            s.fill(face, self.p.accent, radius)
            s.glyph_in(face, "check", 38, self.p.on_accent)
        else:
            s.frame(face, self.p.muted, self.p.surface, radius, 5)

    def _stepper(self, s: Scene, row: Stepper, y: int) -> int:
        self._ground(s, cells(0, y, COLUMNS))
        s.text_in((EDGE, y, 3 * C, y + C), row.label, SMALL, BOLD, self.p.ink)
        s.node(row.id, "stepper", f"{row.label} {row.value}", cells(0, y, COLUMNS))
        for column, icon, tap in ((3, "minus", row.on_minus), (5, "plus", row.on_plus)):
            box = cells(column, y)
            self.key_face(s, box, self.p.soft if tap else self.p.line)
            s.glyph_in(box, icon, 44, self.p.on_soft if tap else self.p.faint)
            s.node(f"{row.id}.{icon}", "button", icon, box, on_tap=tap, parent=row.id)
        s.text_in(cells(4, y), row.value, SMALL, BOLD, self.p.ink, "center")
        s.node(f"{row.id}.value", "text", row.value, cells(4, y), parent=row.id)
        return y + C

    def _levels(self, s: Scene, row: Levels, y: int) -> int:
        s.fill(cells(0, y, COLUMNS, 2), self.p.surface)
        s.fill((0, y + 2 * C - 2, W, y + 2 * C), self.p.line)
        s.text_in((EDGE, y, 4 * C, y + C), row.label, NORMAL, BOLD, self.p.ink)
        s.node(row.id, "slider", f"{row.label} {row.value}", cells(0, y, COLUMNS, 2))
        if row.caption:
            s.text_in((3 * C, y, W - EDGE, y + C), row.caption, SMALL, BOLD, self.p.muted, "right")
            s.node(f"{row.id}.caption", "text", row.caption, cells(3, y, 3), parent=row.id)
        for k in range(row.count):
            box = cells(k, y + C)
            reached = k <= row.value
            self.key_face(s, box, self.p.accent if reached else self.p.soft)
            ink = self.p.on_accent if reached else self.p.on_soft
            s.text_in(box, str(k), SMALL, BOLD, ink, "center")
            tap = partial(row.on_pick, k)
            s.node(f"{row.id}.{k}", "level", str(k), box, on_tap=tap, checked=k == row.value, parent=row.id)
        return y + 2 * C

    # ---- parts
    def key_face(self, s: Scene, box: IntBox, ground: Colour) -> None:
        """The rounded face of a button that fills the cells of `box`."""
        s.fill((box[0] + 5, box[1] + 6, box[2] - 5, box[3] - 6), ground, 20)

    def leading(self, s: Scene, part: Leading, x: int, y: int, side: int) -> None:
        """A picture of `side` pixels at (x, y)."""
        box = (x, y, x + side, y + side)
        if isinstance(part, Avatar):
            s.fill(box, hue_of(part.name), side // 2)
            s.text_in(box, initials(part.name), side * 9 // 20, BOLD, WHITE, "center")
            return
        hue = hex_colour(part.hue) if part.hue else self.p.accent if isinstance(part, Glyph) else hue_of(part.icon)
        ink = self.p.on_accent if isinstance(part, Glyph) and not part.hue else WHITE
        s.fill(box, hue, side * 3 // 10)
        s.glyph_in(box, part.icon, side * 2 // 3, ink)

    def switch_face(self, s: Scene, on: bool, box: IntBox) -> None:
        """A switch as wide as its cell."""
        x, middle = box[0] + 4, (box[1] + box[3]) // 2
        s.fill((x, middle - 22, x + 72, middle + 22), self.p.good if on else mix(self.p.surface, self.p.ink, 38), 22)
        knob = x + 32 if on else x + 4
        s.fill((knob, middle - 18, knob + 36, middle + 18), self.p.surface, 18)

    def icon_button(self, s: Scene, w: IconButton, box: IntBox, ink: Colour | None = None) -> None:
        """A button that fills `box`; `ink` overrides its colour (on a coloured bar)."""
        colour = ink or (self.p.accent if w.active else self.p.ink)
        if w.style != "plain":
            self.key_face(s, box, self.p.accent if w.style == "filled" else self.p.soft)
            colour = self.p.on_accent if w.style == "filled" else self.p.on_soft
        s.glyph_in(box, w.icon, 50, colour)
        checked = True if w.active else None
        s.node(w.id, "button", w.label, box, on_tap=w.on_tap, on_long=w.on_long, checked=checked)
        if w.badge:
            dot = (box[2] - 36, box[1] + 6, box[2] - 4, box[1] + 38)
            s.fill(dot, self.p.danger, 16)
            s.text_in(dot, str(w.badge), 26, BOLD, WHITE, "center")
