"""Is this endpoint fit for a run? A handful of requests that meet early what a run would meet late."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from sopbench.actions import ACTION_KINDS, Action, Click, LongPress, Swipe
from sopbench.adapters.base import Adapter, Message, ParseFailure, Text, Turn
from sopbench.clients import doctor_advice as advice
from sopbench.clients.base import Ask, AskFailed, Reply, Sampling
from sopbench.clients.doctor_pictures import TARGETS, aim, rows, squares
from sopbench.clients.pool import EndpointPool
from sopbench.clients.refusals import IMAGE_LIMIT_ADVICE, TOOLS_ADVICE
from sopbench.clients.served import EndpointError, ServedModel, served_models
from sopbench.clients.urls import normalise_base_url
from sopbench.errors import CannotExpress
from sopbench.geometry import PER_MILLE, Point, Size

Status = Literal["ok", "note", "problem"]

DEFAULT_SCREEN: Final = Size(1080, 2400)
DEFAULT_STEPS: Final = 24
"""The step of an episode whose prompt has to fit the context: the longest episode of the released SOP file has so many."""

_GOAL: Final = "Open the settings"
_TOKEN_SLACK: Final = 16
"""Tokens that an image may cost more than its area: a start and an end token, and a line that announces it."""
_REPLY_ROOM: Final = 2048
"""Tokens that `sopbench run` lets a reply have, if not told otherwise; a server may refuse a request that asks for more than is left."""
_LEAST_ROOM: Final = 256
_THOUGHT: Final = "The list is open, and what the task asks for is not on the screen yet. " * 4
"""As long as models think before a step: some seventy tokens."""

_HELLO: Final = (Message("user", (Text("Say hello."),)),)
_VARIED: Final = (Message("user", (Text("Name an animal, a colour and a number, at random."),)),)
_CALL: Final = (Message("user", (Text("Call the tool `ready`."),)),)
_READY: Final = {
    "type": "function",
    "function": {
        "name": "ready",
        "description": "Says whether you are ready.",
        "parameters": {"type": "object", "properties": {"ready": {"type": "boolean"}}, "required": ["ready"]},
    },
}
_UNSUPPORTED = re.compile(
    r"max_completion_tokens|(?:temperature|max_tokens)['\"`]? (?:is|are|does) not support", re.IGNORECASE
)


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
    steps: int = DEFAULT_STEPS,
    patience: float = 120.0,
) -> AsyncIterator[Check]:
    """Look at the endpoint, cheapest question first; what comes after a problem that makes it pointless is left out.

    `screen` is the size of the test images in pixels, `images` how many a request carries (None: the adapter's choice, and whether two are taken), `steps` how long the longest
    episode is, `patience` the seconds for one request. Raises `UsageError` for an address that is none.
    """
    url = normalise_base_url(base_url)
    found: list[ServedModel] = []
    for check in await _models(url, api_key, found, model, min(patience, 20.0)):
        yield check
    name = model or (found[0].name if len(found) == 1 else None)
    if name is None:
        return
    context = next((m.max_model_len for m in found if m.name == name), None)
    probe = _Probe(adapter, screen, adapter.default_images if images is None else images, steps, context)
    async with _Visit(_Endpoint(url, name, api_key, patience), probe, try_two=images is None) as visit:
        async for check in visit.checks():
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


@dataclass(frozen=True, slots=True)
class _Endpoint:
    url: str
    model: str
    api_key: str | None
    patience: float


@dataclass(frozen=True, slots=True)
class _Probe:
    """What a run would ask for. `images` screens a request; `context` in tokens, where the endpoint tells it."""

    adapter: Adapter
    size: Size
    images: int
    steps: int
    context: int | None


class _Visit:
    """The questions that need the model."""

    def __init__(self, endpoint: _Endpoint, probe: _Probe, *, try_two: bool) -> None:
        self.endpoint, self.try_two = endpoint, try_two
        self.adapter, self.size, self.images = probe.adapter, probe.size, probe.images
        self.steps, self.context = probe.steps, probe.context
        self._pools: dict[str, EndpointPool] = {}
        self._greedy: Sampling | None = Sampling(temperature=0.0, max_tokens=256)
        self._random: Sampling | None = Sampling(temperature=1.0, max_tokens=24)
        self._open = AsyncExitStack()
        self._hello: str | None = None

    async def __aenter__(self) -> _Visit:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._open.aclose()

    async def checks(self) -> AsyncIterator[Check]:
        text = await self._text()
        yield text
        if text.status == "problem":
            return
        if "tools" in self.adapter.request_fields():
            tools, refused = await self._tools()
            yield tools
            if refused:
                return
        async for check in self._screens():
            yield check
        yield await self._same_again()
        yield await self._seed()
        yield await self._logprobs()

    # -- words alone -----------------------------------------------------------------------------------------------

    async def _text(self) -> Check:
        try:
            reply = await self._ask(_HELLO)
        except AskFailed as failed:
            if failed.kind != "rejected" or not _UNSUPPORTED.search(failed.detail):
                return Check("text request", "problem", failed.detail)
            return await self._text_without_limits(failed)
        self._hello = reply.text
        return Check("text request", "ok", f"answered in {reply.latency:.2f} s{_told(reply)}")

    async def _text_without_limits(self, refused: AskFailed) -> Check:
        """Reasoning models of some services take no temperature, and the bound of a reply under another name only."""
        self._greedy = self._random = None
        try:
            reply = await self._ask(_HELLO)
        except AskFailed as failed:
            return Check("text request", "problem", failed.detail)
        self._hello = reply.text
        answered = f"answered in {reply.latency:.2f} s{_told(reply)}, but only without temperature and max_tokens"
        return Check("text request", "note", f"{answered} ({refused.detail})", advice.NO_LIMITS)

    async def _tools(self) -> tuple[Check, bool]:
        """Does the model call a tool when asked to, when forced to, is it shown the tools at all? True where tools are refused."""
        name = "tool calling"
        try:
            asked = await self._ask(_CALL, {"tools": [_READY], "tool_choice": "auto"})
        except AskFailed as failed:
            fix = TOOLS_ADVICE if failed.kind in ("no_tools", "rejected", "server") else None
            return Check(name, "problem", failed.detail.removesuffix(f" ({TOOLS_ADVICE})"), fix), True
        if "tool_calls" in asked.notes:
            return Check(name, "ok", f"the model calls a tool when asked to, in {asked.latency:.2f} s"), False
        choice = {"type": "function", "function": {"name": "ready"}}
        forced: Reply | str
        try:
            forced = await self._ask(_CALL, {"tools": [_READY], "tool_choice": choice})
        except AskFailed as failed:
            forced = failed.detail
        if await self._tools_are_unseen(asked):
            costs = "the request has as many tokens with tools as without: the server's chat template does not tell them to the model"
            return Check(name, "problem", costs, advice.NO_TEMPLATE), False
        if isinstance(forced, Reply) and "tool_calls" in forced.notes:
            only = "the model answers in text when asked to call a tool, and calls it when forced to"
            return Check(name, "note", only, advice.ONLY_FORCED), False
        why = f" ({forced})" if isinstance(forced, str) else ""
        return Check(
            name, "problem", f"no tool call came, asked for or forced{why}: the endpoint drops tools", TOOLS_ADVICE
        ), False

    async def _tools_are_unseen(self, asked: Reply) -> bool:
        try:
            plain = await self._ask(_CALL)
        except AskFailed:
            return False
        return plain.prompt_tokens is not None and plain.prompt_tokens == asked.prompt_tokens

    async def _same_again(self) -> Check:
        """The same question again: greedy decoding need not be reproducible on a server that batches."""
        try:
            reply = await self._ask(_HELLO)
        except AskFailed as failed:
            return Check("same again", "problem", failed.detail)
        how = "at temperature 0" if self._greedy else "with the server's own sampling"
        if reply.text == self._hello:
            return Check("same again", "ok", f"the same reply to the same question {how}")
        return Check("same again", "note", f"another reply to the same question {how}", advice.REPEAT)

    async def _seed(self) -> Check:
        try:
            one, same, other = [await self._ask(_VARIED, seed=seed, random=True) for seed in (1, 1, 2)]
        except AskFailed as failed:
            return Check("seed", "note", f"not known: {failed.detail}")
        if one.text != same.text:
            return Check("seed", "note", "another reply under the same seed: a run cannot be repeated", advice.REPEAT)
        if one.text == other.text:
            return Check("seed", "note", "the same reply under every seed: whether it is honoured does not show")
        return Check("seed", "ok", "honoured: the same reply under the same seed, another under another")

    async def _logprobs(self) -> Check:
        try:
            reply = await self._ask(_HELLO, {"logprobs": True, "top_logprobs": 1})
        except AskFailed as failed:
            return Check("logprobs", "note", f"none ({failed.detail}); no suite needs them")
        if "logprobs" in reply.notes:
            return Check("logprobs", "ok", "told when asked for")
        return Check("logprobs", "note", "none; no suite needs them")

    # -- screens ---------------------------------------------------------------------------------------------------

    async def _screens(self) -> AsyncIterator[Check]:
        """A request as a run would send it, in its last turns; then what only makes sense where that one works."""
        name = f"{self.images} screen{'' if self.images == 1 else 's'} of {self.size}"
        try:
            reply = await self._ask_adapter(_GOAL, self._turns(max(self.images, 1)), self.images)
        except AskFailed as failed:
            yield self._screens_failed(name, failed, self.images)
            return
        yield Check(name, "ok", f"answered in {reply.latency:.2f} s{_told(reply)}")
        yield self._understood(reply)
        if self.try_two and self.images < 2:
            yield await self._two_screens()
        yield await self._long_episode()
        if self.images == 0:
            return
        yield await self._image_size()
        yield await self._aim()

    async def _two_screens(self) -> Check:
        """More than the adapter sends by default; told all the same, since histories with screens are what most families need."""
        parts = [self.adapter.picture(rows(self.size, k)) for k in range(2)]
        try:
            await self._ask((Message("user", (*parts, Text("Two screens."))),))
        except AskFailed as failed:
            found = self._screens_failed("2 screens", failed, 2)
            return Check("2 screens", "note", f"not taken, and not needed: {found.detail}", found.fix)
        return Check("2 screens", "ok", "taken too")

    def _screens_failed(self, name: str, failed: AskFailed, images: int) -> Check:
        match failed.kind:
            case "too_many_images":
                fix = IMAGE_LIMIT_ADVICE.format(n=images)
            case "no_tools":
                fix = TOOLS_ADVICE
            case "context_overflow":
                fix = advice.longer_context()
            case "rejected":
                fix = "is this a model that takes images?"
            case _:
                return Check(name, "problem", failed.detail)
        return Check(name, "problem", failed.detail.removesuffix(f" ({fix})"), fix)

    def _understood(self, reply: Reply) -> Check:
        parsed = self.adapter.parse(reply.text, self.size)
        if isinstance(parsed, ParseFailure):
            words = " ".join(reply.text.split())[:80]
            found = f"adapter {self.adapter.name} finds no action in it ({parsed.reason}): {words!r}"
            return Check("reply", "note", found, advice.ANOTHER_ADAPTER)
        return Check("reply", "ok", f"adapter {self.adapter.name} reads it as {parsed.action.kind}")

    async def _long_episode(self) -> Check:
        """Does the last step of the longest episode fit the context, with replies before it that are as long as models make them?"""
        name = f"step {self.steps} of an episode"
        try:
            reply = await self._ask_adapter(_GOAL, self._turns(self.steps, _THOUGHT), self.images)
        except AskFailed as failed:
            if failed.kind == "rejected":
                return Check(name, "problem", failed.detail)
            return self._screens_failed(name, failed, self.images)
        if reply.prompt_tokens is None or self.context is None:
            return Check(name, "ok", f"taken{_told(reply)}")
        left = self.context - reply.prompt_tokens
        told = f"{reply.prompt_tokens} tokens of {self.context}, which leaves {left} for the reply"
        if left >= _REPLY_ROOM:
            return Check(name, "ok", told)
        fix = f"{advice.longer_context(reply.prompt_tokens + _REPLY_ROOM)}; a run asks for {_REPLY_ROOM} tokens of reply, or for --max-tokens"
        return Check(name, "problem" if left < _LEAST_ROOM else "note", told, fix)

    async def _image_size(self) -> Check:
        """Does the server resize images to the size that the adapter's coordinates mean? Told by the tokens that an image costs."""
        try:
            words, screen = Text("A screen:"), self.adapter.picture(rows(self.size, 0))
            seeing, blind = [await self._ask((Message("user", parts),)) for parts in ((words, screen), (words,))]
        except AskFailed as failed:
            return Check("image size", "note", f"not known: {failed.detail}")
        if seeing.prompt_tokens is None or blind.prompt_tokens is None:
            return Check("image size", "note", "not known: the server tells no usage")
        cost, side = seeing.prompt_tokens - blind.prompt_tokens, self.adapter.image_token_side
        sent = self.adapter.sent_size(self.size)
        if cost <= 0:
            return Check("image size", "note", "not known: the usage that the server tells does not count images")
        if side is None:
            apart = " (the adapter does not count in pixels: resizing moves nothing)" if sent == PER_MILLE else ""
            return Check("image size", "ok", f"{cost} tokens a screen{apart}")
        expected = (sent.width // side) * (sent.height // side)
        if 0 <= cost - expected <= _TOKEN_SLACK:
            counts = f"{cost} tokens a screen: the size {sent} that adapter {self.adapter.name} counts in"
            return Check("image size", "ok", counts)
        scale = (max(cost, 1) / expected) ** 0.5
        about = Size(max(1, round(sent.width * scale)), max(1, round(sent.height * scale)))
        return Check(
            "image size",
            "problem",
            f"a screen of {self.size} costs {cost} tokens, about the size {about}; in the size {sent} that adapter {self.adapter.name} counts in it would be "
            f"{expected}. The server resizes images by other limits, and coordinates would be read wrongly",
            advice.image_limits(self.adapter),
        )

    async def _aim(self) -> Check:
        """Where does the model tap when asked for a coloured square? The answers of a model that can see tell in which frame it counts."""
        name, sent = "coordinates", self.adapter.sent_size(self.size)
        turns = [Turn(squares(self.size))]
        taps: dict[str, Point | None] = {}
        try:
            for colour in TARGETS:
                reply = await self._ask_adapter(f"Tap the {colour} square.", turns, 1)
                taps[colour] = self._tap(reply)
        except AskFailed as failed:
            return Check(name, "note", f"not known: {failed.detail}")
        aimed = aim(taps, sent)
        if aimed.verdict == "hits":
            return Check(name, "ok", "asked for a red and a blue square, the model taps both")
        if aimed.frame is None:
            return Check(
                name, "note", "not known: asked for a red and a blue square, the model taps neither of them reliably"
            )
        told = (
            f"asked for a red and a blue square, the model taps where they are in an image of about {aimed.frame}, but adapter {self.adapter.name} "
            f"counts in {sent}"
        )
        fix = advice.OTHER_FRAME
        if self.adapter.pixel_limits is not None:
            fix = f"{fix}; or the server resizes otherwise: {advice.image_limits(self.adapter)}"
        return Check(name, "problem", told, fix)

    def _tap(self, reply: Reply) -> Point | None:
        parsed = self.adapter.parse(reply.text, self.size)
        if isinstance(parsed, ParseFailure) or not isinstance(parsed.action, Click | LongPress):
            return None
        return parsed.action.point

    def _turns(self, count: int, thought: str | None = None) -> list[Turn]:
        past = _sayable(self.adapter, self.size, thought)
        return [Turn(rows(self.size, k), past if k < count - 1 else None) for k in range(count)]

    # -- asking ----------------------------------------------------------------------------------------------------

    async def _ask_adapter(self, goal: str, turns: Sequence[Turn], images: int) -> Reply:
        return await self._ask(self.adapter.render(goal, turns, images), self.adapter.request_fields())

    async def _ask(
        self,
        messages: tuple[Message, ...],
        fields: Mapping[str, Any] | None = None,
        *,
        seed: int = 0,
        random: bool = False,
    ) -> Reply:
        """Greedily, unless `random`; without sampling options where the endpoint takes none."""
        pool = await self._pool("random" if random else "greedy", self._random if random else self._greedy)
        return await pool.ask(Ask(("doctor", 0, 0), messages, self.size, self.adapter, seed, fields=fields or {}))

    async def _pool(self, kind: str, sampling: Sampling | None) -> EndpointPool:
        key = kind if sampling else "plain"
        if key not in self._pools:
            it = self.endpoint
            pool = EndpointPool(
                [it.url],
                it.model,
                sampling,
                api_key=it.api_key,
                attempt_timeout=it.patience,
                deadline=it.patience,
                max_attempts=1,
            )
            self._pools[key] = await self._open.enter_async_context(pool)
        return self._pools[key]


def _told(reply: Reply) -> str:
    if reply.prompt_tokens is None:
        return ""
    return f", {reply.prompt_tokens} prompt tokens, {reply.completion_tokens} of reply"


def _sayable(adapter: Adapter, size: Size, thought: str | None = None) -> str:
    """An earlier reply to tell in the history."""
    centre = Point(0.5, 0.5)
    likely: tuple[Action, ...] = (Click(centre), Swipe(Point(0.5, 0.75), Point(0.5, 0.25)))
    for action in likely:
        try:
            return adapter.format(action, size, thought)
        except CannotExpress:
            continue
    raise CannotExpress(
        f"adapter {adapter.name} can say neither click nor swipe; the space is {', '.join(ACTION_KINDS)}"
    )
