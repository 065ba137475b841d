"""Is this endpoint fit for a run? A handful of requests that meet early what a run would meet late."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sopbench.actions import ACTION_KINDS, Action, Click, Swipe
from sopbench.adapters.base import Adapter, Message, ParseFailure, Text, Turn
from sopbench.clients.base import Ask, AskFailed, Reply, Sampling
from sopbench.clients.pool import EndpointPool
from sopbench.clients.refusals import IMAGE_LIMIT_ADVICE
from sopbench.clients.served import EndpointError, ServedModel, served_models
from sopbench.clients.urls import normalise_base_url
from sopbench.errors import CannotExpress
from sopbench.geometry import Point, Size
from sopbench.screen import Screen

Status = Literal["ok", "note", "problem"]

DEFAULT_SCREEN = Size(1080, 2400)
_GOAL = "Open the settings"
_TOKEN_SLACK = 16
"""Tokens that an image may cost more than its area: a start and an end token, and a line that announces it."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `fix` says what to do about a problem (or a note)."""

    name: str
    status: Status
    detail: str
    fix: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def examine(
    base_url: str,
    *,
    model: str | None = None,
    adapter: Adapter,
    api_key: str | None = None,
    images: int | None = None,
    screen: Size = DEFAULT_SCREEN,
    patience: float = 120.0,
) -> AsyncIterator[Check]:
    """Look at the endpoint, cheapest question first; what comes after a problem that makes it pointless is left out.

    `screen` is the size of the test images in pixels, `images` how many a request carries (None: the adapter's choice, at least two), `patience` the seconds
    for one request. Raises `UsageError` for an address that is none.
    """
    url = normalise_base_url(base_url)
    found: list[ServedModel] = []
    for check in await _models(url, api_key, found, model, min(patience, 20.0)):
        yield check
    name = model or (found[0].name if len(found) == 1 else None)
    if name is None:
        return
    sampling = Sampling(temperature=0.0, max_tokens=256)
    async with EndpointPool(
        [url], name, sampling, api_key=api_key, attempt_timeout=patience, deadline=patience, max_attempts=1
    ) as pool:
        visit = _Visit(pool, adapter, screen, max(2, adapter.default_images) if images is None else images)
        text = await visit.text()
        yield text
        if text.status == "problem":
            return
        yield await visit.determinism()
        async for check in visit.screens():
            yield check


async def _models(
    url: str, api_key: str | None, found: list[ServedModel], wanted: str | None, patience: float
) -> list[Check]:
    try:
        found += await served_models(url, api_key=api_key, patience=patience)
    except EndpointError as error:
        return [Check("models", "note" if wanted else "problem", str(error))]
    names = [m.name for m in found]
    shown = ", ".join(names[:10]) or "none"
    if wanted is not None and wanted not in names:
        return [
            Check(
                "models",
                "problem",
                f"the endpoint does not list {wanted!r}; it serves: {shown}",
                "name one of these with --model",
            )
        ]
    if wanted is None and len(names) != 1:
        return [
            Check(
                "models", "problem", f"the endpoint serves {len(names)} models: {shown}", "choose one with --model NAME"
            )
        ]
    checks = [Check("models", "ok", f"serves {wanted or names[0]}")]
    length = next((m.max_model_len for m in found if m.name == (wanted or names[0])), None)
    if length is not None:
        checks.append(Check("context", "ok", f"{length} tokens (prompt and reply together)"))
    return checks


class _Visit:
    """The questions that need the model. `images` screens a request."""

    def __init__(self, pool: EndpointPool, adapter: Adapter, screen: Size, images: int) -> None:
        self.pool, self.adapter, self.size, self.images = pool, adapter, screen, images
        self._first_text: str | None = None

    async def text(self) -> Check:
        try:
            reply = await self._ask((Message("user", (Text("Say hello."),)),))
        except AskFailed as failed:
            return Check("text request", "problem", failed.detail)
        self._first_text = reply.text
        return Check("text request", "ok", f"answered in {reply.latency:.2f} s{_told(reply)}")

    async def determinism(self) -> Check:
        """The same question again: greedy decoding need not be reproducible on a server that batches."""
        try:
            reply = await self._ask((Message("user", (Text("Say hello."),)),))
        except AskFailed as failed:
            return Check("same again", "problem", failed.detail)
        if reply.text == self._first_text:
            return Check("same again", "ok", "the same reply to the same question at temperature 0")
        return Check(
            "same again",
            "note",
            "another reply to the same question at temperature 0",
            "run with --repeats 3 or more and look at the intervals",
        )

    async def screens(self) -> AsyncIterator[Check]:
        """A request as a run would send it, in its last turns."""
        name = f"{self.images} screen{'' if self.images == 1 else 's'} of {self.size}"
        try:
            reply = await self._ask(self.adapter.render(_GOAL, self._turns(), self.images))
        except AskFailed as failed:
            yield self._screens_failed(name, failed)
            return
        yield Check(name, "ok", f"answered in {reply.latency:.2f} s{_told(reply)}")
        yield self._understood(reply)
        if (size := await self._image_size()) is not None:
            yield size

    def _screens_failed(self, name: str, failed: AskFailed) -> Check:
        if failed.kind == "too_many_images":
            advice = IMAGE_LIMIT_ADVICE.format(n=self.images)
            return Check(name, "problem", failed.detail.removesuffix(f" ({advice})"), advice)
        if failed.kind == "context_overflow":
            fix = "serve the model with a longer context (vLLM: --max-model-len), or send fewer screens with --history-images"
            return Check(name, "problem", failed.detail, fix)
        return Check(
            name, "problem", failed.detail, "is this a model that takes images?" if failed.kind == "rejected" else None
        )

    def _understood(self, reply: Reply) -> Check:
        parsed = self.adapter.parse(reply.text, self.size)
        if isinstance(parsed, ParseFailure):
            words = " ".join(reply.text.split())[:80]
            return Check(
                "reply",
                "note",
                f"adapter {self.adapter.name} finds no action in it ({parsed.reason}): {words!r}",
                "is this the adapter of the model's family? `sopbench adapters` lists them",
            )
        return Check("reply", "ok", f"adapter {self.adapter.name} reads it as {parsed.action.kind}")

    async def _image_size(self) -> Check | None:
        """Does the server resize images to the size that the adapter's coordinates mean? Told by the tokens that an image costs."""
        side = self.adapter.image_token_side
        if side is None or self.images == 0:
            return None
        now = [Turn(_screen(self.size, 0))]
        try:
            seeing, blind = [await self._ask(self.adapter.render(_GOAL, now, images)) for images in (1, 0)]
        except AskFailed as failed:
            return Check("image size", "note", f"not known: {failed.detail}")
        if seeing.prompt_tokens is None or blind.prompt_tokens is None:
            return Check("image size", "note", "not known: the server tells no usage")
        sent = self.adapter.sent_size(self.size)
        expected, cost = (sent.width // side) * (sent.height // side), seeing.prompt_tokens - blind.prompt_tokens
        if 0 <= cost - expected <= _TOKEN_SLACK:
            return Check(
                "image size",
                "ok",
                f"{cost} tokens a screen: the size {sent} that adapter {self.adapter.name} counts in",
            )
        return Check(
            "image size",
            "problem",
            f"a screen of {self.size} costs {cost} tokens; in the size {sent} that adapter {self.adapter.name} counts in it would be {expected}. "
            "The server resizes images by other limits, and coordinates would be read wrongly",
            f"the adapter counts in {self.adapter.frame}; vLLM's limits are set by --mm-processor-kwargs "
            """'{"min_pixels": N, "max_pixels": N}' and by the model's preprocessor_config.json""",
        )

    def _turns(self) -> list[Turn]:
        past = _sayable(self.adapter, self.size)
        count = max(self.images, 1)
        return [Turn(_screen(self.size, k), past if k < count - 1 else None) for k in range(count)]

    async def _ask(self, messages: tuple[Message, ...]) -> Reply:
        return await self.pool.ask(Ask(("doctor", 0, 0), messages, self.size, self.adapter, seed=0))


def _told(reply: Reply) -> str:
    if reply.prompt_tokens is None:
        return ""
    return f", {reply.prompt_tokens} prompt tokens, {reply.completion_tokens} of reply"


def _sayable(adapter: Adapter, size: Size) -> str:
    """An earlier reply to tell in the history."""
    centre = Point(0.5, 0.5)
    likely: tuple[Action, ...] = (Click(centre), Swipe(Point(0.5, 0.75), Point(0.5, 0.25)))
    for action in likely:
        try:
            return adapter.format(action, size)
        except CannotExpress:
            continue
    raise CannotExpress(
        f"adapter {adapter.name} can say neither click nor swipe; the space is {', '.join(ACTION_KINDS)}"
    )


def _screen(size: Size, number: int) -> Screen:
    """A picture of a list of rows, as a phone shows one; each number another colour."""
    from PIL import Image as Picture
    from PIL import ImageDraw

    picture = Picture.new("RGB", (size.width, size.height), (244, 245, 248))
    draw = ImageDraw.Draw(picture)
    colour = [(52, 120, 246), (48, 176, 110), (232, 122, 48)][number % 3]
    height = max(size.height // 12, 4)
    for row in range(1, 10):
        top = row * height
        draw.rectangle([size.width // 12, top, size.width - size.width // 12, top + height // 2], fill=colour)
    data = io.BytesIO()
    picture.save(data, "PNG")
    return Screen.from_bytes(data.getvalue(), f"doctor {number}")
