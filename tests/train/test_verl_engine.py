"""verl's own padding rows through verl's own worker: they do not crash a model that sees, and they weigh nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from uis1_train.verl_cpu.environment import environment

pytestmark = pytest.mark.slow


def test_padding_rows_change_neither_gradient_nor_log_probs(tiny_vl: Path) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.train.verl_engine", str(tiny_vl)],
        cwd=root,
        env=os.environ | environment() | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    alone, padded = json.loads(done.stdout.splitlines()[-1]).values()
    assert alone["grad_norm"] > 0
    assert padded == pytest.approx(alone, rel=1e-4)
