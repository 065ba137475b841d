"""What real users hit (the project's list of field cases), through the public surface: the command, or `sopbench.run`.

The number in a name is the case's. Cases of single adapters (3, 10 to 13, 15 to 20) stand in `tests/unit/adapters/test_field_cases.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from commands import assert_clear_error, sopbench, start
from fault_server import VLLM_NEW_OVERFLOW, VLLM_TOO_MANY_IMAGES, FaultServer, answer, refuse, silence, status
from recordings import CLICK, SCREEN, SWIPE, Recording, make_recording, says

import sopbench as package
from sopbench.actions import ACTION_KINDS, from_released
from sopbench.adapters import ADAPTERS, get_adapter
from sopbench.geometry import Size
from sopbench.runs.progress import Progress

PROFILES = ("uis1-released", "uis1-boxes", "strict")
SHARED = Path(os.environ.get("SOPBENCH_SHARED", Path(__file__).parents[3] / "shared"))
SOP_FILE = SHARED / "data" / "android_control_evaluation_std.jsonl"
PHONE = [1080, 2400]


def judge(profile: str, *cases: dict[str, Any]) -> list[dict[str, Any]]:
    """The verdicts of `sopbench judge`, on a screen of 1080x2400 unless a case says otherwise."""
    lines = "".join(json.dumps({"screen": PHONE} | case) + "\n" for case in cases)
    judged = sopbench("judge", "--profile", profile, input=lines)
    assert judged.returncode == 0, judged.stderr
    return [json.loads(line) for line in judged.stdout.splitlines()]


def run(recording: Recording, out: Path, *args: str, model: str = "builtin:oracle", code: int = 0) -> dict[str, Any]:
    """The summary that `sopbench run --json` prints; the exit status must be `code`."""
    data = ["--suite", "sop", "--data", str(recording.file), "--images", str(recording.images)]
    ran = sopbench("run", *data, "--model", model, "--out", out, "--json", *args)
    assert ran.returncode == code, ran.stderr
    return dict(json.loads(ran.stdout))


def at(server: FaultServer) -> list[str]:
    return ["--base-url", server.base_url]


def journal(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "steps.jsonl").read_text().splitlines()]


def wait_gold(episode: int, step: int) -> dict[str, Any]:
    return {"action": "wait", "time": 2}


# -- data --------------------------------------------------------------------------------------------------------------


def test_case_1_a_missing_screen_is_named_with_what_to_do_and_nothing_else_is_lost(tmp_path: Path) -> None:
    recording = make_recording(tmp_path / "data", n=3, length=2)
    shutil.move(recording.images / "1_1.png", tmp_path / "1_1.png")
    summary = run(recording, tmp_path / "run", code=3)
    assert (summary["scored_trajectories"], summary["not_scored_reasons"]) == (2, {"screen": 1})
    [detail] = [line["error"]["detail"] for line in journal(tmp_path / "run") if line["outcome"] == "not_scored"]
    assert str(recording.images / "1_1.png") in detail
    assert "--images DIR" in detail
    assert "sopbench data pull" in detail
    shutil.move(tmp_path / "1_1.png", recording.images / "1_1.png")
    resumed = sopbench("resume", tmp_path / "run", "--json")
    assert (resumed.returncode, json.loads(resumed.stdout)["tsr"]) == (0, 100.0)
    assert len(journal(tmp_path / "run")) == 7, "six steps and the one that had no screen"


def test_case_1_no_screen_at_all_starts_nothing(tmp_path: Path) -> None:
    recording = make_recording(tmp_path / "data", n=2, length=1)
    (tmp_path / "empty").mkdir()
    args = ["--suite", "sop", "--data", recording.file, "--images", tmp_path / "empty", "--model", "builtin:oracle"]
    ran = sopbench("run", *args, "--out", tmp_path / "run")
    assert_clear_error(ran, str(tmp_path / "empty" / "0_0.png"), "sopbench data pull")
    assert not (tmp_path / "run").exists()


def test_case_22_boxes_of_the_whole_screen_are_flagged_and_strict_takes_the_smallest(tmp_path: Path) -> None:
    recording = make_recording(tmp_path / "data", n=1, length=1, content=lambda e, s: CLICK)
    obj = json.loads(recording.file.read_text())
    obj["steps"][0]["check_options"]["candidate_bbox"] = [[0, 0, *SCREEN], [50, 150, 150, 250]]
    recording.file.write_text(json.dumps(obj))
    checked = sopbench("data", "check", recording.file, "--images", recording.images, "--json")
    findings = {finding["code"]: finding["count"] for finding in json.loads(checked.stdout)["findings"]}
    assert findings == {"box_over_half": 1}
    near, far = ({"action": "click", "coordinate": at} for at in ([149, 249], [151, 251]))
    boxes = {"candidate_bbox": [[0, 0, *SCREEN], [50, 150, 150, 250]]}
    cases = [{"screen": list(SCREEN), "pred": pred, "gold": CLICK, "check_options": boxes} for pred in (near, far)]
    assert [verdict["match"] for verdict in judge("strict", *cases)] == [True, False]
    assert [verdict["match"] for verdict in judge("uis1-boxes", *cases)] == [True, True]


def test_case_23_results_on_a_file_with_two_trajectories_dropped_are_not_comparable(tmp_path: Path) -> None:
    recording = make_recording(tmp_path / "data", n=6, length=1)
    run(recording, tmp_path / "whole")
    shorter = Recording(tmp_path / "shorter.jsonl", recording.images)
    shorter.file.write_text("\n".join(recording.file.read_text().splitlines()[:4]) + "\n")
    assert run(shorter, tmp_path / "shorter")["n"] == 4
    assert_clear_error(
        sopbench("compare", tmp_path / "whole", tmp_path / "shorter"), "cannot be compared", "data_sha256"
    )
    run(recording, tmp_path / "limited", "--limit", "4")
    assert_clear_error(
        sopbench("compare", tmp_path / "whole", tmp_path / "limited"), "cannot be compared", "ids_sha256"
    )


# -- verdicts ----------------------------------------------------------------------------------------------------------


def test_case_2_a_click_in_the_box_but_far_from_the_point() -> None:
    gold = {"action": "click", "coordinate": [540, 1200]}
    case = {
        "pred": {"action": "click", "coordinate": [100, 1200]},
        "gold": gold,
        "check_options": gold | {"candidate_bbox": [[0, 1100, 1080, 1300]]},
    }
    assert judge("uis1-boxes", case) == [{"type_match": True, "match": True, "reason": None}]
    assert judge("uis1-released", case) == [{"type_match": True, "match": False, "reason": "outside_target"}]


def test_case_4_a_refusal_on_a_gold_wait_is_a_parse_failure_and_no_match(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=1, length=1, content=wait_gold)
    server = fault_server(answer("Sorry, I can't help with that"))
    for profile in PROFILES:
        out = tmp_path / profile
        summary = run(recording, out, *at(server), "--profile", profile, model="tiny")
        assert (summary["pg"], summary["tsr"], summary["parse_failed_steps"]) == (0.0, 0.0, 1)
        assert summary["reasons"] == {"parse:no_action": 1}
        assert summary["complete"] is True, "the model's fault, not the infrastructure's"


GOLD: list[dict[str, Any]] = [
    {"action": "click", "coordinate": [540, 1200]},
    {"action": "long_press", "coordinate": [0, 0], "time": 2},
    *(
        {"action": "swipe", "coordinate": [540, 1200], "coordinate2": end}
        for end in ([540, 600], [540, 1800], [140, 1200], [940, 1200])
    ),
    {"action": "type", "text": "it's ok\nsecond line"},
    {"action": "open", "text": "Maps"},
    {"action": "answer", "text": "42"},
    {"action": "key", "text": "volume_up"},
    {"action": "system_button", "button": "Back"},
    {"action": "wait", "time": 2},
    {"action": "terminate", "status": "success"},
    {"action": "terminate", "status": "failure"},
]


@pytest.mark.parametrize("profile", PROFILES)
def test_case_5_every_gold_action_matches_itself(profile: str) -> None:
    assert {gold["action"] for gold in GOLD} == set(ACTION_KINDS)
    verdicts = judge(profile, *({"pred": gold, "gold": gold} for gold in GOLD))
    assert verdicts == [{"type_match": True, "match": True, "reason": None}] * len(GOLD)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.skipif(
    not SOP_FILE.is_file(), reason="the released SOP file is not in the shared folder (SOPBENCH_SHARED)"
)
def test_case_5_every_step_of_the_released_file_matches_itself(profile: str) -> None:
    cases = [
        {"pred": step["action_content"], "gold": step["action_content"], "check_options": step["check_options"]}
        for line in SOP_FILE.read_text().splitlines()
        for step in json.loads(line)["steps"]
    ]
    verdicts = judge(profile, *cases)
    assert len(verdicts) == 8_444
    assert [v for v in verdicts if not v["match"]] == []


def test_case_14_a_box_in_place_of_a_point_means_its_centre() -> None:
    call = '<tool_call>{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [10, 850, 50, 890]}}</tool_call>'
    args = ["--adapter", "qwen25vl", "--screen", "1080x2400", "--sent", "1080x2400"]
    parsed = sopbench("parse", *args, input=json.dumps(call) + "\n")
    assert json.loads(parsed.stdout) == {"action": "click", "coordinate": [30, 870]}


def test_case_33_an_empty_search_for_paris_hotels() -> None:
    case = {"pred": {"action": "type", "text": ""}, "gold": {"action": "type", "text": "Paris hotels"}}
    assert judge("strict", case) == [{"type_match": True, "match": False, "reason": "empty_text"}]
    assert judge("uis1-released", case) == [{"type_match": True, "match": True, "reason": None}]


# -- requests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_case_9_no_step_instruction_reaches_a_request(tmp_path: Path, fault_server: Any, name: str) -> None:
    """The recording's instructions are sentinels; the model answers right in its family's words, so that every turn is asked, with its history."""
    recording = make_recording(tmp_path / "data", n=1, length=3)
    size = Size(*SCREEN)
    said = get_adapter(name).format(from_released(SWIPE, size), size, "I look around")
    server = fault_server(answer(said))
    options = recording.options | {
        "model": "tiny",
        "base_urls": (server.base_url,),
        "adapter": name,
        "prompts": "builtin",
    }
    done = package.run(**options, out=tmp_path / "sop")
    assert (server.count, done.summary["tsr"]) == (3, 100.0)
    package.run(**options | {"suite": "androidcontrol-high"}, out=tmp_path / "high")
    assert server.count == 6
    assert not [got for got in server.requests if b"SENTINEL" in got.raw]
    package.run(**options | {"suite": "androidcontrol-low"}, out=tmp_path / "low")
    assert sorted(got.raw.count(b"SENTINEL") for got in server.requests[6:]) == [1, 1, 1], (
        "AC-Low tells each step its own"
    )


def test_case_34_no_screen_is_sent_where_none_is_asked_for(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=1, length=3)
    server = fault_server(answer(says(SWIPE)))
    assert run(recording, tmp_path / "run", *at(server), "--history-images", "0", model="tiny")["tsr"] == 100.0
    assert server.count == 3
    assert not [got for got in server.requests if b"base64" in got.raw or b"image_url" in got.raw]
    assert [line["images"] for line in journal(tmp_path / "run")] == [[], [], []]


# -- outcomes ----------------------------------------------------------------------------------------------------------


def test_case_7_four_right_and_then_cut_off_is_progress_four(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=1, length=6)
    server = fault_server(*[answer(says(SWIPE))] * 4, answer('{"action":', finish_reason="length"))
    summary = run(recording, tmp_path / "run", *at(server), model="tiny")
    assert (summary["pg"], summary["tsr"], summary["scored_steps"]) == (66.7, 0.0, 5)
    assert summary["first_failure_by_step"] == [{"step": 4, "n": 1}]
    [reason] = summary["reasons"]
    assert reason in ("parse:truncated", "parse:bad_json")


def test_case_8_503_503_200_is_scored_once(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=1, length=1)
    busy = status(503, headers={"Retry-After": "0"})
    server = fault_server(busy, busy, answer(says(SWIPE)))
    summary = run(recording, tmp_path / "run", *at(server), model="tiny")
    assert (server.count, summary["scored_steps"], summary["tsr"]) == (3, 1, 100.0)
    assert (summary["retries"], summary["faults"]) == (2, {"http_503": 2})
    assert len(journal(tmp_path / "run")) == 1


def test_case_8_503_for_ever_is_not_scored_and_the_exit_status_says_so(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=1, length=1)
    server = fault_server(status(503, headers={"Retry-After": "0"}))
    summary = run(recording, tmp_path / "run", *at(server), "--max-attempts", "3", model="tiny", code=3)
    assert server.count == 3
    assert (summary["complete"], summary["scored_steps"], summary["not_scored_steps"]) == (False, 0, 1)
    assert (summary["tsr"], summary["bounds"]["tsr"]) == (None, [0.0, 100.0])


def test_case_24_doctor_names_the_image_limit_in_both_of_its_syntaxes(fault_server: Any) -> None:
    async def behave(request: Any, got: Any) -> Any:
        several = got.raw.count(b'"image_url": {') > 1
        return await (refuse(VLLM_TOO_MANY_IMAGES) if several else answer(says(CLICK)))(request, got)

    told = sopbench("doctor", "--base-url", fault_server(behave).base_url, "--screen", "280x560")
    assert told.returncode == 2
    assert "--limit-mm-per-prompt image=2" in told.stdout
    assert """--limit-mm-per-prompt '{"image": 2}'""" in told.stdout


def test_case_21_doctor_finds_a_server_that_resizes_by_limits_of_its_own(fault_server: Any) -> None:
    async def behave(request: Any, got: Any) -> Any:
        images = got.raw.count(b'"image_url": {')
        usage = {"prompt_tokens": 50 + 64 * images, "completion_tokens": 9}
        return await answer(says(CLICK), usage=usage)(request, got)

    told = sopbench("doctor", "--base-url", fault_server(behave).base_url, "--screen", "1080x2400")
    assert told.returncode == 2
    assert "1092x2408" in told.stdout, "the size that the adapter counts in"


def test_case_21_the_size_that_coordinates_refer_to_is_recorded(tmp_path: Path) -> None:
    run(make_recording(tmp_path / "data", n=1, length=1), tmp_path / "run")
    [line] = journal(tmp_path / "run")
    assert (line["screen"], line["sent"]) == ([540, 1200], [532, 1204])


def test_case_25_a_prompt_beyond_the_context_is_asked_once_and_counted_apart(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=3, length=1)
    server = fault_server(refuse(VLLM_NEW_OVERFLOW))
    summary = run(recording, tmp_path / "run", *at(server), model="tiny", code=3)
    assert server.count == 3
    assert (summary["not_scored_reasons"], summary["faults"]) == ({"context_overflow": 3}, {"context_overflow": 3})
    assert (summary["retries"], summary["parse_failed_steps"]) == (0, 0)


def test_case_26_a_server_that_never_answers_costs_an_attempt_and_a_deadline(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=1, length=1)
    server = fault_server(silence())
    args = ["--timeout", "0.4", "--deadline", "1.5"]
    summary = run(recording, tmp_path / "run", *at(server), *args, model="tiny", code=3)
    [line] = journal(tmp_path / "run")
    assert line["attempts"][0]["error"] == "timeout"
    assert 0.35 < line["attempts"][0]["seconds"] < 1.4
    assert sum(attempt["seconds"] + attempt["waited"] for attempt in line["attempts"]) < 3.0
    assert summary["not_scored_reasons"].keys() <= {"timeout", "deadline"}


def test_case_26_waiting_in_our_own_queue_is_charged_to_nothing(tmp_path: Path, fault_server: Any) -> None:
    """Twelve requests, four at first (the adaptive mode begins so), 1.5 s each: the others need 3 s in all, and have a deadline of 2.2 s."""
    recording = make_recording(tmp_path / "data", n=12, length=1)
    server = fault_server(answer(says(SWIPE), delay=1.5))
    args = ["--adaptive", "--concurrency", "12", "--timeout", "2.2", "--deadline", "2.2"]
    summary = run(recording, tmp_path / "run", *at(server), *args, model="tiny")
    assert (summary["complete"], summary["tsr"], server.count) == (True, 100.0, 12)
    assert max(line["queued"] for line in journal(tmp_path / "run")) > 1.2


def test_case_27_sixteen_429s_are_waited_out_shown_and_counted(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=1, length=1)
    limited = [status(429, headers={"Retry-After": "0"})] * 15 + [status(429, headers={"Retry-After": "1"})]
    server = fault_server(*limited, answer(says(SWIPE)))
    seen: list[int] = []

    def watch(progress: Progress) -> None:
        seen.append(progress.pool.rate_limited)

    options = recording.options | {"model": "tiny", "base_urls": (server.base_url,), "prompts": "builtin"}
    done = package.run(**options, out=tmp_path / "run", listener=watch)
    assert (server.count, done.summary["tsr"], done.summary["retries"]) == (17, 100.0, 16)
    assert done.summary["faults"] == {"http_429": 16}
    assert seen[-1] == 16, "what the progress line shows"
    [line] = journal(tmp_path / "run")
    assert Counter(attempt.get("error") for attempt in line["attempts"]) == {"http_429": 16, None: 1}
    assert line["attempts"][-1]["waited"] >= 1.0
    assert server.requests[16].at - server.requests[15].at >= 1.0


def test_case_28_killed_at_900_of_1000_exactly_the_missing_ones_run(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=1, length=1)
    [line] = recording.file.read_text().splitlines()
    lines = [json.dumps(json.loads(line) | {"episode_id": episode}) for episode in range(1_000)]
    recording.file.write_text("\n".join(lines) + "\n")
    server = fault_server(answer(says(SWIPE)))
    out = tmp_path / "run"
    data = ["--suite", "sop", "--data", str(recording.file), "--images", str(recording.images)]
    process = start("run", *data, "--model", "tiny", "--base-url", server.base_url, "--out", str(out), "--no-report")
    deadline = time.monotonic() + 120
    while process.poll() is None and server.count < 900 and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    whole = (out / "steps.jsonl").read_bytes()
    recorded = [json.loads(line)["episode"] for line in whole[: whole.rindex(b"\n")].splitlines()]
    assert 850 < len(recorded) < 1_000

    again = fault_server(answer(says(SWIPE)))
    resumed = sopbench("resume", out, "--base-url", again.base_url, "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert again.count == 1_000 - len(recorded)
    summary = json.loads(resumed.stdout)
    assert (summary["n"], summary["scored_steps"], summary["tsr"]) == (1_000, 1_000, 100.0)
    assert Counter(line["episode"] for line in journal(out)).most_common(1)[0][1] == 1


def test_case_29_three_of_ten_fail_by_infrastructure(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=10, length=1)
    down = status(500)
    script = [down if k in (2, 5, 8) else answer(says(SWIPE)) for k in range(10)]
    args = ["--concurrency", "1", "--max-attempts", "1"]
    summary = run(recording, tmp_path / "run", *at(fault_server(*script)), *args, model="tiny", code=3)
    assert (summary["n"], summary["scored_trajectories"], summary["not_scored_trajectories"]) == (10, 7, 3)
    assert (summary["pg"], summary["tsr"], summary["score"], summary["ci95"]) == (None, None, None, None)
    assert summary["bounds"]["tsr"] == [70.0, 100.0]
    shown = sopbench("show", tmp_path / "run")
    assert "between 70.0 and 100.0" in shown.stdout
    assert "100.0 – 100.0" not in shown.stdout, "no mean over the seven that were played"


# -- online ------------------------------------------------------------------------------------------------------------


def test_case_30_the_agent_says_success_and_the_environment_says_0(tmp_path: Path) -> None:
    args = ["--suite", "pocket-online", "--model", "builtin:null", "--limit", "5", "--json", "--out", tmp_path / "run"]
    ran = sopbench("run", *args)
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    assert (summary["n"], summary["said"]) == (5, {"success": 5})
    assert (summary["success"], summary["tsr"], summary["reasons"]) == (0.0, 0.0, {"said:success": 5})


def test_case_31_a_task_that_is_solved_at_the_start_is_flagged_by_the_null_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No task of ours is; so the environment's check is told to find one solved, whatever its state."""
    from sopbench.online.pocket import PocketEnvironment

    solved: list[PocketEnvironment] = []

    def score(self: PocketEnvironment) -> float:
        solved.append(self)
        return 1.0 if len(solved) == 1 else 0.0

    monkeypatch.setattr(PocketEnvironment, "score", score)
    done = package.run(suite="pocket-online", model="builtin:null", limit=3, concurrency=1, out=tmp_path / "run")
    first = done.trajectories.loc[0, "episode"]
    assert done.summary["solved_without_acting"] == [first]
    shown = sopbench("show", tmp_path / "run")
    assert "1 tasks are solved without acting" in shown.stdout
    assert first in shown.stdout


# -- chance ------------------------------------------------------------------------------------------------------------


def test_case_32_repeats_give_seeds_of_their_own_an_interval_and_the_tasks_that_flip(
    tmp_path: Path, fault_server: Any
) -> None:
    """A model whose answer depends on the seed that it is sent: three repeats, three seeds, and the flips by name."""
    recording = make_recording(tmp_path / "data", n=8, length=1)

    def reply(body: dict[str, Any]) -> str:
        episode = int(json.dumps(body).split("goal ")[1].split("\\")[0].split('"')[0].split()[0].rstrip("."))
        right = episode < 4 or (episode == 4 and body["seed"] == 11)
        return says(SWIPE if right else {"action": "wait", "time": 1})

    server = fault_server(answer(reply))
    summary = run(recording, tmp_path / "run", *at(server), "--repeats", "3", "--seed", "10", model="tiny")
    assert Counter(got.body["seed"] for got in server.requests) == {10: 8, 11: 8, 12: 8}
    assert summary["repeats_tsr"] == [50.0, 62.5, 50.0]
    assert summary["flips"] == ["4"]
    assert summary["n"] == 8, "trajectories, not plays"
    low, high = summary["ci95"]["tsr"]
    assert low < summary["tsr"] == 54.2 < high


def test_case_32_three_runs_compared_list_the_tasks_that_flip(tmp_path: Path) -> None:
    recording = make_recording(tmp_path / "data", n=30, length=2)
    for seed in (1, 2):
        run(recording, tmp_path / str(seed), "--seed", str(seed), model="builtin:noisy:p=0.3")
    compared = json.loads(sopbench("compare", tmp_path / "1", tmp_path / "2", "--json").stdout)
    low, high = compared["difference"]["tsr"]["ci95"]
    assert low <= compared["difference"]["tsr"]["value"] <= high
    assert compared["mcnemar"]["only_a"] == len(compared["only_a"]) > 0
    assert compared["mcnemar"]["only_b"] == len(compared["only_b"]) > 0
