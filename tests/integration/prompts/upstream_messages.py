"""Writes the messages of the released UI-S1 evaluator. A script of its own, in a process of its own.

usage: python upstream_messages.py CHECKOUT/UI-S1 < job.json > messages.json

The job is `{"line": {goal, steps: [{screenshot, action_content}]}, "replies": [...], "images": N}`; the answer is a list with the messages of every step, as the
evaluator sends them (`process_line` of `eval_qwenvl.py`, then `message_translate` of `qwenvl_utils.py`), an image being named by its path.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import io
import json
import sys
import types


class StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for whatever the checkout imports and this environment lacks (torch, json5, ...): none of it is needed to write messages."""

    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = lambda name: None
        return module

    def exec_module(self, module):
        pass


def main(checkout: str) -> None:
    job = json.load(sys.stdin)
    sys.path[:0] = [f"{checkout}/evaluation", checkout]
    sys.meta_path.append(StubFinder())
    with contextlib.redirect_stdout(io.StringIO()):
        from eval_qwenvl import fix_line
        from qwenvl_utils import message_translate
        from x.data.agent.json import JsonFormat
        from x.data.agent.space.std_space import RAW_SPACE
        from x.qwen.data_format import slim_messages

    form = JsonFormat(RAW_SPACE, add_thought=True, force_add_thought=True)
    line, state, previous, sent = fix_line(job["line"]), None, None, []
    for reply in job["replies"]:
        state = form.gen_next_round(line, state, previous_model_response=previous)
        messages = slim_messages(messages=state["messages"], num_image_limit=job["images"])
        translated, _ = message_translate(messages, to_format="openai")
        sent.append(translated)
        previous = reply
    json.dump(sent, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
