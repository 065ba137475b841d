"""What a published AndroidControl record becomes, rule by rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sopbench.datasets.androidcontrol import PATHS, AndroidControl
from sopbench.datasets.output import Episode, Skipped
from sopbench.datasets.shards import Faulty
from tests.integration.datasets.archives import (
    EpisodeSpec,
    Feature,
    NodeSpec,
    Recorded,
    block,
    every_action,
    png,
    write_shard,
)


def convert(tmp_path: Path, record: bytes, **options: Any) -> Any:
    """What the one record of a shard becomes."""
    shard = write_shard(tmp_path / "ac-00000-of-00001", [record])
    (found,) = AndroidControl(**options).episodes(shard, lambda count: None)
    return found


def steps_of(tmp_path: Path, spec: EpisodeSpec, **options: Any) -> list[dict[str, Any]]:
    found = convert(tmp_path, spec.record(), **options)
    assert isinstance(found, Episode), found
    return list(found.object["steps"])


def one_step(
    tmp_path: Path, action: dict[str, Any], *nodes: NodeSpec, size: tuple[int, int] = (60, 120)
) -> dict[str, Any]:
    (step,) = steps_of(tmp_path, EpisodeSpec(1, "goal", [Recorded(action, "i", nodes)], size))
    return step


def test_every_published_action_has_its_released_form(tmp_path: Path) -> None:
    contents = [step["action_content"] for step in steps_of(tmp_path, every_action())]
    assert contents == [
        {"action": "open", "text": "Clock"},
        {"action": "click", "coordinate": [20, 20]},
        {"action": "long_press", "coordinate": [20, 20], "time": 2},
        {"action": "swipe", "coordinate": [30, 90], "coordinate2": [30, 30]},
        {"action": "swipe", "coordinate": [30, 30], "coordinate2": [30, 90]},
        {"action": "swipe", "coordinate": [45, 60], "coordinate2": [15, 60]},
        {"action": "swipe", "coordinate": [15, 60], "coordinate2": [45, 60]},
        {"action": "type", "text": "Grüße, “日本” 👋"},
        {"action": "type", "text": "find"},
        {"action": "system_button", "button": "Back"},
        {"action": "system_button", "button": "Home"},
        {"action": "wait", "time": 2},
    ]


def test_screens_are_named_by_episode_and_step_and_keep_their_bytes(tmp_path: Path) -> None:
    spec = every_action(episode=42)
    found = convert(tmp_path, spec.record())
    assert [step["screenshot"] for step in found.object["steps"]] == [f"images/42_{k}.png" for k in range(12)]
    assert {name: bytes(data) for name, data in found.screens.items()} == {
        f"42_{k}.png": data for k, data in enumerate(spec.pngs()[:-1])
    }


def test_an_instruction_that_spans_several_actions_stands_with_each(tmp_path: Path) -> None:
    said = [step["step_instruction"] for step in steps_of(tmp_path, every_action())]
    assert said[:4] == ["instruction 0", "instruction 0", "instruction 1", "instruction 1"]


def test_with_terminate_the_last_screen_becomes_a_step(tmp_path: Path) -> None:
    last = steps_of(tmp_path, every_action(episode=5), terminate=True)[-1]
    assert last["action_content"] == {"action": "terminate", "status": "success"}
    assert last["screenshot"] == "images/5_12.png"


POINT = {"action_type": "click", "x": 20, "y": 20}


def boxes(step: dict[str, Any]) -> list[list[int]]:
    return step["check_options"]["candidate_bbox"]


def test_candidates_are_visible_clickable_nodes_around_the_point_smallest_first(tmp_path: Path) -> None:
    step = one_step(
        tmp_path,
        POINT,
        NodeSpec((0, 0, 60, 120)),
        NodeSpec((18, 18, 22, 22), visible=False),
        NodeSpec((10, 10, 30, 30)),
        NodeSpec((19, 19, 21, 21), clickable=False),
        NodeSpec((30, 30, 40, 40)),
        NodeSpec((15, 15, 25, 25)),
    )
    assert boxes(step) == [[15, 15, 25, 25], [10, 10, 30, 30], [0, 0, 60, 120]]
    assert step["check_options"]["candidate_source"] == "accessibility_tree"


def test_edges_belong_to_a_box_and_boxes_may_overhang_the_screen(tmp_path: Path) -> None:
    step = one_step(tmp_path, POINT, NodeSpec((20, 20, 64, 130)), NodeSpec((-5, -5, 20, 20)), NodeSpec((21, 0, 60, 60)))
    assert boxes(step) == [[-5, -5, 20, 20], [20, 20, 64, 130]]


def test_a_rectangle_that_several_nodes_have_is_one_candidate(tmp_path: Path) -> None:
    assert boxes(one_step(tmp_path, POINT, NodeSpec((10, 10, 30, 30)), NodeSpec((10, 10, 30, 30)))) == [
        [10, 10, 30, 30]
    ]


def test_rectangles_without_area_and_inside_out_are_no_candidates(tmp_path: Path) -> None:
    assert boxes(one_step(tmp_path, POINT, NodeSpec((20, 0, 20, 60)), NodeSpec((30, 30, 10, 10)))) == []


def test_long_press_takes_long_clickable_nodes_too(tmp_path: Path) -> None:
    held = NodeSpec((10, 10, 30, 30), clickable=False, long_clickable=True)
    assert boxes(one_step(tmp_path, {**POINT, "action_type": "long_press"}, held)) == [[10, 10, 30, 30]]
    assert boxes(one_step(tmp_path, POINT, held)) == []


def test_open_has_the_icons_that_bear_the_name(tmp_path: Path) -> None:
    action = {"action_type": "open_app", "app_name": "Clock"}
    by_text, by_description = NodeSpec((0, 0, 9, 9), text=" CLOCK"), NodeSpec((0, 0, 5, 5), description="clock")
    step = one_step(tmp_path, action, by_text, by_description, NodeSpec((0, 0, 2, 2), text="Clocks"))
    assert boxes(step) == [[0, 0, 5, 5], [0, 0, 9, 9]]
    assert "candidate_bbox" not in one_step(tmp_path, action)["check_options"]


def test_type_at_a_point_keeps_the_point_and_the_enter(tmp_path: Path) -> None:
    step = one_step(tmp_path, {"action_type": "type", "x": 20, "y": 20, "text": "find"}, NodeSpec((10, 10, 30, 30)))
    check = step["check_options"]
    assert (check["text"], check["coordinate"], check["enter"], check["candidate_bbox"]) == (
        "find",
        [20, 20],
        True,
        [[10, 10, 30, 30]],
    )


@pytest.mark.parametrize("direction", list(PATHS))
def test_swipes_say_their_direction(tmp_path: Path, direction: str) -> None:
    step = one_step(tmp_path, {"action_type": "scroll", "direction": direction})
    assert step["check_options"] == {"action": "swipe", "direction": direction}


def test_consistent_scrolling_turns_left_and_right_round_and_nothing_else(tmp_path: Path) -> None:
    released = [s["action_content"] for s in steps_of(tmp_path, every_action())]
    consistent = [s["action_content"] for s in steps_of(tmp_path, every_action(), horizontal="consistent")]
    left, right = 5, 6
    assert (consistent[left], consistent[right]) == (released[right], released[left])
    assert [c for k, c in enumerate(consistent) if k not in (left, right)] == [
        c for k, c in enumerate(released) if k not in (left, right)
    ]


def test_without_an_accessibility_tree_there_are_no_boxes_and_it_says_so(tmp_path: Path) -> None:
    spec = EpisodeSpec(1, "goal", [Recorded(POINT)])
    found = convert(tmp_path, spec.record(accessibility_trees=[b"", b""]))
    check = found.object["steps"][0]["check_options"]
    assert check["candidate_bbox"] == []
    assert check["candidate_source"].startswith("none")


def test_other_episodes_are_not_looked_at(tmp_path: Path) -> None:
    assert convert(tmp_path, every_action(episode=7).record(goal=[b"\xff"]), wanted=frozenset({"8"})) is None


def test_an_episode_without_actions_is_left_out(tmp_path: Path) -> None:
    found = convert(tmp_path, EpisodeSpec(9, "goal", []).record())
    assert isinstance(found, Skipped)
    assert (found.id, found.reason) == ("9", "no action in it")


def changed(**features: Feature) -> bytes:
    return EpisodeSpec(1, "goal", [Recorded(POINT)]).record(**features)


def acting(**fields: Any) -> bytes:
    return changed(actions=[json.dumps(fields).encode()])


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        (changed(goal=[b"caf\xe9"]), "`goal` 0 is not UTF-8"),
        (changed(goal=[b" "]), "`goal` is empty"),
        (changed(goal=[]), "`goal` has 0 values"),
        (changed(step_instructions=[b"\xff"]), "`step_instructions` 0 is not UTF-8"),
        (changed(step_instructions=[]), "0 step instructions"),
        (changed(screenshots=[png()]), "need 2 screenshots, there are 1"),
        (changed(screenshots=[png(), b"GIF89a nonsense"]), "screenshot 1 is not a readable"),
        (changed(screenshots=[png(61, 120), png()]), "screenshot 0 is 61x120, the record says 60x120"),
        (changed(screenshot_widths=[60]), "1 widths"),
        (changed(accessibility_trees=[b""]), "1 accessibility trees do not belong together"),
        (
            changed(accessibility_trees=[b"\x0a\xff\xff\xff\xff\x0f", b""]),
            "step 0: the accessibility tree: field 1 claims 4294967295 bytes",
        ),
        (changed(episode_id=[-4]), "`episode_id` is -4"),
        (changed(episode_id=[b"../x"]), "`episode_id` holds values of another type"),
        (changed(actions=[b"{"]), "step 0: the action is not JSON"),
        (changed(actions=[b"[" * 60_000]), "step 0: the action is not JSON"),
        (changed(actions=[b"3"]), "step 0: the action is no JSON object"),
        (changed(actions=[b'{"action_type": "click", "x": NaN, "y": 1}']), "step 0: `x` of the action is nan"),
        (changed(actions=[b" " * 70_000]), "step 0: an action of 70000 bytes"),
        (acting(action_type="fly"), "step 0: action type 'fly' is none"),
        (acting(action_type="scroll", direction="in"), "scroll direction 'in'"),
        (acting(action_type="scroll", direction=["up"]), "scroll direction"),
        (acting(action_type="click", x=61, y=1), "`x` of the action is 61, the screen is 60x120"),
        (acting(action_type="click", x=1, y=-1), "`y` of the action is -1"),
        (acting(action_type="click", x=True, y=1), "`x` of the action is True"),
        (acting(action_type="click", x=10**400, y=1), "`x` of the action is"),
        (acting(action_type="input_text"), "`text` of the action is None"),
        (acting(action_type="input_text", text="\ud800"), "half of a surrogate pair"),
        (acting(action_type="input_text", text="x" * 20_001), "`text` of the action is"),
        (block(1, b"\x0f"), "wire type 7"),
    ],
)
def test_a_record_that_is_not_as_published_is_named(tmp_path: Path, record: bytes, complaint: str) -> None:
    found = convert(tmp_path, record)
    assert isinstance(found, Faulty)
    assert found.where == "ac-00000-of-00001, record 0"
    assert complaint in found.reason


def test_a_faulty_record_does_not_hide_the_next_one(tmp_path: Path) -> None:
    shard = write_shard(tmp_path / "ac-00000-of-00001", [changed(goal=[b"\xff"]), every_action(3).record()])
    first, second = AndroidControl().episodes(shard, lambda count: None)
    assert isinstance(first, Faulty)
    assert isinstance(second, Episode)
    assert second.id == "3"


def test_tags_come_with_the_episode(tmp_path: Path) -> None:
    found = convert(tmp_path, every_action(3).record(), tags={"3": {"split": "test"}})
    assert found.object["tags"] == {"split": "test"}
