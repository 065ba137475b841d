"""Models that call tools: one tool for each action, calls in the history as calls, text where there is no tool calling."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sopbench.actions import (
    ACTION_KINDS,
    ARGUMENTS,
    Action,
    Answer,
    Click,
    Key,
    LongPress,
    Open,
    Swipe,
    SystemButton,
    Terminate,
    Type,
    Wait,
)
from sopbench.adapters.base import Image, Message, ParsedReply, ParseFailure, Text, Turn
from sopbench.adapters.tools import Tools, ToolsText
from sopbench.clients.answers import read_answer
from sopbench.geometry import PER_MILLE, Point, Size
from sopbench.prompts.texts import PromptTexts
from tests.unit.adapters.screens import blank

PHONE = Size(1080, 2400)
ADAPTER, IN_TEXT = Tools(), ToolsText()
MIDDLE = Click(Point(0.5, 0.5))


def reply(*calls: tuple[str, Any], content: str | None = None) -> str:
    """The text of a response with these calls; arguments that are no text are written as JSON."""
    said = [
        {
            "id": "x",
            "type": "function",
            "function": {"name": n, "arguments": a if isinstance(a, str) else json.dumps(a)},
        }
        for n, a in calls
    ]
    message = {"role": "assistant", "content": content, "tool_calls": said}
    return read_answer("application/json", json.dumps({"choices": [{"message": message}]}).encode()).text


def parameters(name: str) -> dict[str, Any]:
    (tool,) = [t["function"] for t in ADAPTER.request_fields()["tools"] if t["function"]["name"] == name]
    found: dict[str, Any] = tool["parameters"]
    return found


def test_every_released_action_is_a_tool_with_the_released_arguments() -> None:
    fields = ADAPTER.request_fields()
    assert fields["tool_choice"] == "auto"
    assert [t["type"] for t in fields["tools"]] == ["function"] * len(ACTION_KINDS)
    assert [t["function"]["name"] for t in fields["tools"]] == list(ACTION_KINDS)
    for kind in ACTION_KINDS:
        assert tuple(parameters(kind)["properties"]) == ARGUMENTS[kind]
        assert parameters(kind)["required"] == [name for name in ARGUMENTS[kind] if name != "time"]


def test_points_are_stated_as_thousandths() -> None:
    for kind, name in (("click", "coordinate"), ("long_press", "coordinate"), ("swipe", "coordinate2")):
        point = parameters(kind)["properties"][name]
        assert point["items"] == {"type": "integer", "minimum": 0, "maximum": 1000}
        assert (point["minItems"], point["maxItems"]) == (2, 2)
        assert "thousandths" in point["description"]
    assert ADAPTER.sent_size(PHONE) == IN_TEXT.sent_size(PHONE) == PER_MILLE


def keywords(schema: Any) -> set[str]:
    if not isinstance(schema, dict):
        return set()
    inner = schema.get("properties", {}).values()
    return (set(schema) - {"properties"}).union(*map(keywords, inner), keywords(schema.get("items")))


def test_the_schema_stays_within_what_every_gateway_takes() -> None:
    """Gemini refuses unknown keywords, and guided decoding knows few: no `anyOf`, no `additionalProperties`, no references."""
    used = set().union(*(keywords(parameters(kind)) for kind in ACTION_KINDS))
    assert used == {"type", "required", "description", "items", "minItems", "maxItems", "minimum", "maximum", "enum"}


@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("click", {"coordinate": [500, 500]}, MIDDLE),
        ("long_press", {"coordinate": [500, 500]}, LongPress(Point(0.5, 0.5))),
        ("long_press", {"coordinate": [500, 500], "time": 1.5}, LongPress(Point(0.5, 0.5), 1.5)),
        ("swipe", {"coordinate": [500, 800], "coordinate2": [500, 200]}, Swipe(Point(0.5, 0.8), Point(0.5, 0.2))),
        ("type", {"text": "a \"b\" </tool_call>\n"}, Type("a \"b\" </tool_call>\n")),
        ("open", {"text": "Maps"}, Open("Maps")),
        ("system_button", {"button": "Back"}, SystemButton("Back")),
        ("key", {"text": "volume_up"}, Key("volume_up")),
        ("wait", {}, Wait()),
        ("wait", "", Wait()),
        ("wait", {"time": 5}, Wait(5.0)),
        ("answer", {"text": "42"}, Answer("42")),
        ("terminate", {"status": "success"}, Terminate("success")),
    ],
)  # fmt: skip
def test_a_call_is_read(name: str, arguments: Any, action: Action) -> None:
    said = reply((name, arguments))
    assert ADAPTER.parse(said, PHONE) == IN_TEXT.parse(said, PHONE) == ParsedReply(action)


@pytest.mark.parametrize(
    "content", ["I tap it.", "<think>\nI tap it.\n</think>", "<think>I tap it.", "I tap it.</think>\n"]
)
def test_what_is_said_beside_the_call_is_the_thought(content: str) -> None:
    assert ADAPTER.parse(reply(("click", {"coordinate": [500, 500]}), content=content), PHONE) == ParsedReply(
        MIDDLE, "I tap it."
    )


@pytest.mark.parametrize(
    "content",
    [
        '<tool_call>\n{"name": "wait", "arguments": {}}\n</tool_call>',
        '{"name": "wait", "arguments": {}}',
        '<action>{"action": "wait"}</action>',
        "<think>I could </think> wait <think>",
    ],
)
def test_the_call_counts_whatever_is_said_beside_it(content: str) -> None:
    parsed = ADAPTER.parse(reply(("click", {"coordinate": [500, 500]}), content=content), PHONE)
    assert isinstance(parsed, ParsedReply)
    assert (parsed.action, parsed.notes) == (MIDDLE, ())


def test_of_several_calls_the_first_counts_and_the_rest_are_noted() -> None:
    several = reply(("click", {"coordinate": [500, 500]}), ("wait", {}), ("nonsense", "{"))
    assert ADAPTER.parse(several, PHONE) == ParsedReply(MIDDLE, None, ("extra_calls:2",))
    assert ADAPTER.parse(reply(("tap", {}), ("wait", {})), PHONE) == ParseFailure(
        "unknown_action", "'tap' is not one of " + ", ".join(ACTION_KINDS)
    )


@pytest.mark.parametrize(
    ("name", "arguments", "reason", "told"),
    [
        ("left_double", {"coordinate": [1, 2]}, "unknown_action", "left_double"),
        ("", {}, "unknown_action", "''"),
        ("click", '{"coordinate": [500, 5', "truncated", ""),
        ("click", "[500, 500]", "bad_json", ""),
        ("click", "500, 500", "bad_json", "500, 500"),
        ("click", {}, "missing_argument", "coordinate"),
        ("click", {"coordinate": [500]}, "bad_argument", "coordinate"),
        ("click", {"coordinate": ["x", "y"]}, "placeholder", "coordinate"),
        ("click", '{"coordinate": [NaN, 1]}', "bad_argument", ""),
        ("system_button", {"button": "Recent"}, "bad_argument", "Recent"),
        ("terminate", {"status": "done"}, "bad_argument", "done"),
        ("type", {"text": None}, "missing_argument", "text"),
        ("type", {"text": "a" * 20_001}, "bad_argument", "20001"),
        ("click", '{"a":' * 20_000, "bad_json", ""),
        ("click", {"action": "wait"}, "bad_argument", "the tool click is called with the action wait"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_a_parse_failure_that_names_it(
    name: str, arguments: Any, reason: str, told: str
) -> None:
    parsed = ADAPTER.parse(reply((name, arguments)), PHONE)
    assert isinstance(parsed, ParseFailure)
    assert parsed.reason == reason
    assert told in parsed.detail
    assert len(parsed.detail) < 500


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        ("{'coordinate': [500, 500]}", "single_quotes"),
        ('{"coordinate": [500, 500,]}', "trailing_comma"),
        ({"coordinate": "[500, 500]"}, "coordinate_as_text"),
        ({"coordinate": {"x": 500, "y": 500}}, "coordinate_as_object"),
        ({"coordinate": ["500", "500"]}, "number_as_text"),
    ],
)
def test_arguments_are_repaired_like_any_reply(arguments: Any, note: str) -> None:
    assert ADAPTER.parse(reply(("click", arguments)), PHONE) == ParsedReply(MIDDLE, None, (note,))


@pytest.mark.parametrize(
    ("text", "thought", "notes"),
    [
        ('<tool_call>{"name": "click", "arguments": {"coordinate": [500, 500]}}</tool_call>', None, ()),
        ('I tap.\n<tool_call>{"name":"click","arguments":{"coordinate":[500,500]}}</tool_call>', "I tap.", ()),
        ('{"name": "click", "arguments": {"coordinate": [500, 500]}}', None, ("no_tag",)),
        ('```json\n{"name": "click", "arguments": {"coordinate": [500, 500]}}\n```', None, ("code_fence", "no_tag")),
        ('{"action": "click", "coordinate": [500, 500]}', None, ("no_tag",)),
        ('{"name": "click", "parameters": {"coordinate": [500, 500]}}', None, ("no_tag", "parameters_for_arguments")),
        ('<action>{"action": "click", "coordinate": [500, 500]}</action>', None, ("other_tag:action",)),
        ('[{"type": "function", "function": {"name": "click", "arguments": "{\\"coordinate\\": [500, 500]}"}}]', "[{\"type\": \"function\", \"function\":", ("no_tag",)),
    ],
)  # fmt: skip
def test_without_tool_calling_the_call_stands_in_the_text(
    text: str, thought: str | None, notes: tuple[str, ...]
) -> None:
    for adapter in (ADAPTER, IN_TEXT):
        parsed = adapter.parse(
            read_answer(None, json.dumps({"choices": [{"message": {"content": text}}]}).encode()).text, PHONE
        )
        assert parsed == ParsedReply(MIDDLE, thought, notes)


def conversation(*replies: str, adapter: Tools = ADAPTER, images: int = 2) -> list[Message]:
    turns = [Turn(blank(540, 1200, shade), said) for shade, said in enumerate([*replies, None])]
    return list(adapter.render("Open the settings", turns, images))


def test_a_history_is_told_as_calls_each_with_its_result_and_then_the_screen() -> None:
    arguments = '{ "coordinate":[500,500] }'
    messages = conversation(reply(("click", arguments), content="I tap it."), reply(("wait", {})), images=1)
    assert [m.role for m in messages] == ["system", "user", "assistant", "tool", "user", "assistant", "tool", "user"]
    first, second = messages[2], messages[5]
    assert first.parts == (Text("I tap it."),)
    assert second.parts == ()
    assert [(c.name, c.arguments) for m in (first, second) for c in m.calls] == [("click", arguments), ("wait", "{}")]
    assert [m.answers for m in (messages[3], messages[6])] == [first.calls[0].id, second.calls[0].id]
    assert messages[3].parts == messages[6].parts == (Text("The screen follows."),)


def test_ids_are_unique_and_of_the_kind_that_every_template_takes() -> None:
    messages = conversation(*[reply(("wait", {}), ("wait", {}))] * 30)
    ids = [call.id for m in messages for call in m.calls]
    assert len(set(ids)) == len(ids) == 60
    assert all(len(id) == 9 and id.isalnum() and id.isascii() for id in ids)
    assert [m.answers for m in messages if m.role == "tool"] == ids


def test_calls_that_did_not_count_are_answered_too() -> None:
    _, _, said, first, second, _ = conversation(reply(("wait", {}), ("click", {"coordinate": [1, 2]})))
    assert len(said.calls) == 2
    assert first.parts == (Text("The screen follows."),)
    assert "Not carried out" in second.parts[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "said",
    [
        reply(("click", '{"coordinate": [500')),
        reply(("click", "[1, 2]")),
        reply(("click", {"coordinate": [1, 2]}), ("wait", "{")),
        reply(("no such tool", {})),
        reply(("tap", {"x": 1})),
        "I would tap it.",
        '{"name": "wait", "arguments": {}}',
    ],
)
def test_what_no_server_could_take_as_calls_is_told_as_the_text_that_it_is(said: str) -> None:
    """vLLM and gateways read the arguments of a history as JSON, and refuse the request where they are none."""
    messages = conversation(said)
    assert [m.role for m in messages] == ["system", "user", "assistant", "user"]
    assert messages[2] == Message("assistant", (Text(said),))


@pytest.mark.parametrize("adapter", [ADAPTER, IN_TEXT], ids=lambda a: a.name)
@pytest.mark.parametrize("empty", ["", " \n"])
def test_an_empty_reply_leaves_no_empty_message(adapter: Tools, empty: str) -> None:
    (said,) = [m for m in conversation(empty, adapter=adapter) if m.role == "assistant"]
    assert said.parts == (Text("(an empty reply)"),)


def test_only_the_last_screens_are_shown_and_the_others_are_not_promised() -> None:
    messages = conversation(*[reply(("wait", {}))] * 3, images=2)
    users = [m for m in messages if m.role == "user"]
    assert [any(isinstance(p, Image) for p in m.parts) for m in users] == [False, False, True, True]
    assert ["not shown" in m.parts[-1].text for m in users[:2]] == [True, True]  # type: ignore[union-attr]


def test_in_text_the_tools_stand_in_the_prompt_and_the_history_is_text() -> None:
    assert IN_TEXT.request_fields() == {}
    said = reply(("click", {"coordinate": [500, 500]}), content="I tap it.")
    messages = conversation(said, adapter=IN_TEXT)
    assert [m.role for m in messages] == ["system", "user", "assistant", "user"]
    assert messages[2] == Message("assistant", (Text(said),))
    (system,) = messages[0].parts
    assert isinstance(system, Text)
    for tool in ADAPTER.request_fields()["tools"]:
        assert json.dumps(tool) in system.text


def test_the_hash_of_the_words_covers_the_tools() -> None:
    texts = ADAPTER._texts
    for name in ("tools", "tool_choice", "system", "result"):
        other = PromptTexts("tools", "builtin", {**texts.templates, name: texts.templates[name] + " "}, texts.note)
        assert Tools(other).prompt_source().sha256 != ADAPTER.prompt_source().sha256


def test_the_example_in_the_prompt_is_a_reply_as_it_should_be() -> None:
    system = conversation(adapter=IN_TEXT)[0].parts[0]
    assert isinstance(system, Text)
    block = system.text[system.text.index("<tool_call>") : system.text.index("</tool_call>") + len("</tool_call>")]
    assert IN_TEXT.parse(block, PHONE) == ParsedReply(Click(Point(0.287, 0.302)))
