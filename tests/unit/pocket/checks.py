"""What must hold on every screen of every app, and a wanderer that visits many of them."""

from __future__ import annotations

import random
from itertools import combinations

from emulator.pocket.phone import Phone
from emulator.pocket.scene import UiNode
from emulator.pocket.themes.large_rows import C
from sopbench.actions import Click, LongPress, Open, Swipe, Type, Wait
from sopbench.geometry import Point

TEXTS = ("Mo", "555", "Call the baker", "a", "\n")


def check_screen(phone: Phone) -> None:
    """Boxes lie inside the display; targets don't overlap and are whole cells on the large one."""
    nodes = phone.ui()
    for node in nodes:
        assert 0 <= node.box.x1 < node.box.x2 <= phone.size.width, (phone.foreground, node)
        assert 0 <= node.box.y1 < node.box.y2 <= phone.size.height, (phone.foreground, node)
        if phone.display == "large" and (node.clickable or node.long_clickable):
            assert all(value % C == 0 for value in node.box.as_list()), (phone.foreground, node)
    for a, b in combinations([node for node in nodes if node.clickable], 2):
        apart = a.box.x2 <= b.box.x1 or b.box.x2 <= a.box.x1 or a.box.y2 <= b.box.y1 or b.box.y2 <= a.box.y1
        assert apart, (phone.foreground, a, b)


def wander(phone: Phone, app: str, seed: int, steps: int) -> set[tuple[str, str, str]]:
    """Touch, hold, swipe, type and wait at random, mostly in `app`; checks each screen. Returns the pages and overlays seen."""
    rng = random.Random(seed)
    seen = set()
    for _ in range(steps):
        if phone.foreground[0] in ("launcher", "recents"):
            phone.act(Open(app))
        check_screen(phone)
        where, page = phone.foreground
        top = phone.state.nav.stacks[where][-1]
        seen.add((where, page, top.overlay.name if top.overlay else ""))
        _act(phone, rng)
    return seen


def _act(phone: Phone, rng: random.Random) -> None:
    nodes = [node for node in phone.ui() if (node.clickable or node.long_clickable) and not _elsewhere(node)]
    chance = rng.random()
    if chance < 0.1 or not nodes:
        start, sideways = Point(0.5, 0.4), rng.random() < 0.3
        phone.act(Swipe(start, Point(0.1, 0.4) if sideways else Point(0.5, rng.choice((0.1, 0.7)))))
    elif phone.state.nav.focus is not None and chance < 0.4:
        phone.act(Type(rng.choice(TEXTS)))
    elif chance < 0.15:
        phone.act(Wait(rng.choice((1, 40))))
    else:
        node = rng.choice(nodes)
        point = Point(node.centre.x / phone.size.width, node.centre.y / phone.size.height)
        phone.act(LongPress(point) if rng.random() < 0.25 else Click(point))


def _elsewhere(node: UiNode) -> bool:
    """Keys of the keyboard are too many, the system's own buttons lead out too often."""
    return node.id.startswith("key.") or node.id in ("nav.home", "nav.recents")
