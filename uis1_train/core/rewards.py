"""The reward of one step, from what the harness says of its reply: read, type matched, action matched. There is no second matcher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from sopbench.errors import UsageError

RewardName = Literal["paper", "released"]
REWARDS: tuple[RewardName, ...] = get_args(RewardName)


@dataclass(frozen=True, slots=True)
class Reward:
    """`format`, `type` and `accuracy` are 0 or 1 each (for logging); `total` is what is learned from, between 0 and 1."""

    format: float
    type: float
    accuracy: float
    total: float


def reward(name: RewardName, parsed: bool, type_match: bool, match: bool, *, thought: bool = True) -> Reward:
    """The reward called `name`. `thought`: whether the reply has a thought that is not blank (`released` asks for one, `paper` does not).

    * `paper` (arXiv 2509.11543, section 3): 0.1 format + 0.4 [format] type + 0.5 [format and type] accuracy. Format: the reply can be read.
    * `released` (X-PLUG/MobileAgent 11cea575, `UI-S1/verl/utils/reward_score/gui_traj.py`): 0.1 format + 0.9 a, where format wants a thought and a is 0
      for a reply that cannot be read (which has no format either), 0.1 for a wrong type, 0.5 for a right type with wrong arguments, 1 for a match.

    A match without a type match, or either without a reply that could be read, is no verdict of the harness: `UsageError`.
    """
    if (match and not type_match) or (type_match and not parsed):
        raise UsageError(f"no verdict is parsed={parsed}, type_match={type_match}, match={match}")
    kind, accuracy = float(type_match), float(match)
    if name == "paper":
        form = float(parsed)
        return Reward(form, kind, accuracy, 0.1 * form + 0.4 * kind + 0.5 * accuracy)
    if name == "released":
        form = float(parsed and thought)
        action = 0.0 if not parsed else 1.0 if match else 0.5 if type_match else 0.1
        return Reward(form, kind, accuracy, 0.1 * form + 0.9 * action)
    raise UsageError(f"no reward is called {name!r}: choose one of {', '.join(REWARDS)}")
