"""Recordings made in memory, and models opened on them, for the tests of the embedded trainer."""

from __future__ import annotations

import io
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image as Pictures
from PIL import ImageDraw

from sopbench.adapters.base import Image, Message, Text
from sopbench.clients.base import Ask
from sopbench.geometry import Size
from sopbench.screen import Screen
from sopbench.trajectory import Step, Trajectory

BUTTONS = ("Back", "Home", "Menu", "Enter")


def screen(number: int = 0, size: tuple[int, int] = (84, 140)) -> Screen:
    """A picture of its own for every number."""
    rng = random.Random(number)
    picture = Pictures.new("RGB", size, tuple(rng.randrange(256) for _ in range(3)))
    x, y = rng.randrange(size[0] - 20), rng.randrange(size[1] - 20)
    ImageDraw.Draw(picture).rectangle((x, y, x + 19, y + 19), fill=tuple(rng.randrange(256) for _ in range(3)))
    data = io.BytesIO()
    picture.save(data, "PNG")
    return Screen.from_bytes(data.getvalue(), f"screen {number}")


def pressing(name: str, goal: str, *buttons: str, first_screen: int = 0) -> Trajectory:
    """A recording in which the expert presses `buttons`, one a step."""
    steps = [
        Step({"action": "system_button", "button": button}, screen(first_screen + index), thought=f"I press {button}")
        for index, button in enumerate(buttons)
    ]
    return Trajectory(name, goal, tuple(steps))


def talk(*texts: str, screens: int = 0) -> tuple[Message, ...]:
    """User and assistant in turn; the first user turn carries `screens` pictures."""
    messages = []
    for index, text in enumerate(texts):
        pictures = [Image(screen(n)) for n in range(screens)] if index == 0 else []
        messages.append(Message("assistant" if index % 2 else "user", (Text(text), *pictures)))
    return tuple(messages)


def asking(messages: tuple[Message, ...], name: str = "e", step: int = 0) -> Ask:
    from sopbench.adapters import get_adapter

    return Ask((name, 0, step), messages, Size(84, 140), get_adapter("tiny"))


def opened(folder: Path, *, max_prompt: int = 2000, max_images: int | None = None) -> Any:
    """(model, featurizer, decoder) on a model's folder."""
    from uis1_train.embedded.decoding import Decoder
    from uis1_train.embedded.featurize import Featurizer
    from uis1_train.embedded.model import load_model

    model = load_model(folder, device="cpu")
    featurizer = Featurizer(model, max_prompt=max_prompt, max_images=max_images)
    return model, featurizer, Decoder(model, featurizer)


def recipe_options(model: Path, output: Path, **more: Any) -> dict[str, Any]:
    """A recipe that takes seconds, in the short language of the tiny model."""
    options: dict[str, Any] = {
        "model": str(model),
        "output": str(output),
        "data": {"suite": "pocket", "limit": 4},
        "method": {"adapter": "tiny", "profile": "strict", "images": 1, "eta": None},
        "sft": {"steps": 4, "batch": 2, "learner": {"lr": 1e-3}},
        "rl": {"steps": 3, "goals": 2, "rollouts": 2, "learner": {"lr": 1e-3, "kl_coefficient": 1e-2}},
        "max_reply": 24,
        "max_prompt": 600,
        "device": "cpu",
        "tensorboard": False,
    }
    return merged(options, more)


def merged(options: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(options)
    for name, value in more.items():
        inner = out.get(name)
        out[name] = merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return out
