"""Building HTML so that foreign text cannot become markup: whatever is not already an element is escaped, and hidden characters are spelled out."""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections.abc import Iterable
from html import escape
from importlib import resources
from typing import Final

VOID: Final = frozenset({"input", "br", "meta", "col"})


class Html(str):
    """Text that is HTML already. Only `el` and `raw` make it."""

    __slots__ = ()


Child = str | int | float | None | bool | Iterable["Child"]


def el(tag: str, *children: Child, **attributes: object) -> Html:
    """An element. Attribute names: a trailing underscore goes (`class_`), others become hyphens (`data_tier`); None and False are left out, True has no value."""
    parts = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        parts.append(name if value is True else f'{name}="{escape(seen(str(value)))}"')
    opening = f"<{' '.join(parts)}>"
    if tag in VOID:
        return Html(opening)
    return Html(f"{opening}{join(children)}</{tag}>")


def join(children: Iterable[Child]) -> Html:
    return Html("".join(_each(children)))


def _each(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if child is None or isinstance(child, bool):
            continue
        if isinstance(child, Html):
            yield child
        elif isinstance(child, str | int | float):
            yield escape(seen(str(child)))
        else:
            yield from _each(child)


def seen(text: str) -> str:
    """`text` with every character that would not show, or would reorder others, spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"⟨U+{ord(c):04X}⟩" if unicodedata.category(c)[0] == "C" and c != "\n" else c for c in text)


def asset(name: str) -> str:
    return resources.files("sopbench.leaderboard.page").joinpath("assets", name).read_text(encoding="utf-8")


def document(title: str, body: Html, *, style: str, script: str = "", data: str = "") -> str:
    """A whole page. Its Content-Security-Policy forbids everything but this style and this script, which it names by their hashes.

    `data` is JSON that holds no `<`, `>` and `&` (see `report.page.json_for_html`).
    """
    allowed = f"script-src '{_hash(script)}'" if script else "script-src 'none'"
    policy = (
        f"default-src 'none'; {allowed}; style-src '{_hash(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    scripts = (
        f'<script type="application/json" id="data">{data}</script>\n<script>{script}</script>\n' if script else ""
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{escape(seen(title))}</title>
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect x='8' y='2' width='16' height='28' rx='4' fill='%234353d9'/%3E%3Cpath d='M12 16.5l3 3 6-7' fill='none' stroke='white' stroke-width='2.6' stroke-linecap='round' stroke-linejoin='round'/%3E%3C/svg%3E">
<style>{style}</style>
</head>
<body>
{body}
{scripts}</body>
</html>
"""


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
