"""`uis1-released` and `uis1-boxes` against the released evaluator itself, where a checkout of it is at hand.

UPSTREAM_UIS1=<checkout of X-PLUG/MobileAgent>/UI-S1 pytest tests/unit/scoring/test_upstream_evaluator.py
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from sopbench.geometry import Size, smart_resize
from sopbench.scoring import get_profile
from sopbench.scoring.base import judge_case, load_cases
from sopbench.trajectory import load_trajectories

UPSTREAM = os.environ.get("UPSTREAM_UIS1", "")
SHARED = Path(os.environ.get("SOPBENCH_SHARED", Path(__file__).parents[4] / "shared"))
SOP = SHARED / "data" / "android_control_evaluation_std.jsonl"
IMPLEMENTED = {"click", "long_press", "swipe", "type", "open", "wait", "system_button"}

pytestmark = pytest.mark.skipif(
    not (Path(UPSTREAM) / "evaluation" / "qwenvl_utils.py").is_file(),
    reason="set UPSTREAM_UIS1 to the folder UI-S1 of a checkout of X-PLUG/MobileAgent",
)


def ask_upstream(jobs):
    driver = Path(__file__).with_name("upstream_driver.py")
    done = subprocess.run(
        [sys.executable, str(driver), UPSTREAM],
        input="\n".join(map(json.dumps, jobs)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(jobs)
    return answers


def ours(profile, case):
    verdict = judge_case(get_profile(profile), case)
    return [verdict.type_match, verdict.match]


TEXTS = [
    "",
    " ",
    "Paris",
    "paris hotels",
    "HOTELS",
    "İstanbul",
    "STRASSE",
    "straße",
    "ﬁsh",
    "a",
    "Maps",
    "Google Maps",
    "ſ",
    "\u00a0x\u2003",
]
SCREENS = [[1080, 2400], [1440, 3120], [720, 1280], [1, 1], [333, 777]]


def random_action(rng, screen):
    def point():
        return [rng.choice([rng.randint(-9, screen[k] + 9), rng.uniform(0, screen[k])]) for k in (0, 1)]

    kind = rng.choice(
        ["click"] * 6
        + ["long_press", "swipe", "type", "type", "open", "open", "wait", "system_button", "key", "answer", "terminate"]
    )
    arguments = {
        "click": lambda: {"coordinate": point()},
        "long_press": lambda: {"coordinate": point(), "time": rng.choice([0.5, 2])},
        "swipe": lambda: {"coordinate": point(), "coordinate2": point()},
        "wait": lambda: rng.choice([{}, {"time": 2}]),
        "system_button": lambda: {"button": rng.choice(["Back", "Home", "Menu", "Enter", "back", " HOME "])},
        "terminate": lambda: {"status": rng.choice(["success", "failure"])},
    }
    return {"action": kind} | arguments.get(kind, lambda: {"text": rng.choice(TEXTS)})()


def random_boxes(rng, screen):
    def box():
        x1, y1, x2, y2 = (rng.randint(-9, screen[k % 2] + 99) for k in range(4))
        return [x1, y1, x2, y2] if rng.random() < 0.1 else [min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)]

    return [box() for _ in range(rng.choice([0, 1, 1, 2, 4]))]


def at_the_limit(rng, pred, gold, screen, sent, boxes):
    """Move a point prediction to within a few bits of where the verdict turns: on the ellipse about the gold point, or on an edge of an enlarged box."""
    if boxes and rng.random() < 0.5:
        x1, y1, x2, y2 = rng.choice(boxes)
        u = [(x1 + x2) / 2 / screen[0], (y1 + y2) / 2 / screen[1]]
        k = rng.choice([0, 1])
        u[k] += rng.choice([-0.6, 0.6]) * (abs(x2 - x1), abs(y2 - y1))[k] / screen[k]
    elif "coordinate" in gold:
        angle = rng.choice([rng.uniform(0, 7), rng.randrange(8) * math.pi / 4, math.atan2(3, 4), math.atan2(4, 3)])
        u = [
            gold["coordinate"][0] / screen[0] + 0.04 * math.cos(angle),
            gold["coordinate"][1] / screen[1] + 0.04 * math.sin(angle),
        ]
    else:
        return
    pixels = [u[0] * sent[0], u[1] * sent[1]]
    for _ in range(rng.randrange(4)):
        k = rng.randrange(2)
        pixels[k] = math.nextafter(pixels[k], rng.choice([-math.inf, math.inf]))
    pred["coordinate"] = pixels


def random_cases(seed, count):
    rng = random.Random(seed)
    while count:
        screen = rng.choice(SCREENS)
        sent = rng.choice([screen, [1092, 2408], smart_resize(Size(*screen)).as_list(), [1000, 1000]])
        gold = random_action(rng, screen)
        if gold["action"] not in IMPLEMENTED:
            continue
        pred = random_action(rng, sent)
        if rng.random() < 0.6 and gold["action"] in {"click", "long_press", "open"}:
            pred = {"action": "click" if gold["action"] == "open" else gold["action"], "coordinate": [0, 0]}
        boxes = random_boxes(rng, screen)
        if "coordinate" in pred and pred["action"] != "swipe" and rng.random() < 0.8:
            at_the_limit(rng, pred, gold, screen, sent, boxes)
        count -= 1
        yield {
            "screen": screen,
            "sent": sent,
            "pred": pred,
            "gold": gold,
            "check_options": {**gold, "candidate_bbox": boxes},
        }


@pytest.mark.parametrize(("profile", "mode"), [("uis1-released", "released"), ("uis1-boxes", "boxes")])
def test_verdicts_are_the_released_evaluators_on_20000_pairs(profile, mode):
    cases = list(random_cases(20260101, 20_000))
    answers = ask_upstream([{"mode": mode, **case} for case in cases])
    differing = [(case, theirs) for case, theirs in zip(cases, answers, strict=True) if theirs != ours(profile, case)]
    assert differing == []
    tally = {str(theirs): answers.count(theirs) for theirs in ([True, True], [True, False], [False, False])}
    assert min(tally.values()) > 1_000, f"one-sided pairs prove little: {tally}"


@pytest.mark.parametrize(("profile", "mode"), [("uis1-released", "released"), ("uis1-boxes", "boxes")])
def test_our_own_tables_of_cases_hold_for_the_released_evaluator(profile, mode):
    cases = [case for case in load_cases(profile) if case["gold"]["action"] in IMPLEMENTED]
    jobs = [
        {
            "mode": mode,
            "sent": case["screen"],
            **case,
            "check_options": {"candidate_bbox": [], **case["gold"], **case.get("check_options", {})},
        }
        for case in cases
    ]
    assert len(jobs) > 40
    expected = [[case["expect"]["type_match"], case["expect"]["match"]] for case in cases]
    assert ask_upstream(jobs) == expected


@pytest.mark.skipif(not SOP.is_file(), reason=f"no released SOP file at {SOP} (set SOPBENCH_SHARED)")
def test_each_step_of_the_released_file_gets_the_released_verdict_on_its_neighbours_action():
    """Real gold actions as predictions on real steps: itself, and the action of the next step."""
    pairs = [
        (step, pred)
        for trajectory in load_trajectories(SOP)
        for step, after in zip(trajectory.steps, trajectory.steps[1:] + trajectory.steps[:1], strict=True)
        for pred in (step.content, after.content)
    ]
    jobs = [
        {
            "screen": [1080, 2400],
            "sent": [1080, 2400],
            "pred": dict(pred),
            "gold": dict(step.content),
            "check_options": {**step.check_options, "candidate_bbox": [box.as_list() for box in step.boxes]},
        }
        for step, pred in pairs
    ]
    assert len(jobs) == 2 * 8_444
    for profile, mode in (("uis1-released", "released"), ("uis1-boxes", "boxes")):
        answers = ask_upstream([job | {"mode": mode} for job in jobs])
        assert answers == [ours(profile, job) for job in jobs]
        assert answers[::2] == [[True, True]] * 8_444


def test_smart_resize_is_the_released_one():
    """Up to 8,192 pixels a side; beyond, the released code shrinks the image first, and no screen is so large."""
    rng = random.Random(7)
    sizes = [[rng.randint(2, 8192), rng.randint(2, 8192)] for _ in range(5_000)]
    sizes += [[rng.randint(2, 300), rng.randint(2, 300)] for _ in range(3_000)] + [[14, 42], [1080, 2400], [1440, 3120]]
    sizes = [[w, h] for w, h in sizes if max(w, h) / min(w, h) <= 200]
    assert ask_upstream([{"mode": "resize", "sizes": sizes}]) == [
        [smart_resize(Size(w, h)).as_list() for w, h in sizes]
    ]
