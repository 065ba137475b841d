"""`scripts/gpu_check.sh`: the same code on a CPU, in float32. What it says of a GPU has to be seen on one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).parents[2] / "scripts" / "gpu_check.sh"


def gpu_check(out: Path, *options: str | Path, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    command = [SCRIPT, out, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=460, env=os.environ | {"PYTHON": python})


def test_on_a_cpu_all_checks_pass_and_the_figures_are_written(tiny_vl: Path, tmp_path: Path) -> None:
    small = ["--goals", "2", "--rollouts", "2", "--max-reply", "8"]
    done = gpu_check(tmp_path, "--device", "cpu", "--dtypes", "float32", "--model", tiny_vl, *small)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "gpu_check.json").read_text())
    assert found["ok"]
    assert len(found["checks"]) == 4
    assert all(check["ok"] for check in found["checks"])
    figures = found["figures"]["float32"]
    assert figures["log-prob gap, largest"] < 1e-4
    assert figures["rollouts"] == 4
    table = (tmp_path / "gpu_check.md").read_text()
    assert table in done.stdout
    widths = {line.count("|") for line in table.splitlines() if line.startswith("|")}
    assert widths == {3}


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_a_gpu_it_says_so_and_does_nothing(tmp_path: Path) -> None:
    done = gpu_check(tmp_path)
    assert done.returncode == 2
    assert "sees no GPU on this machine; nothing was checked" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_step_against_the_advantages_fails_the_check(
    tiny_vl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check has teeth: a learner that climbs down is found out."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import gpu_check as module

    from uis1_train.embedded.learner import Learner

    improve = Learner.improve
    monkeypatch.setattr(
        Learner,
        "improve",
        lambda self, batch: improve(self, [type(row)(row.row, row.old, -row.advantage) for row in batch]),
    )
    options = ["--device", "cpu", "--dtypes", "float32", "--goals", "2", "--rollouts", "2", "--max-reply", "8"]
    assert module.main([*options, "--out", str(tmp_path), "--model", str(tiny_vl)]) == 1
    found = json.loads((tmp_path / "gpu_check.json").read_text())
    assert [c["name"] for c in found["checks"] if not c["ok"]] == ["float32: the step goes where the advantages point"]
