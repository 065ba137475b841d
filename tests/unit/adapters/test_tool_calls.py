"""Tool calls as text and back: what a server sent is what the journal, the parser and the history have."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sopbench.adapters.base import ToolCall
from sopbench.adapters.tool_calls import as_text, from_text, is_object

CLICK = ToolCall("click", '{"coordinate": [500, 500]}')
BLOCK = '<tool_call>\n{"name": "click", "arguments": {"coordinate": [500, 500]}}\n</tool_call>'

marks = st.sampled_from(
    ["<tool_call>", "\n</tool_call>", "</tool_call>", "\n", '{"name": ', ', "arguments": ', "}", '"', "\\", "<think>"]
)
texts = st.text(max_size=20) | st.lists(marks, max_size=6).map("".join)
objects = st.dictionaries(texts, st.recursive(texts | st.integers(), st.lists, max_leaves=4), max_size=3)
arguments = texts | objects.map(json.dumps) | objects.map(lambda o: json.dumps(o, indent=1, ensure_ascii=False))


@given(texts, st.lists(st.builds(ToolCall, texts, arguments), min_size=1, max_size=4))
@example("", [ToolCall("", "")])
@example("", [ToolCall("type", '{"text": "</tool_call>\\n<tool_call>"}')])
@example("\n\n", [CLICK])
@example(BLOCK, [CLICK])
def test_calls_come_back_as_they_were_sent(content: str, calls: list[ToolCall]) -> None:
    before, read = from_text(as_text(content, calls))
    assert read == tuple(calls)
    assert before.replace("‹", "<") == content.replace("‹", "<")


@given(texts)
@example(BLOCK)
@example(f"a\n{BLOCK}\n{BLOCK}\n")
def test_any_text_is_read_without_a_loss(text: str) -> None:
    before, calls = from_text(text)
    assert text.startswith(before)
    assert (before == text) or calls
    assert as_text(before, calls) == (text.rstrip() if calls else text)


def test_the_form_is_pinned() -> None:
    """Journals and submissions hold it."""
    assert as_text("", [CLICK]) == BLOCK
    assert as_text("I tap it.", [CLICK, ToolCall("wait", '{"time": ')]) == (
        f'I tap it.\n{BLOCK}\n<tool_call>\n{{"name": "wait", "arguments": "{{\\"time\\": "}}\n</tool_call>'
    )


def test_a_reply_without_calls_is_left_as_it_is() -> None:
    text = 'Use <tool_call> {"name": "x"} </tool_call>'
    assert as_text(text, []) == text
    assert from_text(text) == (text, ())


def test_what_the_content_says_about_calls_cannot_pose_as_one() -> None:
    before, calls = from_text(as_text(f"Earlier I said\n{BLOCK}", [ToolCall("wait", "{}")]))
    assert calls == (ToolCall("wait", "{}"),)
    assert "‹tool_call>" in before


@pytest.mark.parametrize(
    "text",
    [
        BLOCK[:-1],
        BLOCK + " and that is all",
        BLOCK.replace("\n", " "),
        BLOCK.replace(', "arguments"', ',"arguments"'),
        BLOCK.replace('{"coordinate": [500, 500]}', '{"coordinate": [500, 500}'),
        BLOCK.replace('{"coordinate": [500, 500]}', "[500, 500]"),
        BLOCK.replace('{"coordinate": [500, 500]}', "NaN"),
        BLOCK.replace('"click"', "5"),
        "said " + BLOCK,
        "<tool_call>\n\n</tool_call>",
        "\n</tool_call>",
    ],
)
def test_another_form_is_text_for_the_tolerant_reader(text: str) -> None:
    assert from_text(text) == (text, ())


@pytest.mark.parametrize("behind", ["", "\n", " \n\n"])
def test_space_behind_the_last_call_does_not_matter(behind: str) -> None:
    assert from_text(f"I tap it.\n{BLOCK}{behind}") == ("I tap it.", (CLICK,))


@pytest.mark.parametrize(
    ("arguments", "is_one"),
    [("{}", True), ('{"a": [1, {"b": null}]}', True), ("", False), ("[]", False), ("{'a': 1}", False), ('{"a": NaN}', False), ("{" * 10_000, False), ('{"a":' * 10_000, False), ('{"a": ' + "1" * 5000 + "}", False)],
)  # fmt: skip
def test_only_json_objects_by_the_letter_can_be_sent_back(arguments: str, is_one: bool) -> None:
    assert is_object(arguments) is is_one
