"""Runs a publisher's pinned code once, to have the text that it makes. Started by `rendering` in an interpreter of its own; never imported.

The job comes on standard input as JSON, the texts go to standard output. The files are in memory, and modules are found there only. Once the code runs, nothing may be
opened, started or connected (an audit hook says no), and time and memory are bounded. That keeps accidents in; against malice the sha256 of the pin protects: no
other bytes than those that were looked at ever get here.
"""

from __future__ import annotations

import collections
import copy
import functools
import importlib.abc
import importlib.machinery
import io
import itertools
import json
import math
import os
import re
import string
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Sequence

PRELOADED = (collections, copy, functools, io, itertools, json, math, os, re, string, textwrap, typing)
"""What publishers' modules import: loaded before the files of the standard library are out of reach."""

GOAL = "\ue000goal\ue001"
WIDTH, HEIGHT = "\ue000width\ue001", "\ue000height\ue001"
SECONDS, BYTES = 10, 2**30
DENIED = frozenset(
    {"open", "os", "socket", "subprocess", "ctypes", "shutil", "tempfile", "mmap", "fcntl", "signal", "pty"}
)


class Pinned(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules from the job's files (`a/b.py` is `a.b`), packages around them, and stand-ins for what they import but do not need here."""

    def __init__(self, files: dict[str, str], stubs: dict[str, dict[str, object]]) -> None:
        self.sources = {path.removesuffix(".py").replace("/", "."): text for path, text in files.items()}
        self.stubs = stubs

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        known = [*self.sources, *self.stubs]
        package = any(name.startswith(fullname + ".") for name in known)
        if fullname not in known and not package:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=package)

    def exec_module(self, module: types.ModuleType) -> None:
        name = module.__name__
        vars(module).update(self.stubs.get(name, {}))
        if name in self.sources:
            # the pinned file, whose bytes were compared with the pin
            exec(compile(self.sources[name], f"<pinned {name}>", "exec"), vars(module))  # noqa: S102


def conversation(job: dict[str, typing.Any]) -> dict[str, str]:
    """UI-S1's `JsonFormat` as its evaluator drives it, over three steps."""
    import_pinned(job["files"], UIS1_STUBS)
    form = importlib.import_module("x.data.agent.json")
    space = importlib.import_module("x.data.agent.space.std_space")
    steps = [{"screenshot": f"screen {k}", "action_content": {"action": "wait", "time": 1}} for k in range(3)]
    fm = form.JsonFormat(space.RAW_SPACE, add_thought=True, force_add_thought=True)
    state: typing.Any = None
    reply: str | None = None
    for number in range(3):
        state = fm.gen_next_round({"goal": GOAL, "steps": steps}, state, previous_model_response=reply)
        reply = f"reply {number}"
    said = [(m["role"], [c.get("text", c) for c in m["content"]]) for m in state["messages"]]
    match said:
        case [
            ("system", [str(system)]),
            ("user", [str(first), str(hint), {"image": "screen 0"}]),
            ("assistant", ["reply 0"]),
            ("user", [str(later), {"image": "screen 1"}]),
            ("assistant", ["reply 1"]),
            ("user", [str(again), {"image": "screen 2"}]),
        ] if later == again and first.count(GOAL) == 1:
            texts = {"system": system, "first_turn": first, "first_turn_hint": hint, "next_turn": later}
            return {name: marked(text, [GOAL] if name == "first_turn" else []) for name, text in texts.items()}
    raise ValueError("the conversation is not made as expected")


UIS1_STUBS: dict[str, dict[str, object]] = {
    "x.data.text": {"parse_tags": None},
    "x.io": {"read_json": None},
    "x.io.json": {"read_json": None},
    "x.qwen.data_format": {"slim_messages": None},
    "x.qwen.image": {
        "make_qwen_image_item": lambda path, image=None: {
            "image": path,
            "width": 28,
            "height": 28,
            "resized_width": 28,
            "resized_height": 28,
        },
        "resize_coordinate": lambda point, before, after: point,
    },
}


def statements(job: dict[str, typing.Any]) -> dict[str, str]:
    """Some statements of a script; `open` finds the job's files."""
    files = job["files"]
    scope: dict[str, typing.Any] = {"json": json, "open": lambda path, *args, **kwargs: io.StringIO(files[str(path)])}
    exec(compile(job["code"], "<pinned statements>", "exec"), scope)  # noqa: S102 - see Pinned
    return {name: marked(scope[name], []) for name in job["names"]}


def tool(job: dict[str, typing.Any]) -> dict[str, str]:
    """The description of a qwen-agent tool as JSON, made for a screen whose size is a mark."""

    class BaseTool:
        def __init__(self, cfg: object = None) -> None:
            pass

    def register_tool(name: str, **options: object) -> Callable[[type], type]:
        def named(cls: type) -> type:
            setattr(cls, "name", name)  # noqa: B010 - as the package does
            return cls

        return named

    import_pinned(job["files"], {"qwen_agent.tools.base": {"BaseTool": BaseTool, "register_tool": register_tool}})
    made = getattr(importlib.import_module(job["module"]), job["class"])(
        {"display_width_px": WIDTH, "display_height_px": HEIGHT}
    )
    function = {"name": made.name, "description": made.description, "parameters": made.parameters}
    return {
        "function": marked(json.dumps({"type": "function", "function": function}, ensure_ascii=False), [WIDTH, HEIGHT])
    }


def marked(text: object, marks: Iterable[str]) -> str:
    """`text` with each mark, which must stand there once, as a field. A text that has the look of a field already is refused."""
    if not isinstance(text, str):
        raise TypeError("what should be a text is none")
    for mark in marks:
        field = "{" + mark[1:-1] + "}"
        if text.count(mark) != 1 or field in text:
            raise ValueError(f"{field} has no place of its own in the text")
        text = text.replace(mark, field)
    return text


def import_pinned(files: dict[str, str], stubs: dict[str, dict[str, object]]) -> None:
    sys.meta_path[:] = [
        Pinned(files, stubs),
        importlib.machinery.BuiltinImporter,
        importlib.machinery.FrozenImporter,
    ]


def confine() -> None:
    """Bound time and memory, and refuse everything that reaches beyond this interpreter."""
    try:
        import resource
    except ImportError:  # not on Windows: the parent's time limit holds there too
        pass
    else:
        for what, limit in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, BYTES), (resource.RLIMIT_FSIZE, 0)):
            try:
                resource.setrlimit(what, (limit, limit))
            except (ValueError, OSError):  # a lower limit holds already, or the system has none of this kind
                continue
    sys.addaudithook(refuse)


def refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event.partition(".")[0] in DENIED:
        raise PermissionError(f"{event} is not allowed here")


JOBS = {"conversation": conversation, "statements": statements, "tool": tool}


def main() -> None:
    job = json.loads(sys.stdin.buffer.read())
    answer_to, sys.stdout, sys.stderr = sys.stdout, io.StringIO(), io.StringIO()
    confine()
    try:
        answer: dict[str, object] = {"texts": JOBS[job["job"]](job)}
    except BaseException as error:  # noqa: BLE001 - the boundary: whatever happens in there is told to the parent
        answer = {"error": f"{type(error).__name__}: {error}"[:500]}
    answer_to.write(json.dumps(answer))
    answer_to.flush()


if __name__ == "__main__":
    main()
