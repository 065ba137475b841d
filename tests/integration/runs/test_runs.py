"""Whole runs through the API: honest outcomes, resume, re-scoring, comparison."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest
from fault_server import VLLM_NEW_OVERFLOW, FaultServer, answer, completion, raw, refuse, status
from recordings import CLICK, SWIPE, Recording, make_recording, says

import sopbench
from sopbench import api
from sopbench.clients.base import Sampling
from sopbench.errors import DataError, FingerprintMismatch, RunBusy, UsageError
from sopbench.runs.compare import compare
from sopbench.runs.folder import RunFolder
from sopbench.runs.journal import Journal

TIMING = {"latency", "wall_s", "run"}


def facts(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary without what depends on the clock and the folder."""
    return {key: value for key, value in summary.items() if key not in TIMING}


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return make_recording(tmp_path / "data")


def served(server: FaultServer, **more: Any) -> dict[str, Any]:
    return {"model": "tiny", "base_urls": (server.base_url,), "concurrency": 2, **more}


def test_an_oracle_scores_100_and_every_step_is_recorded(recording: Recording, tmp_path: Path) -> None:
    run = sopbench.run(**recording.options, model="builtin:oracle", out=tmp_path / "run")
    assert run.summary["n"] == 4
    assert (run.summary["pg"], run.summary["tsr"], run.summary["score"]) == (100.0, 100.0, 100.0)
    assert run.summary["ci95"]["tsr"] == [100.0, 100.0]
    assert run.summary["scored_steps"] == 12
    assert run.summary["complete"] is True
    assert len(run.steps) == 12
    assert run.steps["match"].all()
    assert list(run.trajectories["success"]) == [True] * 4
    assert {"prompt_sha256", "images", "reply", "action", "gold"} <= set(run.steps.columns)


def test_the_null_agent_scores_0(recording: Recording, tmp_path: Path) -> None:
    run = sopbench.run(**recording.options, model="builtin:null", out=tmp_path / "run")
    assert (run.summary["pg"], run.summary["tsr"]) == (0.0, 0.0)
    assert run.summary["reasons"] == {"wrong_type": 4}
    assert run.summary["confusion"] == {"swipe": {"terminate": 4}}


def test_noise_does_not_depend_on_concurrency(recording: Recording, tmp_path: Path) -> None:
    one = sopbench.run(**recording.options, model="builtin:noisy:p=0.4", concurrency=1, out=tmp_path / "1")
    many = sopbench.run(**recording.options, model="builtin:noisy:p=0.4", concurrency=64, out=tmp_path / "64")
    assert facts(one.summary) == facts(many.summary)


def test_progress_before_a_cut_off_reply_stays(tmp_path: Path, fault_server: Any) -> None:
    """Four steps right, then `{"action":` cut off: progress 4 stays (field case 7)."""
    recording = make_recording(tmp_path / "data", n=1, length=6)
    server = fault_server(
        *[answer(says(SWIPE))] * 4, answer('<think>x</think><action>{"action":', finish_reason="length")
    )
    run = sopbench.run(**recording.options, **served(server), out=tmp_path / "run")
    assert run.summary["pg"] == pytest.approx(66.7)
    assert run.summary["parse_failed_steps"] == 1
    [reason] = run.summary["reasons"]
    assert reason.startswith("parse:")
    assert run.trajectories.loc[0, "progress"] == 4


def test_503_503_200_is_scored_once(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=1, length=1)
    server = fault_server(
        status(503, headers={"Retry-After": "0"}), status(503, headers={"Retry-After": "0"}), answer(says(SWIPE))
    )
    run = sopbench.run(**recording.options, **served(server), out=tmp_path / "run")
    assert server.count == 3
    assert run.summary["scored_steps"] == 1
    assert run.summary["retries"] == 2
    assert run.summary["faults"] == {"http_503": 2}
    assert run.summary["tsr"] == 100.0


def test_503_for_ever_is_not_scored_and_resume_tries_again(tmp_path: Path, fault_server: Any) -> None:
    """Nothing infrastructural becomes a model's failure: n stays, no mean, bounds (field cases 8 and 29)."""
    recording = make_recording(tmp_path / "data", n=4, length=2)
    down = fault_server(answer(says(SWIPE)), answer(says(SWIPE)), status(503, headers={"Retry-After": "0"}))
    options = recording.options | served(down, max_attempts=2) | {"concurrency": 1}
    run = sopbench.run(**options, out=tmp_path / "run")
    assert run.summary["complete"] is False
    assert (run.summary["n"], run.summary["scored_trajectories"], run.summary["not_scored_trajectories"]) == (4, 1, 3)
    assert run.summary["pg"] is None
    assert run.summary["tsr"] is None
    assert run.summary["ci95"] is None
    assert run.summary["bounds"]["tsr"] == [25.0, 100.0]
    assert run.summary["not_scored_reasons"] == {"server": 3}

    up = fault_server(answer(says(SWIPE)))
    resumed = api.resume(run.path, base_urls=(up.base_url,))
    assert up.count == 6
    assert resumed.summary["complete"] is True
    assert resumed.summary["tsr"] == 100.0
    assert resumed.summary["scored_steps"] == 8


def test_context_overflow_is_counted_apart_and_not_tried_again(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=2, length=1)
    server = fault_server(refuse(VLLM_NEW_OVERFLOW))
    run = sopbench.run(**recording.options, **served(server), out=tmp_path / "run")
    assert server.count == 2
    assert run.summary["not_scored_reasons"] == {"context_overflow": 2}


def test_a_refusal_that_every_request_would_meet_stops_the_run(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=30, length=2)
    server = fault_server(answer(says(SWIPE)), answer(says(SWIPE)), status(401, "bad key"))
    run = sopbench.run(**recording.options, **served(server), out=tmp_path / "run")
    assert server.count <= 6
    assert run.summary["stopped"]["reason"] == "rejected"
    assert "bad key" in run.summary["stopped"]["detail"]
    assert run.summary["n"] == 30
    assert run.summary["tsr"] is None
    good = fault_server(answer(says(SWIPE)))
    resumed = api.resume(run.path, base_urls=(good.base_url,))
    assert resumed.summary["tsr"] == 100.0
    assert resumed.summary["stopped"] is None


def test_a_missing_screen_is_named_and_nothing_else_is_lost(recording: Recording, tmp_path: Path) -> None:
    (recording.images / "1_1.png").unlink()
    run = sopbench.run(**recording.options, model="builtin:oracle", out=tmp_path / "run")
    assert run.summary["scored_trajectories"] == 3
    [error] = run.steps["error"].dropna()
    assert error["reason"] == "screen"
    assert "1_1.png" in error["detail"]
    assert "--images" in error["detail"]


def test_a_damaged_screen_is_an_outcome_of_its_own(recording: Recording, tmp_path: Path) -> None:
    (recording.images / "2_0.png").write_bytes(b"not an image")
    run = sopbench.run(**recording.options, model="builtin:oracle", out=tmp_path / "run")
    assert run.summary["not_scored_reasons"] == {"screen": 1}


def test_a_wrong_images_folder_starts_nothing(recording: Recording, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="none of the 12 screens"):
        sopbench.run(
            suite="sop", data=recording.file, images=tmp_path / "empty", model="builtin:oracle", out=tmp_path / "run"
        )
    assert not (tmp_path / "run").exists()


def test_no_step_instruction_reaches_a_request(recording: Recording, tmp_path: Path, fault_server: Any) -> None:
    server = fault_server(answer(says(SWIPE)))
    for adapter in ("uis1", "qwen25vl"):
        sopbench.run(**recording.options, **served(server), adapter=adapter, out=tmp_path / adapter)
    assert server.count > 12
    assert not any(b"SENTINEL" in got.raw for got in server.requests)


def test_the_last_two_screens_are_sent_and_none_with_zero(
    recording: Recording, tmp_path: Path, fault_server: Any
) -> None:
    server = fault_server(answer(says(SWIPE)))
    sopbench.run(**recording.options, **served(server), limit=1, out=tmp_path / "two")
    assert [images(got.body) for got in server.requests] == [1, 2, 2]
    sopbench.run(**recording.options, **served(server), limit=1, history_images=0, out=tmp_path / "none")
    assert [images(got.body) for got in server.requests[3:]] == [0, 0, 0]


def images(body: dict[str, Any]) -> int:
    parts = [part for m in body["messages"] if isinstance(m["content"], list) for part in m["content"]]
    return sum(part["type"] == "image_url" for part in parts)


def test_sampling_options_are_sent_and_recorded_and_the_key_is_not(
    recording: Recording, tmp_path: Path, fault_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPBENCH_API_KEY", "sk-secret-1234")
    server = fault_server(answer(says(SWIPE)))
    sampling = Sampling(temperature=0.3, top_p=0.9, top_k=1, max_tokens=99, extra_body={"min_p": 0.1})
    run = sopbench.run(
        **recording.options, **served(server), sampling=sampling, seed=5, repeats=2, limit=1, out=tmp_path / "run"
    )
    first, last = server.requests[0], server.requests[-1]
    assert first.headers["Authorization"] == "Bearer sk-secret-1234"
    expected = {"temperature": 0.3, "top_p": 0.9, "top_k": 1, "max_tokens": 99, "min_p": 0.1}
    assert {key: first.body[key] for key in expected} == expected
    assert {first.body["seed"], last.body["seed"]} == {5, 6}
    assert run.info.facts["sampling"]["top_k"] == 1
    assert all("sk-secret" not in path.read_text() for path in run.path.rglob("*.json*"))


def test_the_model_is_asked_for_where_only_an_address_is_given(
    recording: Recording, tmp_path: Path, fault_server: Any
) -> None:
    server = fault_server(answer(says(SWIPE)))
    run = sopbench.run(**recording.options, model=server.base_url, limit=1, out=tmp_path / "run")
    assert run.summary["model"] == "tiny"
    assert api.resume(run.path).summary["tsr"] == 100.0


def test_resume_refuses_what_would_change_the_meaning_and_names_it(recording: Recording, tmp_path: Path) -> None:
    run = sopbench.run(**recording.options, model="builtin:noisy:p=0.4", out=tmp_path / "run")
    with pytest.raises(FingerprintMismatch, match=r"adapter\.name"):
        api.resume(run.path, adapter="qwen25vl")
    with pytest.raises(FingerprintMismatch, match="profile"):
        sopbench.run(**recording.options, model="builtin:noisy:p=0.4", profile="strict", out=run.path)


def test_changed_data_is_noticed_at_resume(recording: Recording, tmp_path: Path) -> None:
    run = sopbench.run(**recording.options, model="builtin:oracle", out=tmp_path / "run")
    lines = recording.file.read_text().splitlines()
    recording.file.write_text("\n".join(lines[:2]) + "\n")
    with pytest.raises(FingerprintMismatch, match="data_sha256"):
        api.resume(run.path)


def test_the_same_command_again_continues_and_asks_nothing_twice(
    recording: Recording, tmp_path: Path, fault_server: Any
) -> None:
    server = fault_server(answer(says(SWIPE)))
    options = recording.options | served(server)
    first = sopbench.run(**options, out=tmp_path / "run")
    again = sopbench.run(**options, out=tmp_path / "run")
    assert server.count == 12
    assert facts(first.summary) == facts(again.summary)


def test_a_folder_that_is_no_run_is_left_alone(recording: Recording, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="no run"):
        sopbench.run(**recording.options, model="builtin:oracle", out=tmp_path / "mine")


def test_two_processes_cannot_write_one_run(recording: Recording, tmp_path: Path) -> None:
    run = sopbench.run(**recording.options, model="builtin:oracle", out=tmp_path / "run")
    with Journal(RunFolder(run.path).journal_path), pytest.raises(RunBusy):
        api.resume(run.path)


@pytest.mark.parametrize("lines", [0, 1, 5, 11])
def test_a_journal_cut_anywhere_resumes_to_the_uninterrupted_summary(
    recording: Recording, tmp_path: Path, lines: int
) -> None:
    options = recording.options | {"model": "builtin:noisy:p=0.3", "after_mismatch": "continue"}
    whole = sopbench.run(**options, out=tmp_path / "whole")
    cut = sopbench.run(**options, out=tmp_path / "cut")
    journal = RunFolder(cut.path).journal_path
    kept = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(kept[:lines]) + (kept[lines][:20] if lines < len(kept) else b""))
    assert facts(api.resume(cut.path).summary) == facts(whole.summary)


def test_repeats_report_flips_and_each_repeats_tsr(recording: Recording, tmp_path: Path) -> None:
    run = sopbench.run(**recording.options, model="builtin:noisy:p=0.3", repeats=3, out=tmp_path / "run")
    assert run.summary["n"] == 4
    assert len(run.summary["repeats_tsr"]) == 3
    assert len(run.trajectories) == 12
    by_episode = run.trajectories.groupby("episode")["success"].nunique()
    assert run.summary["flips"] == sorted(by_episode[by_episode > 1].index)


def test_the_diagnostic_mode_never_feeds_the_headline(recording: Recording, tmp_path: Path) -> None:
    options = recording.options | {"model": "builtin:noisy:p=0.5", "seed": 3}
    stop = sopbench.run(**options, out=tmp_path / "stop")
    go = sopbench.run(**options, after_mismatch="continue", out=tmp_path / "go")
    for key in ("pg", "tsr", "reasons", "by_action", "first_failure_by_step"):
        assert stop.summary[key] == go.summary[key]
    assert go.summary["diagnostic"]["steps"] == 12
    assert go.steps["diagnostic"].sum() == 12 - stop.summary["scored_steps"]


def test_rescoring_stricter_and_more_lenient(tmp_path: Path, fault_server: Any) -> None:
    """Gold click with box, prediction inside the box but far from the point: released says no, boxes says yes."""
    recording = make_recording(tmp_path / "data", n=2, length=2, content=lambda e, s: CLICK)
    server = fault_server(answer(says({"action": "click", "coordinate": [60, 160]})))
    run = sopbench.run(**recording.options, **served(server), profile="uis1-released", out=tmp_path / "run")
    assert run.summary["tsr"] == 0.0
    lenient = api.rescore(run.path, "uis1-boxes")
    assert lenient.summary["complete"] is False
    assert lenient.summary["not_scored_reasons"] == {"beyond_recording": 2}
    assert lenient.summary["bounds"]["pg"] == [50.0, 100.0]
    same = api.rescore(run.path, "uis1-released")
    assert facts(same.summary) | {"fingerprint": 0} == facts(run.summary) | {"fingerprint": 0}

    whole = sopbench.run(
        **recording.options, **served(server), profile="uis1-released", after_mismatch="continue", out=tmp_path / "c"
    )
    assert api.rescore(whole.path, "uis1-boxes").summary["tsr"] == 100.0


def test_compare_pairs_trajectories_and_names_those_that_flip(recording: Recording, tmp_path: Path) -> None:
    good = sopbench.run(**recording.options, model="builtin:oracle", out=tmp_path / "good")
    bad = sopbench.run(**recording.options, model="builtin:null", out=tmp_path / "bad")
    result = compare(bad, good)
    assert result["difference"]["tsr"] == {"value": 100.0, "ci95": [100.0, 100.0]}
    assert result["only_b"] == ["0", "1", "2", "3"]
    assert result["only_a"] == []
    assert result["mcnemar"]["p"] == pytest.approx(0.125)
    assert "model" in result["differs_in"]


def test_runs_on_other_trajectories_are_not_compared(recording: Recording, tmp_path: Path) -> None:
    whole = sopbench.run(**recording.options, model="builtin:oracle", out=tmp_path / "whole")
    part = sopbench.run(**recording.options, model="builtin:oracle", limit=2, out=tmp_path / "part")
    with pytest.raises(FingerprintMismatch, match="ids_sha256"):
        compare(whole, part)


def test_what_no_headline_counts_does_not_keep_runs_apart(recording: Recording, tmp_path: Path) -> None:
    stop = sopbench.run(**recording.options, model="builtin:null", out=tmp_path / "stop")
    go = sopbench.run(**recording.options, model="builtin:null", after_mismatch="continue", out=tmp_path / "go")
    result = compare(stop, go)
    assert result["difference"]["score"] == {"value": 0.0, "ci95": [0.0, 0.0]}
    assert "after_mismatch" in result["differs_in"]


def test_an_unfinished_run_is_not_compared(recording: Recording, tmp_path: Path) -> None:
    whole = sopbench.run(**recording.options, model="builtin:oracle", out=tmp_path / "whole")
    (recording.images / "1_1.png").unlink()
    part = sopbench.run(**recording.options, model="builtin:null", out=tmp_path / "part")
    assert part.summary["complete"]
    third = sopbench.run(**recording.options, model="builtin:oracle", seed=1, out=tmp_path / "third")
    with pytest.raises(UsageError, match="resume"):
        compare(whole, third)


async def test_arun_works_in_a_running_loop_and_run_does_too(recording: Recording, tmp_path: Path) -> None:
    run = await sopbench.arun(**recording.options, model="builtin:oracle", out=tmp_path / "a")
    assert run.summary["tsr"] == 100.0
    assert sopbench.run(**recording.options, model="builtin:oracle", out=tmp_path / "b").summary["tsr"] == 100.0


async def test_cancelling_leaves_a_run_that_resumes(recording: Recording, tmp_path: Path, fault_server: Any) -> None:
    slow = fault_server(answer(says(SWIPE), delay=0.05))
    options = recording.options | served(slow)
    task = asyncio.create_task(sopbench.arun(**options, out=tmp_path / "run"))
    while slow.count < 4:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (tmp_path / "run" / "summary.json").exists()
    run = await api.aresume(tmp_path / "run")
    assert run.summary["tsr"] == 100.0
    assert run.summary["scored_steps"] == 12


def test_replies_with_lone_surrogates_and_control_characters_are_stored_and_scored(
    tmp_path: Path, fault_server: Any
) -> None:
    recording = make_recording(tmp_path / "data", n=1, length=1)
    body = json.dumps(
        {"choices": [{"message": {"content": "\ud800 \x00 \x1b[31m" + says(SWIPE)}, "finish_reason": "stop"}]}
    )
    from fault_server import raw

    run = sopbench.run(**recording.options, **served(fault_server(raw(body))), out=tmp_path / "run")
    assert run.summary["tsr"] == 100.0
    assert "surrogates_replaced" in run.steps.loc[0, "notes"]
    assert api.rescore(run.path, "uis1-released").summary["tsr"] == 100.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"suite": "nope"}, "no suite 'nope'"),
        ({"adapter": "nope"}, "nope"),
        ({"profile": "nope"}, "nope"),
        ({"model": "builtin:nope"}, "nope"),
        ({"model": "tiny"}, "base-url"),
        ({"limit": 0}, "limit"),
        ({"repeats": 0}, "repeats"),
        ({"concurrency": 0}, "concurrency"),
        ({"seed": -1}, "seed"),
        ({"deadline": math.nan}, "timeouts"),
        ({"after_mismatch": "maybe"}, "after_mismatch"),
    ],
)
def test_bad_options_say_what_is_wrong(
    recording: Recording, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(sopbench.errors.SopbenchError, match=message):
        sopbench.run(**(recording.options | {"model": "builtin:oracle", "out": tmp_path / "run"} | options))
    assert not (tmp_path / "run").exists()


def test_a_reply_of_megabytes_is_a_parse_failure_that_fills_no_disk(tmp_path: Path, fault_server: Any) -> None:
    """No parser reads it, so no more of it is kept than shows that; the run resumes and re-scores as any other."""
    recording = make_recording(tmp_path / "data", n=1, length=2)
    server = fault_server(raw(json.dumps(completion("é" * 1_500_000), ensure_ascii=False)))
    options = recording.options | served(server, after_mismatch="continue")
    run = sopbench.run(**options, out=tmp_path / "run")
    assert run.summary["reasons"] == {"parse:reply_too_long": 1}
    assert run.summary["diagnostic"]["steps"] == 2
    assert {"reply_cut:1500000"} <= set(run.steps.loc[0, "notes"])
    assert (run.path / "steps.jsonl").stat().st_size < 3_000_000
    assert facts(api.resume(run.path).summary) == facts(run.summary)
    assert api.rescore(run.path, "strict").summary["reasons"] == {"parse:reply_too_long": 1}


def test_replies_of_another_model_are_counted_by_the_name_they_give(
    recording: Recording, tmp_path: Path, fault_server: Any
) -> None:
    """A gateway may answer with another model than the one asked for, and a run's numbers are then not that model's."""
    server = fault_server(answer(says(SWIPE)), answer(says(SWIPE), model="gpt-9"))
    run = sopbench.run(**recording.options, **served(server), limit=1, out=tmp_path / "run")
    assert run.summary["model"] == "tiny"
    assert run.summary["other_models"] == {"gpt-9": 2}
