"""A recording in memory, and a policy that plays it to order."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Mapping, Sequence

from PIL import Image

from sopbench.adapters import get_adapter
from sopbench.clients.base import Ask, AskFailed
from sopbench.scoring import get_profile
from sopbench.screen import Screen
from sopbench.trajectory import Step, Trajectory
from uis1_train.policies.base import Generated, RolloutId, TokenPolicy, screens_of
from uis1_train.session import RolloutConfig

HIT, NEAR, WRONG, PROSE = "hit", "near", "wrong", "prose"
"""What a scripted reply is: the expert's action, its type with another text, another type, nothing that can be read."""
PAID = {HIT: 1.0, NEAR: 0.5, WRONG: 0.1, PROSE: 0.0}
"""The reward `paper` of each."""


def screen(label: str) -> Screen:
    out = io.BytesIO()
    Image.new("RGB", (84, 168), (len(label) * 7 % 256, 10, 10)).save(out, "PNG")
    return Screen.from_bytes(out.getvalue(), label)


def recording(length: int, *, name: str = "t", thoughts: Sequence[str | None] = ()) -> Trajectory:
    """`length` steps; the expert types "word 0", "word 1", ..."""
    steps = tuple(
        Step(
            {"action": "type", "text": f"word {k}"},
            screen(f"{name}{k}"),
            thought=thoughts[k] if k < len(thoughts) else None,
        )
        for k in range(length)
    )
    return Trajectory(name, f"the goal of {name}", steps)


def says(action: Mapping[str, object], thought: str | None = "hm") -> str:
    think = f"<think>\n{thought}\n</think>\n" if thought else ""
    return f"{think}<action>\n{json.dumps(action)}\n</action>"


def reply(kind: str, step: int) -> str:
    match kind:
        case "hit":
            return says({"action": "type", "text": f"word {step}"})
        case "near":
            return says({"action": "type", "text": "nothing of the kind"})
        case "wrong":
            return says({"action": "wait", "time": 1})
    return "no idea"


Script = Callable[[RolloutId, int], str | AskFailed]


class Scripted(TokenPolicy):
    """Answers what `script(rollout, step)` says: a kind of reply, any other text as it is, or a failure to raise. `asks` holds every request that it got."""

    def __init__(self, script: Script | Sequence[str], *, seconds: float = 0.0) -> None:
        self.script: Script = script if callable(script) else (lambda rollout, step: script[step])
        self.seconds = seconds
        self.asks: list[Ask] = []
        self.playing = self.most_at_once = 0

    async def generate(self, ask: Ask, *, rollout: RolloutId) -> Generated:
        self.asks.append(ask)
        self.playing += 1
        self.most_at_once = max(self.most_at_once, self.playing)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.playing -= 1
        step = ask.key[2]
        said = self.script(rollout, step)
        if isinstance(said, AskFailed):
            raise said
        ids = (100 + step, 7)
        return Generated(
            text=reply(said, step) if said in PAID else said,
            prompt_ids=(1, 2, 3 + step),
            response_ids=ids,
            log_probs=(-0.5, -0.25),
            images=screens_of(ask),
            model="scripted",
            finish_reason="stop",
        )


def config(**options: object) -> RolloutConfig:
    return RolloutConfig(get_profile("strict"), get_adapter("uis1"), **options)  # type: ignore[arg-type]
