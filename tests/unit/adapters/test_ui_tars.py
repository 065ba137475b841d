"""UI-TARS v1 and v1.5: frames, words, conversation."""

from __future__ import annotations

import json

import pytest

from sopbench.actions import Answer, Click, LongPress, Open, Swipe, SystemButton, Terminate, Type, Wait
from sopbench.adapters.base import Image, Message, ParsedReply, ParseFailure, Text, Turn
from sopbench.adapters.ui_tars import UiTars
from sopbench.adapters.ui_tars15 import UiTars15
from sopbench.adapters.ui_tars_words import UiTarsFamily, with_box_tokens
from sopbench.geometry import PER_MILLE, Point, Size
from sopbench.protocols.online import OnlineEpisode
from tests.unit.adapters.screens import blank

PHONE = Size(1080, 2400)
V1, V15 = UiTars(), UiTars15()
MIDDLE = Click(Point(0.5, 0.5))

both = pytest.mark.parametrize("adapter", [V1, V15], ids=["v1", "v1.5"])


def read(adapter: UiTarsFamily, call: str) -> ParsedReply:
    parsed = adapter.parse(f"Thought: why\nAction: {call}", PHONE)
    assert isinstance(parsed, ParsedReply), parsed
    return parsed


@pytest.mark.parametrize(
    ("screen", "sent"),
    [
        (Size(1080, 2400), Size(1092, 2408)),
        (Size(1080, 2340), Size(1092, 2352)),
        (Size(1440, 3120), Size(1428, 3108)),
        (Size(2560, 1600), Size(2548, 1596)),
        (Size(320, 640), Size(308, 644)),
        (Size(160, 320), Size(224, 420)),
        (Size(4000, 6000), Size(2912, 4368)),
    ],
    ids=str,
)
def test_v15_counts_pixels_of_the_resized_image_and_v1_thousandths(screen: Size, sent: Size) -> None:
    assert V15.sent_size(screen) == sent
    assert V1.sent_size(screen) == PER_MILLE
    far = V15.parse(f"Action: click(point='<point>{sent.width} {sent.height}</point>')", screen)
    assert far == V1.parse("Action: click(start_box='(1000,1000)')", screen) == ParsedReply(Click(Point(1.0, 1.0)))


@both
@pytest.mark.parametrize(
    "form",
    [
        "click(start_box='<|box_start|>({x},{y})<|box_end|>')",
        "click(start_box='({x},{y})')",
        "click(start_box='({x}, {y})')",
        'click(start_box="({x},{y})")',
        "click(point='<point>{x} {y}</point>')",
        "click(start_box='<point>{x} {y}</point>')",
        "click(start_box='[{x}, {y}]')",
    ],
)
def test_forms_of_a_point(adapter: UiTarsFamily, form: str) -> None:
    sent = adapter.sent_size(PHONE)
    call = form.format(x=sent.width // 2, y=sent.height // 2)
    assert read(adapter, call) == ParsedReply(MIDDLE, "why")


@both
def test_boxes_and_quadrangles_mean_their_centre(adapter: UiTarsFamily) -> None:
    for box in (
        "[100, 200, 300, 400]",
        "<|box_start|>(100,200),(300,400)<|box_end|>",
        "<bbox>100 200 300 400</bbox>",
        "(100,200),(300,200),(300,400),(100,400)",
    ):
        at = read(adapter, "click(start_box='(200,300)')").action
        assert read(adapter, f"click(start_box='{box}')") == ParsedReply(at, "why", ("box_centre",))


WORDS = [
    ("long_press(start_box='(500,500)', time='')", LongPress(Point(0.5, 0.5)), ()),
    ("long_press(start_box='(500,500)', time='2')", LongPress(Point(0.5, 0.5)), ("time_left_aside",)),
    ("type(content='')", Type(""), ()),
    ("type(content='hi\\n')", Type("hi\n"), ()),
    ("type(content='打开“天气”')", Type("打开“天气”"), ()),
    ("scroll(direction='down')", Swipe(Point(0.5, 0.75), Point(0.5, 0.25)), ()),
    ("scroll(direction='up')", Swipe(Point(0.5, 0.25), Point(0.5, 0.75)), ()),
    ("scroll(direction='Left')", Swipe(Point(0.25, 0.5), Point(0.75, 0.5)), ()),
    ("scroll(direction='right')", Swipe(Point(0.75, 0.5), Point(0.25, 0.5)), ()),
    ("scroll(start_box='(200,600)', direction='down')", Swipe(Point(0.2, 0.85), Point(0.2, 0.35)), ()),
    ("scroll(start_box='(200,900)', direction='down')", Swipe(Point(0.2, 1.0), Point(0.2, 0.5)), ()),
    ("scroll(start_box='(700,320)', end_box='(0,350)')", Swipe(Point(0.7, 0.32), Point(0.0, 0.35)), ()),
    ("drag(start_box='(100,200)', end_box='(300,400)')", Swipe(Point(0.1, 0.2), Point(0.3, 0.4)), ()),
    ("press_back()", SystemButton("Back"), ()),
    ("press_home()", SystemButton("Home"), ()),
    ("Press_Home()", SystemButton("Home"), ("action_name_case",)),
    ("open_app(app_name='Google Maps')", Open("Google Maps"), ()),
    ("wait()", Wait(), ()),
    ("finished()", Terminate("success"), ()),
]


@pytest.mark.parametrize(("call", "action", "notes"), WORDS, ids=[row[0] for row in WORDS])
def test_every_word(call: str, action: object, notes: tuple[str, ...]) -> None:
    assert read(V1, call) == ParsedReply(action, "why", notes)  # type: ignore[arg-type]  # actions all


@both
@pytest.mark.parametrize(
    ("call", "reason", "named"),
    [
        ("left_double(start_box='(1,2)')", "unknown_action", "left_double"),
        ("right_single(start_box='(1,2)')", "unknown_action", "right_single"),
        ("hotkey(key='enter')", "unknown_action", "hotkey"),
        ("call_user()", "unknown_action", "call_user"),
        ("swipe(direction='up')", "unknown_action", "swipe"),
        ("click()", "missing_argument", "start_box"),
        ("type()", "missing_argument", "content"),
        ("open_app()", "missing_argument", "app_name"),
        ("drag(start_box='(1,2)')", "missing_argument", "end_box"),
        ("scroll(start_box='(1,2)')", "missing_argument", "direction"),
        ("scroll(direction='sideways')", "bad_argument", "sideways"),
        ("scroll(direction='down or up or right or left')", "placeholder", "down or up"),
        ("click(start_box='(1,2,3)')", "bad_argument", "1,2,3"),
        ("click(start_box='the blue button')", "bad_argument", "the blue button"),
        ("click(start_box='<|box_start|>(x1,y1)<|box_end|>')", "placeholder", "x1"),
        ("click(start_box='(1e999,99999999999)')", "bad_argument", "1e999"),
        ("click(start_box='(99999999999,1)')", "bad_argument", "bounds"),
        ("type(content='" + "x" * 20_001 + "')", "bad_argument", "20001"),
    ],
)
def test_what_is_refused_names_why(adapter: UiTarsFamily, call: str, reason: str, named: str) -> None:
    parsed = adapter.parse(f"Thought: why\nAction: {call}", PHONE)
    assert isinstance(parsed, ParseFailure)
    assert parsed.reason == reason
    assert named in parsed.detail
    assert len(parsed.detail) < 300


def test_replies_have_the_published_shapes() -> None:
    assert (
        V1.format(MIDDLE, PHONE, "The switch.")
        == "Thought: The switch.\nAction: click(start_box='<|box_start|>(500,500)<|box_end|>')"
    )
    assert V15.format(MIDDLE, PHONE) == "Action: click(point='<point>546 1204</point>')"
    path = Swipe(Point(0.5, 0.75), Point(0.5, 0.25))
    assert (
        V1.format(path, PHONE)
        == "Action: drag(start_box='<|box_start|>(500,750)<|box_end|>', end_box='<|box_start|>(500,250)<|box_end|>')"
    )
    assert (
        V15.format(path, PHONE)
        == "Action: drag(start_point='<point>546 1806</point>', end_point='<point>546 602</point>')"
    )
    assert V1.format(Type("it's\n\\"), PHONE) == "Action: type(content='it\\'s\\n\\\\')"  # fmt: skip


@both
def test_what_cannot_be_said(adapter: UiTarsFamily) -> None:
    unsaid = [SystemButton("Menu"), SystemButton("Enter"), Terminate("failure"), Answer("42")]
    assert not any(adapter.can_express(action) for action in unsaid)
    assert all(
        adapter.can_express(action) for action in (SystemButton("Back"), SystemButton("Home"), Terminate("success"))
    )


@both
def test_field_case_13_the_end_is_success_and_its_text_an_answer(adapter: UiTarsFamily) -> None:
    assert read(adapter, "finished(content='It\\'s 42')") == ParsedReply(Terminate("success"), "why", (), "It's 42")
    assert read(adapter, "finished(content='')").answer is None
    episode = OnlineEpisode("How many?", adapter, blank(540, 1200), budget=2)
    result = episode.advance("Action: finished(content='42')")
    assert (result.answer, episode.said_done, episode.over) == ("42", True, True)


def roles(messages: tuple[Message, ...]) -> list[str]:
    return [message.role for message in messages]


def shape(messages: tuple[Message, ...]) -> list[str]:
    return [m.role[0] + "".join("i" if isinstance(part, Image) else "t" for part in m.parts) for m in messages]


@both
@pytest.mark.parametrize(
    ("images", "wanted"),
    [
        (5, ["st", "ut", "ui", "at", "ui", "at", "ui", "at", "ui"]),
        (2, ["st", "ut", "at", "at", "ui", "at", "ui"]),
        (1, ["st", "ut", "at", "at", "at", "ui"]),
        (0, ["st", "ut", "at", "at", "at", "ut"]),
    ],
)
def test_task_then_screens_and_own_replies_where_a_screen_is_not_kept_the_reply_alone(
    adapter: UiTarsFamily, images: int, wanted: list[str]
) -> None:
    turns = [Turn(blank(540, 1200, shade=k), f"reply {k}") for k in range(3)] + [Turn(blank(540, 1200, shade=3))]
    messages = adapter.render("Turn on the torch", turns, images)
    assert shape(messages) == wanted
    assert [m.parts[0] for m in messages if m.role == "assistant"] == [Text(f"reply {k}") for k in range(3)]
    told = [sum("Turn on the torch" in part.text for part in m.parts if isinstance(part, Text)) for m in messages]
    assert told == [0, 1] + [0] * (len(messages) - 2)


@both
def test_the_first_request_without_a_screen_ends_with_the_task(adapter: UiTarsFamily) -> None:
    assert shape(adapter.render("Turn on the torch", [Turn(blank(540, 1200))], 0)) == ["st", "ut"]


def test_box_tokens_that_the_server_dropped_are_put_back_into_history() -> None:
    dropped = "Thought: (1,2)\nAction: drag(start_box='(10,20)', end_box='(30, 40)')"
    whole = "Thought: (1,2)\nAction: drag(start_box='<|box_start|>(10,20)<|box_end|>', end_box='<|box_start|>(30,40)<|box_end|>')"
    assert with_box_tokens(dropped) == whole
    assert with_box_tokens(whole) == whole
    told = V1.render("goal", [Turn(blank(540, 1200), dropped), Turn(blank(540, 1200))], 5)[3]
    assert told == Message("assistant", (Text(whole),))


@pytest.mark.parametrize(
    ("adapter", "point"), [(V1, "<|box_start|>(x,y)<|box_end|>"), (V15, "<point>x y</point>")], ids=["v1", "v1.5"]
)
def test_the_built_in_prompt_speaks_of_points_as_the_family_writes_them(adapter: UiTarsFamily, point: str) -> None:
    told = json.dumps(
        [
            part.text
            for m in adapter.render("the goal", [Turn(blank(540, 1200))], 1)
            for part in m.parts
            if isinstance(part, Text)
        ]
    )
    assert told.count(point) == 5
    assert "{" not in told
    for word in (
        "click(",
        "long_press(",
        "drag(",
        "scroll(",
        "type(",
        "open_app(",
        "press_back()",
        "press_home()",
        "wait()",
        "finished(",
    ):
        assert word in told  # fmt: skip
