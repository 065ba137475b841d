"""The report of static runs in a real Chromium."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recordings import CLICK, SWIPE, make_recording
from report_browser import Browser

import sopbench

pytestmark = pytest.mark.chromium

ROW = ".rows .row"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> sopbench.Run:
    folder = tmp_path_factory.mktemp("static")
    recording = make_recording(folder / "data", n=12, length=6, content=lambda e, s: CLICK if s % 2 else SWIPE)
    lines = [json.loads(line) for line in recording.file.read_text().splitlines()]
    for k, line in enumerate(lines):
        line["tags"] = {"category": "<b>shop</b>" if k % 2 else "news"}
    recording.file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return sopbench.run(
        suite="androidcontrol-low",
        data=recording.file,
        images=recording.images,
        model="builtin:noisy:p=0.5",
        out=folder / "run",
    )


@pytest.fixture(scope="module")
def page(run: sopbench.Run) -> Path:
    return run.report()


def test_the_headline_is_sr_tm_and_gr_over_steps(chromium: Browser, page: Path, run: sopbench.Run) -> None:
    chromium.open(page)
    values = dict(zip(chromium.texts(".metric h2"), chromium.texts(".metric .value"), strict=True))
    assert values == {name: f"{run.summary[name.lower()]}%" for name in ("SR", "TM", "GR")}
    assert "12 trajectories · 72 steps, each asked alone" in chromium.text(".lead")
    facts = dict(zip(chromium.texts(".facts dt"), chromium.texts(".facts dd"), strict=True))
    assert facts["History told"] == "the expert's"
    assert facts["Instruction words"] == run.info.facts["static"]["instruction"][:12]


def test_groups_have_a_chart_each_and_their_names_are_text(chromium: Browser, page: Path, run: sopbench.Run) -> None:
    chromium.open(page)
    titles = chromium.texts(".card h3")
    assert "By category" in titles
    assert "First failure by step" not in titles
    [card] = [card for card in chromium.texts(".card") if card.startswith("By category")]
    assert "<b>shop</b>" in card
    assert f"{run.summary['groups']['category']['news']['sr']}" in card


def test_each_mismatch_of_a_trajectory_is_found_by_its_reason(chromium: Browser, page: Path, run: sopbench.Run) -> None:
    chromium.open(page)
    for reason in run.summary["reasons"]:
        chromium.choose("Reason", reason)
        with_it = run.steps[run.steps["reason"] == reason]["episode"].nunique()
        assert chromium.count(ROW) == with_it, reason


def test_a_cell_of_the_confusion_filters_by_steps(chromium: Browser, page: Path, run: sopbench.Run) -> None:
    chromium.open(page)
    steps = run.steps
    said = steps["action"].map(lambda action: action["action"] if action else "parse_failure")
    gold = steps["gold"].map(lambda action: action["action"])
    kind = next(k for k in run.summary["confusion"]["click"] if k != "click")
    chromium.js(
        "[...document.querySelectorAll('button.cell')].find(b => b.title.startsWith(arguments[0])).click()",
        f"expert click, model {kind.replace('_', ' ')}:",
    )
    assert chromium.count(ROW) == steps[(gold == "click") & (said == kind)]["episode"].nunique()


def test_a_row_shows_every_step_and_opens_at_the_first_mismatch(
    chromium: Browser, page: Path, run: sopbench.Run
) -> None:
    chromium.open(page)
    chromium.click("[data-out=failed]")
    assert chromium.count(f"{ROW}:first-child .steps .step.unreached") == 0
    assert len(chromium.js("[...document.querySelector('.rows .row .steps').children]")) == 6
    chromium.click(ROW)
    episode, step = chromium.address[1:].split("/")
    verdicts = run.steps[run.steps["episode"] == episode].sort_values("step")["match"].tolist()
    assert int(step) == verdicts.index(False) + 1
    assert "of 6 steps matched" in chromium.text(".meta")
