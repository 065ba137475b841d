"""`sopbench link`: static, semi-online and online results of the same agents, from real runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import sopbench
from scripts.link_demo import agents, chapter
from sopbench.errors import UsageError
from sopbench.linking.link import link, published
from sopbench.linking.plot import scatters
from tests.integration.commands import sopbench as command

TASKS = 6
MODELS = ("builtin:oracle", "builtin:stray:p=0.3", "builtin:null")
SUITES = ("pocket-static", "pocket", "pocket-online")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    out = tmp_path_factory.mktemp("link")
    return [
        sopbench.run(suite=suite, model=model, limit=TASKS, out=out / f"{m}-{suite}").path
        for m, model in enumerate(MODELS)
        for suite in SUITES
    ]


def test_every_model_has_its_three_results(runs: list[Path]) -> None:
    found = link(runs)
    assert [m.name for m in found.models] == ["builtin:oracle", "builtin:stray:p=0.3", "builtin:null"]
    oracle, stray, null = (m.values for m in found.models)
    assert oracle == {"static SR": 100, "SOP PG": 100, "SOP TSR": 100, "SOP Score": 100, "online success": 100}
    assert null["SOP TSR"] == null["online success"] == 0
    assert null["static SR"] > 0, "its `done` is right at the last step of every recording"
    for metric in oracle:
        assert null[metric] <= stray[metric] <= 100


def test_metrics_are_correlated_where_models_suffice(runs: list[Path]) -> None:
    told = {(t.by, t.what): t for t in link(runs).told}
    both = told["SOP TSR", "online success"]
    assert both.fit is not None
    assert both.fit.n == 3
    few = link(runs[:6]).told
    assert all(t.fit is None and t.why_not == "2 models have both: 3 at least are needed" for t in few)


def test_tasks_are_compared_one_by_one(runs: list[Path]) -> None:
    """Oracle and null agree with themselves on every task: both solved, or neither."""
    pairs = {(a.first, a.second): a for a in link([*runs[:3], *runs[6:]]).agreements}
    assert set(pairs) == {("static", "semi_online"), ("static", "online"), ("semi_online", "online")}
    for agreement in pairs.values():
        assert (agreement.both, agreement.only_first, agreement.only_second, agreement.neither) == (TASKS, 0, 0, TASKS)
        assert agreement.same == 1
        assert agreement.phi == pytest.approx(1)


def test_several_runs_of_a_model_are_averaged(runs: list[Path], tmp_path: Path) -> None:
    again = sopbench.run(suite="pocket", model=MODELS[1], limit=TASKS, seed=5, out=tmp_path / "again")
    one = link([runs[4]]).models[0].values["SOP PG"]
    two = again.summary["pg"]
    both = link([runs[4], again]).models
    assert len(both) == 1
    assert both[0].values["SOP PG"] == pytest.approx((one + two) / 2, abs=0.01)


def test_runs_that_cannot_stand_in_one_column_are_refused(runs: list[Path], tmp_path: Path) -> None:
    other = sopbench.run(suite="pocket", model="builtin:null", limit=3, out=tmp_path / "other")
    with pytest.raises(UsageError, match="cannot stand in one column: they differ in ids_sha256"):
        link([runs[1], other])
    with pytest.raises(UsageError, match="name the runs"):
        link([])


def test_the_scatters_are_whole_svg_and_escape_names(runs: list[Path]) -> None:
    found = link(runs)
    for model in found.models:
        model.name = "<script>&" + model.name
    told = tuple(type(t)(t.by, t.what, tuple(m.label for m in found.models), t.fit) for t in found.told)
    text = scatters(type(found)(found.models, told, found.agreements))
    root = ElementTree.fromstring(text)
    assert "<script" not in text
    circles = root.findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 3 * len(found.told)


def test_the_command_prints_tables_and_json(runs: list[Path], tmp_path: Path) -> None:
    plot = tmp_path / "link.svg"
    shown = command("link", *map(str, runs), "--plot", str(plot)).stdout
    for words in ("builtin:oracle", "SOP TSR", "online success told by SOP TSR", "SOP and online", str(plot)):
        assert words in shown
    assert plot.read_text().startswith("<svg")
    value = json.loads(command("link", *map(str, runs), "--json").stdout)
    assert {m["model"] for m in value["models"]} == set(MODELS)


def test_the_papers_table_gives_the_papers_figure(runs: list[Path]) -> None:
    found = dict(published())
    assert [round(t.fit.r2, 3) for t in found.values() if t.fit] == [0.934, 0.439, 0.492]
    assert re.search(r"0\.934", command("link", "--published").stdout)
    refused = command("link", "--published", str(runs[0]))
    assert refused.returncode == 2
    assert "leave the runs" in refused.stderr


def test_a_table_that_is_none_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("model,sop_tsr\nx,1\n")
    refused = command("link", "--published", "--table", str(table))
    assert refused.returncode == 2
    assert "cannot read the published table" in refused.stderr


def test_the_demos_chapter_plays_links_and_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = agents(["early", "text"], [0.5])
    chapter(tmp_path, models, 3)
    first = capsys.readouterr().out
    assert "online success told by SOP TSR" in first
    assert (tmp_path / "link.svg").exists()
    journals = {p: p.stat().st_mtime_ns for p in tmp_path.glob("*/steps.jsonl")}
    assert len(journals) == 9
    chapter(tmp_path, models, 3)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.glob("*/steps.jsonl")} == journals
