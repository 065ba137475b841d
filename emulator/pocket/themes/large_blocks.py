"""Widgets of the large display other than list rows."""

from __future__ import annotations

from functools import partial

from emulator.pocket import fonts
from emulator.pocket.canvas import IntBox
from emulator.pocket.fonts import BOLD
from emulator.pocket.palette import Colour, mix
from emulator.pocket.scene import Handler, Scene
from emulator.pocket.themes.base import MONTHS, WEEKDAYS, month_shape
from emulator.pocket.themes.large_rows import BIG, COLUMNS, EDGE, NORMAL, SMALL, C, LargeRows, W, cells
from emulator.pocket.widgets import (
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
    Row,
    Text,
    Tiles,
)


class LargeBlocks(LargeRows):
    """Each method lays out the widget class of its name and returns where the next one starts."""

    # ---- text and pictures
    def text(self, s: Scene, w: Text, y: int, left: int, right: int) -> int:
        size = BIG if w.style in ("title", "display") else SMALL
        ink = self.p.muted if w.style in ("muted", "caption") else self.p.ink
        lines = fonts.wrap(w.text, size, BOLD, W - 2 * EDGE)
        if w.card:
            s.fill((0, y, W, y + len(lines) * C), self.p.surface)
        for i, line in enumerate(lines):
            s.text_in((EDGE, y + i * C, W - EDGE, y + (i + 1) * C), line, size, BOLD, ink, w.align)
        s.node(self.text_id(w.id), "text", w.text, (0, y, W, y + len(lines) * C))
        return y + len(lines) * C

    def hero(self, s: Scene, w: Hero, y: int, left: int, right: int) -> int:
        size = next((n for n in (92, 76, 60) if fonts.width(w.text, n, BOLD) <= W - 2 * EDGE), 48)
        s.text_in((EDGE, y, W - EDGE, y + 2 * C), w.text, size, BOLD, self.p.ink, w.align)
        s.node(w.id, "text", w.text, (0, y, W, y + 2 * C))
        if not w.caption:
            return y + 2 * C
        s.text_in((EDGE, y + 2 * C, W - EDGE, y + 3 * C), w.caption, SMALL, BOLD, self.p.muted, w.align)
        s.node(f"{w.id}.caption", "text", w.caption, (0, y + 2 * C, W, y + 3 * C))
        return y + 3 * C

    def picture(self, s: Scene, w: Picture, y: int, left: int, right: int) -> int:
        side = 2 * C - 24
        x = (W - side) // 2
        if isinstance(w.art, Avatar):
            s.fill((0, y, W, y + 2 * C), self.p.soft)
        self.leading(s, w.art, x, y + 12, side)
        s.node(self.text_id(""), "image", w.label, cells(2, y, 2, 2))
        y += 2 * C
        for words, size, ink in ((w.label, BIG, self.p.ink), (w.caption, SMALL, self.p.muted)):
            if words:
                s.text_in((EDGE, y, W - EDGE, y + C), words, size, BOLD, ink, "center")
                s.node(self.text_id(""), "text", words, (0, y, W, y + C))
                y += C
        return y

    def empty(self, s: Scene, w: Empty, y: int, left: int, right: int) -> int:
        s.glyph((W - 140) // 2, y + C + 14, w.icon, 140, self.p.faint)
        s.text_in((EDGE, y + 3 * C, W - EDGE, y + 4 * C), w.title, NORMAL, BOLD, self.p.ink, "center")
        s.node("empty", "text", w.title, (0, y + 3 * C, W, y + 4 * C))
        return y + 4 * C

    def progress(self, s: Scene, w: Progress, y: int, left: int, right: int) -> int:
        reached = EDGE + (W - 2 * EDGE) * w.percent // 100
        s.fill((EDGE, y + 32, W - EDGE, y + 52), self.p.soft, 10)
        s.fill((EDGE, y + 32, max(reached, EDGE + 20), y + 52), self.p.accent, 10)
        s.node(w.id, "progress", f"{w.percent}%", (0, y, W, y + C))
        if not (w.left or w.right):
            return y + C
        s.text_in((EDGE, y + C, W - EDGE, y + 2 * C), w.left, SMALL, BOLD, self.p.muted)
        s.text_in((EDGE, y + C, W - EDGE, y + 2 * C), w.right, SMALL, BOLD, self.p.muted, "right")
        return y + 2 * C

    def gap(self, s: Scene, w: Gap, y: int, left: int, right: int) -> int:
        return y + (C if w.size == 2 else 0)

    # ---- input
    def field(self, s: Scene, w: Field, y: int, left: int, right: int) -> int:
        s.fields[w.id] = w
        lines: tuple[str, ...] = ()
        if w.kind == "multiline":
            lines = fonts.wrap(w.value, SMALL, BOLD, W - 2 * EDGE - 12)
        down = max(2, len(lines)) if w.kind == "multiline" else 1
        focused = self.focused(w)
        across = COLUMNS
        if focused and w.value and w.kind != "multiline":
            across -= 1
            clear = cells(across, y)
            s.glyph_in(clear, "close", 46, self.p.muted)
            s.node(f"{w.id}.clear", "button", "Clear", clear, on_tap=self.view.chrome.clear)
        box = cells(0, y, across, down)
        self._field_frame(s, box, focused)
        if w.kind == "multiline":
            for i, line in enumerate(lines):
                row = (EDGE + 4, y + i * C, W - EDGE, y + (i + 1) * C)
                s.text_in(row, line, SMALL, BOLD, self.p.ink)
            if not w.value:
                hint = (EDGE + 4, y, W - EDGE, y + C)
                s.text_in(hint, w.label or w.hint, SMALL, BOLD, self.p.faint)
            if focused:
                last = len(lines) - 1
                x = EDGE + 6 + fonts.width(lines[-1], SMALL, BOLD)
                s.fill((x, y + last * C + 18, x + 5, y + last * C + 66), self.p.accent, 2)
        else:
            x = EDGE + 4
            if w.kind == "search":
                s.glyph(EDGE, y + 20, "search", 44, self.p.muted)
                x = C
            self._field_text(s, w, (x, y, box[2] - EDGE, y + C), focused)
        self._field_node(s, w, box, focused)
        return y + down * C

    def _field_frame(self, s: Scene, box: IntBox, focused: bool) -> None:
        face = (box[0] + 6, box[1] + 5, box[2] - 6, box[3] - 5)
        line = self.p.accent if focused else self.p.faint
        s.frame(face, line, self.p.surface, 18, 8 if focused else 4)

    def _field_text(self, s: Scene, w: Field, box: IntBox, focused: bool) -> None:
        shown = fonts.tail(w.value, SMALL, BOLD, box[2] - box[0] - 8) if focused else w.value
        if shown:
            s.text_in(box, shown, SMALL, BOLD, self.p.ink)
        else:
            s.text_in((box[0] + 6, box[1], box[2], box[3]), w.label or w.hint, SMALL, BOLD, self.p.faint)
        if focused:
            x = box[0] + (fonts.width(shown, SMALL, BOLD) + 3 if shown else -2)
            s.fill((x, box[1] + 18, x + 5, box[3] - 18), self.p.accent, 2)

    def _field_node(self, s: Scene, w: Field, box: IntBox, focused: bool) -> None:
        tap: Handler = partial(self.view.chrome.focus, w.id)
        s.node(w.id, "field", w.value or w.label or w.hint, box, on_tap=tap, editable=True, focused=focused)

    def composer(self, s: Scene, w: Composer, y: int, left: int, right: int) -> int:
        s.fields[w.field.id] = w.field
        s.fill((0, y, W, y + C), self.p.background)
        box, focused = cells(0, y, COLUMNS - 1), self.focused(w.field)
        self._field_frame(s, box, focused)
        self._field_text(s, w.field, (EDGE + 4, y, box[2] - EDGE, y + C), focused)
        self._field_node(s, w.field, box, focused)
        button = IconButton(f"{w.field.id}.send", "send", w.label, w.on_send, style="filled")
        self.icon_button(s, button, cells(COLUMNS - 1, y))
        return y + C

    def button(self, s: Scene, w: Button, y: int, left: int, right: int) -> int:
        return self.buttons(s, Buttons((w,)), y, left, right)

    def buttons(self, s: Scene, w: Buttons, y: int, left: int, right: int) -> int:
        across = COLUMNS // len(w.buttons)
        for i, button in enumerate(w.buttons):
            self.button_face(s, button, cells(i * across, y, across), button.on_tap)
        return y + C

    def button_face(self, s: Scene, w: Button, box: IntBox, tap: Handler | None) -> None:
        """A button that fills `box` and runs `tap`."""
        looks: dict[str, tuple[Colour, Colour]] = {
            "filled": (self.p.accent, self.p.on_accent),
            "tonal": (self.p.soft, self.p.on_soft),
            "text": (self.p.soft, self.p.on_soft),
            "danger": (self.p.danger, self.p.on_accent),
        }
        ground, ink = looks[w.style]
        if tap is None:
            ground, ink = mix(self.p.background, self.p.ink, 10), self.p.faint
        self.key_face(s, box, ground)
        wide = fonts.width(w.label, SMALL, BOLD)
        icon = w.icon if wide + 78 <= box[2] - box[0] else ""
        x = max(box[0] + 12, (box[0] + box[2] - wide - (56 if icon else 0)) // 2)
        if icon:
            s.glyph(x, box[1] + 20, icon, 44, ink)
            x += 56
        s.text_in((x, box[1], box[2] - 8, box[3]), w.label, SMALL, BOLD, ink)
        s.node(w.id, "button", w.label, box, on_tap=tap)

    def controls(self, s: Scene, w: Controls, y: int, left: int, right: int) -> int:
        count = len(w.buttons)
        spans = [COLUMNS // count] * count
        if count == 5:  # five do not divide six columns: the main one gets the sixth
            spans[next((i for i, button in enumerate(w.buttons) if button.style == "filled"), 2)] += 1
        column = (COLUMNS - sum(spans)) // 2
        for button, across in zip(w.buttons, spans, strict=True):
            self.icon_button(s, button, cells(column, y, across))
            column += across
        return y + C

    def options(self, s: Scene, w: Options, y: int, left: int, right: int) -> int:
        if w.label:
            s.text_in((EDGE, y + 8, W - EDGE, y + C), w.label, SMALL, BOLD, self.p.accent)
            s.node(f"{w.id}.label", "heading", w.label, (0, y, W, y + C))
            y += C
        columns = w.columns or 2
        across = COLUMNS // columns
        for i, (key, label) in enumerate(w.options.items()):
            box = cells(i % columns * across, y + i // columns * C, across)
            chosen = key in w.chosen
            self.key_face(s, box, self.p.accent if chosen else self.p.surface)
            ink = self.p.on_accent if chosen else self.p.ink
            s.text_in((box[0] + 10, box[1], box[2] - 10, box[3]), label, SMALL, BOLD, ink, "center")
            s.node(f"{w.id}.{key}", "option", label, box, on_tap=partial(w.on_pick, key), checked=chosen)
        return y + -(-len(w.options) // columns) * C

    def keypad(self, s: Scene, w: Keypad, y: int, left: int, right: int) -> int:
        for row in w.large:
            column = 0
            for key in row:
                self._key(s, key, cells(column, y, key.span))
                column += key.span
            y += C
        return y

    def _key(self, s: Scene, key: Key, box: IntBox) -> None:
        looks = {
            "plain": (self.p.surface, self.p.ink),
            "soft": (mix(self.p.background, self.p.ink, 12), self.p.ink),
            "tonal": (self.p.soft, self.p.on_soft),
            "filled": (self.p.accent, self.p.on_accent),
        }
        ground, ink = looks[key.style]
        self.key_face(s, box, ground)
        if key.icon:
            s.glyph_in(box, key.icon, 46, ink)
        else:
            s.text_in(box, key.label, BIG, BOLD, ink, "center")
        s.node(key.id, "key", key.label, box, on_tap=key.on_tap, on_long=key.on_long)

    # ---- collections
    def tiles(self, s: Scene, w: Tiles, y: int, left: int, right: int) -> int:
        for tile in w.tiles:
            row = Row(tile.id, tile.title, leading=tile.art, on_tap=tile.on_tap, on_long=tile.on_long)
            y = self.row(s, row, y, left, right)
        return y

    def card(self, s: Scene, w: Card, y: int, left: int, right: int) -> int:
        self._ground(s, cells(0, y, COLUMNS))
        edge = W - EDGE
        if w.mark:
            s.glyph(W - C + 20, y + 20, w.mark, 44, self.p.accent)
            edge = W - C
        s.text_in((EDGE, y, edge, y + C), w.title, NORMAL, BOLD, self.p.ink)
        s.node(w.id, "card", w.title, cells(0, y, COLUMNS), on_tap=w.on_tap, on_long=w.on_long)
        return y + C

    def bubble(self, s: Scene, w: Bubble, y: int, left: int, right: int) -> int:
        lines = fonts.wrap(w.text, SMALL, BOLD, 5 * C - 44)
        wide = max(fonts.width(line, SMALL, BOLD) for line in lines) + 44
        across = min(5, -(-wide // C))
        column = COLUMNS - across if w.mine else 0
        box = cells(column, y, across, len(lines))
        ground = self.p.accent if w.mine else self.p.surface
        ink = self.p.on_accent if w.mine else self.p.ink
        corners = (True, True, not w.mine, w.mine)
        s.fill((box[0] + 6, box[1] + 4, box[2] - 6, box[3] - 4), ground, 26, corners)
        for i, line in enumerate(lines):
            s.text_in((box[0] + 22, y + i * C, box[2], y + (i + 1) * C), line, SMALL, BOLD, ink)
        s.node(w.id, "bubble", w.text, box, on_long=w.on_long)
        return y + len(lines) * C

    def month(self, s: Scene, w: Month, y: int, left: int, right: int) -> int:
        """Days in rows of six, each with its weekday: seven columns do not fit the grid."""
        first, days = month_shape(w.year, w.month)
        title = f"{MONTHS[w.month - 1][:3]} {w.year}"
        self.icon_button(s, IconButton(f"{w.id}.prev", "left", "Previous month", w.on_prev), cells(0, y))
        self.icon_button(s, IconButton(f"{w.id}.next", "chevron", "Next month", w.on_next), cells(COLUMNS - 1, y))
        s.text_in(cells(1, y, COLUMNS - 2), title, BIG, BOLD, self.p.ink, "center")
        s.node(f"{w.id}.title", "text", title, cells(1, y, COLUMNS - 2))
        y += C
        for day in range(1, days + 1):
            box = cells((day - 1) % COLUMNS, y + (day - 1) // COLUMNS * C)
            self._day(s, w, day, WEEKDAYS[(first + day - 1) % 7], box)
        return y + -(-days // COLUMNS) * C

    def _day(self, s: Scene, w: Month, day: int, weekday: str, box: IntBox) -> None:
        ground, ink = self.p.surface, self.p.ink
        if day == w.chosen:
            ground, ink = self.p.accent, self.p.on_accent
        elif day == w.today:
            ground, ink = self.p.soft, self.p.on_soft
        s.fill((box[0] + 3, box[1] + 3, box[2] - 3, box[3] - 3), ground, 18)
        s.text_in(
            (box[0], box[1] + 6, box[2] - (14 if day in w.marked else 0), box[1] + 32),
            weekday,
            20,
            BOLD,
            mix(ink, ground, 35),
            "center",
        )
        s.text_in((box[0], box[1] + 24, box[2], box[3] - 6), str(day), SMALL, BOLD, ink, "center")
        if day in w.marked:
            s.fill((box[2] - 24, box[1] + 11, box[2] - 10, box[1] + 25), ink if day == w.chosen else self.p.danger, 7)
        s.node(f"{w.id}.{day}", "day", str(day), box, on_tap=partial(w.on_day, day), checked=day == w.chosen)

    def minibar(self, s: Scene, w: MiniBar, y: int, left: int, right: int) -> int:
        s.fill((0, y, W, y + C), self.p.soft)
        column = COLUMNS
        for button in reversed(w.buttons):
            column -= 1
            self.icon_button(s, button, cells(column, y), self.p.on_soft)
        s.text_in((EDGE, y, column * C - 6, y + C), w.title, SMALL, BOLD, self.p.on_soft)
        s.node(w.id, "bar", w.title, cells(0, y, column), on_tap=w.on_tap)
        return y + C
