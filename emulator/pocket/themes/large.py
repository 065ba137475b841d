"""The large display: 504 x 1092, six by thirteen cells of 84 pixels, big bold type. Bars and overlays; widgets are in `large_blocks`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from emulator.pocket import fonts, keyboard
from emulator.pocket.canvas import IntBox
from emulator.pocket.fonts import BOLD
from emulator.pocket.palette import WHITE, hex_colour, mix
from emulator.pocket.scene import Scene
from emulator.pocket.themes.base import Frame
from emulator.pocket.themes.large_blocks import LargeBlocks
from emulator.pocket.themes.large_rows import BIG, COLUMNS, EDGE, ROWS, SMALL, C, H, W, cells
from emulator.pocket.widgets import Dialog, Fab, IconButton, Launcher, MenuItem, Page, Tabs

BAR = hex_colour("#20222C")


class LargeTheme(LargeBlocks):
    """An accessibility setting that people know, and what a small model can read."""

    # ---- bars
    def status_bar(self, s: Scene) -> None:
        """The time at the left, what is switched on at the right; a toast takes its place for a moment."""
        device = self.view.device
        s.fill((0, 0, W, C), BAR)
        clock = f"{device.time:%H:%M}"
        s.text_in((EDGE, 0, 3 * C, C), clock, SMALL, BOLD, WHITE)
        s.node("status.time", "text", clock, cells(0, 0, 2))
        x = W - EDGE
        s.fill((x - 62, 26, x - 8, 58), mix(BAR, WHITE, 35), 8)
        s.fill((x - 62, 26, x - 62 + 54 * device.battery // 100, 58), WHITE, 8)
        s.fill((x - 5, 35, x, 49), WHITE, 2)
        x -= 76
        icons = ["plane"] if device.airplane else []
        icons += ["wifi"] if device.wifi else []
        icons += ["bluetooth"] if device.bluetooth else []
        icons += ["mute"] if device.silent else []
        for icon in icons:
            s.glyph(x - 42, 21, icon, 42, WHITE)
            s.node(f"status.{icon}", "image", icon, (x - 42, 21, x, 63))
            x -= 52

    def top_bar(self, s: Scene, page: Page) -> int:
        view = self.view
        self.status_bar(s)
        ground = self.p.accent
        s.fill((0, C, W, 2 * C), ground)
        left = EDGE
        if view.can_back:
            s.glyph_in(cells(0, C), "back", 50, self.p.on_accent)
            s.node("page.back", "button", "Back", cells(0, C), on_tap=view.chrome.back)
            left = C + 4
        column = COLUMNS
        actions = list(page.actions)
        if page.menu:
            actions.append(IconButton("page.more", "more", "More", view.chrome.menu))
        for action in reversed(actions):
            column -= 1
            plain = IconButton(action.id, action.icon, action.label, action.on_tap, action.active, badge=action.badge)
            self.icon_button(s, plain, cells(column, C), self.p.on_accent)
        box = (left, C, column * C - 8, 2 * C)
        s.text_in(box, page.title, BIG, BOLD, self.p.on_accent)
        s.node("page.title", "text", page.title, (C if view.can_back else 0, C, column * C, 2 * C))
        if page.tabs:
            self._tabs(s, page.tabs)
            return 3 * C
        return 2 * C

    def _tabs(self, s: Scene, tabs: Tabs) -> None:
        across = COLUMNS // len(tabs.options)
        s.fill((0, 2 * C, W, 3 * C), self.p.soft)
        for i, (key, label) in enumerate(tabs.options.items()):
            box, chosen = cells(i * across, 2 * C, across), key == tabs.chosen
            if chosen:
                s.fill((box[0], box[3] - 12, box[2], box[3]), self.p.accent)
            ink = self.p.ink if chosen else self.p.muted
            s.text_in((box[0] + 6, box[1], box[2] - 6, box[3]), label, SMALL, BOLD, ink, "center")
            s.node(f"{tabs.id}.{key}", "tab", label, box, on_tap=partial(tabs.on_pick, key), checked=chosen)

    def nav_bar(self, s: Scene, over_panel: bool) -> int:
        top, chrome = (ROWS - 1) * C, self.view.chrome
        s.fill((0, top, W, H), BAR)
        entries = (
            ("nav.back", "nav_back", "Back", chrome.back),
            ("nav.home", "nav_home", "Home", chrome.home),
            ("nav.recents", "nav_recents", "Recent apps", chrome.recents),
        )
        for i, (id, icon, label, tap) in enumerate(entries):
            box = cells(2 * i, top, 2)
            s.glyph_in(box, icon, 52, WHITE)
            s.node(id, "button", label, box, on_tap=tap)
        return top

    def toast(self, s: Scene, text: str, top: int) -> None:
        s.fill((0, 0, W, C), self.p.good)
        s.text_in((EDGE, 0, W - EDGE, C), text, SMALL, BOLD, self.p.on_accent)
        s.targets = [target for target in s.targets if not target.id.startswith("status.")]
        s.node("toast", "text", text, (0, 0, W, C))

    def fab(self, s: Scene, fab: Fab, bottom: int) -> int:
        box = cells(0, bottom - C, COLUMNS)
        self.key_face(s, box, self.p.accent)
        wide = fonts.width(fab.label, BIG, BOLD) + 60
        x = max(EDGE, (W - wide) // 2)
        s.glyph(x, box[1] + 19, fab.icon, 46, self.p.on_accent)
        s.text_in((x + 60, box[1], W - EDGE, box[3]), fab.label, BIG, BOLD, self.p.on_accent)
        s.node(fab.id, "button", fab.label, box, on_tap=fab.on_tap)
        return 0

    # ---- keyboard
    def keyboard(self, s: Scene, kind: str) -> int:
        rows = keyboard.large("number" if kind == "number" else self.view.layer)
        top = (ROWS - 1 - len(rows)) * C
        s.fill((0, top, W, (ROWS - 1) * C), mix(self.p.background, self.p.ink, 22))
        for i, row in enumerate(rows):
            column = 0
            for key in row:
                across = key.span // 2
                box = cells(column, top + i * C, across)
                ground, ink = self.p.surface, self.p.ink
                if key.code == "enter":
                    ground, ink = self.p.accent, self.p.on_accent
                s.fill((box[0] + 4, box[1] + 4, box[2] - 4, box[3] - 4), ground, 16)
                if key.icon:
                    s.glyph_in(box, key.icon, 46, ink)
                else:
                    s.text_in(box, key.label, BIG, BOLD, ink, "center")
                long = self.view.chrome.clear if key.code == "backspace" else None
                tap = partial(self.view.chrome.key, key)
                s.node(key.node_id, "key", key.label, box, on_tap=tap, on_long=long)
                column += across
        return top

    # ---- launcher
    def home(self, s: Scene, launcher: Launcher) -> None:
        ground = hex_colour("#DCE4F5") if not self.p.dark else hex_colour("#1B2036")
        s.fill((0, 0, W, H), ground)
        self.status_bar(s)
        ink = self.p.ink
        s.text_in((EDGE, C, W - EDGE, 2 * C), launcher.date, SMALL, BOLD, ink, "center")
        s.node("date", "text", launcher.date, cells(0, C, COLUMNS))
        for i, icon in enumerate(launcher.icons):
            if icon is None:
                continue
            box = cells(i % 3 * 2, (2 + i // 3 * 2) * C, 2, 2)
            face = (box[0] + 32, box[1] + 8, box[2] - 32, box[1] + 112)
            s.fill(face, hex_colour(icon.hue), 30)
            s.glyph_in(face, icon.icon, 66, WHITE)
            size = next((n for n in (36, 34, 32) if fonts.width(icon.title, n, BOLD) <= 2 * C - 4), 30)
            s.text_in((box[0], box[1] + 112, box[2], box[3]), icon.title, size, BOLD, ink, "center")
            s.node(icon.id, "icon", icon.title, box, on_tap=icon.on_tap)

    # ---- overlays
    def dialog(self, s: Scene, dialog: Dialog, frame: Frame, bottom: int) -> IntBox:
        content = Scene()
        y = 0
        for line in fonts.wrap(dialog.text, SMALL, BOLD, W - 2 * EDGE - 20) if dialog.text else ():
            content.text_in((EDGE + 10, y, W - EDGE - 10, y + C), line, SMALL, BOLD, self.p.muted)
            y += C
        if y:
            content.node("dialog.text", "text", dialog.text, (0, 0, W, y))
        y = self.blocks(content, dialog.blocks, y)
        feet = 1 if dialog.buttons else 0
        room = bottom // C - 1
        down = min(y // C + 1 + feet, room)
        top = (1 + (room - down) // 2) * C
        panel = (0, top, W, top + down * C)
        s.fill(panel, self.p.raised, 24)
        self.scrolled(s, content, y, (top + C, panel[3] - feet * C), frame)
        s.fill((0, top, W, top + C), self.p.raised, 24, (True, True, False, False))
        s.text_in((EDGE + 10, top, W - EDGE, top + C), dialog.title, BIG, BOLD, self.p.ink)
        s.node("dialog.title", "text", dialog.title, cells(0, top, COLUMNS))
        if feet:
            s.fill((0, panel[3] - C, W, panel[3]), self.p.raised, 24, (False, False, True, True))
            across = COLUMNS // len(dialog.buttons)
            for i, button in enumerate(dialog.buttons):
                box = cells(i * across, panel[3] - C, across)
                self.button_face(s, button, box, self.closing(button.on_tap))
        return panel

    def sheet(self, s: Scene, title: str, items: Sequence[MenuItem], frame: Frame, bottom: int) -> IntBox:
        content = Scene()
        for i, item in enumerate(items):
            self._menu_row(content, item, i * C)
        down = min(len(items), bottom // C - 2)
        top = bottom - (down + 1) * C
        s.fill((0, top, W, bottom), self.p.raised, 24, (True, True, False, False))
        self.scrolled(s, content, len(items) * C, (top + C, bottom), frame)
        s.fill((0, top, W, top + C), self.p.raised, 24, (True, True, False, False))
        s.text_in((EDGE, top, W - EDGE, top + C), title, BIG, BOLD, self.p.accent)
        s.node("sheet.title", "text", title, cells(0, top, COLUMNS))
        return (0, top, W, bottom)

    def menu(self, s: Scene, items: Sequence[MenuItem], frame: Frame) -> IntBox:
        panel = (0, 2 * C, W, (2 + len(items)) * C)
        s.fill(panel, self.p.raised, 24, (False, False, True, True))
        for i, item in enumerate(items):
            self._menu_row(s, item, (2 + i) * C)
        return panel

    def _menu_row(self, s: Scene, item: MenuItem, y: int) -> None:
        ink = self.p.danger if item.danger else self.p.ink
        x = EDGE
        if item.icon:
            s.glyph(EDGE, y + 20, item.icon, 44, ink if item.danger else self.p.accent)
            x = C + 4
        s.fill((EDGE, y + C - 2, W - EDGE, y + C), self.p.line)
        s.text_in((x, y, W - EDGE, y + C), item.label, BIG, BOLD, ink)
        s.node(item.id, "menuitem", item.label, cells(0, y, COLUMNS), on_tap=self.closing(item.on_tap))
