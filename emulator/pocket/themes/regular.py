"""The regular display: 540 x 1200, cards on a quiet background. Bars and overlays; widgets are in `regular_blocks`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from emulator.pocket import fonts, keyboard
from emulator.pocket.canvas import IntBox
from emulator.pocket.fonts import BOLD, MEDIUM, REGULAR
from emulator.pocket.keyboard import SoftKey
from emulator.pocket.palette import BLACK, WHITE, Colour, hex_colour, mix
from emulator.pocket.scene import Scene
from emulator.pocket.themes.base import Frame
from emulator.pocket.themes.regular_blocks import H, RegularBlocks, W
from emulator.pocket.widgets import AppIcon, Dialog, Fab, IconButton, Launcher, MenuItem, Page, Tabs

STATUS, TITLE, NAV = 44, 88, 60
KEY_GAP, KEY_HEIGHT = 8, 66


class RegularTheme(RegularBlocks):
    """A phone of today."""

    # ---- bars
    def status_bar(self, s: Scene, ink: Colour) -> None:
        """The time at the left; silence, networks and battery at the right."""
        device = self.view.device
        clock = f"{device.time:%H:%M}"
        s.text_in((26, 0, 200, STATUS), clock, 20, BOLD, ink)
        s.node("status.time", "text", clock, (26, 0, 100, STATUS))
        right = W - 26
        s.text_in((right - 60, 0, right, STATUS), f"{device.battery}%", 18, MEDIUM, ink, "right")
        right -= fonts.width(f"{device.battery}%", 18, MEDIUM) + 8
        body = (right - 34, 14, right - 4, 30)
        s.fill(body, mix(ink, self.p.background, 60), 5)
        s.fill((body[0], 14, body[0] + 30 * device.battery // 100, 30), ink, 5)
        s.fill((right - 2, 19, right, 25), ink, 1)
        right -= 44
        icons = ["plane"] if device.airplane else []
        icons += ["wifi"] if device.wifi else []
        icons += ["bluetooth"] if device.bluetooth else []
        icons += ["mute"] if device.silent else []
        for icon in icons:
            s.glyph(right - 22, 11, icon, 22, ink)
            s.node(f"status.{icon}", "image", icon, (right - 22, 11, right, 33))
            right -= 30
        if not device.airplane:
            for bar in range(4):
                s.fill((right - 22 + bar * 6, 27 - bar * 4, right - 18 + bar * 6, 31), ink, 1)

    def top_bar(self, s: Scene, page: Page) -> int:
        view, bottom = self.view, STATUS + TITLE
        height = bottom + (76 if page.tabs else 0)
        s.fill((0, 0, W, height), self.p.background)
        self.status_bar(s, self.p.ink)
        left = 28
        if view.can_back:
            s.glyph_in((12, STATUS, 84, bottom), "back", 32, self.p.ink)
            s.node("page.back", "button", "Back", (8, STATUS + 8, 80, bottom - 8), on_tap=view.chrome.back)
            left = 84
        right = W - 12
        actions = list(page.actions)
        if page.menu:
            actions.append(IconButton("page.more", "more", "More", view.chrome.menu))
        for action in reversed(actions):
            self.icon_button(s, action, (right - 72, STATUS + 8, right, bottom - 8), 30)
            right -= 72
        if page.leading is not None:
            self.leading(s, page.leading, left, STATUS + 18, 52)
            left += 66
        box = (left, STATUS, right - 4, bottom)
        size = 27 if view.can_back else 36
        if page.subtitle:
            s.text_in((left, STATUS + 12, right - 4, STATUS + 48), page.title, 25, BOLD, self.p.ink)
            s.text_in((left, STATUS + 46, right - 4, STATUS + 78), page.subtitle, 18, REGULAR, self.p.muted)
            s.node("page.subtitle", "text", page.subtitle, (left, STATUS + 46, right - 4, STATUS + 78))
        else:
            s.text_in(box, page.title, size, BOLD, self.p.ink)
        s.node("page.title", "text", page.title, box)
        if page.tabs:
            self._tabs(s, page.tabs, bottom)
        return height

    def _tabs(self, s: Scene, tabs: Tabs, y: int) -> None:
        s.fill((20, y, W - 20, y + 60), mix(self.p.background, self.p.ink, 7), 22)
        each = (W - 48) // len(tabs.options)
        for i, (key, label) in enumerate(tabs.options.items()):
            box = (24 + i * each, y + 4, 24 + (i + 1) * each, y + 56)
            chosen = key == tabs.chosen
            if chosen:
                s.fill(box, self.p.surface, 18)
            weight, ink = (BOLD, self.p.accent) if chosen else (MEDIUM, self.p.muted)
            s.text_in((box[0] + 8, box[1], box[2] - 8, box[3]), label, 21, weight, ink, "center")
            s.node(f"{tabs.id}.{key}", "tab", label, box, on_tap=partial(tabs.on_pick, key), checked=chosen)

    def nav_bar(self, s: Scene, over_panel: bool) -> int:
        top, chrome = H - NAV, self.view.chrome
        launcher = any(isinstance(block, Launcher) for block in self.view.page.blocks)
        ink = WHITE if launcher else self.p.muted
        if over_panel:
            s.fill((0, top, W, H), self.p.raised)
        elif self.view.overlay is None and not launcher:
            s.fill((0, top, W, H), self._floor())
        elif self.view.overlay is not None:
            ink = WHITE if not self.p.dark else self.p.muted
        entries: tuple[tuple[str, str, str, Callable[[], None]], ...] = (
            ("nav.back", "nav_back", "Back", chrome.back),
            ("nav.home", "nav_home", "Home", chrome.home),
            ("nav.recents", "nav_recents", "Recent apps", chrome.recents),
        )
        for i, (id, icon, label, tap) in enumerate(entries):
            box = (i * W // 3 + 30, top, (i + 1) * W // 3 - 30, H)
            s.glyph_in(box, icon, 26, ink)
            s.node(id, "button", label, box, on_tap=tap)
        return top

    def _floor(self) -> Colour:
        """What the system buttons stand on: the keyboard's colour when it is open."""
        return mix(self.p.background, self.p.ink, 9) if self._focused_kind() else self.p.background

    def toast(self, s: Scene, text: str, top: int) -> None:
        box = (20, top + 6, W - 20, top + self.toast_height - 14)
        ground = mix(self.p.ink, self.p.accent, 12) if not self.p.dark else self.p.raised
        s.fill(box, ground, 20)
        s.text_in((44, box[1], W - 44, box[3]), text, 21, MEDIUM, WHITE)
        s.node("toast", "text", text, box)

    def fab(self, s: Scene, fab: Fab, bottom: int) -> int:
        wide = 76 + fonts.width(fab.label, 22, BOLD) + 28
        box = (W - 24 - wide, bottom - 24 - 76, W - 24, bottom - 24)
        s.fill((box[0], box[1] + 4, box[2], box[3] + 4), mix(self.p.background, BLACK, 18), 26)
        s.fill(box, self.p.accent, 26)
        s.glyph(box[0] + 24, box[1] + 22, fab.icon, 32, self.p.on_accent)
        s.text_in((box[0] + 68, box[1], box[2] - 20, box[3]), fab.label, 22, BOLD, self.p.on_accent)
        s.node(fab.id, "button", fab.label, box, on_tap=fab.on_tap)
        return 104

    # ---- keyboard
    def keyboard(self, s: Scene, kind: str) -> int:
        rows = keyboard.regular("number" if kind == "number" else self.view.layer)
        top = H - NAV - len(rows) * (KEY_HEIGHT + KEY_GAP) - 12
        s.fill((0, top, W, H - NAV), mix(self.p.background, self.p.ink, 9))
        y = top + 12
        for row in rows:
            spans = sum(key.span for key in row)
            unit = (W - 10) / 20 if spans <= 20 else (W - 10) / spans
            if spans == 12:
                unit = (W - 10) / 12
            x = (W - unit * spans) / 2
            for key in row:
                box = (round(x), y, round(x + unit * key.span), y + KEY_HEIGHT + KEY_GAP)
                self._soft_key(s, key, box)
                x += unit * key.span
            y += KEY_HEIGHT + KEY_GAP
        return top

    def _soft_key(self, s: Scene, key: SoftKey, box: IntBox) -> None:
        face = (box[0] + 3, box[1], box[2] - 3, box[3] - KEY_GAP)
        plain = self.p.surface if not self.p.dark else self.p.raised
        ground = mix(plain, self.p.ink, 12) if key.special else plain
        ink = self.p.ink
        if key.code == "enter":
            ground, ink = self.p.accent, self.p.on_accent
        s.fill((face[0], face[1] + 2, face[2], face[3] + 2), mix(self.p.background, BLACK, 22), 12)
        s.fill(face, ground, 12)
        if key.icon:
            s.glyph_in(face, key.icon, 26, ink)
        else:
            s.text_in(face, key.label, 19 if key.special else 26, MEDIUM, ink, "center")
        tap = partial(self.view.chrome.key, key)
        long = self.view.chrome.clear if key.code == "backspace" else None
        s.node(key.node_id, "key", key.label, box, on_tap=tap, on_long=long)

    # ---- launcher
    def home(self, s: Scene, launcher: Launcher) -> None:
        sky = hex_colour("#31437E") if not self.p.dark else hex_colour("#171C33")
        s.fill((0, 0, W, H), sky)
        s.fill((-190, 640, 470, 1300), mix(sky, WHITE, 7), 330)
        s.fill((210, 820, 790, 1400), mix(sky, WHITE, 14), 290)
        s.fill((330, 130, 450, 250), mix(sky, hex_colour("#FFD37A"), 62), 60)
        s.fill((300, 108, 420, 228), sky, 60)
        self.status_bar(s, WHITE)
        s.text(40, 168, launcher.time, 84, MEDIUM, WHITE)
        s.node("clock", "text", launcher.time, (40, 100, 290, 176))
        s.text(44, 216, launcher.date, 25, MEDIUM, mix(WHITE, sky, 15))
        s.node("date", "text", launcher.date, (40, 190, 400, 226))
        for i, icon in enumerate(launcher.icons):
            if icon is not None:
                x, y = 20 + i % 4 * 125, 300 + i // 4 * 168
                self._app_icon(s, icon, (x, y, x + 125, y + 156))

    @staticmethod
    def _app_icon(s: Scene, icon: AppIcon, box: IntBox) -> None:
        hue = hex_colour(icon.hue)
        face = (box[0] + 16, box[1] + 8, box[2] - 17, box[1] + 100)
        s.fill(face, hue, 30)
        s.glyph_in(face, icon.icon, 54, WHITE)
        s.text_in((box[0], box[1] + 106, box[2], box[1] + 140), icon.title, 20, MEDIUM, WHITE, "center")
        s.node(icon.id, "icon", icon.title, box, on_tap=icon.on_tap)

    # ---- overlays
    def dialog(self, s: Scene, dialog: Dialog, frame: Frame, bottom: int) -> IntBox:
        left, right = 36, W - 36
        inner = (left + 30, right - 30)
        content = Scene()
        lines = fonts.wrap(dialog.text, 22, REGULAR, inner[1] - inner[0]) if dialog.text else ()
        y = 0
        for line in lines:
            content.text(inner[0], y + 24, line, 22, REGULAR, self.p.muted)
            y += 32
        if lines:
            content.node("dialog.text", "text", dialog.text, (inner[0], 0, inner[1], y))
            y += 14
        y = self.blocks(content, dialog.blocks, y, (inner[0] - 6, inner[1] + 6))
        head, foot = 84, 104 if dialog.buttons else 24
        height = min(y + head + foot, bottom - STATUS - 24)
        top = (STATUS + bottom - height) // 2
        panel = (left, top, right, top + height)
        s.fill(panel, self.p.raised, 34)
        self.scrolled(s, content, y, (top + head, top + height - foot), frame)
        s.fill((left, top, right, top + head), self.p.raised, 34, (True, True, False, False))
        s.fill((left, top + height - foot, right, top + height), self.p.raised, 34, (False, False, True, True))
        s.text_in((inner[0], top + 24, inner[1], top + head - 8), dialog.title, 28, BOLD, self.p.ink)
        s.node("dialog.title", "text", dialog.title, (inner[0], top + 24, inner[1], top + head - 8))
        x = inner[1]
        for button in reversed(dialog.buttons):
            wide = max(104, fonts.width(button.label, 22, BOLD) + 48)
            box = (x - wide, top + height - 88, x, top + height - 24)
            self.button_face(s, button, box, self.closing(button.on_tap))
            x -= wide + 10
        return panel

    def sheet(self, s: Scene, title: str, items: Sequence[MenuItem], frame: Frame, bottom: int) -> IntBox:
        content, row = Scene(), 80
        for i, item in enumerate(items):
            self._menu_row(content, item, (16, i * row, W - 16, (i + 1) * row))
        height = min(len(items) * row + 96, bottom - STATUS - 40)
        top = bottom - height
        s.fill((0, top, W, H), self.p.raised, 34, (True, True, False, False))
        self.scrolled(s, content, len(items) * row, (top + 88, bottom), frame)
        s.fill((0, top, W, top + 88), self.p.raised, 34, (True, True, False, False))
        s.fill((W // 2 - 28, top + 14, W // 2 + 28, top + 20), self.p.faint, 3)
        s.text_in((36, top + 32, W - 36, top + 80), title, 24, BOLD, self.p.ink)
        s.node("sheet.title", "text", title, (36, top + 32, W - 36, top + 80))
        return (0, top, W, bottom)

    def menu(self, s: Scene, items: Sequence[MenuItem], frame: Frame) -> IntBox:
        row = 72
        wide = max(fonts.width(item.label, 23, MEDIUM) + (62 if item.icon else 0) for item in items) + 72
        left, top = W - 20 - max(250, wide), STATUS + 20
        panel = (left, top, W - 20, top + 20 + row * len(items))
        s.fill(panel, self.p.raised, 26)
        for i, item in enumerate(items):
            self._menu_row(s, item, (left, top + 10 + i * row, W - 20, top + 10 + (i + 1) * row))
        return panel

    def _menu_row(self, s: Scene, item: MenuItem, box: IntBox) -> None:
        ink = self.p.danger if item.danger else self.p.ink
        x = box[0] + 24
        if item.icon:
            s.glyph(x, (box[1] + box[3] - 30) // 2, item.icon, 30, ink if item.danger else self.p.accent)
            x += 54
        s.text_in((x, box[1], box[2] - 20, box[3]), item.label, 23, MEDIUM, ink)
        s.node(item.id, "menuitem", item.label, box, on_tap=self.closing(item.on_tap))
