"""Text out of a publisher's Python, Markdown or notebook, read by `ast` and never run.

A *template* is the text with our fields in it: where the publisher's code puts a value, the hole, stands `{goal}` or the like.
"""

from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from sopbench.errors import PromptError, shown

FIELDS: Final = frozenset({"goal", "progress", "history", "number", "action", "thought", "width", "height"})
"""What adapters fill in. A publisher's text must not contain one of them by accident: it would be filled in too."""

MAX_SOURCE: Final = 8 * 2**20
NO_NAMES: Final[Mapping[str, ast.expr]] = MappingProxyType({})

_FIELD = re.compile(r"\{(" + "|".join(sorted(FIELDS)) + r")\}")
_FENCED = re.compile(r"^```python[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_STRIPS = ("strip", "lstrip", "rstrip")


def as_text(data: bytes, what: str) -> str:
    """UTF-8 text of a file, bounded."""
    if len(data) > MAX_SOURCE:
        raise PromptError(f"{what}: {len(data)} bytes are too many for a prompt")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PromptError(f"{what}: it is not UTF-8 text") from error


def parsed(source: str, what: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise PromptError(f"{what}: it cannot be read as Python ({type(error).__name__})") from error


def code_blocks(markdown: str) -> list[str]:
    """The fenced Python blocks of a Markdown text."""
    return [match[1] for match in _FENCED.finditer(markdown)]


def code_cells(notebook: str, what: str) -> list[str]:
    """The code cells of a Jupyter notebook."""
    try:
        cells = json.loads(notebook)["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PromptError(f"{what}: it cannot be read as a notebook ({type(error).__name__})") from error


def the_only(found: list[str], what: str) -> str:
    """One text, found once or several times the same."""
    if len(set(found)) != 1:
        raise PromptError(f"{what}: it was expected once, and is there {len(set(found))} times")
    return found[0]


def assigned(tree: ast.AST) -> dict[str, ast.expr]:
    """Names of a module (or function) with the expression that it first gives them."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, node.value)
    return found


def literal(node: ast.expr, names: Mapping[str, ast.expr] = NO_NAMES) -> str:
    """A string that stands in the source: quoted, added up, stripped, or by a name in `names`. Raises `PromptError` where it must be computed."""
    return _folded(node, {}, names, 0)


def literal_of(source: str, name: str, what: str) -> str:
    """The literal that a module assigns to `name`."""
    names = assigned(parsed(source, what))
    if name not in names:
        raise PromptError(f"{what}: there is no {name} in it")
    return literal(names[name], names)


def template(node: ast.expr, holes: Mapping[str, str], names: Mapping[str, ast.expr] = NO_NAMES) -> str:
    """Like `literal`, with `holes`: expressions (as Python prints them) and the field of ours that stands for each; an empty field leaves nothing."""
    return _folded(node, holes, names, 0)


def find_template(tree: ast.AST, holes: Mapping[str, str], what: str, names: Mapping[str, ast.expr] = NO_NAMES) -> str:
    """The one expression of `tree` that is text around all of `holes` and nothing else that varies."""
    wanted = {field for field in holes.values() if field}
    found = []
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.JoinedStr | ast.BinOp):
            text = _template_or_none(node, holes, names)
            if text is not None and fields_of(text) == wanted:
                found.append(text)
                continue
        stack.extend(ast.iter_child_nodes(node))
    return the_only(found, what)


def formatted(text: str, fields: Mapping[str, str]) -> str:
    """A template of `str.format` as one of ours. `fields` gives the text for each of its fields (`{goal}`, or nothing)."""
    parts: list[str] = []
    own: list[str] = []
    try:
        for before, name, spec, conversion in string.Formatter().parse(text):
            own.append(before)
            parts.append(before)
            if name is None:
                continue
            if name not in fields or spec or conversion:
                raise PromptError(f"a field {shown(name)} was not expected in the text")
            own.append("\0")
            parts.append(fields[name])
    except ValueError as error:
        raise PromptError(f"the text is no template of str.format: {error}") from error
    without_fields("".join(own))  # a brace that was doubled comes as a part of its own
    return "".join(parts)


def fields_of(text: str) -> set[str]:
    """The fields of ours that stand in `text`."""
    return {match[1] for match in _FIELD.finditer(text)}


def without_fields(text: str) -> str:
    """`text` unless it contains what would be taken for a field of ours."""
    if found := _FIELD.search(text):
        raise PromptError(f"the publisher's text contains {found[0]}, which would be filled in")
    return text


def _template_or_none(node: ast.expr, holes: Mapping[str, str], names: Mapping[str, ast.expr]) -> str | None:
    try:
        return template(node, holes, names)
    except PromptError:
        return None


def _folded(node: ast.expr, holes: Mapping[str, str], names: Mapping[str, ast.expr], depth: int) -> str:
    if depth > 100:
        raise PromptError("the text is put together too deeply to be read")
    if holes and not isinstance(node, ast.Constant):
        field = holes.get(ast.unparse(node))
        if field is not None:
            return "{" + field + "}" if field else ""
    match node:
        case ast.Constant(value=str(text)):
            return without_fields(text) if holes else text
        case ast.Name(id=name) if name in names:
            return _folded(names[name], holes, names, depth + 1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _folded(left, holes, names, depth + 1) + _folded(right, holes, names, depth + 1)
        case ast.JoinedStr(values=values):
            return "".join(_folded(value, holes, names, depth + 1) for value in values)
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            return _folded(value, holes, names, depth + 1)
        case ast.IfExp(body=body):  # the case in which there is something to say
            return _folded(body, holes, names, depth + 1)
        case ast.Call(func=ast.Attribute(value=value, attr=method), args=[], keywords=[]) if method in _STRIPS:
            return str(getattr(_folded(value, holes, names, depth + 1), method)())
    raise PromptError(f"line {getattr(node, 'lineno', '?')}: {shown(ast.unparse(node))} is not a literal text")
