"""Widgets of the regular display other than list rows."""

from __future__ import annotations

from functools import partial

from emulator.pocket import fonts
from emulator.pocket.canvas import IntBox
from emulator.pocket.fonts import BOLD, MEDIUM, REGULAR
from emulator.pocket.palette import WHITE, Colour, hex_colour, hue_of, mix
from emulator.pocket.scene import Handler, Scene
from emulator.pocket.themes.base import MONTHS, WEEKDAYS, month_shape
from emulator.pocket.themes.regular_rows import CARD, GAP, PAD, RegularRows
from emulator.pocket.themes.regular_rows import H as H
from emulator.pocket.themes.regular_rows import W as W
from emulator.pocket.widgets import (
    Art,
    Avatar,
    Bubble,
    Button,
    Buttons,
    Card,
    Composer,
    Controls,
    Empty,
    Field,
    Gap,
    Hero,
    IconButton,
    Key,
    Keypad,
    MiniBar,
    Month,
    Options,
    Picture,
    Progress,
    Text,
    Tile,
    Tiles,
)

TYPE = {
    "body": (23, REGULAR, 34),
    "muted": (21, REGULAR, 31),
    "caption": (18, REGULAR, 26),
    "title": (27, BOLD, 38),
    "display": (40, BOLD, 52),
}
"""Size, weight and line height in pixels of each style of `Text`."""


class RegularBlocks(RegularRows):
    """Each method lays out the widget class of its name and returns where the next one starts."""

    # ---- text and pictures
    def text(self, s: Scene, w: Text, y: int, left: int, right: int) -> int:
        size, weight, line = TYPE[w.style]
        inset = 24 if w.card else 8
        lines = fonts.wrap(w.text, size, weight, right - left - 2 * inset)
        ink = self.p.muted if w.style in ("muted", "caption") else self.p.ink
        top = y
        if w.card:
            s.fill((left, y, right, y + len(lines) * line + 36), self.p.surface, CARD)
            y += 18
        for piece in lines:
            s.text_in((left + inset, y, right - inset, y + line), piece, size, weight, ink, w.align)
            y += line
        s.node(self.text_id(w.id), "text", w.text, (left, top, right, y))
        return y + (18 + GAP if w.card else GAP)

    def hero(self, s: Scene, w: Hero, y: int, left: int, right: int) -> int:
        size = next((size for size in (84, 72, 60, 48) if fonts.width(w.text, size, MEDIUM) <= right - left - 24), 40)
        s.text_in((left + 12, y + 20, right - 12, y + 120), w.text, size, MEDIUM, self.p.ink, w.align)
        s.node(w.id, "text", w.text, (left, y + 20, right, y + 120))
        if not w.caption:
            return y + 134
        s.text_in((left + 12, y + 118, right - 12, y + 152), w.caption, 22, REGULAR, self.p.muted, w.align)
        s.node(f"{w.id}.caption", "text", w.caption, (left, y + 118, right, y + 152))
        return y + 172

    def picture(self, s: Scene, w: Picture, y: int, left: int, right: int) -> int:
        side = 132 if isinstance(w.art, Avatar) else 236
        x = (left + right - side) // 2
        y += 12
        self.leading(s, w.art, x, y, side)
        s.node(self.text_id(""), "image", w.label, (x, y, x + side, y + side))
        y += side + 14
        for words, size, weight, ink in (
            (w.label, 28, BOLD, self.p.ink),
            (w.caption, 21, REGULAR, self.p.muted),
        ):
            if words:
                s.text_in((left, y, right, y + 40), words, size, weight, ink, "center")
                s.node(self.text_id(""), "text", words, (left, y, right, y + 40))
                y += 38
        return y + GAP

    def empty(self, s: Scene, w: Empty, y: int, left: int, right: int) -> int:
        middle = (left + right) // 2
        y += 130
        disc = (middle - 70, y, middle + 70, y + 140)
        s.fill(disc, self.p.soft, 70)
        s.glyph_in(disc, w.icon, 68, self.p.on_soft)
        s.text_in((left, y + 164, right, y + 204), w.title, 26, BOLD, self.p.ink, "center")
        s.node("empty", "text", w.title, (left, y + 164, right, y + 204))
        y += 208
        for line in fonts.wrap(w.text, 21, REGULAR, 380) if w.text else ():
            s.text_in((left, y, right, y + 32), line, 21, REGULAR, self.p.muted, "center")
            y += 32
        return y + GAP

    def progress(self, s: Scene, w: Progress, y: int, left: int, right: int) -> int:
        reached = left + 10 + (right - left - 20) * w.percent // 100
        s.fill((left + 10, y + 10, right - 10, y + 20), self.p.soft, 5)
        s.fill((left + 10, y + 10, max(reached, left + 20), y + 20), self.p.accent, 5)
        s.node(w.id, "progress", f"{w.percent}%", (left, y, right, y + 30))
        s.text_in((left + 10, y + 26, right - 10, y + 56), w.left, 18, REGULAR, self.p.muted)
        s.text_in((left + 10, y + 26, right - 10, y + 56), w.right, 18, REGULAR, self.p.muted, "right")
        return y + (56 if w.left or w.right else 30) + GAP

    def gap(self, s: Scene, w: Gap, y: int, left: int, right: int) -> int:
        return y + 16 * w.size

    # ---- input
    def field(self, s: Scene, w: Field, y: int, left: int, right: int) -> int:
        s.fields[w.id] = w
        if w.kind == "multiline":
            return self._text_area(s, w, y, left, right)
        tall = 64 if w.kind == "search" else 84
        box = (left, y, right, y + tall)
        focused = self.focused(w)
        self._field_frame(s, box, focused, 32 if w.kind == "search" else 22)
        x = left + 24
        if w.kind == "search":
            s.glyph(left + 20, y + 18, "search", 28, self.p.accent if focused else self.p.muted)
            x = left + 62
        edge = right - 20
        if focused and w.value:
            edge = right - 68
            s.glyph_in((edge, y, right - 4, y + tall), "close", 24, self.p.muted)
            s.node(f"{w.id}.clear", "button", "Clear", (edge, y, right, y + tall), on_tap=self.view.chrome.clear)
            edge -= 4
        text_box = (x, y, edge, y + tall)
        if w.label and w.kind != "search" and (w.value or focused):
            ink = self.p.accent if focused else self.p.muted
            s.text_in((x, y + 10, edge, y + 36), w.label, 17, BOLD if focused else MEDIUM, ink)
            text_box = (x, y + 32, edge, y + 76)
        self._field_text(s, w, text_box, focused)
        self._field_node(s, w, (left, y, edge + 4 if focused and w.value else right, y + tall), focused)
        return y + tall + GAP

    def _field_frame(self, s: Scene, box: IntBox, focused: bool, radius: int) -> None:
        inside = self.p.surface
        line = self.p.accent if focused else mix(inside, self.p.ink, 16)
        s.frame(box, line, inside, radius, 3 if focused else 2)

    def _field_text(self, s: Scene, w: Field, box: IntBox, focused: bool) -> None:
        room = box[2] - box[0] - 6
        shown = w.value
        if shown and focused:
            shown = fonts.tail(shown, 23, MEDIUM, room)
        if shown:
            s.text_in(box, shown, 23, MEDIUM, self.p.ink)
        elif not focused or w.hint:
            s.text_in(box, (w.hint if focused else w.label or w.hint), 23, REGULAR, self.p.faint)
        if focused:
            x = box[0] + fonts.width(shown, 23, MEDIUM) + (2 if shown else -2)
            middle = (box[1] + box[3]) // 2
            s.fill((x, middle - 16, x + 3, middle + 16), self.p.accent, 1)

    def _field_node(self, s: Scene, w: Field, box: IntBox, focused: bool) -> None:
        tap: Handler = partial(self.view.chrome.focus, w.id)
        s.node(w.id, "field", w.value or w.label or w.hint, box, on_tap=tap, editable=True, focused=focused)

    def _text_area(self, s: Scene, w: Field, y: int, left: int, right: int) -> int:
        focused = self.focused(w)
        lines = fonts.wrap(w.value, 23, REGULAR, right - left - 52)
        tall = max(190, len(lines) * 34 + 64)
        self._field_frame(s, (left, y, right, y + tall), focused, 22)
        edge = right
        if w.label and (w.value or focused):
            s.text_in((left + 24, y + 12, right - 80, y + 40), w.label, 17, BOLD if focused else MEDIUM,
                      self.p.accent if focused else self.p.muted)  # fmt: skip
        if not w.value and not focused:
            s.text_in((left + 24, y + 16, right - 24, y + 54), w.label or w.hint, 23, REGULAR, self.p.faint)
        for i, line in enumerate(lines):
            row = (left + 24, y + 44 + i * 34, right - 20, y + 78 + i * 34)
            s.text_in(row, line, 23, REGULAR, self.p.ink)
            if focused and i == len(lines) - 1:
                x = row[0] + fonts.width(line, 23, REGULAR) + 2
                s.fill((x, row[1] + 2, x + 3, row[3] - 2), self.p.accent, 1)
        if focused and w.value:
            edge = right - 64
            s.glyph(right - 52, y + 12, "close", 24, self.p.muted)
            s.node(f"{w.id}.clear", "button", "Clear", (edge, y, right, y + 56), on_tap=self.view.chrome.clear)
        self._field_node(s, w, (left, y, edge, y + tall), focused)
        return y + tall + GAP

    def composer(self, s: Scene, w: Composer, y: int, left: int, right: int) -> int:
        s.fields[w.field.id] = w.field
        s.fill((0, y, W, y + 92), self.p.background)
        focused = self.focused(w.field)
        box = (left - 4, y + 10, right - 78, y + 78)
        self._field_frame(s, box, focused, 34)
        self._field_text(s, w.field, (box[0] + 26, box[1], box[2] - 22, box[3]), focused)
        self._field_node(s, w.field, box, focused)
        send = (right - 70, y + 8, right + 4, y + 80)
        button = IconButton(f"{w.field.id}.send", "send", w.label, w.on_send, style="filled")
        self.icon_button(s, button, send, 32)
        return y + 92

    def button(self, s: Scene, w: Button, y: int, left: int, right: int) -> int:
        return self.buttons(s, Buttons((w,)), y, left, right)

    def buttons(self, s: Scene, w: Buttons, y: int, left: int, right: int) -> int:
        count = len(w.buttons)
        each = (right - left - 12 * (count - 1)) // count
        for i, button in enumerate(w.buttons):
            x = left + i * (each + 12)
            self.button_face(s, button, (x, y, x + each, y + 72), button.on_tap)
        return y + 72 + GAP

    def button_face(self, s: Scene, w: Button, box: IntBox, tap: Handler | None) -> None:
        """A wide button in `box` that runs `tap`."""
        looks: dict[str, tuple[Colour | None, Colour]] = {
            "filled": (self.p.accent, self.p.on_accent),
            "tonal": (self.p.soft, self.p.on_soft),
            "text": (None, self.p.accent),
            "danger": (self.p.danger, self.p.on_accent),
        }
        ground, ink = looks[w.style]
        if tap is None:
            ground, ink = mix(self.p.background, self.p.ink, 8), self.p.faint
        if ground is not None:
            s.fill(box, ground, 24)
        wide = fonts.width(w.label, 22, BOLD) + (38 if w.icon else 0)
        x = max(box[0] + 12, (box[0] + box[2] - wide) // 2)
        if w.icon:
            s.glyph(x, (box[1] + box[3]) // 2 - 14, w.icon, 28, ink)
            x += 38
        s.text_in((x, box[1], box[2] - 6, box[3]), w.label, 22, BOLD, ink)
        s.node(w.id, "button", w.label, box, on_tap=tap)

    def controls(self, s: Scene, w: Controls, y: int, left: int, right: int) -> int:
        each = (right - left) // len(w.buttons)
        for i, button in enumerate(w.buttons):
            big = button.style == "filled"
            half = 48 if big else 38
            x, middle = left + i * each + each // 2, y + 54
            self.icon_button(s, button, (x - half, middle - half, x + half, middle + half), 42 if big else 34)
        return y + 108 + GAP

    def options(self, s: Scene, w: Options, y: int, left: int, right: int) -> int:
        if w.label:
            s.text_in((left + 10, y + 6, right, y + 38), w.label, 19, BOLD, self.p.accent)
            s.node(f"{w.id}.label", "heading", w.label, (left + 10, y + 6, right, y + 38))
            y += 44
        gap, tall = 8, 58
        x = left
        for i, (key, label) in enumerate(w.options.items()):
            if w.columns:
                each = (right - left - gap * (w.columns - 1)) // w.columns
                if i and i % w.columns == 0:
                    y += tall + gap
                x = left + i % w.columns * (each + gap)
            else:
                each = fonts.width(label, 21, BOLD) + 44
                if x > left and x + each > right:
                    x, y = left, y + tall + gap
            box = (x, y, x + each, y + tall)
            chosen = key in w.chosen
            s.fill(box, self.p.accent if chosen else self.p.surface, 20)
            ink = self.p.on_accent if chosen else self.p.ink
            s.text_in(box, label, 21, BOLD if chosen else MEDIUM, ink, "center")
            s.node(f"{w.id}.{key}", "option", label, box, on_tap=partial(w.on_pick, key), checked=chosen)
            x += each + gap
        return y + tall + GAP

    def keypad(self, s: Scene, w: Keypad, y: int, left: int, right: int) -> int:
        gap, tall = 12, 104
        for row in w.rows:
            spans = sum(key.span for key in row)
            each = (right - left - gap * (spans - 1)) // spans
            x = left
            for key in row:
                wide = key.span * each + (key.span - 1) * gap
                self._key(s, key, (x, y, x + wide, y + tall))
                x += wide + gap
            y += tall + gap
        return y

    def _key(self, s: Scene, key: Key, box: IntBox) -> None:
        looks = {
            "plain": (self.p.surface, self.p.ink),
            "soft": (mix(self.p.background, self.p.ink, 8), self.p.ink),
            "tonal": (self.p.soft, self.p.on_soft),
            "filled": (self.p.accent, self.p.on_accent),
        }
        ground, ink = looks[key.style]
        s.fill(box, ground, 34)
        if key.icon:
            s.glyph_in(box, key.icon, 40, ink)
        else:
            s.text_in(box, key.label, 38, MEDIUM, ink, "center")
        s.node(key.id, "key", key.label, box, on_tap=key.on_tap, on_long=key.on_long)

    # ---- collections
    def tiles(self, s: Scene, w: Tiles, y: int, left: int, right: int) -> int:
        each, tall = (right - left - 14) // 2, 236
        for i, tile in enumerate(w.tiles):
            x = left + i % 2 * (each + 14)
            self._tile(s, tile, (x, y + i // 2 * (tall + 14), x + each, y + i // 2 * (tall + 14) + tall))
        return y + (len(w.tiles) + 1) // 2 * (tall + 14)

    def _tile(self, s: Scene, tile: Tile, box: IntBox) -> None:
        x1, y1, x2, _ = box
        s.fill(box, self.p.surface, CARD)
        art: Art = tile.art
        hue = hex_colour(art.hue) if art.hue else hue_of(art.icon)
        ground = mix(self.p.surface, hue, 22 if not self.p.dark else 40)
        s.fill((x1 + 10, y1 + 10, x2 - 10, y1 + 148), ground, 18)
        ink = hue if not self.p.dark else mix(hue, WHITE, 60)
        s.glyph_in((x1 + 10, y1 + 10, x2 - 10, y1 + 148), art.icon, 76, ink)
        s.text_in((x1 + 18, y1 + 158, x2 - 14, y1 + 194), tile.title, 22, BOLD, self.p.ink)
        s.text_in((x1 + 18, y1 + 192, x2 - 14, y1 + 224), tile.subtitle, 19, REGULAR, self.p.muted)
        s.node(tile.id, "tile", tile.title, box, on_tap=tile.on_tap, on_long=tile.on_long)
        if tile.subtitle:
            box = (x1 + 18, y1 + 192, x2 - 14, y1 + 224)
            s.node(f"{tile.id}.subtitle", "text", tile.subtitle, box, parent=tile.id)

    def card(self, s: Scene, w: Card, y: int, left: int, right: int) -> int:
        lines = fonts.wrap(w.text.split("\n\n")[0], 20, REGULAR, right - left - 48)[:2] if w.text else ()
        tall = 64 + 29 * len(lines) + (30 if w.caption else 4)
        box = (left, y, right, y + tall)
        s.fill(box, self.p.surface, CARD)
        s.node(w.id, "card", w.title, box, on_tap=w.on_tap, on_long=w.on_long)
        edge = right - 24
        if w.mark:
            s.glyph(right - 52, y + 20, w.mark, 28, self.p.accent)
            edge = right - 64
        s.text_in((left + 24, y + 16, edge, y + 54), w.title, 24, BOLD, self.p.ink)
        end = y + 56
        for line in lines:
            s.text_in((left + 24, end, right - 24, end + 29), line, 20, REGULAR, self.p.muted)
            end += 29
        if w.caption:
            s.text_in((left + 24, end + 2, right - 24, end + 28), w.caption, 17, MEDIUM, self.p.accent)
            caption = (left + 24, end + 2, right - 24, end + 28)
            s.node(f"{w.id}.caption", "text", w.caption, caption, parent=w.id)
        return y + tall + GAP

    def bubble(self, s: Scene, w: Bubble, y: int, left: int, right: int) -> int:
        lines = fonts.wrap(w.text, 23, REGULAR, 360)
        wide = max(fonts.width(line, 23, REGULAR) for line in lines) + 44
        tall = 32 * len(lines) + 28
        x = right - wide if w.mine else left
        box = (x, y, x + wide, y + tall)
        corners = (True, True, not w.mine, w.mine)
        s.fill(box, self.p.accent if w.mine else self.p.surface, 24, corners)
        ink = self.p.on_accent if w.mine else self.p.ink
        for i, line in enumerate(lines):
            s.text_in((x + 22, y + 14 + 32 * i, x + wide, y + 46 + 32 * i), line, 23, REGULAR, ink)
        tap = None
        s.node(w.id, "bubble", w.text, box, on_tap=tap, on_long=w.on_long)
        y += tall
        if w.time:
            align = "right" if w.mine else "left"
            s.text_in((left + 6, y + 2, right - 6, y + 28), w.time, 16, REGULAR, self.p.muted, align)
            y += 26
        return y + 10

    def month(self, s: Scene, w: Month, y: int, left: int, right: int) -> int:
        first, days = month_shape(w.year, w.month)
        cell, top = 68, y
        mark = len(s.ops)
        each = (right - left - 24) // 7
        title = f"{MONTHS[w.month - 1]} {w.year}"
        s.text_in((left + 26, y + 8, right - 160, y + 76), title, 25, BOLD, self.p.ink)
        s.node(f"{w.id}.title", "text", title, (left + 26, y + 8, right - 160, y + 76))
        self.icon_button(
            s,
            IconButton(f"{w.id}.prev", "left", "Previous month", w.on_prev),
            (right - 148, y + 6, right - 76, y + 78),
            28,
        )
        self.icon_button(
            s,
            IconButton(f"{w.id}.next", "chevron", "Next month", w.on_next),
            (right - 76, y + 6, right - 4, y + 78),
            28,
        )
        y += 82
        for i, name in enumerate(WEEKDAYS):
            x = left + 12 + i * each
            s.text_in((x, y, x + each, y + 34), name, 17, MEDIUM, self.p.muted, "center")
        y += 38
        for day in range(1, days + 1):
            place = first + day - 1
            x, row = left + 12 + place % 7 * each, y + place // 7 * cell
            self._day(s, w, day, (x, row, x + each, row + cell))
        y += (first + days + 6) // 7 * cell + 12
        s.fill_under(mark, (left, top, right, y), self.p.surface, CARD)
        return y + GAP

    def _day(self, s: Scene, w: Month, day: int, box: IntBox) -> None:
        middle = (box[0] + box[2]) // 2
        face = (middle - 27, box[1] + 4, middle + 27, box[1] + 58)
        ink, weight = self.p.ink, MEDIUM
        if day == w.chosen:
            s.fill(face, self.p.accent, 27)
            ink, weight = self.p.on_accent, BOLD
        elif day == w.today:
            s.fill(face, self.p.soft, 27)
            ink, weight = self.p.on_soft, BOLD
        s.text_in((box[0], box[1], box[2], box[1] + 60), str(day), 22, weight, ink, "center")
        if day in w.marked:
            dot = self.p.on_accent if day == w.chosen else self.p.accent
            s.fill((middle - 3, box[1] + 46, middle + 3, box[1] + 52), dot, 3)
        s.node(f"{w.id}.{day}", "day", str(day), box, on_tap=partial(w.on_day, day), checked=day == w.chosen)

    def minibar(self, s: Scene, w: MiniBar, y: int, left: int, right: int) -> int:
        s.fill((0, y, W, y + 104), self.p.background)
        box = (left - 6, y + 8, right + 6, y + 96)
        s.fill(box, self.p.soft, CARD)
        edge = box[2] - 8
        for button in reversed(w.buttons):
            self.icon_button(s, button, (edge - 72, box[1] + 8, edge, box[3] - 8), 34)
            edge -= 72
        x = box[0] + 24
        if w.leading is not None:
            self.leading(s, w.leading, box[0] + 16, box[1] + 17, 54)
            x = box[0] + 86
        s.node(w.id, "bar", w.title, (box[0], box[1], edge, box[3]), on_tap=w.on_tap)
        if w.subtitle:
            s.text_in((x, box[1] + 12, edge - 8, box[1] + 48), w.title, 22, BOLD, self.p.ink)
            s.text_in((x, box[1] + 46, edge - 8, box[1] + 76), w.subtitle, 18, REGULAR, self.p.muted)
            s.node(f"{w.id}.subtitle", "text", w.subtitle, (x, box[1] + 46, edge - 8, box[1] + 76), parent=w.id)
        else:
            s.text_in((x, box[1], edge - 8, box[3]), w.title, 22, BOLD, self.p.ink)
        return y + 104


__all__ = ["PAD", "H", "RegularBlocks", "W"]
