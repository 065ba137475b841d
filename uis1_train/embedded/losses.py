"""The loss of a token, as plain functions on flat tensors (one entry a token that counts).

Formulas: PPO's clipped objective (arXiv 1707.06347, Eq. 7) with two clip bounds (DAPO, arXiv 2503.14476), its lower bound for negative advantages (dual clip,
arXiv 1912.09729) and the KL estimator k3 = r - log r - 1 (Schulman, "Approximating KL divergence", 2020), called `low_var_kl` in verl. The bounds within which
logarithms are kept, 20 and 10, are those of verl 0.9.1 (`verl/trainer/ppo/core_algos.py`), with which a test compares losses and gradients.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

LOG_RATIO_LIMIT = 20.0
KL_LIMIT = 10.0


@dataclass(frozen=True, slots=True)
class PolicyTerms:
    """loss: a token's share, to be summed. clipped, clipped_low: whether the upper clip or the dual clip decided it. kl: old policy against new, first order."""

    loss: torch.Tensor
    clipped: torch.Tensor
    clipped_low: torch.Tensor
    kl: torch.Tensor


def policy_terms(
    log_probs: torch.Tensor,
    old: torch.Tensor,
    advantages: torch.Tensor,
    *,
    clip_low: float,
    clip_high: float,
    dual_clip: float,
) -> PolicyTerms:
    """With r the ratio of new to old probability: max(-A r, -A clip(r, 1 - low, 1 + high)), and where A < 0 at most -A c."""
    log_ratio = (log_probs - old).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    ratio = log_ratio.exp()
    free = -advantages * ratio
    bound = -advantages * ratio.clamp(1 - clip_low, 1 + clip_high)
    worse = torch.maximum(free, bound)
    floor = -advantages * dual_clip
    negative = advantages < 0
    loss = torch.where(negative, torch.minimum(floor, worse), worse)
    return PolicyTerms(loss, bound > free, negative & (worse > floor), -log_ratio)


def low_var_kl(log_probs: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """exp(x) - x - 1 with x = log q - log p, a token's estimate of KL(p, q) that is never negative."""
    apart = (reference - log_probs).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return (apart.exp() - apart - 1).clamp(-KL_LIMIT, KL_LIMIT)


def entropy(log_probs: torch.Tensor) -> torch.Tensor:
    """Of distributions given as log-probabilities in the last dimension; minus infinity counts as no probability."""
    terms = torch.where(log_probs > -torch.inf, log_probs.exp() * log_probs, 0.0)
    return -terms.sum(-1)
