"""Is the machinery right: what was learnt by heart is said again, and sopbench's own semi-online protocol says so.

The whole of it is `python -m uis1_train.tiny overfit --out DIR`: eight recordings, TSR 100. Here two recordings, in steps and not in minutes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from uis1_train.tiny.__main__ import overfit


def test_two_recordings_are_learnt_by_heart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = overfit(tmp_path / "run", 0, 1, 0, wanted=2, steps=(100, 400))
    checks = [json.loads(line) for line in (tmp_path / "run" / "checks.jsonl").read_text().splitlines()]
    assert checks[-1]["sop"] == {"pg": 100.0, "tsr": 100.0, "n": 2}, checks[-1]["errors"]
    assert status == 0
    assert "TSR 100.0" in capsys.readouterr().out
    assert (tmp_path / "run" / "final" / "model.safetensors").exists()
