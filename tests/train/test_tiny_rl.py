"""RL of the tiny model: the signal is `uis1_train.core`'s, the protocol sopbench's, and a step moves the policy towards what was rewarded."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sopbench.adapters import get_adapter
from uis1_train.tiny import eyes, fast
from uis1_train.tiny.corpus import Corpus, Order, ensure
from uis1_train.tiny.folder import Shape, load_folder, new_model, vocabulary_from, write_folder
from uis1_train.tiny.lessons import Tongue
from uis1_train.tiny.playing import LARGE, Player, Reply, trajectory
from uis1_train.tiny.rl import RlSettings, Sample, Trainer, merged, play_offline, play_semi_online, run, weigh
from uis1_train.tiny.telling import difference

SMALL = Shape(hidden=64, inner=64, layers=2, heads=1, vision_inner=64, vision_layers=1)


def sample(goal: int, rollout: int, step: int, match: bool, reward: float) -> Sample:
    return Sample(Reply("", [], 0, [], []), goal, rollout, step, match, reward)


def test_offline_samples_are_weighed_against_the_same_steps_other_replies() -> None:
    samples = [sample(0, r, 0, r == 0, 1.0 if r == 0 else 0.1) for r in range(4)]
    samples += [sample(1, r, 0, True, 1.0) for r in range(4)]
    kept, groups = weigh(samples, RlSettings(method="offline"))
    assert groups == 1, "a step that everybody gets right teaches nothing"
    assert {s.goal for s in kept} == {0}
    # rewards 1, .1, .1, .1: mean .325, deviation with Bessel's correction .45
    assert [round(s.advantage, 3) for s in kept] == [1.5, -0.5, -0.5, -0.5]


def test_semi_online_samples_also_see_what_came_later() -> None:
    """Two rollouts alike at step 0, of which one goes on to succeed: its first step is worth more."""
    samples = [
        sample(0, 0, 0, True, 1.0),
        sample(0, 0, 1, True, 1.0),
        sample(0, 1, 0, True, 1.0),
        sample(0, 1, 1, False, 0.1),
    ]
    kept, groups = weigh(samples, RlSettings(method="semi0", eta=0.1))
    assert groups == 1
    by_place = {(s.rollout, s.step): s.advantage for s in kept}
    assert by_place[0, 0] > 0 > by_place[1, 0]
    assert by_place[0, 1] > 0 > by_place[1, 1]


def test_groups_that_agree_are_dropped() -> None:
    samples = [sample(0, r, 0, False, 0.1) for r in range(8)]
    assert weigh(samples, RlSettings(method="semi1"))[0] == []


def test_equal_replies_to_equal_prompts_are_learnt_from_once_by_their_sum() -> None:
    first, second, other = (Reply("", [1], 0, [ids], [0.0]) for ids in (5, 5, 6))
    advantages = ((first, 0.5), (second, 0.25), (second, -1.0), (other, 1.0), (other, 0.0))
    samples = [Sample(reply, 0, 0, 0, True, 1.0, advantage) for reply, advantage in advantages]
    told = [(s.reply.ids[0], s.advantage, s.count) for s in merged(samples)]
    assert told == [(5, 0.75, 2), (5, -1.0, 1), (6, 1.0, 1)]
    assert [s.advantage for s in samples] == [0.5, 0.25, -1.0, 1.0, 0.0], "what was sampled stays as it is"


class Stage:
    """Two recordings, a random model of them, and its embedded screens."""

    def __init__(self, root: Path) -> None:
        self.corpus: Corpus = ensure(
            root / "recordings", Order("validation", 1, only=2), processes=1, log=lambda _: None
        )
        texts = [r.goal for r in self.corpus.recordings] + [
            " " + s.thought for r in self.corpus.recordings for s in r.steps
        ]
        tok = vocabulary_from(texts, [])
        self.folder = root / "model"
        write_folder(self.folder, new_model(tok, SMALL, 0), tok, half=False)
        self.model, tok = load_folder(self.folder)
        self.tongue = Tongue(tok)
        self.screens = eyes.embed_all(self.model, self.corpus.images, len(self.corpus))
        self.tasks = [trajectory(r, self.corpus.number) for r in self.corpus.recordings]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("rl"))


class Scripted(Player):
    """Answers as the expert does, but for the steps in `wrong` (goal, screen): there it waits."""

    def __init__(self, stage: Stage, wrong: set[tuple[str, int]]) -> None:
        super().__init__(stage.model, stage.tongue, stage.screens)
        adapter = get_adapter("tiny")
        self.replies = {
            (t.goal, s.screen.number): adapter.format(s.action(LARGE), LARGE, s.thought)  # type: ignore[attr-defined]  # NamedScreen
            for t in stage.tasks
            for s in t.steps
        }
        self.wrong = wrong
        self.texts: list[str] = []

    def answer(self, asks: Any, size: int = 64, **how: Any) -> list[Reply]:
        said = []
        for text, screen in asks:
            self.texts.append(text)
            key = (text.split("\n")[0].strip(), screen)
            words = '<action>{"action": "wait", "time": 9}</action>' if key in self.wrong else self.replies[key]
            said.append(Reply(words, [1], screen, [2], [0.0]))
        return said


def settings(method: str) -> RlSettings:
    return RlSettings(method=method, rollouts=2, goals=2)


def test_without_a_patch_a_mistake_ends_the_rollout_and_with_one_play_goes_on(stage: Stage) -> None:
    task = stage.tasks[0]
    second = task.steps[1].screen.number  # type: ignore[attr-defined]  # NamedScreen
    generator = torch.Generator().manual_seed(0)
    stopped = play_semi_online(Scripted(stage, {(task.goal, second)}), [task], settings("semi0"), generator)
    assert [s.match for s in stopped.samples] == [True, True, False, False]
    assert (stopped.success, stopped.patches) == (0.0, 0.0)
    player = Scripted(stage, {(task.goal, second)})
    patched = play_semi_online(player, [task], settings("semi1"), generator)
    assert len(patched.samples) == 2 * len(task)
    assert patched.patches == 1.0
    assert player.texts[-1].splitlines()[2].strip() == task.steps[1].thought, "history holds the patch, not the mistake"


def test_offline_asks_single_steps_with_the_experts_history(stage: Stage) -> None:
    player = Scripted(stage, set())
    group = play_offline(player, [(stage.tasks[0], 2)], settings("offline"), torch.Generator().manual_seed(0))
    assert [s.step for s in group.samples] == [0, 0]
    assert group.success == 1.0
    assert player.texts[0].splitlines()[1:] == [f" {s.thought}" for s in stage.tasks[0].steps[:2]]


def test_a_step_of_learning_makes_rewarded_replies_likelier(stage: Stage) -> None:
    tongue = stage.tongue
    prompt = tongue.prompt(stage.tasks[0].goal, [])
    good, bad = [*tongue(" Save"), tongue.end], [*tongue(" Home"), tongue.end]

    def log_prob(ids: list[int]) -> float:
        row = [*prompt, *ids]
        given = fast.batch([row], tongue.image, tongue.pad)
        seen = torch.from_numpy(stage.screens[[0]].astype(np.float32))
        with torch.no_grad():
            hidden = fast.think(stage.model, given, seen, tongue.image).hidden[0, len(prompt) - 1 : -1]
            logits = stage.model.lm_head(hidden)
            logits[:, [tongue.image, tongue.vision, tongue.vision_end, tongue.begin, tongue.pad]] = -torch.inf
            return float(logits.log_softmax(-1).gather(1, torch.tensor(ids)[:, None]).sum())

    trainer = Trainer(stage.model, tongue, stage.screens, RlSettings(rate=1e-3))
    before = log_prob(good), log_prob(bad)
    samples = []
    for ids, advantage in ((good, 1.0), (bad, -1.0)):
        reply = Reply("", prompt, 0, ids, [before[0 if ids is good else 1] / len(ids)] * len(ids))
        samples.append(Sample(reply, 0, 0, 0, True, 1.0, advantage))
    facts = trainer.improve(samples, random.Random(0))
    assert log_prob(good) > before[0]
    assert log_prob(bad) < before[1]
    assert 0 < facts["entropy"] < np.log(len(tongue.tok))


@pytest.mark.parametrize("method", ["offline", "semi1"])
def test_a_run_leaves_curves_checks_and_a_model_and_is_not_run_twice(stage: Stage, method: str, tmp_path: Path) -> None:
    chosen = RlSettings(method=method, steps=40, rollouts=4, goals=2, checks=2, mini=8)
    run(stage.folder, stage.tasks, stage.screens, stage.tasks, stage.screens, chosen, tmp_path)
    curve = [json.loads(line) for line in (tmp_path / "curve.jsonl").read_text().splitlines()]
    assert curve[-1]["steps"] >= 40
    assert {"reward", "match", "success", "kept"} <= set(curve[0])
    checks = [json.loads(line) for line in (tmp_path / "checks.jsonl").read_text().splitlines()]
    assert checks[0]["steps"] == 0
    load_folder(tmp_path / "final")
    stamp = (tmp_path / "done.json").stat().st_mtime_ns
    run(stage.folder, stage.tasks, stage.screens, stage.tasks, stage.screens, chosen, tmp_path)
    assert (tmp_path / "done.json").stat().st_mtime_ns == stamp


def test_a_difference_pairs_tasks_and_its_interval_holds_the_mean() -> None:
    better, worse = [[1.0, 1.0, 0.0, 1.0]] * 3, [[0.0, 1.0, 0.0, 1.0]]
    mean, low, high = difference(better, worse)
    assert mean == 25.0
    assert low <= mean <= high
    assert difference(worse, worse)[0] == 0.0
