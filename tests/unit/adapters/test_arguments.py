"""What models write for an argument, and what is made of it. Screen 1080x2400, sent as 1092x2408."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sopbench.actions import Action, Answer, Click, Key, LongPress, Open, Swipe, SystemButton, Terminate, Type, Wait
from sopbench.adapters import get_adapter
from sopbench.adapters.base import ParsedReply, ParseFailure
from sopbench.geometry import Point, Size

PHONE = Size(1080, 2400)
MIDDLE = Click(Point(0.5, 0.5))
UP = Swipe(Point(0.5, 0.75), Point(0.5, 0.25))


def parse(call: str) -> ParsedReply | ParseFailure:
    return get_adapter("uis1").parse(f"<action>{call}</action>", PHONE)


KINDS: list[tuple[str, Action]] = [
    ('{"action": "click", "coordinate": [546, 1204]}', MIDDLE),
    ('{"action": "click", "coordinate": [546.0, 1204.0]}', MIDDLE),
    ('{"action": "click", "coordinate": [-546, 4816]}', Click(Point(-0.5, 2.0))),
    ('{"action": "long_press", "coordinate": [546, 1204], "time": 3}', LongPress(Point(0.5, 0.5), 3.0)),
    ('{"action": "long_press", "coordinate": [546, 1204]}', LongPress(Point(0.5, 0.5), 2.0)),
    ('{"action": "swipe", "coordinate": [546, 1806], "coordinate2": [546, 602]}', UP),
    ('{"action": "type", "text": "Paris hotels"}', Type("Paris hotels")),
    ('{"action": "type", "text": ""}', Type("")),
    ('{"action": "open", "text": "Maps"}', Open("Maps")),
    ('{"action": "system_button", "button": "Back"}', SystemButton("Back")),
    ('{"action": "system_button", "button": "enter"}', SystemButton("Enter")),
    ('{"action": "key", "text": "volume_up"}', Key("volume_up")),
    ('{"action": "wait", "time": 2.5}', Wait(2.5)),
    ('{"action": "wait"}', Wait(2.0)),
    ('{"action": "answer", "text": "42"}', Answer("42")),
    ('{"action": "terminate", "status": "success"}', Terminate("success")),
    ('{"action": "wait", "time": 1, "coordinate": null, "text": null, "note": {"a": [1]}}', Wait(1.0)),
]


@pytest.mark.parametrize(("call", "action"), KINDS)
def test_every_kind_as_taught(call: str, action: Action) -> None:
    assert parse(call) == ParsedReply(action)


REPAIRED: list[tuple[str, Action, set[str]]] = [
    ('{"action": "click", "coordinate": "(546, 1204)"}', MIDDLE, {"coordinate_as_text"}),
    ('{"action": "click", "coordinate": "546,1204"}', MIDDLE, {"coordinate_as_text"}),
    ('{"action": "click", "coordinate": "[546, 1204]"}', MIDDLE, {"coordinate_as_text"}),
    ('{"action": "click", "coordinate": "546 1204"}', MIDDLE, {"coordinate_as_text"}),
    ('{"action": "click", "coordinate": "<|box_start|>(546,1204)<|box_end|>"}', MIDDLE, {"coordinate_as_text"}),
    ('{"action": "click", "coordinate": ["546", "1204"]}', MIDDLE, {"number_as_text"}),
    ('{"action": "click", "coordinate": [[546, 1204]]}', MIDDLE, {"nested_coordinate"}),
    ('{"action": "click", "coordinate": {"x": 546, "y": 1204}}', MIDDLE, {"coordinate_as_object"}),
    ('{"action": "click", "coordinate": [446, 1104, 646, 1304]}', MIDDLE, {"box_centre"}),
    ('{"action": "click", "coordinate": [[446, 1104, 646, 1304]]}', MIDDLE, {"nested_coordinate", "box_centre"}),
    ('{"action": "click", "coordinate": "[446, 1104, 646, 1304]"}', MIDDLE, {"coordinate_as_text", "box_centre"}),
    ("{'action': 'click', 'coordinate': (546, 1204)}", MIDDLE, {"single_quotes", "tuple"}),
    ('{"action": "Click", "coordinate": [546, 1204]}', MIDDLE, {"action_name_case"}),
    ('{"action": "long press", "coordinate": [546, 1204]}', LongPress(Point(0.5, 0.5)), {"action_name_case"}),
    ('{"action": "wait", "time": "5"}', Wait(5.0), {"number_as_text"}),
    ('{"action": "type", "text": 2024}', Type("2024"), {"text_from_number"}),
    ("{'action': 'type', 'text': 007}", Type("007"), {"single_quotes", "text_from_number"}),
    ("{'action': 'type', 'text': 'it's ok'}", Type("it's ok"), {"single_quotes", "unescaped_quote"}),
    ('{"action": "type", "text": "one\ntwo"}', Type("one\ntwo"), {"raw_control_characters"}),
    ('{"name": "click", "arguments": {"coordinate": [546, 1204]}}', MIDDLE, {"action_as_tool_name"}),
    ('{"name": "wait"}', Wait(2.0), {"action_as_tool_name"}),
    ('{"action": "click", "arguments": {"coordinate": [546, 1204]}}', MIDDLE, {"action_beside_arguments"}),
    ('{"name": "mobile_use", "arguments": {"action": "wait"}}', Wait(2.0), set()),
]


@pytest.mark.parametrize(("call", "action", "notes"), REPAIRED)
def test_repairs_are_named(call: str, action: Action, notes: set[str]) -> None:
    parsed = parse(call)
    assert isinstance(parsed, ParsedReply), parsed
    assert parsed.action == action
    assert set(parsed.notes) == notes


def test_field_case_14_a_box_means_its_centre() -> None:
    parsed = get_adapter("uis1").parse('<action>{"action": "click", "coordinate": [10, 850, 50, 890]}</action>', PHONE)
    assert isinstance(parsed, ParsedReply)
    assert parsed.action == Click(Point(30 / 1092, 870 / 2408))


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("what", ["arguments", "call"])
def test_json_encoded_as_text_is_decoded(times: int, what: str) -> None:
    value: Any = {"action": "click", "coordinate": [546, 1204]}
    if what == "call":
        value = {"name": "mobile_use", "arguments": value}
    for _ in range(times):
        value = json.dumps(value)
    call = json.dumps({"name": "mobile_use", "arguments": value} if what == "arguments" else value)
    parsed = parse(call)
    assert isinstance(parsed, ParsedReply), parsed
    assert parsed.action == MIDDLE
    assert set(parsed.notes) == {"encoded_json"}


REFUSED = [
    ('{"action": "click", "coordinate": [x, y]}', "placeholder"),
    ('{"action": "click", "coordinate": ["x", "y"]}', "placeholder"),
    ('{"action": "click", "coordinate": "[x, y]"}', "placeholder"),
    ('{"action": "click", "coordinate": "(x1, y1)"}', "placeholder"),
    ('{"action": "click", "coordinate": "<value>"}', "placeholder"),
    ('{"action": "click", "coordinate": <value>}', "placeholder"),
    ('{"action": "key", "text": "<value>"}', "placeholder"),
    ('{"action": "type", "text": <value>}', "placeholder"),
    ('{"action": "<action>"}', "placeholder"),
    ('{"action": "..."}', "placeholder"),
    ('{"action": "system_button", "button": "<value>"}', "placeholder"),
    ('{"action": "left_double", "coordinate": [1, 2]}', "unknown_action"),
    ('{"action": "scroll", "direction": "down"}', "unknown_action"),
    ('{"action": "tap", "coordinate": [1, 2]}', "unknown_action"),
    ('{"action": 5}', "unknown_action"),
    ('{"action": ["click"]}', "unknown_action"),
    ('{"name": "web_search", "arguments": {"query": "x"}}', "unknown_action"),
    ('{"action": null}', "no_action"),
    ('{"name": "mobile_use", "arguments": {"coordinate": [1, 2]}}', "no_action"),
    ('{"name": "mobile_use", "arguments": "click"}', "bad_json"),
    ('{"name": "mobile_use", "arguments": [1]}', "bad_json"),
    ('{"name": "mobile_use", "arguments": "{\\"action\\": "}', "truncated"),
    ('{"action": "click"}', "missing_argument"),
    ('{"action": "click", "coordinate": null}', "missing_argument"),
    ('{"action": "click", "x": 5, "y": 6}', "missing_argument"),
    ('{"action": "swipe", "coordinate": [1, 2]}', "missing_argument"),
    ('{"action": "swipe", "direction": "up"}', "missing_argument"),
    ('{"action": "type"}', "missing_argument"),
    ('{"action": "terminate"}', "missing_argument"),
    ('{"action": "click", "coordinate": []}', "bad_argument"),
    ('{"action": "click", "coordinate": [1]}', "bad_argument"),
    ('{"action": "click", "coordinate": [1, 2, 3]}', "bad_argument"),
    ('{"action": "click", "coordinate": [1, 2, 3, 4, 5]}', "bad_argument"),
    ('{"action": "swipe", "coordinate": [1, 2, 3, 4], "coordinate2": [1, 2]}', "bad_argument"),
    ('{"action": "click", "coordinate": [[1, 2], [3, 4]]}', "bad_argument"),
    ('{"action": "click", "coordinate": {"x": 1}}', "bad_argument"),
    ('{"action": "click", "coordinate": "the button"}', "bad_argument"),
    ('{"action": "click", "coordinate": [true, false]}', "bad_argument"),
    ('{"action": "click", "coordinate": [NaN, 1]}', "bad_argument"),
    ('{"action": "click", "coordinate": [1e999, 1]}', "bad_argument"),
    ('{"action": "click", "coordinate": [1' + "0" * 400 + ", 1]}", "bad_argument"),
    ('{"action": "click", "coordinate": [1200+20, 1]}', "bad_argument"),
    ('{"action": "wait", "time": -1}', "bad_argument"),
    ('{"action": "wait", "time": "a while"}', "bad_argument"),
    ('{"action": "type", "text": ["a"]}', "bad_argument"),
    ('{"action": "type", "text": "' + "a" * 20_001 + '"}', "bad_argument"),
    ('{"action": "system_button", "button": "Recent"}', "bad_argument"),
    ('{"action": "system_button", "button": {"name": "Back"}}', "bad_argument"),
    ('{"action": "terminate", "status": "maybe"}', "bad_argument"),
]


@pytest.mark.parametrize(("call", "reason"), REFUSED, ids=[call[:60] for call, _ in REFUSED])
def test_what_would_have_to_be_guessed_is_refused_by_name(call: str, reason: str) -> None:
    parsed = parse(call)
    assert isinstance(parsed, ParseFailure), parsed
    assert parsed.reason == reason
    assert len(parsed.detail) < 400


@pytest.mark.parametrize("name", ["left_double", "scroll", "打开", "press_recent"])
def test_field_case_15_an_unknown_action_is_named_and_never_a_wait(name: str) -> None:
    parsed = parse(json.dumps({"action": name, "coordinate": [1, 2]}))
    assert isinstance(parsed, ParseFailure)
    assert parsed.reason == "unknown_action"
    assert name in parsed.detail
