"""Runs the released UI-S1 evaluator on pairs from standard input. A script of its own, in a process of its own.

usage: python upstream_driver.py CHECKOUT/UI-S1 < jobs.jsonl > verdicts.jsonl

Job `{"mode": "released"|"boxes", screen, sent, pred, gold, check_options}` -> `[type_match, match]`; `released` goes through the evaluator's `fix_line` first, `boxes`
leaves the data's own check_options. Job `{"mode": "resize", "sizes": [[w, h], ...]}` -> `[[w, h], ...]`. What a job raises -> `{"raised": name}`.
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
    """Stands in for whatever the checkout imports and this environment lacks (torch, requests, ...): none of it is needed to judge a pair."""

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
    sys.path[:0] = [f"{checkout}/evaluation", checkout]
    sys.meta_path.append(StubFinder())
    with contextlib.redirect_stdout(io.StringIO()):
        from eval_qwenvl import fix_line
        from qwenvl_utils import evaluate_android_control_action
        from x.qwen.image import smart_resize

    def answer(job):
        if job["mode"] == "resize":
            return [list(reversed(smart_resize(h, w, max_pixels=12800 * 28 * 28))) for w, h in job["sizes"]]
        step = {"action_content": job["gold"], "check_options": job["check_options"]}
        if job["mode"] == "released":
            step = fix_line({"steps": [step]})["steps"][0]
        type_match, match = evaluate_android_control_action(
            job["pred"], step["check_options"], *job["screen"], *job["sent"]
        )
        return [bool(type_match), bool(match)]

    for line in sys.stdin:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                result = answer(json.loads(line))
        except Exception as error:  # noqa: BLE001  # whatever foreign code raises is the answer to this job
            result = {"raised": type(error).__name__}
        print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
