"""Do prompts fit? Screens cost what the processor makes of them, words what the adapter says to the longest recordings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sopbench.adapters.base import Adapter, Text, Turn
from sopbench.errors import CannotExpress, DataError
from sopbench.geometry import Size, smart_resize
from sopbench.screen import Screen
from sopbench.trajectory import Trajectory

TYPICAL = Size(1080, 2400)
"""Where there is no data: the commonest screen of AndroidControl."""
CHARACTERS_A_TOKEN = 3.0
"""Of our prompts with Qwen's tokenizer: English takes about 4, JSON and numbers less; 3 errs on the long side."""
LOOKED_AT = 400
THOUGHT = "I will do the next step of the task, which is to act on the element that the goal names."
"""Stands for a model's own thought where a recording has none."""


@dataclass(frozen=True, slots=True)
class ScreenCost:
    """Screens of one size: what the processor makes of them, and the tokens of one."""

    size: str
    resized: str
    tokens: int
    count: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """All in tokens. `longest` is the prompt of the last step of the longest recording that was looked at, `overlong` how many recordings do not fit `max_prompt`."""

    max_prompt: int
    max_response: int
    max_model_len: int
    images: int
    screens: tuple[ScreenCost, ...]
    longest: int
    longest_name: str
    overlong: int
    looked_at: int
    assumed: bool

    @property
    def image_tokens(self) -> int:
        """Those of a prompt with as many of the costliest screens as it may carry."""
        return self.images * max(cost.tokens for cost in self.screens)

    @property
    def sample(self) -> int:
        """Prompt and response of the longest sample that can be learned from."""
        return min(self.longest, self.max_prompt) + self.max_response

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"image_tokens": self.image_tokens, "sample": self.sample}


def count_tokens(
    adapter: Adapter,
    trajectories: Sequence[Trajectory] | None,
    *,
    images: int,
    max_prompt: int,
    max_response: int,
    max_model_len: int,
    limits: tuple[int, int] | None,
    side: int = 28,
) -> Tokens:
    """`limits`: the processor's smallest and largest picture in pixels, where it is known; else the adapter's. `side`: pixels of an image token's side.

    Only screens that are here are measured; recordings are told in the adapter's words, with the expert's actions for replies.
    """
    low, high = limits or adapter.pixel_limits or (4 * side * side, 12_800 * side * side)
    sizes = _sizes(trajectories or ())
    costs = _costs(sizes or Counter({TYPICAL: 1}), low, high, side)
    most = max(cost.tokens for cost in costs)
    longest, name, overlong, looked = 0, "", 0, 0
    for trajectory in sorted(trajectories or (), key=len, reverse=True)[:LOOKED_AT]:
        looked += 1
        prompt = prompt_tokens(adapter, trajectory, images, most)
        overlong += prompt > max_prompt
        if prompt > longest:
            longest, name = prompt, trajectory.id
    if not looked:
        longest, name = max_prompt, "assumed: as long as allowed"
    return Tokens(max_prompt, max_response, max_model_len, images, costs, longest, name, overlong, looked, not sizes)


def prompt_tokens(adapter: Adapter, trajectory: Trajectory, images: int, image_tokens: int) -> int:
    """Of the request for the last step: characters of all texts by `CHARACTERS_A_TOKEN`, and the screens."""
    last = len(trajectory) - 1
    turns = [Turn(_stand_in(), _reply(adapter, trajectory, index)) for index in range(last)]
    messages = adapter.render(trajectory.goal, [*turns, Turn(_stand_in())], images)
    texts = sum(len(part.text) for m in messages for part in m.parts if isinstance(part, Text))
    texts += sum(len(call.name) + len(call.arguments) for m in messages for call in m.calls)
    shown = sum(not isinstance(part, Text) for m in messages for part in m.parts)
    return round(texts / CHARACTERS_A_TOKEN) + 6 * len(messages) + shown * (image_tokens + 2)


def _reply(adapter: Adapter, trajectory: Trajectory, index: int) -> str:
    step = trajectory.steps[index]
    try:
        return adapter.format(step.action(TYPICAL), TYPICAL, step.thought or THOUGHT)
    except CannotExpress:
        return THOUGHT


def _stand_in() -> Screen:
    """A screen of the typical size that is never read: what a prompt says does not depend on its pixels."""
    return _BLANK


class _Blank(Screen):
    @property
    def size(self) -> Size:
        return TYPICAL


_BLANK = _Blank(None, b"", "stand-in")


def _sizes(trajectories: Sequence[Trajectory]) -> Counter[Size]:
    """Sizes of up to `LOOKED_AT` screens that are here, spread over the data."""
    sizes: Counter[Size] = Counter()
    stride = max(1, len(trajectories) // LOOKED_AT)
    for trajectory in trajectories[::stride]:
        screen = trajectory.steps[0].screen
        if screen.path is not None and not screen.path.is_file():
            continue
        try:
            sizes[screen.size] += 1
        except DataError:
            continue
    return sizes


def _costs(sizes: Counter[Size], low: int, high: int, side: int) -> tuple[ScreenCost, ...]:
    costs = []
    for size, count in sizes.most_common(6):
        made = smart_resize(size, factor=side, min_pixels=low, max_pixels=high)
        costs.append(ScreenCost(str(size), str(made), made.width * made.height // (side * side), count))
    return tuple(costs)
