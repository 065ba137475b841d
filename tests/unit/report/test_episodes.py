"""From journal lines and recordings to rows: what counts as success, failure, not scored."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from sopbench.geometry import Box
from sopbench.report.episodes import MAX_REPLY, Episodes, build_episodes
from sopbench.runs.folder import EpisodeLog
from sopbench.runs.records import AttemptRecord, EpisodeEnd, FailureRecord, StepRecord, VerdictRecord
from sopbench.screen import Screen
from sopbench.trajectory import Step, Trajectory

CLICK = {"action": "click", "coordinate": [10, 20]}


def trajectory(episode: str = "e", length: int = 3, boxes: tuple[Box, ...] = ()) -> Trajectory:
    steps = [
        Step(CLICK, Screen.from_file(Path(f"{episode}_{k}.png")), boxes, f"instruction {k}") for k in range(length)
    ]
    return Trajectory(episode, f"goal of {episode}", tuple(steps))


def scored(step: int, *, match: bool = True, episode: str = "e", **more: Any) -> StepRecord:
    verdict = VerdictRecord(type_match=True, match=match, reason=None if match else "outside_target")
    fields: dict[str, Any] = {"outcome": "scored", "verdict": verdict, "gold": CLICK, "action": CLICK, "reply": "r"}
    return StepRecord(episode=episode, step=step, **(fields | more))


def lost(step: int, reason: str = "deadline", **more: Any) -> StepRecord:
    error = FailureRecord(reason=reason, detail="nothing came")
    return StepRecord(episode="e", step=step, outcome="not_scored", error=error, **more)


def build(*records: StepRecord | EpisodeEnd, given: dict[str, Trajectory] | None = None, **options: Any) -> Episodes:
    logs: dict[tuple[str, int], EpisodeLog] = defaultdict(EpisodeLog)
    for record in records:
        logs[record.episode, record.repeat].add(record)
    fields: dict[str, Any] = {
        "protocol": "semi_online",
        "complete": True,
        "repeats": 1,
        "n_trajectories": None,
        "screens_dir": Path("screens"),
    }
    return build_episodes(dict(logs), given, **(fields | options))


def row(*records: StepRecord | EpisodeEnd, **options: Any) -> dict[str, Any]:
    return build(*records, **({"given": {"e": trajectory()}} | options)).rows[0]


def test_all_steps_matched_is_a_success() -> None:
    found = row(scored(0), scored(1), scored(2))
    assert (found["out"], found["s"], found["t"]) == ("success", 3, 3)
    assert "reason" not in found


def test_a_mismatch_ends_the_trajectory_and_says_why_and_at_what() -> None:
    found = row(scored(0), scored(1, match=False, action={"action": "wait", "time": 1}))
    assert (found["out"], found["s"], found["at"], found["reason"]) == ("failed", 1, 1, "outside_target")
    assert (found["kind"], found["pred"]) == ("click", "wait")
    assert [step["st"] for step in found["steps"]] == ["match", "mismatch", "unreached"]


def test_a_parse_failure_is_a_failure_of_its_own_kind() -> None:
    verdict = VerdictRecord(type_match=False, match=False, reason="parse:no_json")
    failure = FailureRecord(reason="no_json", detail="nothing like JSON")
    found = row(scored(0, action=None, parse_failure=failure, verdict=verdict))
    assert (found["out"], found["reason"], found["pred"]) == ("failed", "parse:no_json", "parse_failure")
    assert found["steps"][0]["parse"] == {"reason": "no_json", "detail": "nothing like JSON"}


def test_infrastructure_is_neither_success_nor_failure_and_keeps_what_was_achieved() -> None:
    found = row(scored(0), lost(1))
    assert (found["out"], found["s"], found["reason"]) == ("not_scored", 1, "deadline")


def test_what_was_never_asked_is_not_scored() -> None:
    assert [(r["out"], r["reason"], r["s"]) for r in build(given={"e": trajectory()}).rows] == [
        ("not_scored", "not_played", 0)
    ]
    assert row(scored(0))["reason"] == "not_played"


def test_diagnostic_steps_change_nothing_of_the_outcome() -> None:
    found = row(scored(0), scored(1, match=False), scored(2, diagnostic=True))
    assert (found["out"], found["s"], found["at"]) == ("failed", 1, 1)
    assert [step.get("diag") for step in found["steps"]] == [None, None, True]


def test_rows_are_in_the_order_of_the_data_each_with_its_repeats() -> None:
    given = {name: trajectory(name, 1) for name in ("b", "a")}
    found = build(scored(0, episode="a", repeat=1), given=given, repeats=2).rows
    assert [(r["id"], r["rep"], r["out"]) for r in found] == [
        ("b", 0, "not_scored"),
        ("b", 1, "not_scored"),
        ("a", 0, "not_scored"),
        ("a", 1, "success"),
    ]


def test_recordings_beyond_the_limit_of_the_run_are_not_its_trajectories() -> None:
    given = {name: trajectory(name, 1) for name in "abc"}
    assert [r["id"] for r in build(given=given, n_trajectories=2).rows] == ["a", "b"]


def test_the_journal_alone_tells_lengths_where_its_lines_carry_them() -> None:
    with_lengths = build(scored(0, of=2))
    assert with_lengths.known_lengths
    assert (with_lengths.rows[0]["s"], with_lengths.rows[0]["t"], with_lengths.rows[0]["out"]) == (1, 2, "not_scored")
    without = build(scored(0), complete=True)
    assert not without.known_lengths
    assert without.rows[0]["out"] == "success"
    assert build(scored(0), complete=False).rows[0]["out"] == "not_scored"


@pytest.mark.parametrize("lie", [{"of": 10**9}, {"step": 10**9}])
def test_a_journal_that_lies_about_lengths_does_not_fill_the_memory(lie: dict[str, int]) -> None:
    record = scored(0).model_copy(update=lie)
    assert len(build(record).rows[0]["steps"]) <= 1_000


def test_long_replies_are_cut_and_the_rest_is_counted() -> None:
    step = row(scored(0, reply="x" * (MAX_REPLY + 5)))["steps"][0]
    assert (len(step["reply"]), step["cut"]) == (MAX_REPLY, 5)
    assert "cut" not in row(scored(0, reply="x" * MAX_REPLY))["steps"][0]


def test_the_best_box_is_the_smallest_that_holds_the_gold_point() -> None:
    boxes = (Box(0, 0, 100, 100), Box(50, 50, 52, 52), Box(5, 15, 30, 40))
    step = row(given={"e": trajectory(boxes=boxes)})["steps"][0]
    assert step["boxes"] == [[50, 50, 52, 52], [5, 15, 30, 40], [0, 0, 100, 100]]
    assert step["boxes"][step["best"]] == [5, 15, 30, 40]


def test_no_box_is_best_where_none_holds_the_gold_point() -> None:
    assert "best" not in row(given={"e": trajectory(boxes=(Box(50, 50, 60, 60),))})["steps"][0]


def test_attempts_are_told_only_where_something_went_wrong() -> None:
    fine = AttemptRecord(endpoint="a", seconds=1)
    bad = AttemptRecord(endpoint="a", seconds=1, error="http_503", detail="busy", waited=2)
    assert "attempts" not in row(scored(0, attempts=(fine,)))["steps"][0]
    told = row(scored(0, attempts=(bad, fine)))["steps"][0]["attempts"]
    assert told[0] == {"endpoint": "a", "seconds": 1, "waited": 2, "error": "http_503", "detail": "busy"}


def test_a_screen_shown_in_several_steps_is_one_slot_and_knows_whether_the_model_saw_it() -> None:
    screen = Screen.from_file(Path("same.png"))
    steps = tuple(
        Step(CLICK, s) for s in (screen, Screen.from_file(Path("same.png")), Screen.from_file(Path("other.png")))
    )
    found = build(scored(0, match=False), given={"e": Trajectory("e", "g", steps)})
    assert [step["screen"] for step in found.rows[0]["steps"]] == [0, 0, 1]
    assert found.slots.reached == [True, False]


class TestOnline:
    def acted(self, step: int, **more: Any) -> StepRecord:
        return StepRecord(
            episode="e", step=step, outcome="acted", action=CLICK, images=("a" * 64,), screen=(10, 20), **more
        )

    def end(self, **more: Any) -> EpisodeEnd:
        return EpisodeEnd(episode="e", **({"outcome": "scored", "score": 1.0, "steps": 1} | more))

    def online(self, *records: StepRecord | EpisodeEnd, **options: Any) -> dict[str, Any]:
        return row(*records, protocol="online", given={"e": Trajectory("e", "the goal", ())}, **options)

    def test_the_environment_decides(self) -> None:
        found = self.online(self.acted(0), self.end())
        assert (found["out"], found["goal"], found["t"]) == ("success", "the goal", 1)

    def test_an_agent_that_says_success_where_the_environment_says_0_has_failed(self) -> None:
        found = self.online(self.acted(0), self.end(score=0.0, said="success"))
        assert (found["out"], found["reason"]) == ("failed", "said:success")

    def test_half_a_score_is_no_success(self) -> None:
        assert self.online(self.acted(0), self.end(score=0.5))["out"] == "failed"

    def test_a_broken_environment_scores_nothing(self) -> None:
        error = FailureRecord(reason="device_lost", detail="gone")
        found = self.online(self.acted(0), self.end(outcome="not_scored", score=None, error=error))
        assert (found["out"], found["reason"]) == ("not_scored", "device_lost")

    def test_an_episode_without_an_end_is_not_scored(self) -> None:
        assert self.online(self.acted(0))["out"] == "not_scored"

    @pytest.mark.parametrize("name", ["../../etc/passwd", "A" * 64, "a" * 63, ""])
    def test_screens_are_only_looked_up_by_hash(self, name: str) -> None:
        record = self.acted(0).model_copy(update={"images": (name,)})
        assert "screen" not in self.online(record)["steps"][0]

    def test_the_current_screen_is_the_last_image_of_the_request(self) -> None:
        record = self.acted(0).model_copy(update={"images": ("b" * 64, "c" * 64)})
        found = build(record, protocol="online", screens_dir=Path("run/screens"))
        assert [screen.path for screen in found.slots.screens] == [Path("run/screens") / ("c" * 64 + ".png")]


class TestStatic:
    """Steps that were asked alone: none of them ends anything."""

    def test_a_mismatch_in_the_middle_leaves_the_rest_as_it_is(self) -> None:
        found = row(
            scored(0), scored(1, match=False, action={"action": "wait", "time": 1}), scored(2), protocol="static"
        )
        assert (found["out"], found["s"], found["t"], found["at"]) == ("failed", 2, 3, 1)
        assert [step["st"] for step in found["steps"]] == ["match", "mismatch", "match"]

    def test_all_steps_matched_is_a_success(self) -> None:
        assert row(scored(0), scored(1), scored(2), protocol="static")["out"] == "success"

    def test_a_step_that_was_never_asked_is_not_scored(self) -> None:
        found = row(scored(0), scored(2, match=False), protocol="static")
        assert (found["out"], found["reason"], found["at"]) == ("not_scored", "not_played", 1)
        assert [step["st"] for step in found["steps"]] == ["match", "not_scored", "mismatch"]
