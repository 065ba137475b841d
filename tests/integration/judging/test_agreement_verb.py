"""`sopbench judge-agreement`: numbers that were worked out by hand, and what becomes of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import assert_clear_error, sopbench
from fault_server import VLLM_NO_SUCH_MODEL, ServerMaker, answer, closed_port, refuse
from judge_server import green, seeing, texts
from PIL import Image

import sopbench as package
from sopbench.errors import UsageError
from sopbench.judging.examples import examples_of_run
from sopbench.judging.kept import agreement_of

# (label, what the screen shows): 4 + 3 agreements, 2 false successes, 1 missed. Accuracy 0.7, by chance 0.5 x 0.6 + 0.5 x 0.4, so kappa 0.4.
TEN = [(True, "green")] * 4 + [(False, "green")] * 2 + [(True, "red")] + [(False, "red")] * 3


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    for colour, rgb in (("green", (0, 200, 0)), ("red", (200, 0, 0))):
        Image.new("RGB", (54, 120), rgb).save(tmp_path / f"{colour}.png")
    path = tmp_path / "labelled.jsonl"
    rows = [
        {"id": f"e{i}", "goal": "Go green", "screens": [f"{c}.png"], "label": label} for i, (label, c) in enumerate(TEN)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_numbers_are_those_of_hand(
    labelled: Path, tmp_path: Path, fault_server: ServerMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = fault_server(seeing(lambda body, screens: green(screens[-1])))
    asked = ("judge-agreement", labelled, "--judge-model", "tiny", "--judge-base-url", server.base_url)
    cache = {"SOPBENCH_CACHE": str(tmp_path / "cache")}
    done = sopbench(*asked, "--json", "--out", tmp_path / "result.json", env=cache)
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert (result["n"], result["accuracy"], result["precision"], result["recall"]) == (10, 0.7, 0.6667, 0.8)
    assert result["kappa"] == 0.4
    assert result["ci95"]["accuracy"] == [0.3968, 0.8922]
    assert [row["id"] for row in result["disagreements"]] == ["e4", "e5", "e6"]
    assert json.loads((tmp_path / "result.json").read_text()) == result
    monkeypatch.setenv(*cache.popitem())
    kept = agreement_of("tiny")
    assert kept is not None
    assert (kept.n, kept.accuracy, kept.kappa) == (10, 0.7, 0.4)


def test_what_has_no_verdict_is_counted_beside(labelled: Path, tmp_path: Path, fault_server: ServerMaker) -> None:
    server = fault_server(answer("I cannot tell."), answer('{"success": true}'))
    asked = ("--judge-model", "tiny", "--judge-base-url", server.base_url, "--concurrency", "1", "--no-keep")
    done = sopbench("judge-agreement", labelled, *asked, "--limit", "4", env={"SOPBENCH_CACHE": str(tmp_path / "c")})
    assert done.returncode == 0, done.stderr
    assert "3 of 4 examples with a verdict" in done.stdout
    assert "1 without a verdict: not counted above" in done.stdout
    assert not (tmp_path / "c").exists()


def test_a_judge_that_is_down_is_no_result(labelled: Path, tmp_path: Path) -> None:
    asked = ("--judge-model", "t", "--judge-base-url", f"http://127.0.0.1:{closed_port()}/v1", "--deadline", "0.5")
    done = sopbench("judge-agreement", labelled, *asked, "--json", env={"SOPBENCH_CACHE": str(tmp_path / "c")})
    assert done.returncode == 3
    result = json.loads(done.stdout)
    assert (result["n"], result["not_reached"], result["accuracy"]) == (0, 10, None)
    assert not (tmp_path / "c").exists()


def test_a_judge_that_does_not_exist_is_a_clear_error(labelled: Path, fault_server: ServerMaker) -> None:
    server = fault_server(refuse(VLLM_NO_SUCH_MODEL))
    asked = ("--judge-model", "nope", "--judge-base-url", server.base_url)
    assert_clear_error(sopbench("judge-agreement", labelled, *asked), "the judge nope gives no answer")
    assert_clear_error(sopbench("judge-agreement", *asked), "--from-run RUN")
    assert_clear_error(sopbench("judge-agreement", labelled), "--judge-model NAME")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Live runs of PocketPhone: the oracle solves its task, the null agent none."""
    folder = tmp_path_factory.mktemp("runs")
    for model, limit in (("oracle", 1), ("null", 2)):
        package.run(suite="pocket-online", model=f"builtin:{model}", limit=limit, out=folder / model)
    return {model: folder / model for model in ("oracle", "null")}


def test_runs_of_pocket_phone_are_labelled_examples(runs: dict[str, Path], fault_server: ServerMaker) -> None:
    server = fault_server(seeing(lambda body, screens: "tapped" in texts(body)))
    sources = ("--from-run", runs["oracle"], "--from-run", runs["null"])
    asked = ("--judge-model", "tiny", "--judge-base-url", server.base_url, "--no-keep", "--json")
    done = sopbench("judge-agreement", *sources, *asked)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["n"], result["accuracy"], result["kappa"]) == (3, 1.0, 1.0)
    assert result["confusion"]["labelled_success_judged_success"] == 1


def test_episodes_that_ended_by_their_budget_are_left_out(runs: dict[str, Path], tmp_path: Path) -> None:
    journal = shutil.copytree(runs["null"], tmp_path / "run") / "steps.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    next(line for line in lines if line.get("end"))["said"] = None  # as where an episode's steps ran out
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    examples = examples_of_run(tmp_path / "run")
    assert [e.label for e in examples.found] == [False]
    assert examples.left_out == {"ended by its budget, so its last screen stands in no request": 1}


def test_a_run_that_nobody_labelled_is_refused(tmp_path: Path) -> None:
    package.run(suite="pocket", model="builtin:oracle", limit=1, out=tmp_path / "run")
    with pytest.raises(UsageError, match="no online run"):
        examples_of_run(tmp_path / "run")
