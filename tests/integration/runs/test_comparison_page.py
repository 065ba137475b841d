"""docs/how-models-are-compared.md: its figures are what its commands print."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sopbench
from sopbench import api
from sopbench.adapters import ADAPTERS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-models-are-compared.md").read_text(encoding="utf-8")
SHARED = Path(os.environ.get("SOPBENCH_SHARED", ROOT.parent / "shared"))
SOP = SHARED / "data" / "android_control_evaluation_std.jsonl"

needs_sop = pytest.mark.skipif(not SOP.is_file(), reason=f"no released SOP file at {SOP} (set SOPBENCH_SHARED)")


def command(*args: str | Path, stdin: str = "") -> Any:
    line = [str(Path(sys.executable).with_name("sopbench")), *map(str, args)]
    return json.loads(subprocess.run(line, capture_output=True, text=True, input=stdin, check=True).stdout)


def rows() -> list[list[str]]:
    """Every table row of the page, cells without their backticks; an empty first cell is the one above."""
    found: list[list[str]] = []
    for line in PAGE.splitlines():
        if line.startswith("| ") or line.startswith("|  "):
            cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
            found.append([cells[0] or found[-1][0], *cells[1:]])
    return found


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page") / "screens"
    subprocess.run([sys.executable, ROOT / "tests" / "placeholders.py", SOP, folder], check=True, cwd=ROOT)
    return folder


@needs_sop
def test_the_ceilings_are_those_of_the_command() -> None:
    listed = command("adapters", "--ceiling", "--data", SOP, "--json")
    table = {row[0]: row[1:] for row in rows() if row[0] in listed and len(row) == 4}
    assert set(table) == set(ADAPTERS)
    for name, facts in listed.items():
        missing = ", ".join(f"{kind} {n}" for kind, n in facts["ceiling"]["missing"].items()) or "none"
        assert table[name] == [f"{facts['ceiling']['pg']}", f"{facts['ceiling']['tsr']}", missing]


@needs_sop
@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    [
        "builtin:noisy:p=0.1",
        "builtin:noisy:p=0.3",
        "builtin:swipe",
        "builtin:random",
        "builtin:prose",
        "builtin:noisy:p=0.1,prose=0.05",
    ],
)
def test_the_figures_of_a_policy_are_those_of_the_commands(policy: str, screens: Path, tmp_path: Path) -> None:
    run = sopbench.run(
        suite="sop", data=SOP, images=screens, model=policy, after_mismatch="continue", out=tmp_path / "run"
    )
    found = api.verdicts(run.path, ["uis1-released", "uis1-boxes", "strict"])["profiles"]
    told = [row for row in rows() if row[0] == policy and f"{row[1]}@1" in found]
    assert told
    for _, name, *cells in told:
        row = found[f"{name}@1"]
        keys = ["match", "pg", "tsr"] + (
            ["match_if_wait", "pg_if_wait", "tsr_if_wait", "pg_if_erased"] if len(cells) > 3 else []
        )
        assert cells == [f"{row[key]:,}" for key in keys]


@needs_sop
@pytest.mark.slow
def test_the_figures_of_the_static_suite_are_those_of_the_command(screens: Path, tmp_path: Path) -> None:
    summary = sopbench.run(
        suite="androidcontrol-high", data=SOP, images=screens, model="builtin:noisy:p=0.3", out=tmp_path / "run"
    ).summary
    assert f"SR {summary['sr']}, TM {summary['tm']}, GR {summary['gr']}" in PAGE


@pytest.mark.parametrize(("profile", "match"), [("uis1-released", True), ("strict", False)])
def test_the_commands_that_judge_print_what_is_said_of_them(profile: str, match: bool) -> None:
    line = next(line for line in PAGE.splitlines() if line.startswith("echo") and f"--profile {profile}" in line)
    case = re.fullmatch(r"echo '(.*)' \| sopbench judge .*", line)
    assert case is not None
    assert command("judge", "--profile", profile, stdin=case[1] + "\n")["match"] is match
