"""A scatter of one metric against another as SVG: a picture that needs no library to be seen."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from sopbench.linking.link import Link, Told

WIDTH, HEIGHT = 420, 400
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 44, 56
MAX_LABEL = 28


@dataclass(frozen=True, slots=True)
class Point:
    """Percent on both axes."""

    label: str
    x: float
    y: float


def scatters(link: Link) -> str:
    """One panel a pair of metrics that at least one model has, side by side."""
    by_label = {m.label: m for m in link.models}
    panels = []
    for index, told in enumerate(link.told):
        points = [Point(n, by_label[n].values[told.by], by_label[n].values[told.what]) for n in told.models]
        panels.append(f'<g transform="translate({index % 3 * WIDTH},{index // 3 * HEIGHT})">{panel(told, points)}</g>')
    columns, rows = min(3, max(1, len(panels))), max(1, -(-len(panels) // 3))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns * WIDTH} {rows * HEIGHT}" font-family="system-ui, sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(panels)}</svg>\n'
    )


def panel(told: Told, points: Sequence[Point]) -> str:
    """Axes from 0 to 100 percent, a dot and a name a model, and the line where there is one."""
    found = told.fit
    parts = [_text(LEFT, 18, _title(told), "start", "#111", 13), *_axes(told)]
    if found is not None:
        ends = [(x, found.slope * x + found.intercept) for x in (min(p.x for p in points), max(p.x for p in points))]
        (x1, y1), (x2, y2) = ((_x(x), _y(y)) for x, y in ends)
        parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#777" stroke-dasharray="5 4"/>'
        )
    for point in points:
        parts.append(
            f'<circle cx="{_x(point.x):.1f}" cy="{_y(point.y):.1f}" r="4.5" fill="#1f5fbf"><title>{_safe(point.label)}: {point.x:g}, {point.y:g}</title></circle>'
        )
        side = "end" if point.x > 60 else "start"
        parts.append(
            _text(
                _x(point.x) + (8 if side == "start" else -8), _y(point.y) - 6, point.label[:MAX_LABEL], side, "#333", 10
            )
        )
    return "".join(parts)


def _title(told: Told) -> str:
    if told.fit is None:
        return f"n = {len(told.models)}: no fit"
    spread = told.fit.r2_interval
    between = f" ({spread.low:.2f} – {spread.high:.2f})" if spread else ""
    return f"R² {told.fit.r2:.3f}{between}, n = {told.fit.n}"


def _axes(told: Told) -> list[str]:
    parts = []
    for value in range(0, 101, 20):
        parts.append(
            f'<line x1="{_x(value):.1f}" y1="{_y(0):.1f}" x2="{_x(value):.1f}" y2="{_y(100):.1f}" stroke="#e3e3e3"/>'
        )
        parts.append(
            f'<line x1="{_x(0):.1f}" y1="{_y(value):.1f}" x2="{_x(100):.1f}" y2="{_y(value):.1f}" stroke="#e3e3e3"/>'
        )
        parts.append(_text(_x(value), _y(0) + 16, str(value), "middle", "#555", 11))
        parts.append(_text(_x(0) - 8, _y(value) + 4, str(value), "end", "#555", 11))
    parts.append(_text(_x(50), HEIGHT - 16, f"{told.by} (percent)", "middle", "#111", 12))
    middle = _y(50)
    parts.append(
        f'<g transform="rotate(-90 14 {middle:.1f})">{_text(14, middle, f"{told.what} (percent)", "middle", "#111", 12)}</g>'
    )
    return parts


def _x(percent: float) -> float:
    return LEFT + percent / 100 * (WIDTH - LEFT - RIGHT)


def _y(percent: float) -> float:
    return HEIGHT - BOTTOM - percent / 100 * (HEIGHT - TOP - BOTTOM)


def _text(x: float, y: float, text: str, anchor: str, colour: str, size: int) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{_safe(text)}</text>'
    )


def _safe(text: str) -> str:
    """For SVG: escaped, and without what XML cannot hold."""
    return html.escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))
