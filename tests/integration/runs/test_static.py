"""Static suites through the API and the command line: every step a request of its own, honest about what it was told and what got no reply."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer, answer, status
from PIL import Image
from recordings import CLICK, SWIPE, Recording, make_recording, says

import sopbench
from sopbench import api
from sopbench.actions import Click
from sopbench.adapters import get_adapter
from sopbench.adapters.instruction import words_sha256
from sopbench.errors import DataError, FingerprintMismatch, UsageError
from sopbench.geometry import Point, Size
from sopbench.runs.compare import compare
from sopbench.runs.folder import RunFolder

TIMING = {"latency", "wall_s", "run"}
WAIT = {"action": "wait", "time": 2}
SUITES = ("androidcontrol-high", "androidcontrol-low", "gui-odyssey")


def facts(summary: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in summary.items() if key not in TIMING}


def gold(episode: int, step: int) -> dict[str, Any]:
    return (SWIPE, CLICK, WAIT)[step % 3]


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return make_recording(tmp_path / "data", n=4, length=3, content=gold)


def options(recording: Recording, suite: str = "androidcontrol-high", **more: Any) -> dict[str, Any]:
    return recording.options | {"suite": suite} | more


def served(server: FaultServer, **more: Any) -> dict[str, Any]:
    return {"model": "tiny", "base_urls": (server.base_url,), "prompts": "builtin"} | more


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("adapter", ["uis1", "qwen25vl", "os_atlas", "ui_tars"])
def test_an_oracle_scores_100_on_every_metric(recording: Recording, tmp_path: Path, suite: str, adapter: str) -> None:
    run = sopbench.run(**options(recording, suite), model="builtin:oracle", adapter=adapter, out=tmp_path / "run")
    summary = run.summary
    assert (summary["sr"], summary["tm"], summary["gr"], summary["whole_trajectories"]) == (100.0, 100.0, 100.0, 100.0)
    assert summary["ci95"] == {name: [100.0, 100.0] for name in ("sr", "tm", "gr")}
    assert (summary["n"], summary["n_trajectories"], summary["scored_steps"]) == (12, 4, 12)
    assert summary["by_action"]["click"] == {"n": 4, "type_match": 4, "match": 4}


def test_the_null_agent_matches_nothing_and_nobody_clicks(recording: Recording, tmp_path: Path) -> None:
    summary = sopbench.run(**options(recording), model="builtin:null", out=tmp_path / "run").summary
    assert (summary["sr"], summary["tm"], summary["gr"]) == (0.0, 0.0, None)
    assert set(summary["ci95"]) == {"sr", "tm"}
    assert summary["reasons"] == {"wrong_type": 12}
    assert summary["confusion"]["click"] == {"terminate": 4}


def test_a_mismatch_ends_nothing(recording: Recording, tmp_path: Path, fault_server: Any) -> None:
    server = fault_server(answer(says(CLICK)))
    run = sopbench.run(**options(recording), **served(server), out=tmp_path / "run")
    assert server.count == 12
    assert (run.summary["sr"], run.summary["tm"], run.summary["gr"]) == (33.3, 33.3, 100.0)
    assert list(run.trajectories["sr"]) == [pytest.approx(1 / 3)] * 4
    assert not run.trajectories["success"].any()
    assert len(run.steps) == 12


def test_steps_of_one_trajectory_are_in_flight_together(tmp_path: Path, fault_server: Any) -> None:
    """Concurrency is not limited by the number of trajectories."""
    recording = make_recording(tmp_path / "data", n=1, length=8, content=gold)
    server = fault_server(answer(says(SWIPE), delay=0.4))
    run = sopbench.run(**options(recording), **served(server), concurrency=8, out=tmp_path / "run")
    assert server.most_at_once >= 6
    assert run.summary["n"] == 8
    narrow = fault_server(answer(says(SWIPE), delay=0.02))
    sopbench.run(**options(recording), **served(narrow), concurrency=2, out=tmp_path / "narrow")
    assert narrow.most_at_once <= 2


def test_what_is_answered_does_not_depend_on_concurrency(recording: Recording, tmp_path: Path) -> None:
    one = sopbench.run(**options(recording), model="builtin:noisy:p=0.5", concurrency=1, out=tmp_path / "1")
    many = sopbench.run(**options(recording), model="builtin:noisy:p=0.5", concurrency=64, out=tmp_path / "64")
    assert facts(one.summary) == facts(many.summary)


def test_step_instructions_reach_requests_in_androidcontrol_low_and_in_no_other_suite(
    recording: Recording, tmp_path: Path, fault_server: Any
) -> None:
    """Field case 9."""
    for suite in (*SUITES, "sop"):
        for adapter in ("uis1", "qwen25vl", "ui_tars"):
            server = fault_server(answer(says(SWIPE)))
            run = sopbench.run(
                **options(recording, suite),
                **served(server),
                adapter=adapter,
                concurrency=1,
                out=tmp_path / f"{suite}-{adapter}",
            )
            told = [json.dumps(got.body).count("SENTINEL") for got in server.requests]
            assert set(told) == ({1} if suite == "androidcontrol-low" else {0}), (suite, adapter)
            if suite == "androidcontrol-low":
                asked = {(r["episode"], r["step"]) for r in run.steps.to_dict("records")}
                for episode, step in asked:
                    assert any(f"SENTINEL-{episode}-{step}" in json.dumps(got.body) for got in server.requests)


def test_a_run_and_its_records_say_what_requests_told(recording: Recording, tmp_path: Path) -> None:
    low = sopbench.run(**options(recording, "androidcontrol-low"), model="builtin:oracle", out=tmp_path / "low")
    high = sopbench.run(**options(recording), model="builtin:oracle", out=tmp_path / "high")
    semi = sopbench.run(**recording.options, model="builtin:oracle", out=tmp_path / "semi")
    expected = {"history": "expert", "instruction": words_sha256(), "metrics": "steps"}
    assert low.info.facts["static"] == expected
    assert high.info.facts["static"] == expected | {"instruction": None}
    assert "static" not in semi.info.facts
    told = {run: dict(zip(run.steps["step"], run.steps["told"], strict=True)) for run in (low, high)}
    assert told[low] == {
        0: ("instruction",),
        1: ("expert_history", "instruction"),
        2: ("expert_history", "instruction"),
    }
    assert told[high] == {0: (), 1: ("expert_history",), 2: ("expert_history",)}
    assert all(told is None for told in semi.steps["told"])


def test_the_experts_actions_are_told_as_earlier_replies_whatever_the_model_said(
    recording: Recording, tmp_path: Path, fault_server: Any
) -> None:
    server = fault_server(answer("I would rather not."))
    sopbench.run(**options(recording), **served(server), limit=1, concurrency=1, out=tmp_path / "run")
    last = server.requests[-1].body["messages"]
    replies = [m["content"] for m in last if m["role"] == "assistant"]
    assert ["swipe" in json.dumps(r) for r in replies] == [True, False]
    assert ["click" in json.dumps(r) for r in replies] == [False, True]
    assert "rather not" not in json.dumps(last)


def test_steps_without_an_instruction_are_counted(tmp_path: Path) -> None:
    recording = make_recording(tmp_path / "data", n=2, length=2)
    recording.file.write_text(recording.file.read_text().replace("SENTINEL-1-1", ""))
    run = sopbench.run(**options(recording, "androidcontrol-low"), model="builtin:oracle", out=tmp_path / "run")
    assert run.summary["without_instruction"] == 1
    assert [r for r in run.steps["told"] if "instruction" not in r] == [("expert_history",)]


def test_data_without_any_instruction_is_refused_by_the_low_level(tmp_path: Path) -> None:
    recording = make_recording(tmp_path / "data", n=2, length=2)
    lines = [json.loads(line) for line in recording.file.read_text().splitlines()]
    for line in lines:
        for step in line["steps"]:
            step["step_instruction"] = ""
    recording.file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(DataError, match="androidcontrol-high"):
        sopbench.run(**options(recording, "androidcontrol-low"), model="builtin:oracle", out=tmp_path / "run")


def test_503_for_ever_leaves_bounds_and_resume_asks_exactly_the_missing_steps(
    recording: Recording, tmp_path: Path, fault_server: Any
) -> None:
    down = fault_server(*[answer(says(SWIPE))] * 5, status(503, headers={"Retry-After": "0"}))
    asked = options(recording) | served(down, max_attempts=2) | {"concurrency": 1}
    run = sopbench.run(**asked, out=tmp_path / "run")
    summary = run.summary
    assert summary["complete"] is False
    assert (summary["n"], summary["scored_steps"], summary["not_scored_steps"]) == (12, 5, 7)
    assert (summary["scored_trajectories"], summary["not_scored_trajectories"]) == (1, 3)
    assert (summary["sr"], summary["tm"], summary["gr"], summary["ci95"]) == (None, None, None, None)
    # the five: swipe matches twice (steps 0 and 3), click and wait do not; three of the seven others are clicks
    assert summary["bounds"]["sr"] == [16.7, 75.0]
    assert summary["bounds"]["gr"] == [0.0, 100.0]
    assert summary["not_scored_reasons"] == {"server": 7}
    assert summary["whole_trajectories"] is None

    up = fault_server(answer(says(SWIPE)))
    resumed = api.resume(run.path, base_urls=(up.base_url,))
    assert up.count == 7
    assert resumed.summary["complete"] is True
    assert resumed.summary["sr"] == 33.3
    again = api.resume(run.path, base_urls=(up.base_url,))
    assert up.count == 7
    assert facts(again.summary) == facts(resumed.summary)


@pytest.mark.parametrize("lines", [0, 1, 5, 11])
def test_a_journal_cut_anywhere_resumes_to_the_uninterrupted_summary(
    recording: Recording, tmp_path: Path, lines: int
) -> None:
    asked = options(recording, "androidcontrol-low", model="builtin:noisy:p=0.4")
    whole = sopbench.run(**asked, out=tmp_path / "whole")
    cut = sopbench.run(**asked, out=tmp_path / "cut")
    journal = RunFolder(cut.path).journal_path
    kept = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(kept[:lines]) + kept[lines][:20])
    assert facts(api.resume(cut.path).summary) == facts(whole.summary)


def test_a_reply_that_is_judged_differently_today_stops_the_resumption(recording: Recording, tmp_path: Path) -> None:
    run = sopbench.run(**options(recording), model="builtin:oracle", out=tmp_path / "run")
    journal = RunFolder(run.path).journal_path
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    lines[1]["verdict"] = {"type_match": True, "match": False, "reason": "outside_target"}
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines[:5]))
    with pytest.raises(FingerprintMismatch, match="judged differently"):
        api.resume(run.path)


def test_a_missing_screen_costs_the_steps_that_need_it_and_names_it(recording: Recording, tmp_path: Path) -> None:
    (recording.images / "1_1.png").unlink()
    run = sopbench.run(**options(recording), model="builtin:oracle", out=tmp_path / "run")
    assert run.summary["not_scored_reasons"] == {"screen": 2}  # the step itself, and the one whose history shows it
    assert all("1_1.png" in error["detail"] for error in run.steps["error"].dropna())
    assert run.summary["scored_steps"] == 10


def test_rescoring_judges_every_step_again_and_leaves_none_beyond_the_recording(
    tmp_path: Path, fault_server: Any
) -> None:
    """The prediction is in the box, but farther from the point than `uis1-released` allows."""
    recording = make_recording(tmp_path / "data", n=2, length=2, content=lambda e, s: CLICK)
    server = fault_server(answer(says({"action": "click", "coordinate": [60, 160]})))
    run = sopbench.run(**options(recording), **served(server), profile="uis1-released", out=tmp_path / "run")
    assert (run.summary["sr"], run.summary["gr"]) == (0.0, 0.0)
    lenient = api.rescore(run.path, "uis1-boxes")
    assert (lenient.summary["sr"], lenient.summary["complete"]) == (100.0, True)
    same = api.rescore(run.path, "uis1-released")
    assert facts(same.summary) | {"fingerprint": 0} == facts(run.summary) | {"fingerprint": 0}


def test_rescoring_keeps_what_was_not_scored(recording: Recording, tmp_path: Path) -> None:
    (recording.images / "2_2.png").unlink()
    run = sopbench.run(**options(recording), model="builtin:oracle", out=tmp_path / "run")
    again = api.rescore(run.path, "strict")
    assert again.summary["not_scored_reasons"] == {"screen": 1}
    assert again.summary["bounds"]["sr"] == [91.7, 100.0]


def test_compare_pairs_steps_and_names_those_that_differ(
    recording: Recording, tmp_path: Path, fault_server: Any
) -> None:
    good = sopbench.run(**options(recording), model="builtin:oracle", out=tmp_path / "good")
    server = fault_server(answer(says(SWIPE)))
    bad = sopbench.run(**options(recording), **served(server), out=tmp_path / "bad")
    result = compare(bad, good)
    assert (result["unit"], result["n"], result["n_trajectories"]) == ("steps", 12, 4)
    assert result["difference"]["sr"] == {"value": 66.7, "ci95": [66.7, 66.7]}
    assert "gr" not in result["difference"]  # one of the two never clicks
    assert (result["a"]["sr"], result["b"]["sr"], result["a"]["gr"]) == (33.3, 100.0, None)
    assert result["mcnemar"]["only_b"] == 8
    assert result["only_b"][:2] == ["0 step 1", "0 step 2"]
    assert result["only_a"] == []
    assert "model" in result["differs_in"]


def test_levels_are_not_compared_and_neither_is_an_unfinished_run(recording: Recording, tmp_path: Path) -> None:
    high = sopbench.run(**options(recording), model="builtin:oracle", out=tmp_path / "high")
    low = sopbench.run(**options(recording, "androidcontrol-low"), model="builtin:oracle", out=tmp_path / "low")
    with pytest.raises(FingerprintMismatch, match=r"static\.instruction"):
        compare(high, low)
    (recording.images / "1_1.png").unlink()
    part = sopbench.run(**options(recording), model="builtin:oracle", seed=1, out=tmp_path / "part")
    with pytest.raises(UsageError, match="resume"):
        compare(high, part)


def test_repeats_are_pooled_within_their_trajectory_and_flips_are_named(recording: Recording, tmp_path: Path) -> None:
    run = sopbench.run(**options(recording), model="builtin:noisy:p=0.5", repeats=3, out=tmp_path / "run")
    assert (run.summary["n"], run.summary["scored_steps"]) == (12, 36)
    assert run.summary["sr"] == pytest.approx(100 * run.steps["match"].mean(), abs=0.05)
    by_step = run.steps.groupby(["episode", "step"])["match"].nunique()
    assert len(run.summary["flips"]) == (by_step > 1).sum() > 0
    assert run.summary["flips"][0].split()[1] == "step"


def test_a_static_suite_has_no_mismatch_to_continue_after(recording: Recording, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="every step by itself"):
        sopbench.run(**options(recording), model="builtin:oracle", after_mismatch="continue", out=tmp_path / "run")


# -- grounding ---------------------------------------------------------------------------------------------------------


def make_targets(folder: Path, n: int = 8) -> Recording:
    """Trajectories of one click with a box and tags, as `data convert screenspot` writes them."""
    images = folder / "images"
    images.mkdir(parents=True)
    lines = []
    for k in range(n):
        Image.new("RGB", (2560, 1600), (k * 9, 100, 200)).save(images / f"t{k}.png")
        click = {"action": "click", "coordinate": [1000 + k, 804]}
        lines.append(
            {
                "goal": f"press button {k}",
                "is_successful": True,
                "steps": [
                    {
                        "action_content": click,
                        "screenshot": f"images/t{k}.png",
                        "step_instruction": "",
                        "check_options": click | {"candidate_bbox": [[990 + k, 800, 1010 + k, 808]]},
                    }
                ],
                "episode_id": f"web_{k}",
                "tags": {"platform": ("web", "mobile")[k % 2], "type": ("text", "icon")[k // 4], "group": "dev"},
            }
        )
    file = folder / "data.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Recording(file, images)


@pytest.mark.parametrize("suite", ["screenspot-v2", "screenspot-pro"])
@pytest.mark.parametrize("adapter", ["uis1", "os_atlas", "ui_tars15", "qwen3vl"])
def test_an_oracle_hits_every_target(tmp_path: Path, suite: str, adapter: str) -> None:
    targets = make_targets(tmp_path / "data")
    run = sopbench.run(**options(targets, suite), model="builtin:oracle", adapter=adapter, out=tmp_path / "run")
    assert run.summary["accuracy"] == 100.0
    assert run.summary["ceiling"] == {"accuracy": 100.0, "missing": {}}
    assert "sr" not in run.summary


def test_accuracy_by_platform_type_and_both(tmp_path: Path, fault_server: Any) -> None:
    targets = make_targets(tmp_path / "data")
    size = Size(2560, 1600)

    def reply(body: dict[str, Any]) -> str:
        """The right point, but 300 pixels off for targets 5 and 7."""
        [k] = [k for k in range(8) if f"press button {k}" in json.dumps(body)]
        point = Point.from_pixels(1000 + k + (300 if k in (5, 7) else 0), 804, size)
        return get_adapter("uis1").format(Click(point), size)

    server = fault_server(answer(reply))
    run = sopbench.run(**options(targets, "screenspot-v2"), **served(server), out=tmp_path / "run")
    summary = run.summary
    assert (summary["accuracy"], summary["n"], summary["n_trajectories"]) == (75.0, 8, 8)
    low, high = summary["ci95"]["accuracy"]
    assert low < 75.0 < high
    assert summary["groups"]["platform"] == {
        "mobile": {"n": 4, "scored": 4, "accuracy": 50.0},
        "web": {"n": 4, "scored": 4, "accuracy": 100.0},
    }
    assert summary["groups"]["type"]["icon"]["accuracy"] == 50.0
    assert summary["groups"]["platform and type"]["mobile, icon"] == {"n": 2, "scored": 2, "accuracy": 0.0}
    assert summary["groups"]["group and type"]["dev, text"]["accuracy"] == 100.0
    assert summary["reasons"] == {"outside_target": 2}


def test_what_names_no_point_is_a_miss(tmp_path: Path) -> None:
    summary = sopbench.run(
        **options(make_targets(tmp_path / "data"), "screenspot-v2"), model="builtin:null", out=tmp_path / "run"
    ).summary
    assert (summary["accuracy"], summary["reasons"]) == (0.0, {"wrong_type": 8})


def test_an_unscored_target_leaves_bounds_and_no_group_mean(tmp_path: Path) -> None:
    targets = make_targets(tmp_path / "data")
    (targets.images / "t0.png").unlink()
    run = sopbench.run(**options(targets, "screenspot-v2"), model="builtin:oracle", out=tmp_path / "run")
    assert run.summary["accuracy"] is None
    assert run.summary["bounds"] == {"accuracy": [87.5, 100.0]}
    assert run.summary["groups"]["platform"]["web"] == {"n": 4, "scored": 3, "accuracy": None}
    assert run.summary["groups"]["platform"]["mobile"]["accuracy"] == 100.0


def test_data_of_another_kind_is_refused_with_the_reason(recording: Recording, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no grounding target"):
        sopbench.run(**options(recording, "screenspot-pro"), model="builtin:oracle", out=tmp_path / "run")
    with pytest.raises(UsageError, match="--data"):
        sopbench.run(suite="screenspot-v2", model="builtin:oracle", out=tmp_path / "run")


# -- command line ------------------------------------------------------------------------------------------------------


def command(*args: str | Path) -> subprocess.CompletedProcess[str]:
    line = [str(Path(sys.executable).with_name("sopbench")), *map(str, args)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_the_command_line_runs_shows_scores_and_compares(recording: Recording, tmp_path: Path) -> None:
    data = ["--data", recording.file, "--images", recording.images]
    first = command(
        "run", "--suite", "androidcontrol-low", *data, "--model", "builtin:noisy:p=0.5", "--out", tmp_path / "a"
    )
    assert first.returncode == 0, first.stderr
    assert "12 steps of 4 trajectories" in first.stdout
    page = Path(first.stdout.strip().splitlines()[-1].split(maxsplit=1)[1])
    assert "each asked alone" in page.read_text()
    second = command(
        "run", "--suite", "androidcontrol-low", *data, "--model", "builtin:oracle", "--out", tmp_path / "b", "--json"
    )
    assert json.loads(second.stdout)["sr"] == 100.0
    shown = command("show", tmp_path / "a").stdout
    assert all(word in shown for word in ("SR", "TM", "GR", "every step matches", "mismatches, by reason"))
    compared = command("compare", tmp_path / "a", tmp_path / "b")
    assert compared.returncode == 0, compared.stderr
    assert "McNemar on steps" in compared.stdout
    scored = command("score", tmp_path / "a", "--profile", "strict", "--json")
    assert json.loads(scored.stdout)["profile"] == "strict@1"


def test_the_command_line_shows_groups(tmp_path: Path) -> None:
    targets = make_targets(tmp_path / "data")
    done = command(
        "run", "--suite", "screenspot-v2", "--data", targets.file, "--images", targets.images, "--model", "builtin:oracle",
        "--out", tmp_path / "run", "--no-report",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "by platform and type" in done.stdout
    assert "mobile, icon" in done.stdout


def test_a_partial_run_exits_3_and_shows_bounds(recording: Recording, tmp_path: Path) -> None:
    (recording.images / "1_1.png").unlink()
    done = command(
        "run", "--suite", "gui-odyssey", "--data", recording.file, "--images", recording.images, "--model", "builtin:oracle",
        "--out", tmp_path / "run", "--no-report",
    )  # fmt: skip
    assert done.returncode == 3
    assert "between 83.3 and 100.0" in done.stdout
    assert "resume" in done.stderr


def test_suites_are_listed_with_their_protocol() -> None:
    listed = json.loads(command("suites", "--json").stdout)
    static = {name for name, suite in listed.items() if suite["protocol"] == "static" and not name.startswith("pocket")}
    assert static == {*SUITES, "screenspot-v2", "screenspot-pro"}
    assert listed["androidcontrol-low"]["default_profile"] == "androidcontrol"
    assert listed["screenspot-pro"]["needs_data"] is True
