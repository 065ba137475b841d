"""A laid-out screen: a display list to paint and the nodes of the UI tree, before any pixel is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from emulator.pocket import fonts
from emulator.pocket.canvas import ALL, Canvas, IntBox
from emulator.pocket.palette import Colour
from emulator.pocket.widgets import Field
from sopbench.geometry import Box, Point

MIN_VISIBLE = 24
"""Pixels of height that must be left of a node cut by an edge; thinner slivers are not offered as targets."""

Handler = Callable[[], None]


@dataclass(frozen=True, slots=True)
class UiNode:
    """One element of the screen as an accessibility service would tell it.

    `box` is in pixels of the display, cut to what is visible. `checked` is None where checking means nothing.
    """

    id: str
    role: str
    text: str
    box: Box
    clickable: bool = False
    long_clickable: bool = False
    scrollable: bool = False
    editable: bool = False
    checked: bool | None = None
    focused: bool = False
    parent: str | None = None

    def contains(self, x: float, y: float) -> bool:
        """Whether the pixel position belongs to the node; right and bottom edges don't, so neighbours share no point."""
        return self.box.x1 <= x < self.box.x2 and self.box.y1 <= y < self.box.y2

    @property
    def centre(self) -> Point:
        """The middle of the visible part, in pixels of the display."""
        return self.box.centre


@dataclass(slots=True)
class Target:
    """A node while it is laid out: integer box, and what it does when touched."""

    id: str
    role: str
    text: str
    box: IntBox
    on_tap: Handler | None = None
    on_long: Handler | None = None
    scrollable: bool = False
    editable: bool = False
    checked: bool | None = None
    focused: bool = False
    parent: str | None = None

    def public(self) -> UiNode:
        return UiNode(
            id=self.id,
            role=self.role,
            text=self.text,
            box=Box(*self.box),
            clickable=self.on_tap is not None,
            long_clickable=self.on_long is not None,
            scrollable=self.scrollable,
            editable=self.editable,
            checked=self.checked,
            focused=self.focused,
            parent=self.parent,
        )


@dataclass(frozen=True, slots=True)
class Op:
    """One drawing step: a method of `Canvas`, its arguments after the position, and the rows it touches."""

    method: str
    x: int
    y: int
    args: tuple[Any, ...]
    top: int
    bottom: int


@dataclass(slots=True)
class Scene:
    """Collects what themes lay out. Coordinates are pixels; a scene may be laid out from 0 and placed later."""

    ops: list[Op] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    fields: dict[str, Field] = field(default_factory=dict)
    """Text fields laid out, visible or not, by id: the phone types into them."""

    # ---- drawing
    def fill(self, box: IntBox, colour: Colour, radius: int = 0, corners: tuple[bool, ...] = ALL) -> None:
        self.ops.append(self._fill(box, colour, radius, corners))

    def fill_under(self, mark: int, box: IntBox, colour: Colour, radius: int = 0) -> None:
        """A rectangle beneath everything drawn since `mark = len(scene.ops)`."""
        self.ops.insert(mark, self._fill(box, colour, radius, ALL))

    @staticmethod
    def _fill(box: IntBox, colour: Colour, radius: int, corners: tuple[bool, ...]) -> Op:
        size = (box[2] - box[0], box[3] - box[1])
        return Op("fill", box[0], box[1], (size, colour, radius, corners), box[1], box[3])

    def frame(self, box: IntBox, line: Colour, inside: Colour, radius: int, width: int) -> None:
        """A filled box with an outline drawn inside its edge."""
        x1, y1, x2, y2 = box
        self.fill(box, line, radius)
        self.fill((x1 + width, y1 + width, x2 - width, y2 - width), inside, max(0, radius - width))

    def text(self, x: int, baseline: int, text: str, size: int, weight: int, colour: Colour) -> None:
        self.ops.append(Op("text", x, baseline, (text, size, weight, colour), baseline - size, baseline + size // 2))

    def text_in(self, box: IntBox, text: str, size: int, weight: int, colour: Colour, align: str = "left") -> None:
        """One line, centred on the height of `box` by its capitals, cut to the box's width."""
        line = fonts.fit(text, size, weight, box[2] - box[0])
        slack = box[2] - box[0] - fonts.width(line, size, weight)
        x = box[0] + {"left": 0, "center": slack // 2, "right": slack}[align]
        self.text(x, (box[1] + box[3] + fonts.cap_height(size)) // 2, line, size, weight, colour)

    def glyph(self, x: int, y: int, name: str, size: int, colour: Colour) -> None:
        self.ops.append(Op("glyph", x, y, (name, size, colour), y, y + size))

    def glyph_in(self, box: IntBox, name: str, size: int, colour: Colour) -> None:
        """The icon in the middle of `box`."""
        self.glyph((box[0] + box[2] - size) // 2, (box[1] + box[3] - size) // 2, name, size, colour)

    def dim(self, percent: int) -> None:
        self.ops.append(Op("dim", 0, 0, (percent,), -(10**9), 10**9))

    # ---- nodes
    def node(self, id: str, role: str, text: str, box: IntBox, **facts: Any) -> None:
        """Add a UI node; `facts` are the other fields of `Target`."""
        self.targets.append(Target(id, role, text, box, **facts))

    def width_limit(self, area: IntBox) -> None:
        """Cut clickable nodes that reach under the floating box `area` to what lies left of it; drop slivers."""
        kept: list[Target] = []
        for target in self.targets:
            x1, y1, x2, y2 = target.box
            if target.on_tap and x2 > area[0] and x1 < area[2] and y2 > area[1] and y1 < area[3]:
                if area[0] - x1 < 48:
                    continue
                target.box = (x1, y1, area[0], y2)
            kept.append(target)
        self.targets = kept

    def place(self, other: Scene, dy: int, top: int, bottom: int) -> None:
        """Take over `other`, moved down by `dy`; what lies outside the rows top..bottom is left out, nodes are cut to them.

        Drawing is not cut at the edges: paint what borders the rows afterwards.
        """
        for op in other.ops:
            if op.bottom + dy > top and op.top + dy < bottom:
                self.ops.append(replace(op, y=op.y + dy, top=op.top + dy, bottom=op.bottom + dy))
        self.fields.update(other.fields)
        for target in other.targets:
            x1, y1, x2, y2 = target.box
            box = (x1, max(y1 + dy, top), x2, min(y2 + dy, bottom))
            if box[3] - box[1] >= min(MIN_VISIBLE, y2 - y1):
                self.targets.append(replace(target, box=box))

    def paint(self, canvas: Canvas) -> None:
        """Draw everything, in order."""
        for op in self.ops:
            if op.method == "fill":
                (width, height), colour, radius, corners = op.args
                canvas.fill((op.x, op.y, op.x + width, op.y + height), colour, radius, corners)
            elif op.method == "text":
                canvas.text(op.x, op.y, *op.args)
            elif op.method == "glyph":
                canvas.glyph(op.x, op.y, *op.args)
            else:
                canvas.dim(*op.args)
