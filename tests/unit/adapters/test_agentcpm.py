"""AgentCPM-GUI: one compact JSON object, per-mille of the screen, images of at most 1120 pixels."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sopbench.actions import (
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
    swipe_direction,
)
from sopbench.adapters.agentcpm import AgentCPM
from sopbench.adapters.base import Image, ParsedReply, ParseFailure, Text, Turn
from sopbench.errors import CannotExpress
from sopbench.geometry import Point, Size
from tests.unit.adapters.screens import blank

PHONE = Size(1080, 2400)
ADAPTER = AgentCPM()
MIDDLE = Click(Point(0.5, 0.5))


def read(reply: str) -> ParsedReply:
    parsed = ADAPTER.parse(reply, PHONE)
    assert isinstance(parsed, ParsedReply), parsed
    return parsed


def refused(reply: str) -> ParseFailure:
    parsed = ADAPTER.parse(reply, PHONE)
    assert isinstance(parsed, ParseFailure), parsed
    return parsed


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ('{"thought":"x","POINT":[500,500]}', MIDDLE),
        ('{"POINT":[480,320]}', Click(Point(0.48, 0.32))),
        ('{"POINT":[500,500],"duration":200}', MIDDLE),
        ('{"POINT":[500,500],"duration":100}', MIDDLE),
        ('{"POINT":[500,500],"duration":201}', LongPress(Point(0.5, 0.5), 0.201)),
        ('{"POINT":[500,500],"duration":500}', LongPress(Point(0.5, 0.5), 0.5)),
        ('{"POINT":[500,500],"duration":1000}', LongPress(Point(0.5, 0.5), 1.0)),
        ('{"POINT":[500,600],"to":[500,200]}', Swipe(Point(0.5, 0.6), Point(0.5, 0.2))),
        ('{"POINT":[500,600],"to":[500,200],"duration":1000}', Swipe(Point(0.5, 0.6), Point(0.5, 0.2))),
        ('{"POINT":[500,200],"to":"down"}', Swipe(Point(0.5, 0.2), Point(0.5, 0.7))),
        ('{"PRESS":"HOME"}', SystemButton("Home")),
        ('{"PRESS":"BACK","duration":200}', SystemButton("Back")),
        ('{"PRESS":"ENTER","STATUS":"continue"}', SystemButton("Enter")),
        ('{"TYPE":"Hello, world!"}', Type("Hello, world!")),
        ('{"TYPE":"搜索“天气”\\n第二行"}', Type("搜索“天气”\n第二行")),
        ('{"TYPE":""}', Type("")),
        ('{"duration":500}', Wait(0.5)),
        ('{"STATUS":"continue","duration":3000}', Wait(3.0)),
        ('{"STATUS":"finish"}', Terminate("success")),
        ('{"thought":"done","STATUS":"satisfied"}', Terminate("success")),
        ('{"STATUS":"impossible"}', Terminate("failure")),
        ('{"STATUS":"interrupt","duration":200}', Terminate("failure")),
        ('{"STATUS":"need_feedback"}', Terminate("failure")),
        ('{"STATUS":"start","POINT":[500,500]}', MIDDLE),
        ('{"thought":null,"POINT":[500,500],"to":null,"PRESS":null}', MIDDLE),
    ],
)
def test_what_the_family_documents(reply: str, action: Action) -> None:
    assert read(reply).action == action
    assert read(reply).notes == ()


@pytest.mark.parametrize(
    ("reply", "action", "notes"),
    [
        ('```json\n{"POINT":[500,500]}\n```', MIDDLE, ("code_fence",)),
        ('Here it is: {"POINT":[500,500]}', MIDDLE, ("text_before",)),
        ("{'POINT': (500, 500)}", MIDDLE, ("single_quotes", "tuple")),
        ('{"POINT":"[500, 500]"}', MIDDLE, ("coordinate_as_text",)),
        ('{"POINT":[[500,500]]}', MIDDLE, ("nested_coordinate",)),
        ('{"POINT":{"x":500,"y":500}}', MIDDLE, ("coordinate_as_object",)),
        ('{"POINT":["500","500"]}', MIDDLE, ("number_as_text",)),
        ('{"point":[500,500]}', MIDDLE, ("field_name",)),
        ('{"think":"x","POINT":[500,500]}', MIDDLE, ("field_name",)),
        ('{"press":"back"}', SystemButton("Back"), ("field_name", "word_case")),
        ('{"POINT":[500,500],"element":"OK"}', MIDDLE, ("extra_fields",)),
        ('{"POINT":[500,500],"STATUS":"finish"}', Terminate("success"), ("status_over_action",)),
        ('{"TYPE":0042}', Type("0042"), ("text_from_number",)),
        ('{"POINT":[500,500]}{"PRESS":"BACK"}', MIDDLE, ("extra_calls:1",)),
        ('<think>so {"PRESS":"BACK"}?</think>{"POINT":[500,500]}', MIDDLE, ("text_before",)),
    ],
)
def test_what_is_repaired_is_noted(reply: str, action: Action, notes: tuple[str, ...]) -> None:
    assert (read(reply).action, read(reply).notes) == (action, notes)


@pytest.mark.parametrize(
    ("reply", "reason", "named"),
    [
        ('{"PRESS":"RECENT"}', "bad_argument", "RECENT"),
        ('{"PRESS":"APPSELECT"}', "bad_argument", "APPSELECT"),
        ('{"PRESS":"MENU"}', "bad_argument", "MENU"),
        ('{"PRESS":5}', "bad_argument", "PRESS"),
        ('{"CLEAR":null}', "unknown_action", "CLEAR"),
        ('{"DEEP_LINK":null}', "unknown_action", "DEEP_LINK"),
        ('{"OPEN_APP":"Maps"}', "unknown_action", "OPEN_APP"),
        ('{"POINT":[1,2],"PRESS":"BACK"}', "bad_argument", "POINT and PRESS"),
        ('{"POINT":[1,2],"TYPE":"x"}', "bad_argument", "POINT and TYPE"),
        ('{"to":"up"}', "missing_argument", "POINT"),
        ('{"to":"up","duration":1000,"PRESS":"BACK"}', "missing_argument", "POINT"),
        ('{"POINT":[500,500],"to":"north"}', "bad_argument", "to"),
        ('{"POINT":[500,500],"to":5}', "bad_argument", "to"),
        ('{"POINT":[x,y]}', "placeholder", "POINT"),
        ('{"POINT":"[x,y]"}', "placeholder", "POINT"),
        ('{"POINT":[1]}', "bad_argument", "POINT"),
        ('{"POINT":[NaN,1]}', "bad_argument", "POINT"),
        ('{"duration":-5}', "bad_argument", "duration"),
        ('{"duration":"soon"}', "bad_argument", "duration"),
        ('{"STATUS":"done"}', "bad_argument", "done"),
        ('{"STATUS":"continue"}', "no_action", "duration"),
        ('{"thought":"I wait"}', "no_action", "POINT"),
        ("{}", "no_action", "{}"),
        ('{"thought":"x","POINT":[500,50', "truncated", "ends"),
        ("抱歉，我无法完成", "no_action", "抱歉"),
    ],
)
def test_what_is_no_action_is_named(reply: str, reason: str, named: str) -> None:
    assert refused(reply).reason == reason
    assert named in refused(reply).detail


def test_field_case_14_four_numbers_as_a_point_mean_their_centre() -> None:
    assert read('{"POINT":[10,850,50,890]}') == ParsedReply(Click(Point(0.03, 0.87)), None, ("box_centre",))


def test_field_case_19_the_size_in_which_the_image_was_sent_changes_nothing() -> None:
    for size in (None, Size(504, 1120), Size(1092, 2408)):
        assert ADAPTER.parse('{"POINT":[500,500]}', PHONE, size) == ParsedReply(MIDDLE)


@pytest.mark.parametrize("word", ["up", "down", "left", "right"])
@pytest.mark.parametrize("start", [[500, 500], [0, 0], [1000, 1000], [995, 5], [1200, -100]])
def test_a_direction_is_the_finger_s_from_the_point_on(word: str, start: list[int]) -> None:
    action = read(json.dumps({"POINT": start, "to": word})).action
    assert isinstance(action, Swipe)
    assert action.start == Point(start[0] / 1000, start[1] / 1000)
    assert swipe_direction(action.start, action.end, PHONE) == word
    if all(0 < value < 1000 for value in start):
        assert 0 <= action.end.x <= 1, "within the screen, where there is room"
        assert 0 <= action.end.y <= 1


def test_a_thought_in_the_object_is_preferred_to_prose_around_it() -> None:
    assert read('prose {"thought":" inside ","POINT":[1,2]}').thought == "inside"
    assert read('prose {"thought":"  ","POINT":[1,2]}').thought == "prose"
    assert read('{"POINT":[1,2]}').thought is None


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (MIDDLE, '{"POINT":[500,500]}'),
        (LongPress(Point(0.5, 0.5)), '{"POINT":[500,500],"duration":2000}'),
        (Swipe(Point(0.5, 0.75), Point(0.5, 0.25)), '{"POINT":[500,750],"to":[500,250]}'),
        (Type("打开"), '{"TYPE":"打开"}'),
        (SystemButton("Back"), '{"PRESS":"BACK"}'),
        (Wait(2.0), '{"duration":2000}'),
        (Terminate("success"), '{"STATUS":"finish"}'),
        (Terminate("failure"), '{"STATUS":"impossible"}'),
    ],
)
def test_the_words_are_compact(action: Action, words: str) -> None:
    assert ADAPTER.format(action, PHONE) == words
    assert ADAPTER.format(action, PHONE, "why") == '{"thought":"why",' + words[1:]


@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.201, 0.5, 12.345])
def test_a_long_press_stays_one_however_short(seconds: float) -> None:
    action = read(ADAPTER.format(LongPress(Point(0.5, 0.5), seconds), PHONE)).action
    assert action == LongPress(Point(0.5, 0.5), max(seconds, 0.201))


@pytest.mark.parametrize("action", [Open("Maps"), Answer("42"), Key("volume_up"), SystemButton("Menu")])
def test_what_the_family_cannot_say(action: Action) -> None:
    with pytest.raises(CannotExpress, match="agentcpm"):
        ADAPTER.format(action, PHONE)


def shapes(messages: Any) -> list[tuple[str, list[str]]]:
    return [(m.role, ["text" if isinstance(p, Text) else "image" for p in m.parts]) for m in messages]


def turns(count: int) -> list[Turn]:
    return [Turn(blank(540, 1200, k), f"reply {k}" if k < count - 1 else None) for k in range(count)]


def test_a_request_has_the_question_and_the_current_screen_and_no_history() -> None:
    assert shapes(ADAPTER.render("the goal", turns(3), 1)) == [("system", ["text"]), ("user", ["text", "image"])]
    assert shapes(ADAPTER.render("the goal", turns(3), 0)) == [("system", ["text"]), ("user", ["text"])]


def test_more_images_bring_their_turns_as_a_conversation() -> None:
    messages = ADAPTER.render("the goal", turns(4), 2)
    assert shapes(messages) == [
        ("system", ["text"]),
        ("user", ["text", "image"]),
        ("assistant", ["text"]),
        ("user", ["text", "image"]),
    ]
    assert messages[2].parts == (Text("reply 2"),)
    assert [p.screen.original for m in messages for p in m.parts if isinstance(p, Image)] == [
        blank(540, 1200, 2),
        blank(540, 1200, 3),
    ]


@pytest.mark.parametrize(
    ("screen", "sent"),
    [
        (Size(1080, 2400), Size(504, 1120)),
        (Size(1080, 2340), Size(516, 1120)),
        (Size(2560, 1600), Size(1120, 700)),
        (Size(320, 640), Size(320, 640)),
    ],
    ids=str,
)
def test_the_longer_side_of_what_is_sent_is_at_most_1120(screen: Size, sent: Size) -> None:
    (part,) = [
        p
        for m in ADAPTER.render("goal", [Turn(blank(screen.width, screen.height))], 1)
        for p in m.parts
        if isinstance(p, Image)
    ]
    assert part.screen.size == sent
    assert part.screen.decode().size == (sent.width, sent.height)
    assert (part.screen is part.screen.original) == (screen == sent)


def test_the_prompt_shows_replies_that_the_adapter_reads() -> None:
    (system,) = ADAPTER.render("goal", turns(1), 1)[0].parts
    assert isinstance(system, Text)
    shown = [line.split("  ")[0] for line in system.text.splitlines() if line.startswith("{")]
    read_as = [read(line.replace("[x,y]", "[1,2]")).action.kind for line in shown]
    assert set(read_as) == ADAPTER.expresses
