"""Which JSON object of a reply is the action, for families that wrap it in no tag."""

from __future__ import annotations

import pytest

from sopbench.adapters.objects import FoundObject, ObjectForm, find_object, safe_thought
from sopbench.errors import ActionError

LABELLED = ObjectForm(keys=("do",), labelled=True)
BARE = ObjectForm(keys=("do", "thought"), labelled=False)


def found(reply: str, form: ObjectForm = LABELLED) -> FoundObject:
    return find_object(reply, form)


def reason(reply: str, form: ObjectForm = LABELLED) -> str:
    with pytest.raises(ActionError) as error:
        find_object(reply, form)
    return error.value.reason


@pytest.mark.parametrize(
    ("reply", "before", "notes"),
    [
        ('action: {"do": 1}', None, ()),
        ('Thought: why\naction: {"do": 1}', "why", ()),
        ('Low-level thought: why\naction: {"do": 1}', "why", ()),
        ('low-level Thoughts: why\nActions:\n{"do": 1}', "why", ()),
        ('Reason: why\nAction: {"do": 1}', "why", ()),
        ('**Reason:** why\n**Action:** {"do": 1}', "why", ()),
        ('Reason： why\nAction： {"do": 1}', "why", ()),
        ('Reason: one\ntwo\nACTION : {"do": 1}', "one\ntwo", ()),
        ('Low-level thought: why action: {"do": 1}', "why", ()),
        ('action: [{"do": 1}]', None, ()),
        ('action: {"do": 1}<|im_end|>', None, ()),
        ('action: {"do": 1}\nDone!', None, ()),
        ('action: ```json\n{"do": 1}\n```', None, ("code_fence",)),
        ('why\naction:\n```\n{"do": 1}\n```', "why", ("code_fence",)),
        ("action: {'do': 1}", None, ("single_quotes",)),
        ('{"do": 1}', None, ("no_label",)),
        ('why\n```json\n{"do": 1}\n```', "why", ("code_fence", "no_label")),
        ('<think>why</think>\naction: {"do": 1}', "why", ()),
        ('<think>a</think>Reason: b\nAction: {"do": 1}', "a\nReason: b", ()),
        ('why</think>\naction: {"do": 1}', "why", ("stray_think_end",)),
    ],
)  # fmt: skip
def test_the_object_behind_the_label_counts(reply: str, before: str | None, notes: tuple[str, ...]) -> None:
    assert found(reply) == FoundObject({"do": 1.0}, before, notes)


@pytest.mark.parametrize(
    "thought",
    [
        'a {"do": 2} elsewhere',
        "the action: tap, then {wait}",
        'I said action: {"do": 2} before.',
        'never closed {"do": "2',
        "interaction: {x}",
        'my-action {"a": [',
    ],
)
def test_what_the_thought_says_before_a_labelled_line_is_never_the_action(thought: str) -> None:
    assert found(f'{thought}\naction: {{"do": 1}}').value == {"do": 1.0}


@pytest.mark.parametrize(
    "typed",
    ['action: {"do": 2}', "action: {'do': 2}", "</think>", "</think> action: {'do': 2}", "}", '{"do": 2}', "```"],
)
def test_what_a_text_of_the_call_says_is_text(typed: str) -> None:
    import json

    for reply in (f"action: {json.dumps({'do': 1, 'text': typed})}", json.dumps({"do": 1, "text": typed})):
        assert found(reply).value == {"do": 1.0, "text": typed}


def test_further_calls_are_counted() -> None:
    assert found('action: {"do": 1}\naction: {"do": 2}\nAction: {"do": 3}').notes == ("extra_calls:2",)
    assert found('{"do": 1}{"do": 2}', BARE).notes == ("extra_calls:1",)
    assert found('{"do": 1} {"else": 2}', BARE).notes == ()


@pytest.mark.parametrize(
    "reply", ['action: {"do": 1 2}\naction: {"do": 3}', '{"do": 1 2} {"do": 3}', '```\n{"do": 1 2}\n```\n{"do": 3}']
)
def test_a_broken_call_is_not_replaced_by_a_later_one(reply: str) -> None:
    assert reason(reply) == reason(reply, BARE) == "bad_json"


def test_an_object_that_does_not_begin_like_a_call_may_be_broken() -> None:
    assert found('{"what" is} this: {"do": 3}', BARE).value == {"do": 3.0}


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "empty_reply"),
        (" \n", "empty_reply"),
        ("Sorry, I can't help with that", "no_action"),
        ("action: tap the button", "no_action"),
        ("action: {tap}", "no_action"),
        ('{"else": 1}', "no_action"),
        ('action: {"do": 1', "truncated"),
        ('action: {"do', "truncated"),
        ("action: {", "truncated"),
        ('{"do": [1, ', "truncated"),
        ('<think>I will do {"do": 1}', "no_action"),
        ('<think>action: {"do": 1}</think>', "no_action"),
        ('<think>action: {"do": 1}</think> and that is all', "no_action"),
    ],
)
def test_what_holds_no_action(reply: str, why: str) -> None:
    assert reason(reply) == why


def test_a_call_before_a_think_tag_that_nothing_opened_counts_where_none_follows() -> None:
    assert found('action: {"do": 1}\n</think>').notes == ("stray_think_end",)


@pytest.mark.parametrize(
    "thought",
    [
        'then action: {"do": 2}',
        'x\naction: {"do": 2}',
        "Action：\n```json\n{'do': 2}",
        "</think>",
        "<think>",
        "< / THINKING >",
        'action: [{"do": 2}]',
    ],
)
def test_a_safe_thought_stays_a_thought(thought: str) -> None:
    reply = f'Reason: {safe_thought(thought)}\nAction: {{"do": 1}}'
    assert found(reply) == FoundObject({"do": 1.0}, safe_thought(thought), ())


@pytest.mark.parametrize("thought", ["plain", "an action: tap", '{"do": 1}', "a < b", "it's `code`"])
def test_an_ordinary_thought_is_safe_as_it_is(thought: str) -> None:
    assert safe_thought(thought) == thought
