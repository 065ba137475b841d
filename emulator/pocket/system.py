"""The pages that belong to the phone: the launcher and the recent apps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from emulator.pocket.app import App
from emulator.pocket.state import PhoneState
from emulator.pocket.widgets import AppIcon, Empty, Glyph, Group, Launcher, Page, Row

Resume = Callable[[str], None]


def launcher_page(state: PhoneState, apps: Mapping[str, App[Any]], resume: Resume) -> Page:
    """The home screen: the icons in the order of `state.icons`; an empty name leaves a place empty."""
    icons = []
    for name in state.icons:
        app = apps.get(name)
        icons.append(AppIcon(f"app.{name}", app.title, app.icon, app.accent, partial(resume, name)) if app else None)
    now = state.device.time
    return Page("Home", [Launcher(icons, f"{now:%H:%M}", f"{now:%A} {now.day} {now:%B}")])


def recents_page(state: PhoneState, apps: Mapping[str, App[Any]], resume: Resume) -> Page:
    """The apps that were opened, the latest first."""
    rows = [
        Row(f"recent.{name}", apps[name].title, leading=Glyph(apps[name].icon, apps[name].accent), on_tap=partial(resume, name))
        for name in state.nav.recent
        if name in apps
    ]  # fmt: skip
    return Page("Recent apps", [Group(rows)] if rows else [Empty("nav_recents", "No recent apps")])
