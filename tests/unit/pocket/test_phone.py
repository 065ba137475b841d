"""The phone: frames, the UI tree, and what each action does."""

from __future__ import annotations

import copy
import io
import json
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from emulator.pocket.phone import Phone, fresh_state
from emulator.pocket.state import PageState
from emulator.pocket.themes import Display
from emulator.pocket.themes.large_rows import C
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
)
from sopbench.geometry import Point
from tests.unit.pocket.driving import has, hold, middle, node, swipe, tap
from tests.unit.pocket.gallery import PAGES, GalleryApp, GalleryData

DISPLAYS: tuple[Display, ...] = ("regular", "large")


@pytest.fixture(params=DISPLAYS)
def display(request: pytest.FixtureRequest) -> Display:
    return request.param  # type: ignore[no-any-return]


def gallery(display: Display, page: str = "main") -> Phone:
    """A phone that shows a page of the widget gallery."""
    phone = Phone(display, apps=[GalleryApp()])
    phone.act(Open("Gallery"))
    if page != "main":
        phone.state.nav.stacks["gallery"].append(PageState(page))
    return phone


def data(phone: Phone) -> GalleryData:
    found = phone.state.apps["gallery"]
    assert isinstance(found, GalleryData)
    return found


# ---- frames
def test_the_same_state_is_the_same_file(display: Display) -> None:
    phone = Phone(display, seed=5)
    phone.act(Open("settings"))
    again = Phone(display, state=copy.deepcopy(phone.state))
    assert phone.png() == again.png() == phone.png()


def test_another_seed_is_another_phone(display: Display) -> None:
    assert len({Phone(display, seed=seed).state.to_json() for seed in range(8)}) == 8


def test_the_file_shows_the_screen(display: Display) -> None:
    phone = Phone(display)
    phone.act(Open("notes"))
    image = Image.open(io.BytesIO(phone.png()))
    assert image.mode == "P"
    assert image.size == (phone.size.width, phone.size.height)
    assert image.convert("RGB").tobytes() == phone.screen().tobytes()


def test_a_screen_of_very_many_colours_keeps_the_frequent_ones() -> None:
    from emulator.pocket import png

    image = Image.new("RGB", (64, 64), (10, 200, 30))
    for i in range(1000):
        image.putpixel((i % 64, i // 64), (i % 256, i // 4 % 256, 7))
    decoded = Image.open(io.BytesIO(png.encode(image))).convert("RGB")
    assert decoded.getpixel((60, 60)) == (10, 200, 30)
    colours = decoded.getcolors()
    assert colours is not None
    assert len(colours) <= 256


@pytest.mark.parametrize("page", PAGES)
def test_every_widget_page_is_small_on_disk(display: Display, page: str) -> None:
    assert len(gallery(display, page).png()) < 26_000


def test_dark_theme_changes_every_page(display: Display) -> None:
    phone = gallery(display, "rows")
    light = phone.screen()
    phone.state.device.dark = True
    assert light.getpixel((5, 700)) != phone.screen().getpixel((5, 700))


# ---- the UI tree
def screens(display: Display) -> list[Phone]:
    """One phone for each page of the gallery, each also scrolled to its end, typed into and with its overlay open."""
    phones = [gallery(display, page) for page in ("main", *PAGES)]
    for page in PAGES:
        phone = gallery(display, page)
        phone.state.nav.stacks["gallery"][-1].scroll = 10**6
        phones.append(phone)
    typing = gallery(display, "form")
    tap(typing, "name")
    number = gallery(display, "number")
    tap(number, "minutes")
    number.act(Type("12"))
    menu = gallery(display, "tiles")
    tap(menu, "page.more")
    dialog = gallery(display, "form")
    dialog.state.nav.stacks["gallery"][-1].scroll = 10**6
    tap(dialog, "drop")
    home, recents = gallery(display), gallery(display)
    home.act(SystemButton("Home"))
    recents.act(Key("app_switch"))
    return [*phones, typing, number, menu, dialog, home, recents]


def test_boxes_lie_inside_the_display_and_are_not_empty(display: Display) -> None:
    for phone in screens(display):
        for item in phone.ui():
            assert 0 <= item.box.x1 < item.box.x2 <= phone.size.width, (phone.foreground, item)
            assert 0 <= item.box.y1 < item.box.y2 <= phone.size.height, (phone.foreground, item)


def test_no_two_targets_overlap(display: Display) -> None:
    for phone in screens(display):
        clickable = [item for item in phone.ui() if item.clickable]
        for a, b in combinations(clickable, 2):
            apart = a.box.x2 <= b.box.x1 or b.box.x2 <= a.box.x1 or a.box.y2 <= b.box.y1 or b.box.y2 <= a.box.y1
            assert apart, (phone.foreground, a, b)


def test_targets_of_the_large_display_are_whole_cells() -> None:
    for phone in screens("large"):
        for item in phone.ui():
            if item.clickable or item.long_clickable:
                assert all(value % C == 0 for value in item.box.as_list()), (phone.foreground, item)


def test_ids_are_unique_and_parents_exist(display: Display) -> None:
    for phone in screens(display):
        ids = [item.id for item in phone.ui()]
        assert len(ids) == len(set(ids))
        for item in phone.ui():
            assert item.parent is None or item.parent in ids, (phone.foreground, item)


def test_flags_tell_what_a_node_is(display: Display) -> None:
    phone = gallery(display, "rows")
    phone.state.nav.stacks["gallery"][-1].scroll = 10**6
    assert node(phone, "switch").checked is True
    assert node(phone, "box").checked is False
    assert not node(phone, "count.minus").clickable
    assert node(phone, "page.scroll").scrollable
    form = gallery(display, "form")
    assert node(form, "name").editable
    assert not node(form, "name").focused
    tap(form, "name")
    assert node(form, "name").focused


def test_candidates_of_a_point_are_the_targets_that_contain_it(display: Display) -> None:
    phone = gallery(display)
    assert phone.candidates(middle(phone, "page.grid")) == (node(phone, "page.grid").box,)
    assert phone.candidates(Point(0.5, 0.01)) == ()


def test_behind_a_dialog_nothing_of_the_page_can_be_touched(display: Display) -> None:
    phone = gallery(display, "form")
    phone.state.nav.stacks["gallery"][-1].scroll = 10**6
    tap(phone, "drop")
    assert has(phone, "dialog.title")
    assert not has(phone, "save")
    assert has(phone, "nav.back")


def test_two_widgets_with_one_id_are_an_error(display: Display) -> None:
    class Twice(GalleryApp):
        def page_shelf(self, ctx):  # type: ignore[no-untyped-def]
            page = super().page_shelf(ctx)
            return type(page)("Shelf", [*page.blocks, *page.blocks])

    phone = Phone(display, apps=[Twice()])
    phone.act(Open("gallery"))
    phone.state.nav.stacks["gallery"].append(PageState("shelf"))
    with pytest.raises(ValueError, match=r"id 'shelf\.0'"):
        phone.ui()


# ---- taps
def test_a_tap_beside_everything_does_nothing(display: Display) -> None:
    phone = gallery(display, "empty")
    before = phone.state.to_json()
    outcome = phone.act(Click(Point(0.5, 0.7)))
    assert not outcome.done
    assert outcome.target is None
    assert phone.state.to_json() == before


@pytest.mark.parametrize("point", [Point(-1, 0.5), Point(1.0, 1.0), Point(5, 5)])
def test_points_off_the_screen_do_nothing(display: Display, point: Point) -> None:
    phone = gallery(display)
    before = phone.state.to_json()
    assert not phone.act(Click(point)).done
    assert phone.state.to_json() == before


def test_a_switch_of_a_row_is_a_target_of_its_own(display: Display) -> None:
    phone = gallery(display, "rows")
    assert tap(phone, "alarm.on").done
    assert data(phone).on is False
    tap(phone, "alarm")
    assert phone.foreground == ("gallery", "main")


def test_long_press_takes_the_long_action_and_else_the_short_one(display: Display) -> None:
    phone = gallery(display, "chat")
    bubble = [item.id for item in phone.ui() if item.role == "bubble"][-1]
    assert not tap(phone, bubble).done
    assert hold(phone, bubble).done
    tap(phone, "ok")
    assert data(phone).picked == ["ok"]
    main = gallery(display)
    assert hold(main, "page.grid").done
    assert main.foreground == ("gallery", "grid")


def test_a_dialog_closes_by_its_buttons_by_back_and_beside_it(display: Display) -> None:
    for close in ("tap", "back", "beside"):
        phone = gallery(display, "chat")
        hold(phone, [item.id for item in phone.ui() if item.role == "bubble"][-1])
        assert has(phone, "dialog.title")
        if close == "tap":
            tap(phone, "ok")
        elif close == "back":
            phone.act(SystemButton("Back"))
        else:
            assert phone.act(Click(Point(0.5, 0.1))).done
        assert not has(phone, "dialog.title")
        assert phone.foreground == ("gallery", "chat")
        assert data(phone).picked == (["ok"] if close == "tap" else [])


# ---- typing
def test_typing_needs_a_focused_field_and_appends(display: Display) -> None:
    phone = gallery(display, "form")
    assert not phone.act(Type("lost")).done
    tap(phone, "name")
    phone.act(Type("Nora"))
    phone.act(Type(" Lund"))
    assert node(phone, "name").text == "Nora Lund"
    tap(phone, "name.clear")
    phone.act(Type("Otto"))
    assert phone.state.nav.stacks["gallery"][-1].fields == {"name": "Otto"}


def test_the_keyboard_types_letter_by_letter(display: Display) -> None:
    phone = gallery(display, "form")
    tap(phone, "name")
    for key in ("a", "b", "space", "c", "backspace", "d"):
        tap(phone, f"key.{key}")
    assert node(phone, "name").text == "ab d"
    hold(phone, "key.backspace")
    assert phone.state.nav.stacks["gallery"][-1].fields["name"] == ""


def test_shift_and_symbols_are_layers_of_the_regular_keyboard() -> None:
    phone = gallery("regular", "form")
    tap(phone, "name")
    for key in ("key.shift", "key.A", "key.b", "key.symbols", "key.7", "key.letters", "key.c"):
        tap(phone, key)
    assert node(phone, "name").text == "Ab7c"


def test_number_fields_bring_a_number_pad(display: Display) -> None:
    phone = gallery(display, "number")
    tap(phone, "minutes")
    assert not has(phone, "key.a")
    for key in ("key.1", "key.5", "key.enter"):
        tap(phone, key)
    assert data(phone).picked == ["set"]
    assert phone.state.nav.focus is None


def test_enter_submits_and_a_newline_at_the_end_is_enter(display: Display) -> None:
    for action in (SystemButton("Enter"), Key("KEYCODE_ENTER"), Key("66"), Type("\n")):
        phone = gallery(display, "number")
        assert not phone.act(SystemButton("Enter")).done
        tap(phone, "minutes")
        phone.act(Type("7"))
        assert phone.act(action).done
        assert data(phone).picked == ["set"]
        assert phone.state.nav.stacks["gallery"][-1].fields == {"minutes": "7"}


def test_a_field_of_several_lines_keeps_newlines(display: Display) -> None:
    phone = gallery(display, "form")
    tap(phone, "about")
    phone.act(Type("one\ntwo\n"))
    phone.act(SystemButton("Enter"))
    assert phone.state.nav.stacks["gallery"][-1].fields["about"] == "one\ntwo\n\n"
    assert phone.state.nav.focus == "about"


def test_a_field_takes_no_more_than_its_limit(display: Display) -> None:
    phone = gallery(display, "form")
    tap(phone, "name")
    phone.act(Type("x" * 19_000))
    assert len(phone.state.nav.stacks["gallery"][-1].fields["name"]) == 2000
    assert phone.png()


@pytest.mark.parametrize("text", ["Zoë Ångström", "日本語", "\x00\u202e", "a\tb", "–×÷€…", "😀"])
def test_any_text_can_be_typed_and_drawn(display: Display, text: str) -> None:
    phone = gallery(display, "form")
    tap(phone, "name")
    phone.act(Type(text))
    assert phone.state.nav.stacks["gallery"][-1].fields["name"] == text
    assert phone.png()


def test_a_touched_field_is_scrolled_above_the_keyboard(display: Display) -> None:
    phone = gallery(display, "form")
    tap(phone, "about")
    assert node(phone, "about").box.y2 <= node(phone, "key.a").box.y1
    assert node(phone, "about").box.y2 - node(phone, "about").box.y1 >= C


# ---- scrolling
def test_a_list_follows_the_finger_and_stops_at_its_ends(display: Display) -> None:
    phone = gallery(display, "shelf")
    assert not swipe(phone, 0, 0.3).done
    outcome = swipe(phone, 0, -0.3)
    assert outcome.done
    moved = phone.state.nav.stacks["gallery"][-1].scroll
    assert moved is not None
    assert abs(moved - 0.3 * phone.size.height) <= C / 2
    for _ in range(40):
        swipe(phone, 0, -0.4)
    assert has(phone, "shelf.39")
    assert not swipe(phone, 0, -0.4).done
    for _ in range(40):
        swipe(phone, 0, 0.4)
    assert has(phone, "shelf.0")


def test_every_row_can_be_scrolled_to_and_touched(display: Display) -> None:
    phone = gallery(display, "shelf")
    for i in range(40):
        while not has(phone, f"shelf.{i}"):
            assert swipe(phone, 0, -0.25).done
        tap(phone, f"shelf.{i}")
    assert data(phone).picked == [str(i) for i in range(40)]


def test_rows_at_an_edge_are_cut_to_what_is_visible() -> None:
    phone = gallery("regular", "shelf")
    swipe(phone, 0, -0.125)
    heights = {item.box.y2 - item.box.y1 for item in phone.ui() if item.role == "row"}
    assert len(heights) > 1
    large = gallery("large", "shelf")
    swipe(large, 0, -0.125)
    assert {item.box.y2 - item.box.y1 for item in large.ui() if item.role == "row"} == {C}


def test_a_chat_starts_at_its_end(display: Display) -> None:
    phone = gallery(display, "chat")
    assert has(phone, "msg.7")


def test_the_last_row_can_be_scrolled_clear_of_the_floating_button(display: Display) -> None:
    phone = gallery(display)
    for _ in range(10):
        swipe(phone, 0, -0.4)
    last, button = node(phone, f"page.{PAGES[-1]}"), node(phone, "fab")
    assert last.box.y2 <= button.box.y1


def test_a_long_dialog_scrolls_inside(display: Display) -> None:
    phone = gallery(display, "form")
    phone.state.nav.stacks["gallery"][-1].scroll = 10**6
    tap(phone, "drop")
    assert not has(phone, "kind.11")
    assert swipe(phone, 0, -0.4).done
    tap(phone, "kind.11")
    assert data(phone).picked == ["11"]
    assert has(phone, "yes")


def test_sideways_swipes_turn_tabs_and_months(display: Display) -> None:
    phone = gallery(display, "tiles")
    assert not swipe(phone, 0.4, 0).done
    assert swipe(phone, -0.4, 0).done
    assert data(phone).tab == "b"
    month = gallery(display, "month")
    swipe(month, -0.4, 0)
    assert data(month).month == 4
    swipe(month, 0.4, 0)
    swipe(month, 0.4, 0)
    assert data(month).month == 2


def test_a_short_swipe_and_one_on_the_keyboard_do_nothing(display: Display) -> None:
    phone = gallery(display, "form")
    assert not swipe(phone, 0, -0.01).done
    tap(phone, "name")
    key = middle(phone, "key.g")
    assert not phone.act(Swipe(key, Point(key.x, key.y - 0.3))).done


# ---- system buttons and the rest
def test_back_closes_keyboard_then_overlay_then_page_then_app(display: Display) -> None:
    phone = gallery(display)
    tap(phone, "page.form")
    phone.state.nav.stacks["gallery"][-1].scroll = 10**6
    tap(phone, "drop")
    tap(phone, "new")
    assert has(phone, "key.a")
    phone.act(SystemButton("Back"))
    assert not has(phone, "key.a")
    assert has(phone, "dialog.title")
    phone.act(SystemButton("Back"))
    assert phone.foreground == ("gallery", "form")
    assert not has(phone, "dialog.title")
    phone.act(SystemButton("Back"))
    assert phone.foreground == ("gallery", "main")
    phone.act(SystemButton("Back"))
    assert phone.foreground == ("launcher", "main")
    assert not phone.act(SystemButton("Back")).done


def test_home_leaves_an_app_as_it_was_and_its_icon_brings_it_back(display: Display) -> None:
    phone = gallery(display, "grid")
    tap(phone, "nav.home")
    assert phone.foreground == ("launcher", "main")
    tap(phone, "app.gallery")
    assert phone.foreground == ("gallery", "grid")


@pytest.mark.parametrize("name", ["Gallery", "  gallery ", "WIDGETS"])
def test_open_knows_names_and_aliases(display: Display, name: str) -> None:
    phone = Phone(display, apps=[GalleryApp()])
    assert phone.act(Open(name)).done
    assert phone.foreground == ("gallery", "main")


def test_open_of_an_unknown_app_does_nothing(display: Display) -> None:
    phone = gallery(display)
    before = phone.state.to_json()
    assert not phone.act(Open("Netflix")).done
    assert phone.state.to_json() == before


def test_menu_opens_the_pages_menu_else_the_recent_apps(display: Display) -> None:
    phone = gallery(display, "tiles")
    phone.act(SystemButton("Menu"))
    assert has(phone, "menu.sort")
    plain = gallery(display)
    plain.act(SystemButton("Menu"))
    assert plain.foreground == ("recents", "main")
    tap(plain, "recent.gallery")
    assert plain.foreground == ("gallery", "main")


def test_keys_are_adb_key_events(display: Display) -> None:
    phone = gallery(display)
    assert phone.act(Key("KEYCODE_VOLUME_UP")).done
    assert phone.state.device.volume == 4
    assert phone.act(Key("25")).done
    assert phone.state.device.volume == 3
    assert phone.act(Key("home")).done
    assert phone.foreground == ("launcher", "main")
    assert not phone.act(Key("KEYCODE_CAMERA")).done


def test_answers_are_kept_and_terminate_ends_it(display: Display) -> None:
    phone = gallery(display)
    phone.act(Wait(1.0))
    phone.act(Answer("42"))
    phone.act(Terminate("success"))
    assert (phone.answers, phone.finished) == (["42"], "success")
    before = phone.state.to_json()
    assert not tap(phone, "fab").done
    assert phone.state.to_json() == before


def test_a_toast_is_gone_after_the_next_action(display: Display) -> None:
    phone = gallery(display)
    phone.act(Key("volume_up"))
    assert node(phone, "toast").text == "Volume 4"
    phone.act(Wait())
    assert not has(phone, "toast")


def test_state_is_plain_data() -> None:
    state = fresh_state(3)
    assert json.loads(state.to_json()) == json.loads(copy.deepcopy(state).to_json())
    assert state == fresh_state(3)
    other = copy.deepcopy(state)
    other.device.dark = True
    assert other.stored() != state.stored()


def test_an_unknown_display_is_refused() -> None:
    with pytest.raises(ValueError, match="regular and large"):
        Phone("huge")  # type: ignore[arg-type]


POINTS = st.builds(Point, st.floats(-0.1, 1.1), st.floats(-0.1, 1.1))
ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.builds(Click, POINTS),
    st.builds(LongPress, POINTS),
    st.builds(Swipe, POINTS, POINTS),
    st.builds(Type, st.text(max_size=12)),
    st.builds(Open, st.sampled_from(["settings", "notes", "gallery", "?"])),
    st.builds(SystemButton, st.sampled_from(["Back", "Home", "Menu", "Enter"])),
    st.builds(Key, st.sampled_from(["4", "del", "volume_up", "x"])),
    st.builds(Wait, st.floats(0, 5)),
)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(DISPLAYS), st.lists(ACTIONS, max_size=25))
def test_no_actions_break_it_and_the_same_ones_end_the_same(display: Display, actions: list[Action]) -> None:
    first, second = (Phone(display, seed=1) for _ in range(2))
    for action in actions:
        assert first.act(action) == second.act(action)
        first.ui()
    assert first.state == second.state
    assert first.png() == second.png()
