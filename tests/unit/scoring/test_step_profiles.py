"""`androidcontrol`, `odyssey` and `grounding`: their rules, said a second time, on plain JSON and without code of ours."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sopbench.actions import BUTTONS, STATUSES, Click, Swipe
from sopbench.geometry import Box, Point, Size
from sopbench.scoring import get_profile
from sopbench.scoring.androidcontrol import shares_words
from sopbench.scoring.base import judge_case
from sopbench.scoring.odyssey import edit_distance, similar
from sopbench.screen import Screen
from sopbench.trajectory import Step

pixel = st.integers(-50, 2500) | st.floats(-50, 2500)
pairs = st.tuples(pixel, pixel).map(list)
texts = st.text("abcAB \u00e9\u4e2d", max_size=12)
sides = st.integers(200, 3000)
actions = st.one_of(
    st.builds(lambda p: {"action": "click", "coordinate": p}, pairs),
    st.builds(lambda p: {"action": "long_press", "coordinate": p, "time": 2}, pairs),
    st.builds(lambda t: {"action": "type", "text": t}, texts),
    st.builds(lambda t: {"action": "open", "text": t}, texts),
    st.builds(lambda b: {"action": "system_button", "button": b}, st.sampled_from(BUTTONS)),
    st.builds(lambda s: {"action": "terminate", "status": s}, st.sampled_from(STATUSES)),
    st.just({"action": "wait"}),
)
boxes = st.tuples(pixel, pixel, st.integers(1, 900), st.integers(1, 900)).map(
    lambda b: [b[0], b[1], b[0] + b[2], b[1] + b[3]]
)


def holds(box, point):
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def levenshtein(one, other):
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        previous, row[0] = row[0], i
        for j, b in enumerate(other, start=1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (a != b))
    return row[-1]


def word_f1(one, other):
    one, other = set(one.lower().split()), set(other.lower().split())
    if not one & other:
        return 0.0
    precision, recall = len(one & other) / len(one), len(one & other) / len(other)
    return 2 * precision * recall / (precision + recall)


def anls(one, other):
    longer = max(len(one), len(other))
    return 1 - levenshtein(one, other) / longer if longer else 1.0


def in_the_tables_words(profile, pred, gold, screen, candidates):
    """(type_match, match) as the page of the profile has it."""
    named = {
        "system_button": lambda a: (a["action"], a["button"]),
        "terminate": lambda a: (a["action"], a["status"]),
    }
    kind = [named.get(a["action"], lambda a: (a["action"],))(a) for a in (pred, gold)]
    if kind[0] != kind[1]:
        return False, False
    if "coordinate" in gold:
        (px, py), (gx, gy) = pred["coordinate"], gold["coordinate"]
        distance = math.hypot((px - gx) / screen[0], (py - gy) / screen[1])
        assume(abs(distance - 0.14) > 1e-9)
        around = [b for b in candidates if holds(b, (gx, gy))]
        if profile == "androidcontrol" and around:
            areas = sorted((b[2] - b[0]) * (b[3] - b[1]) for b in around)
            assume(len(areas) == 1 or areas[0] < areas[1])
            candidates = [min(around, key=lambda b: (b[2] - b[0]) * (b[3] - b[1]))]
        elif profile == "androidcontrol":
            candidates = []
        return True, distance <= 0.14 or any(holds(b, (px, py)) for b in candidates)
    if "text" in gold:
        said, due = pred["text"].strip(), gold["text"].strip()
        if profile == "odyssey":
            return True, said in due or due in said or anls(said, due) >= 0.5
        return True, said == due or word_f1(said, due) > 0.5
    return True, True


@pytest.mark.parametrize("profile", ["androidcontrol", "odyssey"])
@settings(max_examples=400)
@given(data=st.data(), gold=actions, screen=st.tuples(sides, sides), candidates=st.lists(boxes, max_size=3))
def test_step_profiles_agree_with_an_oracle_written_from_their_pages(profile, data, gold, screen, candidates):
    pred = data.draw(actions)
    if "coordinate" in gold and "coordinate" in pred and data.draw(st.booleans()):  # else hardly any would be near
        pred["coordinate"] = [
            g + data.draw(st.floats(-0.2, 0.2)) * side for g, side in zip(gold["coordinate"], screen, strict=True)
        ]
    case = {"screen": list(screen), "pred": pred, "gold": gold, "check_options": {"candidate_bbox": candidates}}
    for box in candidates:  # edges in pixels and in unit coordinates may differ in the last bit
        assume(all(abs(v - e) > 1e-6 for a in (pred, gold) for p in [a.get("coordinate", [])] for v in p for e in box))
    verdict = judge_case(get_profile(profile), case)
    assert (verdict.type_match, verdict.match) == in_the_tables_words(profile, pred, gold, screen, candidates)


@given(texts | st.text(max_size=90), texts | st.text(max_size=90))
@example("", "")
@example("kitten", "sitting")
def test_edit_distance_is_the_levenshtein_distance(one, other):
    assert edit_distance(one, other) == levenshtein(one, other)


@given(texts, texts)
def test_texts_of_odyssey_are_similar_by_containment_or_anls(said, gold):
    one, other = said.strip(), gold.strip()
    assert similar(said, gold) == (one in other or other in one or anls(one, other) >= 0.5)


@given(texts, texts)
def test_texts_of_androidcontrol_share_words(said, gold):
    assert shares_words(said, gold) == (said.strip() == gold.strip() or word_f1(said, gold) > 0.5)


def test_a_hostile_text_costs_less_than_a_few_seconds():
    one, other = "ab" * 10_000, "ba" * 9_000 + "c" * 2_000
    started = time.perf_counter()
    assert similar(one, other) is True
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    ("x", "y", "match"),
    [(100, 200, True), (199, 299, True), (200, 300, True), (201, 250, False), (99, 250, False), (150, 301, False)],
)
def test_grounding_is_the_box_and_nothing_but_the_box(x, y, match):
    size = Size(1000, 1000)
    step = Step(
        {"action": "click", "coordinate": [150, 250]}, Screen.from_bytes(b"", "none"), (Box(100, 200, 200, 300),)
    )
    verdict = get_profile("grounding").judge(Click(Point.from_pixels(x, y, size)), step, size)
    assert verdict.match is match
    assert verdict.type_match


def test_grounding_takes_no_other_action_for_a_click():
    step = Step({"action": "click", "coordinate": [5, 5]}, Screen.from_bytes(b"", "none"), (Box(0, 0, 10, 10),))
    verdict = get_profile("grounding").judge(Swipe(Point(0.5, 0.5), Point(0.5, 0.5)), step, Size(10, 10))
    assert (verdict.type_match, verdict.match, verdict.reason) == (False, False, "wrong_type")
