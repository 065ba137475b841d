"""How good is it: sopbench's own semi-online protocol over many recordings at once, the screens embedded beforehand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sopbench.adapters import get_adapter
from sopbench.adapters.base import Text
from sopbench.geometry import Box, Size
from sopbench.protocols.semi_online import SemiOnlineEpisode
from sopbench.scoring import get_profile
from sopbench.screen import Screen
from sopbench.trajectory import Step, Trajectory
from uis1_train.tiny import fast
from uis1_train.tiny.lessons import Tongue
from uis1_train.tiny.recording import Recording

LARGE = Size(504, 1092)


class NamedScreen(Screen):
    """A screen of which only the name and the size are needed: its pixels lie embedded elsewhere."""

    def __init__(self, number: int) -> None:
        super().__init__(None, b"", str(number))
        self.number = number

    @property
    def size(self) -> Size:  # type: ignore[override]  # the header of a file that does not exist
        return LARGE


def trajectory(recording: Recording, number: dict[str, int]) -> Trajectory:
    """The gold steps of a recording for sopbench. Detours have no place in it."""
    steps = tuple(
        Step(step.action, NamedScreen(number[step.screen]), (Box(*step.box),) if step.box else (), thought=step.thought)
        for step in recording.steps
    )
    return Trajectory(recording.id, recording.goal, steps, tags={"template": recording.template})


class Player:
    """A model with embedded screens that answers what a protocol asks. `screens` is [n, 78, hidden]."""

    def __init__(self, model: Any, tongue: Tongue, screens: NDArray[np.float16]) -> None:
        self.model, self.tongue, self.screens = model, tongue, screens

    def row(self, prompt: str) -> list[int]:
        """`prompt`: the text of the one user message."""
        tongue = self.tongue
        lines = prompt.split("\n")
        ids = [tongue.begin]
        for number, line in enumerate(lines):
            ids += ([] if number == 0 else tongue("\n")) + tongue(line)
        return [*ids, *tongue.screen, tongue.end, tongue.begin]

    def answer(self, asks: Sequence[tuple[str, int]], size: int = 64, **how: Any) -> list[Reply]:
        """The reply to each (text, number of the screen). Like lengths go together, and what is asked several times is read once."""
        tongue = self.tongue
        order: dict[tuple[str, int], list[int]] = {}
        for number, ask in enumerate(asks):
            order.setdefault(ask, []).append(number)
        different = sorted(((self.row(ask[0]), ask[1], who) for ask, who in order.items()), key=lambda one: len(one[0]))
        out: dict[int, Reply] = {}
        while different:
            taken, count = 0, 0
            while taken < len(different) and (taken == 0 or count + len(different[taken][2]) <= size):
                count += len(different[taken][2])
                taken += 1
            chosen, different = different[:taken], different[taken:]
            said = fast.generate(
                self.model,
                [row for row, _, _ in chosen],
                torch.from_numpy(self.screens[[screen for _, screen, _ in chosen]].astype(np.float32)),
                image=tongue.image,
                pad=tongue.pad,
                end=tongue.end,
                banned=(tongue.image, tongue.vision, tongue.vision_end, tongue.begin, tongue.pad),
                copies=[at for at, (_, _, who) in enumerate(chosen) for _ in who],
                **how,
            )
            asked = [(row, screen, number) for row, screen, who in chosen for number in who]
            for (row, screen, number), ids, sure in zip(asked, said.ids, said.log_probs, strict=True):
                text = tongue.tok.decode(ids, skip_special_tokens=True)
                out[number] = Reply(text, row, screen, ids, sure)
        return [out[number] for number in range(len(asks))]


@dataclass(slots=True)
class Reply:
    """What was said: the text, the prompt's tokens, the screen's number, the reply's tokens and their log-probabilities."""

    text: str
    prompt: list[int]
    screen: int
    ids: list[int]
    log_probs: list[float]


@dataclass
class Played:
    """One value for each trajectory."""

    progress: list[float] = field(default_factory=list)
    success: list[bool] = field(default_factory=list)
    templates: list[str] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)

    def summary(self) -> dict[str, float]:
        n = max(1, len(self.success))
        return {"pg": 100 * sum(self.progress) / n, "tsr": 100 * sum(self.success) / n, "n": len(self.success)}


def sop(player: Player, trajectories: Sequence[Trajectory], profile: str = "strict") -> Played:
    """Greedy, own replies in history, the first mismatch ends it."""
    adapter, judge = get_adapter("tiny"), get_profile(profile)
    episodes = [SemiOnlineEpisode(t, adapter, judge) for t in trajectories]
    played = Played()
    while asks := [(e, p) for e in episodes if (p := e.pending()) is not None]:
        replies = player.answer([ask_of(p.messages) for _, p in asks])
        for (episode, pending), reply in zip(asks, replies, strict=True):
            result = episode.advance(reply.text)
            if not result.verdict.match:
                step = episode.trajectory.steps[pending.step_index]
                played.errors.append(
                    {
                        "id": episode.trajectory.id,
                        "goal": episode.trajectory.goal,
                        "step": pending.step_index,
                        "want": f"{step.thought} {dict(step.content)}",
                        "got": reply.text,
                        "kind": step.kind,
                    }
                )
    for episode in episodes:
        played.progress.append(episode.progress / len(episode.trajectory))
        played.success.append(episode.success)
        played.templates.append(episode.trajectory.tags["template"])
    return played


def static(
    player: Player, trajectories: Sequence[Trajectory], profile: str = "strict"
) -> tuple[list[bool], dict[str, float]]:
    """Each step alone, with the expert's replies as its history: matches, and their share by kind of action (in percent)."""
    adapter, judge = get_adapter("tiny"), get_profile(profile)
    from sopbench.adapters.base import Turn
    from sopbench.protocols.reply import judge_reply

    asks, steps = [], []
    for t in trajectories:
        turns: list[Turn] = []
        for step in t.steps:
            asks.append(ask_of(adapter.render(t.goal, [*turns, Turn(step.screen)], 1)))
            steps.append(step)
            turns.append(Turn(step.screen, adapter.format(step.action(LARGE), LARGE, step.thought)))
    hits: list[bool] = []
    kinds: dict[str, list[bool]] = defaultdict(list)
    for step, reply in zip(steps, player.answer(asks), strict=True):
        _, verdict = judge_reply(adapter, judge, reply.text, step, LARGE)
        hits.append(verdict.match)
        kinds[step.kind].append(verdict.match)
    shares = {kind: round(100 * sum(v) / len(v), 1) for kind, v in sorted(kinds.items())}
    return hits, {"all": round(100 * sum(hits) / max(1, len(hits)), 1)} | shares


def ask_of(messages: Sequence[Any]) -> tuple[str, int]:
    (message,) = messages
    text = "".join(part.text for part in message.parts if isinstance(part, Text))
    (screen,) = [part.screen for part in message.parts if not isinstance(part, Text)]
    return text, screen.number
