"""Messages to what a model takes: token ids, patches of the pictures, positions.

The ids of a prompt are made once, by the generation; training takes them from there, with the reply's ids behind them as they were generated.
No text is ever turned into tokens twice. The result equals that of the model's own processor and chat template, which a test holds it to.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from sopbench.adapters.base import Image, Message, Text
from sopbench.clients.base import AskFailed
from sopbench.errors import DataError, UsageError
from sopbench.screen import Screen
from uis1_train.embedded.model import LocalModel

MAX_TEXTS = 4096
MAX_PICTURE_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """One screen as the model counts it: `grid` is (frames, height, width) in patches, `tokens` what it takes of the prompt. `Featurizer.patches` has its pixels."""

    key: str
    screen: Screen
    grid: tuple[int, int, int]
    tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    ids: tuple[int, ...]
    pictures: tuple[Picture, ...]

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for prompts that a model cannot tell apart."""
        return (self.ids, tuple(picture.key for picture in self.pictures))


class Featurizer:
    """For one model. `max_prompt` bounds the tokens of a prompt, `max_images` its pictures. Not for several threads at once."""

    def __init__(self, model: LocalModel, *, max_prompt: int, max_images: int | None = None) -> None:
        self.model = model
        self.max_prompt, self.max_images = max_prompt, max_images
        self._texts: OrderedDict[str, tuple[int, ...]] = OrderedDict()
        self._pictures: dict[str, Picture] = {}
        self._patches: OrderedDict[str, torch.Tensor] = OrderedDict()
        self._bytes = 0

    def prompt(self, messages: Sequence[Message], *, answered: bool = False) -> Prompt:
        """The request for the next reply; with `answered`, the conversation as it stands.

        Raises `AskFailed`: `too_many_images` or `context_overflow`, as a server would refuse it; `screen` where a picture cannot be read.
        """
        screens = [part.screen for message in messages for part in message.parts if isinstance(part, Image)]
        if not self.model.sees:
            screens = []
        if self.max_images is not None and len(screens) > self.max_images:
            raise AskFailed(
                "too_many_images",
                f"a request carries {len(screens)} screens, the limit is {self.max_images}: raise max_images, or show less history (history_images)",
                fatal=True,
            )
        try:
            pictures = tuple(self.picture(screen) for screen in screens)
        except DataError as error:
            raise AskFailed("screen", str(error)) from error
        ids = self._expanded(self.tokens(self.written(messages, answered=answered)), pictures)
        if len(ids) > self.max_prompt:
            raise AskFailed(
                "context_overflow",
                f"a prompt of {len(ids)} tokens, the limit is {self.max_prompt} (max_prompt), the model's context {self.model.context}",
            )
        return Prompt(ids, pictures)

    def written(self, messages: Sequence[Message], *, answered: bool = False) -> str:
        """The conversation in the model's chat template; each picture is one placeholder."""
        told = [self._told(message) for message in messages]
        text: str = self.model.template.apply_chat_template(told, tokenize=False, add_generation_prompt=not answered)
        return text

    def tokens(self, text: str) -> tuple[int, ...]:
        """The tokens of a text that is already in the chat template."""
        known = self._texts.get(text)
        if known is None:
            known = tuple(self.model.tokenizer(text, add_special_tokens=False)["input_ids"])
            self._texts[text] = known
            if len(self._texts) > MAX_TEXTS:
                self._texts.popitem(last=False)
        else:
            self._texts.move_to_end(text)
        return known

    @cached_property
    def end_of_reply(self) -> int:
        """The token that the chat template puts behind a reply: what a reply has to end with. Raises `UsageError` where that is none of the model's ends."""
        user, said = Message("user", (Text("a"),)), "b"
        asked = self.written([user])
        whole = self.written([user, Message("assistant", (Text(said),))], answered=True)
        behind = self.tokens(whole[len(asked) + len(said) :]) if whole.startswith(asked + said) else ()
        if not behind or behind[0] not in self.model.eos:
            raise UsageError(
                f"model {self.model.folder}: its chat template does not put an end-of-sequence token right behind a reply, so the model would never learn to stop"
            )
        return behind[0]

    def decode(self, ids: Sequence[int]) -> str:
        """A reply as text, without special tokens: as it enters history."""
        text: str = self.model.tokenizer.decode(list(ids), skip_special_tokens=True)
        return text

    def picture(self, screen: Screen) -> Picture:
        """What `screen` takes of a prompt. Raises `DataError`."""
        key = screen.fingerprint
        if key not in self._pictures:
            grid = self._made(key, screen)
            self._pictures[key] = Picture(key, screen, grid, grid[0] * grid[1] * grid[2] // self.model.merge**2)
        return self._pictures[key]

    def patches(self, picture: Picture) -> torch.Tensor:
        """The pixels of `picture` for the vision tower: [height * width of its grid, values of a patch]. Made again where they no longer are in memory."""
        if picture.key not in self._patches:
            self._made(picture.key, picture.screen)
        self._patches.move_to_end(picture.key)
        return self._patches[picture.key]

    def _made(self, key: str, screen: Screen) -> tuple[int, int, int]:
        features = self.model.image_processor(images=[screen.decode()], return_tensors="pt")
        patches: torch.Tensor = features["pixel_values"]
        self._patches[key] = patches
        self._bytes += patches.nbytes
        while self._bytes > MAX_PICTURE_BYTES and len(self._patches) > 1:
            _, old = self._patches.popitem(last=False)
            self._bytes -= old.nbytes
        frames, height, width = features["image_grid_thw"][0].tolist()
        return frames, height, width

    def positions(self, prompt: Prompt, following: int = 0) -> torch.Tensor:
        """Of every token of `prompt` and of `following` tokens behind it: [length], or of a model that sees [3, length] (frame, row, column).

        Qwen2-VL's rule (arXiv 2409.12191, section 2.1, M-RoPE): a picture's tokens count rows and columns from where it stands, text goes on behind the largest.
        """
        length = len(prompt.ids) + following
        if self.model.image_token is None:
            return torch.arange(length)
        parts, at, reached = [], 0, 0
        ids = torch.tensor(prompt.ids)
        places = ids.eq(self.model.image_token).nonzero().flatten().tolist()
        for picture in prompt.pictures:
            start = places[0]
            parts.append(torch.arange(reached, reached + start - at).expand(3, -1))
            reached += start - at
            frames, height, width = picture.grid
            rows, columns = height // self.model.merge, width // self.model.merge
            grid = torch.cartesian_prod(torch.arange(frames), torch.arange(rows), torch.arange(columns)).T
            parts.append(grid + reached)
            reached += max(rows, columns)
            at, places = start + picture.tokens, places[picture.tokens :]
        parts.append(torch.arange(reached, reached + length - at).expand(3, -1))
        return torch.cat(parts, 1)

    def _told(self, message: Message) -> dict[str, Any]:
        if message.calls or message.role == "tool":
            raise UsageError(
                "this adapter speaks through the tool calling of a server, which a model in this process has not: take an adapter that writes its actions as text"
            )
        if not self.model.sees:
            return {"role": message.role, "content": "".join(p.text for p in message.parts if isinstance(p, Text))}
        parts = [{"type": "text", "text": p.text} if isinstance(p, Text) else {"type": "image"} for p in message.parts]
        return {"role": message.role, "content": parts}

    def _expanded(self, ids: tuple[int, ...], pictures: Sequence[Picture]) -> tuple[int, ...]:
        """Each placeholder as many times as its picture has tokens."""
        token = self.model.image_token
        if token is None:
            return ids
        if (found := ids.count(token)) != len(pictures):
            raise AskFailed(
                "rejected",
                f"the conversation has {found} placeholders for {len(pictures)} screens: a text in it spells the placeholder, or the chat template leaves screens out",
            )
        out: list[int] = []
        waiting = iter(pictures)
        for one in ids:
            out.extend([one] * (next(waiting).tokens if one == token else 1))
        return tuple(out)
