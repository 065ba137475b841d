"""The framework: sessions, the expert's eyes and hands, open values, and what it says to users of templates."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.pocket.apps.notes import Note
from emulator.pocket.phone import Phone, fresh_state
from emulator.pocket.state import PageState, PhoneState
from emulator.pocket.tasks import ANY, Hold, Params, Plan, TaskError, Template, find, hop, said, start
from emulator.pocket.tasks.expert import Expert, Memory, Move, Style
from emulator.pocket.themes import Display
from sopbench.actions import Action, Click, LongPress, Open, Swipe, SystemButton, Terminate, Type
from tests.unit.pocket.driving import has, hold, tap


def look(phone: Phone, style: Style = "open") -> Expert:
    return Expert(phone, style, Memory())


def only(plan: Plan) -> Move:
    return next(iter(plan))


def acted(phone: Phone, plan: Plan) -> Action:
    """Make the plan's next move and return it."""
    action = only(plan).action
    phone.act(action)
    return action


@pytest.fixture(params=["regular", "large"])
def phone(request: pytest.FixtureRequest) -> Phone:
    display: Display = request.param
    return Phone(display, seed=5)


# ---- going
def test_apps_are_entered_by_open_or_by_their_icon_as_the_style_says(phone: Phone) -> None:
    assert only(look(phone, "open").enter("notes")).action == Open("Notes")
    move = only(look(phone, "icon").enter("notes"))
    assert isinstance(move.action, Click)
    assert move.target is not None
    assert move.target.id == "app.notes"


def test_from_another_app_the_icon_is_reached_over_home(phone: Phone) -> None:
    phone.act(Open("settings"))
    assert only(look(phone, "icon").enter("notes")).action == SystemButton("Home")
    assert only(look(phone, "open").enter("notes")).action == Open("Notes")


def test_nothing_is_done_where_one_is_already(phone: Phone) -> None:
    phone.act(Open("notes"))
    assert list(look(phone).enter("notes")) == []
    assert list(look(phone).go("notes")) == []


def test_a_wrong_page_is_left_by_back(phone: Phone) -> None:
    phone.act(Open("settings"))
    tap(phone, "wifi")
    assert acted(phone, look(phone).go("settings", hop("bluetooth", "bluetooth"))) == SystemButton("Back")
    acted(phone, look(phone).go("settings", hop("bluetooth", "bluetooth")))
    assert phone.foreground == ("settings", "bluetooth")


def test_a_page_about_another_thing_is_a_wrong_page(phone: Phone) -> None:
    phone.act(Open("notes"))
    phone.state.nav.stacks["notes"].append(PageState("note", {"note": "n1"}))
    assert only(look(phone).go("notes", hop("note", "note.n2", note="n2"))).action == SystemButton("Back")
    assert list(look(phone).go("notes", hop("note", "note.n1", note="n1"))) == []


def test_a_hop_types_what_it_needs_before_it_taps(phone: Phone) -> None:
    title = phone.state.apps["notes"].notes[0].title
    found = hop("note", "note.n0", note="n0", fill={"query": title})
    kinds = []
    while not look(phone).at("notes", "note", note="n0"):
        kinds.append(acted(phone, look(phone).go("notes", hop("search", "search"), found)).kind)
    assert kinds == ["open", "click", "type", "click"]


# ---- touching
def test_what_is_off_the_screen_is_scrolled_to_from_both_sides(phone: Phone) -> None:
    phone.act(Open("calendar"))
    phone.act(Open("notes"))
    data = phone.state.apps["notes"]
    data.notes = [Note(f"n{i}", f"Note {i}", "Text", "1 March") for i in range(40)]
    for id, direction in (("note.n39", -1), ("note.n0", 1), ("note.n20", -1)):
        for _ in range(30):
            action = acted(phone, look(phone).tap(id))
            if isinstance(action, Click):
                break
            assert isinstance(action, Swipe)
            assert (action.end.y - action.start.y) * direction > 0
        assert phone.state.nav.stacks["notes"][-1].args == {"note": id.removeprefix("note.")}
        phone.act(SystemButton("Back"))


def test_looking_for_something_leaves_the_phone_as_it_is(phone: Phone) -> None:
    phone.act(Open("notes"))
    before = phone.state.to_json()
    list(look(phone).tap("note.n8"))
    assert phone.state.to_json() == before


def test_a_chain_goes_on_from_what_is_there(phone: Phone) -> None:
    phone.act(Open("notes"))
    chain = (Hold("note.n0"), "sheet.delete", "delete.ok")
    assert isinstance(acted(phone, look(phone).tap(*chain)), LongPress)
    assert has(phone, "sheet.delete")
    acted(phone, look(phone).tap(*chain))
    assert has(phone, "delete.ok")
    acted(phone, look(phone).tap(*chain))
    assert all(note.id != "n0" for note in phone.state.apps["notes"].notes)


def test_a_dialog_about_something_else_is_closed(phone: Phone) -> None:
    phone.act(Open("notes"))
    hold(phone, "note.n1")
    tap(phone, "sheet.delete")
    chain = look(phone).tap(Hold("note.n0"), "sheet.delete", "delete.ok", about={"note": "n0"})
    assert acted(phone, chain) == SystemButton("Back")
    assert not has(phone, "delete.ok")


def test_an_overlay_that_is_in_the_way_is_closed(phone: Phone) -> None:
    phone.act(Open("notes"))
    hold(phone, "note.n1")
    assert only(look(phone).tap("new")).action == SystemButton("Back")


def test_a_keyboard_that_hides_the_target_is_closed(phone: Phone) -> None:
    phone.act(Open("notes"))
    tap(phone, "search")
    assert only(look(phone).tap("nowhere")).action == SystemButton("Back")


def test_what_is_nowhere_is_told_as_a_lookup_error(phone: Phone) -> None:
    phone.act(Open("notes"))
    with pytest.raises(LookupError, match=r"note\.n77"):
        list(look(phone).tap("note.n77"))


# ---- typing
def test_typing_puts_the_cursor_into_the_field_and_types_only_what_is_missing(phone: Phone) -> None:
    phone.act(Open("notes"))
    tap(phone, "new")
    assert isinstance(acted(phone, look(phone).type("title", "Milk")), Click)
    phone.act(Type("Mi"))
    assert acted(phone, look(phone).type("title", "Milk")) == Type("lk")
    assert list(look(phone).type("title", "Milk")) == []


@pytest.mark.parametrize("field", ["title", "body"])
def test_wrong_text_is_cleared_first(phone: Phone, field: str) -> None:
    """By the field's clear button; where it has none (several lines, large display), by holding backspace."""
    phone.act(Open("notes"))
    tap(phone, "new")
    tap(phone, field)
    phone.act(Type("Bread"))
    button = has(phone, f"{field}.clear")
    actions = []
    while look(phone).value(field) != "Milk":
        actions.append(acted(phone, look(phone).type(field, "Milk")))
    assert [action.kind for action in actions] == ["click" if button else "long_press", "type"]
    assert actions[-1] == Type("Milk")


# ---- memory
def test_the_expert_remembers_pages_and_nodes_that_it_saw(phone: Phone) -> None:
    memory = Memory()
    phone.act(Open("notes"))
    phone.state.nav.stacks["notes"].append(PageState("note", {"note": "n1"}))
    assert Expert(phone, "open", memory).visited("notes", "note", note="n1")
    phone.act(SystemButton("Home"))
    here = Expert(phone, "open", memory)
    assert here.visited("notes", "note", note="n1")
    assert here.saw("body")
    assert not here.visited("notes", "note", note="n2")
    assert not here.saw("note.n2")


# ---- moves
def test_moves_lie_on_whole_pixels_inside_their_target_and_say_what_they_do() -> None:
    for name in ("notes.rename", "settings.language", "notes.find_delete"):
        for display in ("regular", "large"):
            session = start(name, 0, display)
            for move in session.moves():
                assert move.instruction[0].isupper()
                assert len(move.thought) > 10
                if isinstance(move.action, Click | LongPress):
                    x, y = move.action.point.to_pixels(session.phone.size)
                    assert (x, y) == (int(x), int(y))
                    assert move.target is not None
                    assert move.target.contains(x, y)


# ---- sessions
class Broken(Template):
    """A template for tests, broken as its subclasses say."""

    name = "notes.broken"
    apps = ("notes",)
    goals = ("Do it", "Please do it", "Get it done")

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {}

    def want(self, state: PhoneState, p: Params) -> None:
        state.device.dark = True

    def plan(self, x: Expert, p: Params) -> Plan:
        yield x.press("Home")


def test_a_task_that_is_solved_at_its_start_is_refused() -> None:
    class Solved(Broken):
        def want(self, state: PhoneState, p: Params) -> None:
            pass

    with pytest.raises(TaskError, match="solved before it starts"):
        start(Solved(), 0)


def test_an_expert_that_never_ends_is_told_with_its_last_steps() -> None:
    with pytest.raises(TaskError, match="not solved in 40 steps; the last: Press Home"):
        start(Broken(), 0).solve()


def test_an_expert_whose_things_are_gone_gives_up() -> None:
    session = start("notes.delete", 0)
    session.phone.state.apps["notes"].notes.clear()
    assert session.expert() == Terminate("failure")
    with pytest.raises(TaskError, match="ended with score 0"):
        session.solve()


def test_an_expert_with_nothing_left_to_do_on_an_unsolved_task_gives_up() -> None:
    class Idle(Broken):
        def plan(self, x: Expert, p: Params) -> Plan:
            yield from ()

    assert start(Idle(), 0).expert() == Terminate("failure")


def test_a_defect_of_a_plan_is_not_taken_for_giving_up() -> None:
    class Defect(Broken):
        def plan(self, x: Expert, p: Params) -> Plan:
            raise RuntimeError("a defect")
            yield x.press("Home")

    with pytest.raises(RuntimeError, match="a defect"):
        start(Defect(), 0).expert()


def test_the_goal_says_how_the_app_is_entered() -> None:
    for seed in range(30):
        session = start("notes.pin", seed)
        first = session.expert()
        opens = session.goal.startswith("Open ")
        if session.phone.state.nav.app == "launcher":
            assert first == Open("Notes") if opens else isinstance(first, Click)
        else:
            assert first == (Open("Notes") if opens else SystemButton("Home"))


def test_tasks_that_start_elsewhere_start_in_an_app_that_the_task_does_not_need() -> None:
    starts = [start("notes.pin", seed).phone.state.nav.app for seed in range(60)]
    assert 0.1 < sum(app != "launcher" for app in starts) / len(starts) < 0.35
    assert "notes" not in starts


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("notes.pim", 0), "notes.pin"), (("nowhere", 0), "settings"), (("notes.pin", 0, "huge"), "regular and large")],
)
def test_what_there_is_not_is_told_with_what_there_is(arguments: tuple[str, int], words: str) -> None:
    with pytest.raises(TaskError, match=words):
        start(*arguments)


def test_a_spec_tells_all_that_defines_a_task() -> None:
    spec = start("notes.write", 4).spec
    facts = json.loads(spec.canonical())
    assert facts["template"] == "notes.write"
    assert facts["goal"] == spec.goal
    assert facts["budget"] == spec.budget == 2 * spec.steps + 4
    assert facts["params"] == spec.params
    assert len(facts["state_sha256"]) == 64
    assert "\n" not in spec.canonical()
    assert find("notes.write") is find("notes.write")


def test_asking_for_the_spec_does_not_play_the_session() -> None:
    session = start("notes.write", 4)
    before = session.phone.state.to_json()
    assert session.spec.steps > 1
    assert session.phone.state.to_json() == before


# ---- open values
@given(st.one_of(st.text(), st.integers(), st.none(), st.lists(st.text())))
def test_any_equals_everything(value: object) -> None:
    """Whichever stands first: a wanted state is compared with a stored one from the left, and so are their parts."""
    assert ANY.__eq__(value) is True
    assert ANY.__ne__(value) is False
    wanted = [ANY, 1]
    assert wanted == [value, 1]


@given(st.text(alphabet=st.characters(codec="ascii"), min_size=1))
def test_said_looks_past_case_and_white_space_only(text: str) -> None:
    assert said(text) == f"  {text.upper()}\n"
    assert said(text) != f"{text}x"
    assert said(text) != f"x{text}"


def test_open_values_work_inside_states() -> None:
    wanted, state = fresh_state(1), fresh_state(1)
    state.apps["notes"].notes.insert(0, Note("n101", "milk  and Bread", "x", "14 March"))
    wanted.apps["notes"].notes.insert(0, Note(ANY, said("Milk and bread"), "x", ANY))
    assert wanted.apps == state.apps
    assert wanted.stored() == state.stored()
    wanted.apps["notes"].notes[0].body = "y"
    assert wanted.apps != state.apps
