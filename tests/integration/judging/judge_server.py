"""A stand-in for a VLM: it looks at the screens that it is sent and says success where one of them is green enough."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from aiohttp import web
from fault_server import Behaviour, Got, completion
from PIL import Image


def pictures(body: dict[str, Any]) -> list[Image.Image]:
    """The screens of a request, oldest first."""
    parts = [
        part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) for url in urls]


def texts(body: dict[str, Any]) -> str:
    parts = [
        part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    return "\n".join(part["text"] for part in parts if part["type"] == "text")


def green(picture: Image.Image) -> bool:
    pixels = np.asarray(picture.convert("RGB")).astype(int)
    return bool(((pixels[..., 1] > 120) & (pixels[..., 0] < 60) & (pixels[..., 2] < 60)).mean() > 0.3)


def seeing(decide: Callable[[dict[str, Any], list[Image.Image]], bool]) -> Behaviour:
    """Judges by `decide(request, screens)`, as a well-behaved model would put it."""

    async def behave(request: web.Request, got: Got) -> web.StreamResponse:
        body = await request.json()
        verdict = decide(body, pictures(body))
        return web.json_response(completion(f"I looked.\n{json.dumps({'success': verdict})}"))

    return behave
