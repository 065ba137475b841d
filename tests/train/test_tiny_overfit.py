"""Is the machinery right: what was learnt by heart is said again, and sopbench's own semi-online protocol says so.

The whole of it is `python -m uis1_train.tiny overfit --out DIR`: eight recordings, TSR 100, three minutes on two free cores. Here two recordings and a minute, so most of them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from uis1_train.tiny.__main__ import overfit


def test_most_of_two_recordings_is_learnt_by_heart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = overfit(tmp_path / "run", 0, 1, 0, wanted=2, steps=(60, 550))
    checks = [json.loads(line) for line in (tmp_path / "run" / "checks.jsonl").read_text().splitlines()]
    assert checks[-1]["sop"]["n"] == 2
    assert checks[-1]["sop"]["pg"] >= 40, checks[-1]["errors"]
    assert checks[-1]["static"]["all"] >= 70
    assert checks[-1]["static"]["click"] >= 90
    assert status == (0 if checks[-1]["sop"]["tsr"] == 100 else 1)
    assert "SOP on the 2 recordings learnt" in capsys.readouterr().out
    assert (tmp_path / "run" / "final" / "model.safetensors").exists()
