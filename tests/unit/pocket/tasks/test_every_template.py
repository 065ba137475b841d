"""What holds for every task template: its expert solves it, its check believes nothing else, it can be learnt and told apart."""

from __future__ import annotations

import json
import random
import string

import pytest

from emulator.pocket.phone import fresh_state
from emulator.pocket.tasks import PocketSession, Template, start, templates
from emulator.pocket.themes import Display
from sopbench.actions import Action, Open, Swipe, SystemButton, Terminate
from sopbench.geometry import Point

DISPLAYS: tuple[Display, ...] = ("regular", "large")
SEEDS = (0, 1, 5)
NAMES = [template.name for template in templates()]


@pytest.fixture(params=NAMES)
def template(request: pytest.FixtureRequest) -> Template:
    return next(t for t in templates() if t.name == request.param)


@pytest.mark.parametrize("display", DISPLAYS)
def test_the_expert_solves_it_in_3_to_20_steps_and_says_so(template: Template, display: Display) -> None:
    for seed in SEEDS:
        session = start(template, seed, display)
        scores = []
        moves = []
        for move in session.moves():
            scores.append(session.score())
            moves.append(move)
        told = "; ".join(move.instruction for move in moves)
        assert moves[-1].action == Terminate("success"), told
        assert scores[-1] == 1
        assert max(scores[:-1]) < 1, f"seed {seed}: solved before its last step: {told}"
        assert scores[0] == 0
        assert 3 <= len(moves) - 1 <= 20, f"seed {seed}: {len(moves) - 1} steps: {told}"
        assert len(moves) == session.spec.steps
        assert session.spec.budget == 2 * len(moves) + 4


def test_a_seed_is_one_task_on_both_displays_however_often_it_is_started(template: Template) -> None:
    first, again, large = (start(template, 3, display) for display in ("regular", "regular", "large"))
    assert first.goal == again.goal == large.goal
    assert first.before.to_json() == again.before.to_json() == large.before.to_json()
    assert first.solve() == again.solve()
    assert start(template, 3).spec.canonical() == start(template, 3).spec.canonical()


def test_anything_changed_beside_the_goal_is_no_solution(template: Template) -> None:
    session = start(template, 2)
    session.solve()
    assert session.score() == 1
    device = session.phone.state.device
    device.text_size = "Small" if device.text_size != "Small" else "Huge"
    assert session.score() == 0
    session = start(template, 2)
    session.solve()
    del session.phone.state.apps["files" if "notes" in template.apps else "notes"]
    assert session.score() == 0


def test_doing_nothing_and_saying_done_solves_nothing(template: Template) -> None:
    session = start(template, 4)
    session.phone.act(Terminate("success"))
    assert session.score() == 0
    assert session.expert() is None


def test_the_expert_finds_back_wherever_it_is_led(template: Template) -> None:
    """Every third step or so is somebody else's: Home, Back, another app, a swipe. The expert goes on from where it is."""
    for display in DISPLAYS:
        session = start(template, 7, display)
        rng = random.Random(f"{template.name} {display}")
        steps = 0
        while (move := session.move()) is not None:
            steps += 1
            assert steps < 120, f"lost on page {session.phone.foreground}: {move.instruction}"
            session.phone.act(_astray(session, rng) if rng.random() < 0.3 and steps < 40 else move.action)
        assert session.score() == 1
        assert session.phone.finished == "success"


def _astray(session: PocketSession, rng: random.Random) -> Action:
    app = rng.choice(sorted(session.phone.apps))
    up = Swipe(Point(0.5, 0.6), Point(0.5, 0.3))
    down = Swipe(up.end, up.start)
    ways: list[Action] = [SystemButton("Home"), SystemButton("Back"), SystemButton("Menu"), Open(app), up, down]
    return rng.choice(ways)


def test_its_goals_are_ways_to_say_the_parameters(template: Template) -> None:
    assert len(set(template.goals)) >= 3
    state = fresh_state(1)
    before = state.to_json()
    params = template.parameters(random.Random(1), state)
    assert state.to_json() == before, "parameters() must not change the phone"
    assert json.loads(json.dumps(params)) == params, "parameters are JSON"
    assert params == template.parameters(random.Random(1), fresh_state(1))
    names = {name for goal in template.goals for _, name, _, _ in string.Formatter().parse(goal) if name}
    assert names <= set(template.words(params)) | {"in_app"}
    for goal in template.goals:
        assert goal[0] == goal[0].upper()
        assert not goal.endswith(".")


def test_its_apps_are_on_the_phone_and_its_name_is_its_own(template: Template) -> None:
    module = type(template).__module__.rpartition(".")[2]
    assert template.name.startswith(f"{module}.")
    assert NAMES.count(template.name) == 1
    assert template.apps
    assert set(template.apps) <= set(fresh_state(0).apps)
    if module == "cross":
        assert len(set(template.apps)) > 1
    else:
        assert template.apps[0] == module
