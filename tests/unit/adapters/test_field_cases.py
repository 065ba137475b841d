"""Field cases about replies, each through the adapter and through `sopbench parse`. The screen is 1080x2400; points are its pixels."""

from __future__ import annotations

import json
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from sopbench.actions import to_released
from sopbench.adapters import get_adapter
from sopbench.adapters.base import ParseFailure
from sopbench.cli import parse
from sopbench.geometry import Size

PHONE = Size(1080, 2400)

CASES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("3: open_app", "ui_tars", "Thought: open it\nAction: open_app(app_name='Maps')", {"action": "open", "text": "Maps"}),
    ("3: open_app in v1.5", "ui_tars15", "Action: open_app(app_name='Maps')", {"action": "open", "text": "Maps"}),
    ("3: OPEN_APP", "os_atlas", "thoughts:\nopen it\nactions:\nOPEN_APP [Maps]", {"action": "open", "text": "Maps"}),
    *[
        (f"4: a refusal to {name}", name, "Sorry, I can't help with that", {"parse_failure": "no_action"})
        for name in ("ui_tars", "ui_tars15", "os_atlas", "qwen3vl")
    ],
    (
        "6: what is to be seen is on the right, so the finger moves left",
        "ui_tars",
        "Thought: swipe left to see more\nAction: scroll(direction='right')",
        {"action": "swipe", "coordinate": [810, 1200], "coordinate2": [270, 1200]},
    ),
    (
        "6: v1.5 means the same",
        "ui_tars15",
        "Action: scroll(point='<point>546 1204</point>', direction='down')",
        {"action": "swipe", "coordinate": [540, 1800], "coordinate2": [540, 600]},
    ),
    (
        "6: OS-Atlas means the finger",
        "os_atlas",
        "actions:\nSCROLL [LEFT]",
        {"action": "swipe", "coordinate": [810, 1200], "coordinate2": [270, 1200]},
    ),
    ("7: cut off", "qwen3vl", '<tool_call>{"name": "mobile_use", "arguments": {"action":', {"parse_failure": "truncated"}),
    ("7: cut off in a call", "ui_tars", "Thought: x\nAction: click(start_box='<|box_start|>(500,25", {"parse_failure": "truncated"}),
    ("7: cut off in brackets", "os_atlas", "thoughts:\nx\nactions:\nCLICK <point>[[500,25", {"parse_failure": "truncated"}),
    (
        "10: parentheses in the thought",
        "ui_tars",
        "Thought: tap (blue) button\nAction: click(start_box='<|box_start|>(500,500)<|box_end|>')",
        {"action": "click", "coordinate": [540, 1200]},
    ),
    ("11: an escaped quote", "ui_tars", "Action: type(content='it\\'s ok')", {"action": "type", "text": "it's ok"}),
    ("11: a quote that is not escaped", "ui_tars", "Action: type(content='it's ok')", {"action": "type", "text": "it's ok"}),
    ("11: several lines", "ui_tars15", "Action: type(content='one\ntwo\\nthree')", {"action": "type", "text": "one\ntwo\nthree"}),
    (
        "12: an action's name in the thought",
        "ui_tars",
        "Thought: I could type( it, but no\nAction: press_back()",
        {"action": "system_button", "button": "Back"},
    ),
    ("13: finished", "ui_tars", "Action: finished(content='done')", {"action": "terminate", "status": "success"}),
    ("14: a box", "ui_tars", "Action: click(start_box='[10,850,50,890]')", {"action": "click", "coordinate": [32.4, 2088]}),
    ("14: a box in brackets", "os_atlas", "actions:\nCLICK <point>[[10,850,50,890]]</point>", {"action": "click", "coordinate": [32.4, 2088]}),
    (
        "14: a box in JSON",
        "qwen3vl",
        '<tool_call>{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [10, 850, 50, 890]}}</tool_call>',
        {"action": "click", "coordinate": [32.4, 2088]},
    ),
    ("15: a mouse's action", "ui_tars", "Action: left_double(start_box='(5,5)')", {"parse_failure": "unknown_action", "named": "left_double"}),
    ("16: a name in a text", "os_atlas", "actions:\nTYPE [CLICK here]", {"action": "type", "text": "CLICK here"}),
    ("16: brackets in a text", "os_atlas", "actions:\nTYPE [a [b] c]", {"action": "type", "text": "a [b] c"}),
    ("20: pixels of the resized image", "ui_tars15", "Action: click(start_box='(546,1204)')", {"action": "click", "coordinate": [540, 1200]}),
    ("20: the same reply elsewhere", "ui_tars", "Action: click(start_box='(546,1204)')", {"action": "click", "coordinate": [589.68, 2889.6]}),
    (
        "20: thousandths",
        "qwen3vl",
        '<tool_call>{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [500, 500]}}</tool_call>',
        {"action": "click", "coordinate": [540, 1200]},
    ),
    (
        "20: the same reply elsewhere, in JSON",
        "qwen25vl",
        '<tool_call>{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [546, 1204]}}</tool_call>',
        {"action": "click", "coordinate": [540, 1200]},
    ),
    *[
        (f"a placeholder is no point: {name}", name, reply, {"parse_failure": "placeholder"})
        for name, reply in [
            ("ui_tars", "Action: click(start_box='<|box_start|>(x1,y1)<|box_end|>')"),
            ("ui_tars15", "Action: click(point='<point>x1 y1</point>')"),
            ("os_atlas", "actions:\nCLICK <point>[[x-axis, y-axis]]</point>"),
            ("qwen3vl", '<tool_call>{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [x, y]}}</tool_call>'),
        ]
    ],
    ("3: open_app in AndroidWorld's words", "json_action", 'Reason: x\nAction: {"action_type": "open_app", "app_name": "Maps"}', {"action": "open", "text": "Maps"}),
    ("3: open_app of OS-Genesis", "os_genesis", 'Low-level thought: x\naction: {"action_type":"open_app","app_name":"Maps"}', {"action": "open", "text": "Maps"}),
    *[
        (f"4: a refusal to {name}", name, "Sorry, I can't help with that", {"parse_failure": "no_action"})
        for name in ("agentcpm", "os_genesis", "os_genesis_pixels", "json_action")
    ],
    (
        "6: AndroidWorld means the content",
        "json_action",
        'Reason: swipe left to see more\nAction: {"action_type": "scroll", "direction": "right"}',
        {"action": "swipe", "coordinate": [810, 1200], "coordinate2": [270, 1200]},
    ),
    ("6: AgentCPM means the finger", "agentcpm", '{"POINT":[750,500],"to":"left"}', {"action": "swipe", "coordinate": [810, 1200], "coordinate2": [270, 1200]}),
    ("7: cut off in an object", "agentcpm", '{"thought":"x","POINT":[500,', {"parse_failure": "truncated"}),
    ("7: cut off behind a label", "json_action", 'Reason: x\nAction: {"action_type":', {"parse_failure": "truncated"}),
    ("14: a box as a point", "agentcpm", '{"POINT":[10,850,50,890]}', {"action": "click", "coordinate": [32.4, 2088]}),
    *[
        (f"17: {label} with a direction, by {name}", name, f'Low-level thought: x\n{label} {{"action_type":"scroll","direction":"down"}}', {"action": "swipe", "coordinate": [540, 1800], "coordinate2": [540, 600]})
        for name in ("os_genesis", "os_genesis_pixels")
        for label in ("Action:", "action:")
    ],
    ("18: fenced JSON", "agentcpm", '```json\n{"thought":"x","POINT":[500,500]}\n```', {"action": "click", "coordinate": [540, 1200]}),
    ("18: a long press", "agentcpm", '{"POINT":[500,500],"duration":1000}', {"action": "long_press", "coordinate": [540, 1200], "time": 1}),
    ("18: no such button", "agentcpm", '{"PRESS":"RECENT"}', {"parse_failure": "bad_argument", "named": "RECENT"}),
    ("19: per-mille of the screen", "agentcpm", '{"POINT":[500,500]}', {"action": "click", "coordinate": [540, 1200]}),
    ("20: two frames, two names", "os_genesis", 'action: {"action_type":"click","x":540,"y":600}', {"action": "click", "coordinate": [583.2, 1440]}),
    ("20: the same in pixels", "os_genesis_pixels", 'action: {"action_type":"click","x":540,"y":600}', {"action": "click", "coordinate": [540, 600]}),
    ("an index needs a list of elements", "json_action", 'Action: {"action_type": "click", "index": 5}', {"parse_failure": "bad_argument", "named": "index"}),
    ("an action outside the space", "json_action", 'Action: {"action_type": "double_tap", "x": 1, "y": 2}', {"parse_failure": "unknown_action", "named": "double_tap"}),
    ("a status is not an action", "agentcpm", '{"STATUS":"continue"}', {"parse_failure": "no_action"}),
    *[
        (f"a placeholder in {name}", name, reply, {"parse_failure": "placeholder"})
        for name, reply in [("agentcpm", '{"POINT":[x,y]}'), ("json_action", 'Action: {"action_type": "click", "x": x, "y": y}')]
    ],
]  # fmt: skip

every_case = pytest.mark.parametrize(("name", "reply", "wanted"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])


@every_case
def test_the_adapter_reads_it_so(name: str, reply: str, wanted: dict[str, Any]) -> None:
    parsed = get_adapter(name).parse(reply, PHONE)
    if isinstance(parsed, ParseFailure):
        assert parsed.reason == wanted.get("parse_failure"), parsed
        assert wanted.get("named", "") in parsed.detail
    else:
        assert same(to_released(parsed.action, PHONE), wanted), parsed


@every_case
def test_sopbench_parse_prints_it_so(name: str, reply: str, wanted: dict[str, Any]) -> None:
    app = typer.Typer()
    app.callback()(lambda: None)
    parse.register(app)
    result = CliRunner().invoke(app, ["parse", "--adapter", name, "--screen", str(PHONE)], input=json.dumps(reply))
    assert result.exit_code == 0, result.output
    (printed,) = [json.loads(line) for line in result.stdout.splitlines()]
    named = wanted.get("named", "")
    assert named in printed.pop("detail", named)
    assert same(printed, {key: value for key, value in wanted.items() if key != "named"})


def same(released: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Equal, points to a thousandth of a pixel."""
    return released.keys() == wanted.keys() and all(
        released[key] == pytest.approx(value, abs=0.001) if isinstance(value, list) else released[key] == value
        for key, value in wanted.items()
    )
