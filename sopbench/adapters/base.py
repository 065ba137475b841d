"""What an adapter is: one model family's language. Pure functions plus declared facts; no I/O.

`render` tells a model its task, `parse` reads its reply, `format` says an action in its words, so that `parse(format(a)) == a` up to the
rounding of the family's coordinates. History is told from the model's own replies only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias

from sopbench.actions import Action
from sopbench.adapters.instruction import with_instruction
from sopbench.geometry import Size
from sopbench.screen import Screen

Role = Literal["system", "user", "assistant", "tool"]
PromptSourceKind = Literal["builtin", "package", "pulled"]

MAX_REPLY = 200_000
"""Characters of a reply that a parser looks at; a longer reply is a parse failure (`reply_too_long`)."""


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Image:
    screen: Screen


Part: TypeAlias = Text | Image


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call in the tool calling of chat completions. `arguments` is JSON as a text, as the model wrote it; `id` joins a call of the history to its result."""

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """`calls` are the tools that an earlier turn of the assistant called; a message of role `tool` says what came of the call with the id `answers`."""

    role: Role
    parts: tuple[Part, ...]
    calls: tuple[ToolCall, ...] = ()
    answers: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """What the agent saw and, unless it is the turn to answer now, what it replied (in history: the reply, or the patch that replaced it)."""

    screen: Screen
    reply: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """`notes` name what had to be repaired or left aside (`single_quotes`, `extra_calls:2`).

    `answer` is what a family that ends its task with a text (`finished(content='42')`) tells the user by it, beside `action`.
    """

    action: Action
    thought: str | None = None
    notes: tuple[str, ...] = ()
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """`reason` is a stable code (`no_action`, `bad_json`, `unknown_action`, ...), `detail` a sentence for people."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class PromptSource:
    """Where the family's words come from: `kind` is builtin, package or pulled; `sha256` is over the texts themselves; `origin` is where this machine has them."""

    kind: PromptSourceKind
    sha256: str
    note: str = ""
    origin: str = ""


class Adapter(ABC):
    """One model family. Instances are stateless; everything that may vary is an argument.

    name: what `--adapter` takes. frame: in words, which pixels the reply's numbers are. expresses: the kinds of action that the family can say.
    history: how earlier steps are told. default_images: how many of the last screens a request carries. server_flags: what `vllm serve` needs.
    default_sampling: what the family's publisher samples with, by the names of `Sampling`; empty where that is not known.
    leaves_out: what the words for an action do not carry, or not exactly, of `swipe.path` (only its direction is said), `long_press.seconds` and `wait.seconds`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    frame: ClassVar[str]
    history: ClassVar[str]
    expresses: ClassVar[frozenset[str]]
    default_images: ClassVar[int] = 2
    server_flags: ClassVar[tuple[str, ...]] = ()
    default_sampling: ClassVar[Mapping[str, float | int]] = MappingProxyType({})
    leaves_out: ClassVar[frozenset[str]] = frozenset()
    image_limit: ClassVar[int | None] = None
    """Pixels that the longer side of a screen may have when it is sent; a larger screen is scaled down by the harness (`picture`). None: sent as it is."""
    image_token_side: ClassVar[int | None] = None
    """Side in pixels (of the image in `sent_size`) of the square that one image token covers, where coordinates are pixels of that size: `doctor` tells
    from the tokens of an image whether the server resizes as the adapter believes. None: it does not matter, or is not known."""
    pixel_limits: ClassVar[tuple[int, int] | None] = None
    """The `min_pixels` and `max_pixels` of the resizing that `sent_size` works out, for the server's flag; None where it does not matter."""

    @abstractmethod
    def prompt_source(self) -> PromptSource: ...

    @abstractmethod
    def sent_size(self, size: Size) -> Size:
        """The image size (or virtual size, such as 1000x1000) whose pixels the reply's coordinates are, for a screen of `size`."""

    @abstractmethod
    def render(self, goal: str, turns: Sequence[Turn], images: int) -> tuple[Message, ...]:
        """The messages that ask for the reply to the last turn; `images` bounds the screens they carry (the last ones; 0 means none)."""

    def render_instructed(
        self, goal: str, turns: Sequence[Turn], images: int, instruction: str | None
    ) -> tuple[Message, ...]:
        """`render` for a suite that also tells the recording's instruction for the step to answer (`androidcontrol-low`, and no other).

        By default the goal text carries it, in our words; a family with a place of its own for it overrides this. None: there is none to tell.
        """
        return self.render(goal if instruction is None else with_instruction(goal, instruction), turns, images)

    def request_fields(self) -> Mapping[str, Any]:
        """What a request carries beside its messages, such as `tools`: ready for JSON, the same for every request, and part of the prompt's hash."""
        return {}

    @abstractmethod
    def parse(self, text: str, size: Size, sent: Size | None = None) -> ParsedReply | ParseFailure:
        """Read a reply about a screen of original `size`. Never raises, whatever the text.

        `sent` says in which size the image really reached the model, where that is not `sent_size(size)` (a server that resizes
        by itself); families that count in per-mille have no use for it.
        """

    def picture(self, screen: Screen) -> Image:
        """`screen` as a request of this family carries it. Costs nothing: scaling down happens when the bytes are asked for."""
        return Image(screen if self.image_limit is None else screen.resized(self.image_limit))

    def can_express(self, action: Action) -> bool:
        """Whether `format` has words for `action`. Families that lack a button or a direction narrow it down further than `expresses`."""
        return action.kind in self.expresses

    @abstractmethod
    def format(self, action: Action, size: Size, thought: str | None = None) -> str:
        """Say `action` as the family's models do. Raises `CannotExpress` where `can_express` says no."""
