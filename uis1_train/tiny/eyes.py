"""The first half of the recipe: the vision tower learns to name what is on a screen, alone.

Each visual token tells, by heads that exist in training only, which thing it belongs to (in the language model's own embeddings, tied), which words stand there,
where the thing's middle is, what it is and whether it is on. Afterwards the tower is not changed any more, and screens are embedded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from uis1_train.tiny import fast
from uis1_train.tiny.lessons import LETTERS, MOST_LETTERS, ROLES, X_PLACES, Y_PLACES, Targets

EMBEDDING_SIZE = 0.35
"""Root mean square that the tower's output is drawn to, near that of the embeddings of words."""


class Heads(nn.Module):
    """Training only; thrown away."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.words = nn.Linear(hidden, hidden)
        self.x = nn.Linear(hidden, X_PLACES)
        self.y = nn.Linear(hidden, Y_PLACES)
        self.role = nn.Linear(hidden, len(ROLES))
        self.on = nn.Linear(hidden, 2)
        self.letters = nn.Linear(hidden, MOST_LETTERS * len(LETTERS))
        self.scale = nn.Parameter(torch.tensor([1.0, 1.0]))


class Answers:
    """`Targets` with tokens numbered within those that occur at all."""

    def __init__(self, wanted: Targets) -> None:
        self.used = np.unique(np.concatenate((wanted.labels.ravel(), wanted.words.ravel())))
        self.used = self.used[self.used >= 0]
        lookup = np.full(int(self.used.max()) + 2, -1, np.int64)
        lookup[self.used] = np.arange(len(self.used))
        lookup[-1] = -1
        self.labels = lookup[wanted.labels]
        self.words = lookup[wanted.words]
        self.x, self.y, self.role, self.on = wanted.x, wanted.y, wanted.role, wanted.on
        self.letters = wanted.letters
        self.tokens = torch.from_numpy(self.used.astype(np.int64))


def loss(
    seen: Tensor, table: Tensor, heads: Heads, answers: Answers, rows: NDArray[np.int64]
) -> tuple[Tensor, dict[str, float]]:
    """`seen`: [n, 78, hidden] of the screens `rows`."""
    flat = seen.flatten(0, 1)
    size = flat.pow(2).mean(-1)
    known = table[answers.tokens]
    facts: dict[str, float] = {}
    scaled = F.rms_norm(flat, (flat.shape[-1],))
    total = 0.2 * (size.clamp_min(1e-6).sqrt() - EMBEDDING_SIZE).pow(2).mean()
    for number, (name, wanted, source) in enumerate(
        (("label", answers.labels[rows], scaled), ("word", answers.words[rows], heads.words(scaled)))
    ):
        tokens = torch.from_numpy(wanted.reshape(-1, wanted.shape[-1]))
        there = tokens >= 0
        some = there.any(-1)
        logits = (source[some] @ known.T) * heads.scale[number].exp()
        log_p = logits.log_softmax(-1).gather(1, tokens[some].clamp_min(0))
        weight = there[some].float() / there[some].sum(-1, keepdim=True)
        total = total - (log_p * weight).sum(-1).mean()
        best = logits.argmax(-1)
        facts[name] = ((tokens[some] == best[:, None]) & there[some]).any(-1).float().mean().item()
    for name, head, asked, worth in (
        ("x", heads.x, answers.x, 1.0),
        ("y", heads.y, answers.y, 1.0),
        ("role", heads.role, answers.role, 0.5),
        ("on", heads.on, answers.on, 0.5),
    ):
        goal = torch.from_numpy(asked[rows].reshape(-1).astype(np.int64))
        logits = head(flat)
        total = total + worth * F.cross_entropy(logits, goal, ignore_index=-1)
        there = goal >= 0
        facts[name] = (logits.argmax(-1) == goal)[there].float().mean().item()
    spelt = torch.from_numpy(answers.letters[rows].reshape(-1, MOST_LETTERS).astype(np.int64))
    some = spelt[:, 0] >= 0
    logits, spelt = heads.letters(flat[some]).view(-1, len(LETTERS)), spelt[some].reshape(-1)
    total = total + 2 * F.cross_entropy(logits, spelt, ignore_index=-1)
    facts["letter"] = (logits.argmax(-1) == spelt)[spelt > 0].float().mean().item()
    return total, facts


def cosine(progress: float, warm: float = 0.03, floor: float = 0.03) -> float:
    """The rate's share at `progress` (0 to 1) of the budget: up, then down by a cosine."""
    if progress < warm:
        return progress / warm + 0.01
    return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * min(1.0, (progress - warm) / (1 - warm))))


@torch.no_grad()
def embed_all(
    model: Any, images: Callable[[range], NDArray[np.uint8]], count: int, size: int = 32
) -> NDArray[np.float16]:
    """Every screen's visual tokens: [count, 78, hidden]."""
    hidden = model.config.text_config.hidden_size
    out = np.empty((count, fast.CELLS, hidden), np.float16)
    for begin in range(0, count, size):
        rows = range(begin, min(count, begin + size))
        out[begin : rows.stop] = fast.see(model, images(rows)).to(torch.float16).numpy()
    return out
