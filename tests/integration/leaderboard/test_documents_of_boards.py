"""The guide to the Python API runs as it stands; the workflow's script does what the workflow says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from board_workshop import Workshop

ROOT = Path(__file__).parents[3]


def test_the_python_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "leaderboard-api.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "leaderboard-api.md", "exec"), names)  # noqa: S102  # our own documentation
    assert (tmp_path / "site" / "index.html").is_file()
    assert names["refused"].rule == "sums"


def test_every_rule_stands_in_the_guide() -> None:
    from sopbench.leaderboard.verifying import READING, RULES

    text = (ROOT / "docs" / "submitting.md").read_text(encoding="utf-8")
    told = {
        name for line in text.splitlines() if line.startswith("| ") for name in line.split("|")[1].strip().split(", ")
    }
    assert {rule.name for rule in (READING, *RULES)} - told == set()


def test_the_workflow_that_reads_hostile_files_may_not_write_and_the_other_does_not_read_them() -> None:
    flows = {name: yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text()) for name in ("submissions", "comment")}  # fmt: skip
    verify, comment = flows["submissions"]["jobs"]["verify"], flows["comment"]["jobs"]["comment"]
    assert flows["submissions"]["permissions"] == flows["comment"]["permissions"] == {}
    assert verify["permissions"] == {"contents": "read"}
    assert list(flows["submissions"][True]) == ["pull_request"]  # YAML reads `on` as true
    assert all("checkout" not in step.get("uses", "") for step in comment["steps"])
    commands = " ".join(step.get("run", "") for job in (verify, comment) for step in job["steps"])
    assert "${{" not in commands  # nothing of the event is pasted into a shell


def test_changed_submissions_are_verified_and_commented(shop: Workshop, tmp_path: Path) -> None:
    head = tmp_path / "head"
    place = head / "leaderboards" / "tiny-sop" / "submissions"
    place.mkdir(parents=True)

    def git(*words: str) -> str:
        names = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        return subprocess.run(
            ["git", "-C", str(head), *names, *words], check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    (head / "README").write_text("x")
    git("add", ".")
    git("commit", "-qm", "base")
    base = git("rev-parse", "HEAD").strip()
    shutil.copytree(shop.folder, place / "a name; with\n`odd` $(touch evil) characters")
    git("add", ".")
    git("commit", "-qm", "head")
    words = [ROOT / "scripts" / "verify_changed.sh", head, base, shop.root, tmp_path / "comment.md"]
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run([str(w) for w in words], cwd=tmp_path, env=env, check=False, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    text = (tmp_path / "comment.md").read_text()
    assert "could not be judged here" in text  # the workshop's data is not given
    assert "`a name; with?'odd' $(touch evil) characters`" in text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["comment.md", "head"]
