"""One optimiser step: gradients worked out by hand, and nothing but what counts."""

from __future__ import annotations

import copy
import math
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.train.worlds import opened, talk
from uis1_train.embedded.config import LearnerSettings
from uis1_train.embedded.decoding import Decoder, Draw
from uis1_train.embedded.featurize import Prompt
from uis1_train.embedded.learner import Learner, NothingToLearn, PolicyRow, Row
from uis1_train.embedded.model import load_model

TALKS = (talk("Open Wi-Fi", screens=1), talk("a", "b", "c", screens=2), talk("No picture"), talk("d", screens=1))


def drawn(folder: Path, count: int = 4) -> tuple[Any, Any, list[PolicyRow]]:
    """Rows as a rollout leaves them: replies of different lengths, advantages of both signs."""
    model, featurizer, decoder = opened(folder)
    prompts = [featurizer.prompt(TALKS[n % 4]) for n in range(count)]
    replies = decoder.decode(prompts, [Draw(1.0, 4 + 3 * n, ("x", n)) for n in range(count)])
    rows = [
        PolicyRow(Row.reply(p, r.ids), r.log_probs, (-1.0) ** n * (n + 1))
        for n, (p, r) in enumerate(zip(prompts, replies, strict=True))
    ]
    return model, featurizer, rows


def gradients(learner: Learner, rows: list[PolicyRow]) -> dict[str, torch.Tensor]:
    """Of one batch, taken before the optimiser looks at them."""
    found: dict[str, torch.Tensor] = {}

    def keep(prefix: str) -> dict[str, float]:
        for name, parameter in learner.model.module.named_parameters():
            if parameter.grad is not None:
                found[name] = parameter.grad.clone()
        learner.optimiser.zero_grad()
        return {}

    learner._step = keep  # type: ignore[method-assign]
    learner.improve(rows)
    return found


def test_the_gradient_of_the_head_by_hand(tiny_text: Path) -> None:
    """One token, policy unchanged: d loss / d logit_v = -A (1[v = token] - p_v), so that of the (tied) head's rows follows with the hidden state."""
    model, featurizer, _ = opened(tiny_text)
    prompt = featurizer.prompt(talk("hello"))
    token, advantage = 77, 2.5
    with torch.no_grad():
        hidden = model.module.model(input_ids=torch.tensor([prompt.ids])).last_hidden_state[0, -1]
        probabilities = (model.module.lm_head.weight @ hidden).softmax(0)
    rows = [PolicyRow(Row.reply(prompt, (token,)), (probabilities[token].log().item(),), advantage)]
    model.module.lm_head.weight = torch.nn.Parameter(model.module.lm_head.weight.detach().clone())  # untied for once
    learner = Learner(model, featurizer, LearnerSettings(kl_coefficient=0.0))
    found = gradients(learner, rows)["lm_head.weight"]
    pull = -advantage * (torch.nn.functional.one_hot(torch.tensor(token), len(probabilities)) - probabilities)
    assert torch.allclose(found, pull[:, None] * hidden[None], atol=1e-5)
    assert found.abs().max() > 0.1


@pytest.mark.parametrize("kind", ["text", "vl"])
def test_micro_batches_padding_and_order_change_nothing(kind: str, tiny_text: Path, tiny_vl: Path) -> None:
    model, featurizer, rows = drawn(tiny_text if kind == "text" else tiny_vl)
    nothing = Row(rows[0].row.whole, ())
    variants = {
        "at once": (10_000, rows),
        "one by one": (1, rows),
        "backwards": (10_000, rows[::-1]),
        "with rows that do not count": (10_000, [*rows, PolicyRow(nothing, (), 100.0)]),
    }
    found = {}
    for name, (micro, batch) in variants.items():
        learner = Learner(model, featurizer, LearnerSettings(micro_tokens=micro, kl_coefficient=0.0))
        found[name] = gradients(learner, list(batch))
    for name in variants:
        assert found[name].keys() == found["at once"].keys()
        for parameter, gradient in found[name].items():
            assert torch.allclose(gradient, found["at once"][parameter], atol=1e-6), (name, parameter)
    assert max(g.abs().max() for g in found["at once"].values()) > 1e-3


def test_the_loss_is_the_mean_over_tokens_and_not_over_rows(tiny_text: Path) -> None:
    model, featurizer, rows = drawn(tiny_text)
    numbers = Learner(model, featurizer, LearnerSettings(kl_coefficient=0.0)).improve(rows)
    tokens = [len(item.row.taught) for item in rows]
    expected = -sum(item.advantage * n for item, n in zip(rows, tokens, strict=True)) / sum(tokens)
    assert numbers["actor/pg_loss"] == pytest.approx(expected, rel=1e-4)
    assert numbers["actor/ppo_kl"] == pytest.approx(0.0, abs=1e-5)
    assert numbers["actor/entropy"] == pytest.approx(math.log(len(model.tokenizer)), abs=0.3)


def test_generation_and_learning_agree_on_log_probs(tiny_vl: Path) -> None:
    model, featurizer, rows = drawn(tiny_vl)
    learner = Learner(model, featurizer, LearnerSettings())
    for item, found in zip(rows, learner.log_probs(model, [item.row for item in rows]), strict=True):
        assert torch.allclose(found, torch.tensor(item.old), atol=1e-4)


@pytest.mark.parametrize("kind", ["text", "vl"])
def test_what_was_good_becomes_likelier_and_what_was_bad_less(kind: str, tiny_text: Path, tiny_vl: Path) -> None:
    model, featurizer, rows = drawn(tiny_text if kind == "text" else tiny_vl)
    learner = Learner(model, featurizer, LearnerSettings(lr=1e-4, kl_coefficient=0.0))
    before = copy.deepcopy(model.module.state_dict())
    numbers = learner.improve(rows)
    assert numbers["actor/grad_norm"] > 0
    assert numbers["actor/lr"] == 1e-4
    changed = [name for name, value in model.module.state_dict().items() if not torch.equal(value, before[name])]
    if kind == "vl":
        assert any("visual" in name for name in changed)
    for item, found in zip(rows, learner.log_probs(model, [item.row for item in rows]), strict=True):
        moved = (found - torch.tensor(item.old)).sum().item()
        assert moved * item.advantage > 0


def test_the_reference_holds_the_policy_back(tiny_text: Path) -> None:
    """The same updates with a strong KL term end nearer to where they began."""
    ends = {}
    for coefficient in (0.0, 100.0):
        model, featurizer, rows = drawn(tiny_text)
        reference = model.frozen_copy()
        settings = LearnerSettings(lr=3e-4, kl_coefficient=coefficient, recompute_old=True)
        learner = Learner(model, featurizer, settings, reference=reference)
        for _ in range(6):
            numbers = learner.improve(rows)
        if coefficient:
            assert numbers["actor/kl_loss"] > 0
        apart = [
            a - b
            for a, b in zip(*(learner.log_probs(m, [r.row for r in rows]) for m in (model, reference)), strict=True)
        ]
        ends[coefficient] = torch.cat(apart).abs().mean().item()
        assert not any(p.requires_grad for p in reference.module.parameters())
    assert ends[100.0] < 0.7 * ends[0.0]


def test_a_row_without_advantage_counts_though_it_is_not_looked_at(
    tiny_text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, featurizer, rows = drawn(tiny_text)
    idle = [PolicyRow(item.row, item.old, 0.0) for item in rows]
    learner = Learner(model, featurizer, LearnerSettings(kl_coefficient=0.0))
    alone = gradients(learner, rows)
    with_idle = gradients(learner, [*rows, *idle])
    for name, gradient in with_idle.items():
        assert torch.allclose(2 * gradient, alone[name], atol=1e-6), name


def test_mini_batches_go_over_every_row_once_an_epoch(tiny_text: Path) -> None:
    model, featurizer, rows = drawn(tiny_text, 6)
    learner = Learner(model, featurizer, LearnerSettings(mini_batch=4, epochs=2), seed=3)
    first, second = list(learner._mini(6, 0)), list(learner._mini(6, 1))
    assert [len(part) for part in first] == [4, 2]
    assert sorted(chain(*first)) == sorted(chain(*second)) == list(range(6))
    assert first != second
    assert list(learner._mini(6, 0)) == first
    steps = []
    step = learner._step
    learner._step = lambda prefix: steps.append(prefix) or step(prefix)  # type: ignore[method-assign, func-returns-value]
    learner.improve(rows)
    assert len(steps) == 4
    assert learner.steps == 1


def test_gradients_that_are_no_numbers_are_not_stepped_on(tiny_text: Path) -> None:
    model, featurizer, rows = drawn(tiny_text)
    learner = Learner(model, featurizer, LearnerSettings(kl_coefficient=0.0))
    before = copy.deepcopy(model.module.state_dict())
    numbers = learner.improve([PolicyRow(rows[0].row, rows[0].old, math.inf)])
    assert numbers["actor/skipped"] == 1
    assert all(torch.equal(value, before[name]) for name, value in model.module.state_dict().items())


def test_teaching_is_the_cross_entropy_of_transformers(tiny_vl: Path) -> None:
    """The taught tokens' mean loss, over the whole vocabulary, as the model itself computes it from labels."""
    model, featurizer, rows = drawn(tiny_vl, 1)
    row = rows[0].row
    ids = torch.tensor([row.whole.ids])
    labels = torch.full_like(ids, -100)
    labels[0, list(row.taught)] = ids[0, list(row.taught)]
    with torch.no_grad():
        theirs = model.module(
            input_ids=ids,
            labels=labels,
            pixel_values=featurizer.patches(row.whole.pictures[0]),
            image_grid_thw=torch.tensor([row.whole.pictures[0].grid]),
            mm_token_type_ids=(ids == model.image_token).int(),
        ).loss.item()
    learner = Learner(model, featurizer, LearnerSettings(lr=1e-3))
    assert learner.loss_of([row]) == pytest.approx(theirs, rel=1e-5)
    first = learner.teach([row])["sft/loss"]
    assert first == pytest.approx(theirs, rel=1e-5)
    for _ in range(5):
        learner.teach([row])
    assert learner.loss_of([row]) < 0.9 * first


def test_a_frozen_vision_tower_stays_as_it_is(tiny_vl: Path) -> None:
    model, featurizer, rows = drawn(tiny_vl)
    before = copy.deepcopy(model.module.model.visual.state_dict())
    learner = Learner(model, featurizer, LearnerSettings(lr=1e-3, freeze_vision=True, kl_coefficient=0.0))
    learner.improve(rows)
    assert all(torch.equal(value, before[name]) for name, value in model.module.model.visual.state_dict().items())


def test_gradient_checkpointing_gives_the_same_gradients(tiny_vl: Path) -> None:
    found = []
    for on in (False, True):
        model, featurizer, rows = drawn(tiny_vl)
        found.append(
            gradients(Learner(model, featurizer, LearnerSettings(kl_coefficient=0.0, gradient_checkpointing=on)), rows)
        )
    for name, gradient in found[0].items():
        assert torch.allclose(gradient, found[1][name], atol=1e-6), name


def test_nothing_to_learn_is_an_error_in_words(tiny_text: Path) -> None:
    model, featurizer, _ = opened(tiny_text)
    learner = Learner(model, featurizer, LearnerSettings())
    with pytest.raises(NothingToLearn, match="0 rows"):
        learner.improve([])
    with pytest.raises(NothingToLearn, match="no token to learn from"):
        learner.teach([Row(Prompt((1, 2), ()), ())])


def test_the_learning_rate_rises_and_falls(tiny_text: Path) -> None:
    model, featurizer, _ = opened(tiny_text)
    settings = LearnerSettings(lr=1.0, warmup=2, schedule="cosine")
    learner = Learner(model, featurizer, settings, total_steps=10)
    assert [round(learner.rate(n), 3) for n in (0, 1, 2, 6, 10, 11)] == [0.5, 1.0, 1.0, 0.5, 0.0, 0.0]
    constant = Learner(model, featurizer, LearnerSettings(lr=1.0), total_steps=10)
    assert {constant.rate(n) for n in range(12)} == {1.0}


def test_bfloat16_is_the_same_arithmetic_in_fewer_digits(tiny_vl: Path) -> None:
    """Weights stay float32; replies, their log-probs and a step come out near those of float32."""
    exact, featurizer, rows = drawn(tiny_vl, 2)
    coarse = load_model(tiny_vl, device="cpu", dtype="bfloat16")
    learner = Learner(coarse, featurizer, LearnerSettings(lr=1e-3, recompute_old=True, kl_coefficient=0.0))
    for item, found in zip(rows, learner.log_probs(coarse, [item.row for item in rows]), strict=True):
        assert torch.allclose(found, torch.tensor(item.old), atol=0.05)
        assert not torch.equal(found, torch.tensor(item.old))
    reply = Decoder(coarse, featurizer).decode([rows[0].row.whole], [Draw(1.0, 4, ("x",))])[0]
    assert max(reply.log_probs) < 0
    numbers = learner.improve(rows)
    assert numbers["actor/skipped"] == 0
    assert numbers["actor/ppo_kl"] == 0, "the old log-probs were worked out in the same arithmetic"
    moved = [
        p for a, p in zip(exact.module.parameters(), coarse.module.parameters(), strict=True) if not torch.equal(a, p)
    ]
    assert moved
    assert {p.dtype for p in coarse.module.parameters()} == {torch.float32}
