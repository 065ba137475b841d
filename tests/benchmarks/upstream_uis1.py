"""Runs the released UI-S1 evaluator, for comparison: `upstream_uis1.py DATA OUT WORKERS`, with its checkout in UPSTREAM_UIS1.

It imports torch without needing it for this; an empty module stands in where it is not installed.
"""

import importlib.util
import os
import runpy
import sys
import types

if __name__ == "__main__":
    data, out, workers = sys.argv[1:]
    checkout = os.environ["UPSTREAM_UIS1"]
    if importlib.util.find_spec("torch") is None:
        sys.modules["torch"] = types.ModuleType("torch")
    sys.path[:0] = [os.path.join(checkout, "evaluation"), checkout]
    sys.argv = ["eval", "--model_name", "mock", "--jsonl_file", data, "--output_dir", out, "--max_workers", workers]
    runpy.run_path(os.path.join(checkout, "evaluation", "eval_qwenvl.py"), run_name="__main__")
