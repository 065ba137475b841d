"""The loss of a token: by hand, and equal to verl's own in value and gradient."""

from __future__ import annotations

import math

import pytest
import torch

from uis1_train.embedded.losses import entropy, low_var_kl, policy_terms

CLIPS = {"clip_low": 0.2, "clip_high": 0.28, "dual_clip": 10.0}


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope", "what"),
    [
        (1.0, 1.0, -1.0, -1.0, "the policy as it was: the plain policy gradient"),
        (1.2, 2.0, -2.4, -2.4, "better, and within the clip"),
        (1.5, 2.0, -2.56, 0.0, "better, past 1 + 0.28: no more to gain"),
        (0.5, 2.0, -1.0, -1.0, "a good token that became unlikely: pulled back, whatever the clip"),
        (0.9, -1.0, 0.9, 0.9, "worse, and within the clip"),
        (0.5, -1.0, 0.8, 0.0, "worse, past 1 - 0.2: no more to gain"),
        (5.0, -1.0, 5.0, 5.0, "a bad token that became likely: pushed down, unclipped"),
        (20.0, -1.0, 10.0, 0.0, "and past the dual clip left alone"),
    ],
)
def test_each_side_of_each_clip(ratio: float, advantage: float, loss: float, slope: float, what: str) -> None:
    """slope: d loss / d log-prob, which is -A r where nothing is clipped, else 0."""
    old = torch.tensor([-2.0], dtype=torch.float64)
    new = (old + math.log(ratio)).requires_grad_()
    terms = policy_terms(new, old, torch.tensor([advantage], dtype=torch.float64), **CLIPS)
    terms.loss.sum().backward()
    assert terms.loss.item() == pytest.approx(loss), what
    assert new.grad is not None
    assert new.grad.item() == pytest.approx(slope), what


def test_which_clip_decided_is_told() -> None:
    old = torch.zeros(4)
    new = torch.tensor([1.0, 1.5, 0.5, 20.0]).log()
    terms = policy_terms(new, old, torch.tensor([1.0, 1.0, -1.0, -1.0]), **CLIPS)
    assert terms.clipped.tolist() == [False, True, True, False]
    assert terms.clipped_low.tolist() == [False, False, False, True]
    assert terms.kl.tolist() == pytest.approx((-new).tolist())


def test_kl_is_never_negative_and_by_hand() -> None:
    new, reference = torch.tensor([-1.0, -1.0, -3.0, 30.0]), torch.tensor([-1.0, -2.0, -1.0, -30.0])
    expected = [0.0, math.exp(-1) + 1 - 1, math.exp(2) - 2 - 1, 10.0]  # the last one at its bound
    assert low_var_kl(new, reference).tolist() == pytest.approx(expected)


def test_entropy_counts_what_cannot_be_said_as_nothing() -> None:
    half = math.log(0.5)
    assert entropy(torch.tensor([[half, half, -math.inf], [0.0, -math.inf, -math.inf]])).tolist() == pytest.approx(
        [math.log(2), 0.0]
    )


@pytest.fixture(scope="module")
def tokens() -> dict[str, torch.Tensor]:
    """Rows of a batch with every case in them: on both sides of all clips, padding, and log-probs far apart."""
    chance = torch.Generator().manual_seed(0)
    shape = (16, 24)
    old = -3 * torch.rand(shape, generator=chance)
    return {
        "old": old,
        "new": old + torch.randn(shape, generator=chance) * torch.tensor([0.05, 0.3, 1.0, 4.0]).repeat(4)[:, None],
        "reference": old + 0.5 * torch.randn(shape, generator=chance),
        "advantages": torch.randn((16, 1), generator=chance).expand(shape).contiguous(),
        "mask": (torch.rand(shape, generator=chance) < 0.7).long(),
        "entropy": torch.rand(shape, generator=chance),
    }


def ours(tokens: dict[str, torch.Tensor], kl_coefficient: float) -> tuple[torch.Tensor, torch.Tensor]:
    kept = tokens["mask"].bool()
    new = tokens["new"].clone().requires_grad_()
    terms = policy_terms(new[kept], tokens["old"][kept], tokens["advantages"][kept], **CLIPS)
    kl = low_var_kl(new[kept], tokens["reference"][kept])
    loss = (terms.loss.sum() + kl_coefficient * kl.sum()) / kept.sum()
    loss.backward()
    assert new.grad is not None
    return loss.detach(), new.grad


def test_policy_loss_and_gradient_are_verl_s(tokens: dict[str, torch.Tensor]) -> None:
    core = pytest.importorskip("verl.trainer.ppo.core_algos")
    from verl.workers.config import ActorConfig

    config = ActorConfig(
        strategy="fsdp",
        rollout_n=1,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio_low=0.2,
        clip_ratio_high=0.28,
        clip_ratio_c=10.0,
    )
    new = tokens["new"].clone().requires_grad_()
    mask = tokens["mask"].bool()
    loss, _ = core.compute_policy_loss_vanilla(
        tokens["old"], new, tokens["advantages"], mask, loss_agg_mode="token-mean", config=config
    )
    kl = core.kl_penalty(new, tokens["reference"], "low_var_kl")
    loss = loss + 0.1 * core.agg_loss(kl, mask, "token-mean")
    loss.backward()
    found, gradient = ours(tokens, 0.1)
    assert found.item() == pytest.approx(loss.item(), rel=1e-5)
    assert new.grad is not None
    assert torch.allclose(gradient, new.grad, atol=1e-7)
    assert gradient.abs().max() > 1e-3


def test_the_whole_of_verl_s_ppo_loss_is_ours(tokens: dict[str, torch.Tensor]) -> None:
    """`ppo_loss` as its workers call it: jagged rows, loss over the global count of tokens, KL term, both micro-batches added up."""
    losses = pytest.importorskip("verl.workers.utils.losses")
    from tensordict import TensorDict
    from verl.utils import tensordict_utils
    from verl.workers.config import ActorConfig

    lengths = [5 + n for n in range(16)]
    prompts = [3 + n % 4 for n in range(16)]
    config = ActorConfig(
        strategy="fsdp",
        rollout_n=1,
        ppo_micro_batch_size_per_gpu=8,
        clip_ratio_low=0.2,
        clip_ratio_high=0.28,
        clip_ratio_c=10.0,
        use_kl_loss=True,
        kl_loss_coef=0.1,
        kl_loss_type="low_var_kl",
    )
    jagged = dict(tokens)
    jagged["mask"] = torch.zeros_like(tokens["mask"])
    for row, length in enumerate(lengths):
        jagged["mask"][row, :length] = 1
    new = tokens["new"].clone().requires_grad_()
    total = torch.tensor(0.0)
    for rows in (range(8), range(8, 16)):
        cut = {name: [tokens[name][r, : lengths[r]] for r in rows] for name in ("old", "advantages", "reference")}
        data = TensorDict(
            {
                "prompts": _jagged([torch.zeros(prompts[r], dtype=torch.long) for r in rows]),
                "responses": _jagged([torch.zeros(lengths[r], dtype=torch.long) for r in rows]),
                "response_mask": _jagged([torch.ones(lengths[r], dtype=torch.long) for r in rows]),
                "old_log_probs": _jagged(cut["old"]),
                "advantages": _jagged(cut["advantages"]),
                "ref_log_prob": _jagged(cut["reference"]),
            },
            batch_size=8,
        )
        tensordict_utils.assign_non_tensor(data, dp_size=1, batch_num_tokens=sum(lengths), global_batch_size=16)
        # verl's models say log-probs of the whole sequence, moved by one: the token at place p + 1 stands at p
        whole = [torch.cat([torch.zeros(prompts[r] - 1), new[r, : lengths[r]], torch.zeros(1)]) for r in rows]
        loss, _ = losses.ppo_loss(
            config, {"log_probs": torch.nested.as_nested_tensor(whole, layout=torch.jagged)}, data
        )
        loss.backward()
        total = total + loss.detach()
    found, gradient = ours(jagged, 0.1)
    assert found.item() == pytest.approx(total.item(), rel=1e-5)
    assert new.grad is not None
    assert torch.allclose(gradient, new.grad, atol=1e-7)


def _jagged(rows: list[torch.Tensor]) -> torch.Tensor:
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)
