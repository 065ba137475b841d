"""sopbench against a real vLLM server: whole runs, through the Python API and through the command line.

The recordings made here ask for what the colour language says (`colours`), except at steps planted to go wrong. The tiny model
answers by that language, so how far every episode comes is known before it is played.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sopbench
from sopbench.clients.base import Sampling
from sopbench.geometry import Size, smart_resize

from .colours import ACTIONS, SCREEN, SENT, Colour, png, reply
from .serve import MODEL_NAME, VllmServer

pytestmark = pytest.mark.e2e

HOME = {"action": "system_button", "button": "Home"}
LOW = {"action": "click", "coordinate": [270, 1000]}


@dataclass(frozen=True)
class Plan:
    """One recording: its screens, and where (and how) its gold action is another than the colour asks for."""

    screens: tuple[Colour, ...]
    wrong: int | None = None
    gold: dict[str, Any] | None = None
    reason: str | None = None

    @property
    def progress(self) -> int:
        return len(self.screens) if self.wrong is None else self.wrong


PLANS = (
    Plan(("red",)),
    Plan(("green", "red")),
    Plan(("blue", "green", "red")),
    Plan(("plain", "blue", "red", "green")),
    Plan(("red", "red", "blue", "plain", "green")),
    Plan(("red",), 0, LOW, "outside_target"),
    Plan(("blue", "plain"), 0, HOME, "button"),
    Plan(("green", "blue", "red"), 1, LOW, "wrong_type"),
    Plan(("blue", "red", "plain", "green"), 2, HOME, "wrong_type"),
    Plan(("plain", "green", "blue", "red"), 3, LOW, "outside_target"),
)
TSR = 50.0
PG = round(100 * sum(p.progress / len(p.screens) for p in PLANS) / len(PLANS), 1)
SCORED = sum(p.progress + (p.wrong is not None) for p in PLANS)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recordings as a trajectory file, its screens beside it in `images/`."""
    folder = tmp_path_factory.mktemp("recordings")
    (folder / "images").mkdir()
    lines = []
    for episode, plan in enumerate(PLANS):
        steps = []
        for index, colour in enumerate(plan.screens):
            name = f"{episode}_{index}.png"
            (folder / "images" / name).write_bytes(png(colour, 8000 + 10 * episode + index))
            gold = plan.gold if index == plan.wrong else in_original_pixels(ACTIONS[colour])
            steps.append({"action_content": gold, "check_options": gold, "screenshot": f"images/{name}"})
        lines.append(json.dumps({"goal": f"Follow the colours ({episode})", "episode_id": episode, "steps": steps}))
    (folder / "data.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def uninterrupted(server: VllmServer, recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> sopbench.Run:
    """All recordings, played through the Python API, four in flight."""
    return sopbench.run(
        **asked_of(server, recordings), out=tmp_path_factory.mktemp("run") / "whole", concurrency=4, seed=7
    )


def asked_of(server: VllmServer, recordings: Path) -> dict[str, Any]:
    return {
        "suite": "sop",
        "data": recordings / "data.jsonl",
        "images": recordings / "images",
        "model": MODEL_NAME,
        "base_urls": (server.base_url,),
        "prompts": "builtin",
        "sampling": Sampling(temperature=0.0, max_tokens=128),
    }


def in_original_pixels(action: dict[str, Any]) -> dict[str, Any]:
    """`colours` writes pixels of the resized image, as models do; a trajectory file has pixels of the original screen."""

    def scaled(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [round(v * here / there) for v, here, there in zip(value, SCREEN, SENT, strict=True)]

    return {name: scaled(value) for name, value in action.items()}


def cli(*words: object) -> list[str]:
    return [sys.executable, "-m", "sopbench", *map(str, words)]


def test_the_colour_language_counts_in_the_pixels_of_the_family() -> None:
    assert smart_resize(Size(*SCREEN)).as_list() == list(SENT)


def test_every_reply_shows_the_last_two_screens_in_their_order(uninterrupted: sopbench.Run) -> None:
    records = records_of(uninterrupted)
    for record in records:
        plan, step = PLANS[int(record["episode"])], record["step"]
        screens = plan.screens[max(0, step - 1) : step + 1]
        assert record["reply"] == reply(screens[0], screens[-1]), (record["episode"], step)
        assert len(record["images"]) == len(screens)
    assert len(records) == SCORED


def test_the_summary_is_what_the_plans_foretell(uninterrupted: sopbench.Run) -> None:
    summary = uninterrupted.summary
    assert summary["complete"] is True
    assert (summary["n"], summary["tsr"], summary["pg"]) == (len(PLANS), TSR, PG)
    assert (summary["scored_steps"], summary["parse_failed_steps"], summary["not_scored_steps"]) == (SCORED, 0, 0)
    wanted: dict[str, int] = {}
    for plan in PLANS:
        if plan.reason:
            wanted[plan.reason] = wanted.get(plan.reason, 0) + 1
    assert summary["reasons"] == wanted


def test_usage_and_model_are_recorded_for_every_step(uninterrupted: sopbench.Run) -> None:
    records = records_of(uninterrupted)
    for record in records:
        assert record["model"] == MODEL_NAME
        assert record["finish_reason"] == "stop"
        assert record["prompt_tokens"] > 100
        assert record["completion_tokens"] > 10
        assert record["latency"] > 0
    tokens = {name: sum(r[f"{name}_tokens"] for r in records) for name in ("prompt", "completion")}
    assert uninterrupted.summary["tokens"] == tokens


def test_a_killed_run_resumes_to_the_same_summary(
    server: VllmServer, recordings: Path, uninterrupted: sopbench.Run, tmp_path: Path
) -> None:
    out = tmp_path / "killed"
    start = cli("run", "--suite", "sop", "--data", recordings / "data.jsonl", "--images", recordings / "images")
    start += ["--model", MODEL_NAME, "--base-url", server.base_url, "--prompts", "builtin", "--max-tokens", "128"]
    start += ["--concurrency", "1", "--seed", "7", "--out", str(out), "--json", "--quiet"]
    process = subprocess.Popen(start, stdout=subprocess.DEVNULL, start_new_session=True)
    journal = out / "steps.jsonl"
    try:
        until = time.monotonic() + 120
        while line_count(journal) < SCORED // 3:
            assert process.poll() is None, f"the run ended ({process.returncode}) before it could be killed"
            assert time.monotonic() < until, f"only {line_count(journal)} steps after two minutes"
            time.sleep(0.02)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    kept = line_count(journal)
    assert kept < SCORED

    done = subprocess.run(cli("resume", out, "--json", "--quiet"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    same = ("n", "pg", "tsr", "score", "ci95", "reasons", "scored_steps", "tokens", "complete", "fingerprint")
    assert {k: summary[k] for k in same} == {k: uninterrupted.summary[k] for k in same}
    assert replies(sopbench.load_run(out)) == replies(uninterrupted)


def test_a_subset_of_pocket_runs_to_the_end(server: VllmServer, tmp_path: Path) -> None:
    """The model knows nothing of PocketPhone: what counts is that every step of every recording is asked, answered and judged."""
    run = sopbench.run(
        suite="pocket",
        limit=6,
        model=server.base_url,
        prompts="builtin",
        after_mismatch="continue",
        concurrency=4,
        sampling=Sampling(temperature=0.0, max_tokens=128),
        out=tmp_path / "pocket",
    )
    summary, records = run.summary, records_of(run)
    assert summary["complete"] is True
    assert summary["model"] == MODEL_NAME
    assert (summary["n"], summary["not_scored_steps"]) == (6, 0)
    assert len(records) == sum({r["episode"]: r["of"] for r in records}.values())
    assert max(r["step"] for r in records) > 1
    for record in records:
        assert len(record["images"]) == min(record["step"] + 1, 2)
        assert record["prompt_tokens"] > 0
        assert (record["parse_failure"] is None) == (record["action"] is not None), record["reply"]
        assert not (record["match"] and record["parse_failure"])
    understood = [record for record in records if record["parse_failure"] is None]
    assert len(understood) > len(records) / 2
    assert summary["parse_failed_steps"] == len(records) - len(understood)
    assert run.report().stat().st_size > 10_000


def test_a_prompt_beyond_the_context_is_an_outcome_of_its_own(
    narrow_server: VllmServer, recordings: Path, tmp_path: Path
) -> None:
    """Field case 25: no retry, no mismatch, counted apart."""
    run = sopbench.run(**asked_of(narrow_server, recordings), limit=3, history_images=1, out=tmp_path / "overflow")
    assert run.summary["complete"] is False
    assert run.summary["tsr"] is None
    assert run.summary["not_scored_reasons"] == {"context_overflow": 3}
    assert run.summary["retries"] == 0


def test_doctor_names_the_flag_for_more_images(narrow_server: VllmServer) -> None:
    """Field case 24."""
    status, checks = doctor(narrow_server)
    assert status == 2
    (found,) = [c for c in checks.values() if "At most 1 image(s)" in c["detail"]]
    assert found["status"] == "problem"
    assert "--limit-mm-per-prompt '{\"image\": 2}'" in found["fix"]
    assert "--limit-mm-per-prompt image=2" in found["fix"]


def test_doctor_finds_that_the_server_resizes_images_by_limits_of_its_own(server: VllmServer) -> None:
    """Field case 21: coordinates would mean pixels of another image than the adapter counts in."""
    status, checks = doctor(server)
    assert status == 2
    assert {name: c["status"] for name, c in checks.items() if c["status"] == "problem"} == {"image size": "problem"}
    assert "532x1204" in checks["image size"]["detail"]
    assert "max_pixels" in checks["image size"]["fix"]
    assert checks["same again"]["status"] == "ok"
    assert str(server.context) in checks["context"]["detail"]


def doctor(server: VllmServer) -> tuple[int, dict[str, dict[str, Any]]]:
    words = cli("doctor", "--base-url", server.base_url, "--screen", "540x1200", "--prompts", "builtin", "--json")
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.stdout, done.stderr
    return done.returncode, {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def records_of(run: sopbench.Run) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = run.steps.to_dict("records")  # type: ignore[assignment]
    return rows


def replies(run: sopbench.Run) -> dict[tuple[str, int], str]:
    return {(r["episode"], r["step"]): r["reply"] for r in records_of(run)}


def line_count(file: Path) -> int:
    try:
        return file.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0
