"""The colour language: what the tiny model of these tests is taught, and so what a server that works must answer.

A screen is red, green, blue or plain. The right reply names the colours of the first and of the last screen in the request
(one and the same if it carries one only) and does what the last one asks for. So a reply proves which images reached the
model, and in which order. It is written as the `uis1` family writes: coordinates are pixels of the image after smart_resize, which makes 532x1204
of a screen of 540x1200.

Only Pillow is imported here: the harness's environment and the server's both use this module.
"""

from __future__ import annotations

import io
import json
import random
from typing import Any, Final, Literal, get_args

from PIL import Image, ImageDraw

Colour = Literal["red", "green", "blue", "plain"]
COLOURS: Final[tuple[Colour, ...]] = get_args(Colour)

SCREEN: Final = (540, 1200)
"""Width and height of a screen, in pixels."""
SENT: Final = (532, 1204)
"""The same after smart_resize: the image whose pixels a `uis1` model's coordinates are."""

ACTIONS: Final[dict[Colour, dict[str, Any]]] = {
    "red": {"action": "click", "coordinate": [266, 301]},
    "green": {"action": "swipe", "coordinate": [266, 903], "coordinate2": [266, 301]},
    "blue": {"action": "system_button", "button": "Back"},
    "plain": {"action": "wait", "time": 2},
}
"""What each colour asks for, in the released form, coordinates in pixels of `SENT`."""


def reply(first: Colour, last: Colour) -> str:
    """The right reply to a request whose first image is `first` and whose last is `last`."""
    action = ACTIONS[last]
    return f"<think>first {first} last {last} so {action['action']}</think>\n<action>{json.dumps(action)}</action>"


def draw(colour: Colour, seed: int) -> Image.Image:
    """A screen of that colour: much of it has the colour's hue, the rest is bars and cards as on a phone. The same for the same seed."""
    rng = random.Random(f"{colour}/{seed}")
    width, height = SCREEN
    image = Image.new("RGB", SCREEN, _shade(colour, rng))
    pen = ImageDraw.Draw(image)
    if colour == "plain" and rng.random() < 0.6:
        edge = rng.randint(200, height - 200)
        pen.rectangle(rng.choice([(0, 0, width, edge), (0, edge, width, height)]), fill=_pale(rng))
    pen.rectangle((0, 0, width, 40), fill=rng.choice([(20, 20, 24), (245, 245, 247)]))
    for _ in range(rng.randint(0, 6)):
        x, y = rng.randint(0, width - 120), rng.randint(60, height - 160)
        box = (x, y, min(width, x + rng.randint(60, 300)), y + rng.randint(30, 110))
        pen.rounded_rectangle(box, radius=16, fill=_card(colour, rng))
        pen.rectangle((x + 12, y + 10, min(width, x + 60), y + 18), fill=(40, 40, 44))
    return image


def png(colour: Colour, seed: int) -> bytes:
    """`draw`, as the bytes of a PNG file."""
    buffer = io.BytesIO()
    draw(colour, seed).save(buffer, "PNG")
    return buffer.getvalue()


def _shade(colour: Colour, rng: random.Random) -> tuple[int, int, int]:
    strong, weak = rng.randint(170, 255), [rng.randint(0, 70) for _ in range(2)]
    if colour == "red":
        return strong, weak[0], weak[1]
    if colour == "green":
        return weak[0], strong, weak[1]
    if colour == "blue":
        return weak[0], weak[1], strong
    return _pale(rng)


def _pale(rng: random.Random) -> tuple[int, int, int]:
    """White, a grey or a pale tint: what the backgrounds, sheets and dimmed screens of real apps are made of."""
    grey = rng.randint(115, 250)
    red, green, blue = (min(255, max(0, grey + rng.randint(-14, 14))) for _ in range(3))
    return red, green, blue


def _card(colour: Colour, rng: random.Random) -> tuple[int, int, int]:
    if colour == "plain" and rng.random() < 0.25:
        return rng.randint(30, 255), rng.randint(30, 255), rng.randint(30, 255)
    grey = rng.randint(215, 255)
    return grey, grey, grey
