"""List rows of the regular display: rows, switches, choices, steppers, levels, and the cards they stand on."""

from __future__ import annotations

from functools import partial

from emulator.pocket import fonts
from emulator.pocket.canvas import IntBox
from emulator.pocket.fonts import BOLD, MEDIUM, REGULAR
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
    Switch,
    SwitchRow,
)
from sopbench.geometry import Size

W, H = 540, 1200
PAD = 20
CARD = 26
GAP = 14
LINE, TALL = 80, 96
TILE = 50


class RegularRows(Theme):
    """Rows are `LINE` pixels high, `TALL` with a subtitle. Outside a group each row has a card of its own."""

    size = Size(W, H)
    step = 1
    inset = (PAD, W - PAD)
    body_pad = 4
    fab_height = 0
    toast_height = 84

    def group(self, s: Scene, w: Group, y: int, left: int, right: int) -> int:
        if w.title:
            s.text_in((left + 10, y + 6, right, y + 38), w.title, 19, BOLD, self.p.accent)
            s.node(self.text_id(""), "heading", w.title, (left + 10, y + 6, right, y + 38))
            y += 44
        if not w.rows:
            return y
        mark, top = len(s.ops), y
        for i, row in enumerate(w.rows):
            if i:
                indent = 18 + TILE + 18 if row.leading is not None else 24
                s.fill((left + indent, y - 1, right - 20, y + 1), self.p.line)
            y = self._row(s, row, y, left, right)
        s.fill_under(mark, (left, top, right, y), self.p.surface, CARD)
        return y + GAP

    def row(self, s: Scene, w: ListRow, y: int, left: int, right: int) -> int:
        return self.group(s, Group((w,)), y, left, right)

    switchrow = choice = stepper = levels = row

    def _row(self, s: Scene, row: ListRow, y: int, left: int, right: int) -> int:
        if isinstance(row, SwitchRow):
            return self._switch_row(s, row, y, left, right)
        if isinstance(row, Choice):
            return self._choice(s, row, y, left, right)
        if isinstance(row, Stepper):
            return self._stepper(s, row, y, left, right)
        if isinstance(row, Levels):
            return self._levels(s, row, y, left, right)
        return self._plain(s, row, y, left, right)

    def _plain(self, s: Scene, row: Row, y: int, left: int, right: int) -> int:
        end = y + (TALL if row.subtitle else LINE)
        edge = right
        if row.trailing is not None:
            edge = right - 96
            self._trailing(s, row.trailing, (edge, y, right, end))
        s.node(row.id, "row", row.title, (left, y, edge, end), on_tap=row.on_tap, on_long=row.on_long)
        x = edge - (4 if row.trailing else 20)
        if row.chevron:
            s.glyph(x - 20, (y + end) // 2 - 12, "chevron", 24, self.p.faint)
            x -= 30
        if row.badge:
            x = self._badge(s, row.badge, x, (y + end) // 2)
        if row.value:
            room = min(fonts.width(row.value, 20, REGULAR), (right - left) // 2)
            s.text_in((x - room, y, x, end), row.value, 20, REGULAR, self.p.muted, "right")
            s.node(f"{row.id}.value", "text", row.value, (x - room, y, x, end), parent=row.id)
            x -= room + 14
        ink = self.p.danger if row.danger else self.p.ink
        self._words(s, row, (left, y, x, end), ink, BOLD if row.strong else MEDIUM)
        return end

    def _words(self, s: Scene, row: Row | SwitchRow | Choice, box: IntBox, ink: Colour, weight: int) -> None:
        """Leading picture, title and subtitle of a row."""
        left, y, right, end = box
        x = left + 24
        if row.leading is not None:
            self.leading(s, row.leading, left + 18, (y + end - TILE) // 2, TILE)
            x = left + 18 + TILE + 18
        if not row.subtitle:
            s.text_in((x, y, right, end), row.title, 23, weight, ink)
            return
        s.text_in((x, y + 14, right, y + 50), row.title, 23, weight, ink)
        s.text_in((x, y + 50, right, y + 82), row.subtitle, 19, REGULAR, self.p.muted)
        s.node(f"{row.id}.subtitle", "text", row.subtitle, (x, y + 50, right, y + 82), parent=row.id)

    def _switch_row(self, s: Scene, row: SwitchRow, y: int, left: int, right: int) -> int:
        end = y + (TALL if row.subtitle else LINE)
        s.node(row.id, "switch", row.title, (left, y, right, end), on_tap=row.on_tap, checked=row.on)
        self.switch_face(s, row.on, right - 20 - 62, (y + end) // 2)
        self._words(s, row, (left, y, right - 100, end), self.p.ink, MEDIUM)
        return end

    def _choice(self, s: Scene, row: Choice, y: int, left: int, right: int) -> int:
        end = y + (TALL if row.subtitle else LINE)
        role = "radio" if row.style == "radio" else "checkbox"
        box = (left, y, right, end)
        s.node(row.id, role, row.title, box, on_tap=row.on_tap, on_long=row.on_long, checked=row.chosen)
        x, middle = right - 20 - 34, (y + end) // 2
        mark = (x, middle - 17, x + 34, middle + 17)
        radius = 17 if row.style == "radio" else 10
        if row.chosen:
            s.fill(mark, self.p.accent, radius)
            s.glyph_in(mark, "check", 24, self.p.on_accent)
        else:
            s.frame(mark, self.p.faint, self.p.surface, radius, 3)
        self._words(s, row, (left, y, x - 12, end), self.p.ink, BOLD if row.chosen else MEDIUM)
        return end

    def _stepper(self, s: Scene, row: Stepper, y: int, left: int, right: int) -> int:
        end = y + LINE
        x = right - 18 - 178
        plain = Row(row.id, row.label, leading=row.leading)
        self._words(s, plain, (left, y, x - 8, end), self.p.ink, MEDIUM)
        s.node(row.id, "stepper", f"{row.label} {row.value}", (left, y, right, end))
        for side, icon, tap in ((0, "minus", row.on_minus), (122, "plus", row.on_plus)):
            box = (x + side, y + 12, x + side + 56, end - 12)
            s.fill(box, self.p.soft if tap else mix(self.p.surface, self.p.line, 60), 18)
            s.glyph_in(box, icon, 26, self.p.on_soft if tap else self.p.faint)
            s.node(f"{row.id}.{icon}", "button", icon, box, on_tap=tap, parent=row.id)
        value = (x + 58, y, x + 120, end)
        s.text_in(value, row.value, 22, BOLD, self.p.ink, "center")
        s.node(f"{row.id}.value", "text", row.value, value, parent=row.id)
        return end

    def _levels(self, s: Scene, row: Levels, y: int, left: int, right: int) -> int:
        end = y + 128
        caption = (right - 190, y + 8, right - 24, y + 64)
        if row.caption:
            s.text_in(caption, row.caption, 20, REGULAR, self.p.muted, "right")
            s.node(f"{row.id}.caption", "text", row.caption, caption, parent=row.id)
        plain = Row(row.id, row.label, leading=row.leading)
        self._words(s, plain, (left, y, caption[0], y + 72), self.p.ink, MEDIUM)
        s.node(row.id, "slider", f"{row.label} {row.value}", (left, y, right, end))
        x1, x2 = left + 20, right - 20
        each = (x2 - x1) // row.count
        for k in range(row.count):
            box = (x1 + k * each, y + 70, x1 + (k + 1) * each, y + 118)
            reached = k <= row.value
            face = (box[0] + 3, y + 82, box[2] - 3, y + 106)
            s.fill(face, self.p.accent if reached else self.p.soft, 12)
            tap = partial(row.on_pick, k)
            s.node(f"{row.id}.{k}", "level", str(k), box, on_tap=tap, checked=k == row.value, parent=row.id)
        return end

    # ---- parts
    def leading(self, s: Scene, part: Leading, x: int, y: int, side: int) -> None:
        """A picture of `side` pixels at (x, y)."""
        box = (x, y, x + side, y + side)
        if isinstance(part, Avatar):
            s.fill(box, hue_of(part.name), side // 2)
            s.text_in(box, initials(part.name), side * 19 // 50, BOLD, WHITE, "center")
            return
        hue = hex_colour(part.hue) if part.hue else None
        if isinstance(part, Glyph):
            ground = self.p.soft if hue is None else mix(self.p.surface, hue, 16 if not self.p.dark else 34)
            ink = self.p.on_soft if hue is None else hue if not self.p.dark else mix(hue, WHITE, 55)
        else:
            ground = hue_of(part.icon) if hue is None else hue
            ink = WHITE
        s.fill(box, ground, side * 3 // 10)
        s.glyph_in(box, part.icon, side * 14 // 25, ink)

    def switch_face(self, s: Scene, on: bool, x: int, middle: int) -> None:
        """A switch of 62 x 36 whose left edge is `x`."""
        s.fill((x, middle - 18, x + 62, middle + 18), self.p.accent if on else mix(self.p.surface, self.p.ink, 24), 18)
        knob = x + 30 if on else x + 4
        s.fill((knob, middle - 14, knob + 28, middle + 14), self.p.on_accent if on else self.p.surface, 14)

    def icon_button(self, s: Scene, w: IconButton, box: IntBox, size: int) -> None:
        """A round button in the middle of its target `box`."""
        ink = self.p.accent if w.active else self.p.ink
        middle = ((box[0] + box[2]) // 2, (box[1] + box[3]) // 2)
        half = min(box[2] - box[0], box[3] - box[1]) // 2 - 2
        face = (middle[0] - half, middle[1] - half, middle[0] + half, middle[1] + half)
        if w.style != "plain":
            s.fill(face, self.p.accent if w.style == "filled" else self.p.soft, half)
            ink = self.p.on_accent if w.style == "filled" else self.p.on_soft
        s.glyph_in(box, w.icon, size, ink)
        checked = True if w.active else None
        s.node(w.id, "button", w.label, box, on_tap=w.on_tap, on_long=w.on_long, checked=checked)
        if w.badge:
            self._badge(s, w.badge, middle[0] + 30, middle[1] - 16)

    def _badge(self, s: Scene, count: int, right: int, middle: int) -> int:
        wide = max(28, fonts.width(str(count), 17, BOLD) + 16)
        box = (right - wide, middle - 14, right, middle + 14)
        s.fill(box, self.p.accent, 14)
        s.text_in(box, str(count), 17, BOLD, self.p.on_accent, "center")
        return right - wide - 12

    def _trailing(self, s: Scene, part: Switch | IconButton, box: IntBox) -> None:
        if isinstance(part, IconButton):
            self.icon_button(s, part, (box[0] + 16, box[1] + 6, box[2] - 8, box[3] - 6), 28)
            return
        self.switch_face(s, part.on, box[2] - 82, (box[1] + box[3]) // 2)
        s.node(part.id, "switch", part.label, box, on_tap=part.on_tap, checked=part.on)
