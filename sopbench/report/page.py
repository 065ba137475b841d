"""Putting the page together: template, styles, scripts and data in one file that a browser may open from anywhere.

The page is inert towards its data: data stands in `application/json` blocks in which no character can end the block, the only script that the
Content-Security-Policy lets run is ours (named by its hash), nothing is loaded from elsewhere, and our script writes text through `textContent` only.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from importlib import resources

from sopbench.report.screens import Picture

SCRIPTS = ("dom.js", "words.js", "store.js", "charts.js", "overview.js", "list.js", "screen.js", "detail.js", "main.js")


def json_for_html(value: object) -> str:
    """JSON that may stand inside a script element: ASCII only, and without `<`, `>` and `&`, so nothing in it closes or opens markup.

    Raises `ValueError` for NaN and infinities, which no browser reads.
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def asset(name: str) -> str:
    return resources.files("sopbench.report").joinpath("assets", name).read_text(encoding="utf-8")


def render_page(data: Mapping[str, object], pictures: Mapping[str, Picture] | None, *, title: str) -> Iterator[str]:
    """The page in pieces. `pictures` are put inline; None means that they lie in `screens/` beside the page."""
    script = '"use strict";\n(() => {\n' + "\n".join(asset(name) for name in SCRIPTS) + "\n})();\n"
    style = asset("report.css")
    holes = {
        "title": escape(title),
        "csp": escape(_policy(script, style, files=pictures is None)),
        "style": style,
        "script": script,
    }
    for piece in re.split(r"(\{\{\w+\}\})", asset("page.html")):
        name = piece[2:-2] if piece.startswith("{{") else None
        if name is None:
            yield piece
        elif name == "data":
            yield json_for_html(data)
        elif name == "pictures":
            yield from _inline(pictures or {})
        else:
            yield holes[name]


def _inline(pictures: Mapping[str, Picture]) -> Iterator[str]:
    """One JSON object of data URIs, written picture by picture."""
    yield "{"
    for index, (name, picture) in enumerate(pictures.items()):
        comma = "," if index else ""
        yield f'{comma}"{name}":"data:{picture.media_type};base64,{base64.b64encode(picture.data).decode("ascii")}"'
    yield "}"


def _policy(script: str, style: str, *, files: bool) -> str:
    """Everything is forbidden but our own script, our own style and pictures. A page opened from disk has no `'self'`, hence `file:`."""
    images = "data: 'self' file:" if files else "data:"
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        f"img-src {images}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
