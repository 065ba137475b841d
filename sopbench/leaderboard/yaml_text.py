"""YAML from strangers: a small, plain subset, and nothing that could build an object or blow up.

Tags, anchors, aliases and doubled keys are refused before anything is built; every scalar stays the text that was written (the models that read it
convert). Depth, number of nodes and size are bounded.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

from sopbench.errors import DataError

MAX_BYTES: Final = 64 * 1024
MAX_DEPTH: Final = 8
MAX_NODES: Final = 2_000


def read_yaml(data: bytes, where: str) -> dict[str, Any]:
    """The mapping in `data`, whose scalars are texts. Raises `DataError` that says what is not allowed, and on which line."""
    if len(data) > MAX_BYTES:
        raise DataError(f"{where} is larger than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8")
        _check_events(text, where)
        _check_keys(yaml.compose(text, Loader=yaml.BaseLoader), where)
        value = yaml.load(text, Loader=yaml.BaseLoader)  # builds texts, lists and mappings only
    except UnicodeDecodeError as error:
        raise DataError(f"{where} is not UTF-8 text") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise DataError(f"{where} is not YAML ({_short(error)})") from error
    if not isinstance(value, dict):
        raise DataError(f"{where} is not a mapping of names to values")
    return value


def _check_events(text: str, where: str) -> None:
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=yaml.BaseLoader)):
        line = event.start_mark.line + 1 if event.start_mark is not None else 0
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise DataError(f"{where} line {line}: anchors and aliases (& and *) are not allowed; write the value out")
        if getattr(event, "tag", None) is not None:
            raise DataError(f"{where} line {line}: tags (!...) are not allowed; write plain text")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH or count > MAX_NODES:
            raise DataError(f"{where} line {line}: nested deeper or longer than such a file ever is")


def _check_keys(node: yaml.Node | None, where: str) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise DataError(f"{where} line {line}: a name must be plain text")
            if key.value in seen or key.value == "<<":
                raise DataError(
                    f"{where} line {line}: {key.value[:40]!r} stands there twice, or merges another mapping"
                )
            seen.add(key.value)
            _check_keys(value, where)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check_keys(item, where)


def _short(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    return f"line {mark.line + 1}: {problem}"[:200] if mark is not None else str(problem)[:200]
