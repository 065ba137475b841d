"""Make the tiny model that the end-to-end tests serve: a Qwen2.5-VL of half a million parameters that speaks `colours`.

    .venv-vllm/bin/python -m tests.e2e.tiny_vlm OUT WORDS

The folder holds what any Qwen2.5-VL folder holds (weights, tokenizer, processor, chat template), so the server takes its usual
path. The weights start random and are trained here for about a minute, with a fixed seed, on screens and dialogues made up on
the spot; nothing is downloaded. WORDS is a JSON file with the texts that the harness really sends, as `{"system": [...], "turn":
[...]}`; they stand among those that are made up. It ends with an error, and writes no `ready.json`, if the model does not answer a held-out set
without a mistake.

Its image processor shrinks every screen to three visual tokens (`MAX_PIXELS`), far below the limits that the `uis1` family
declares. That keeps a CPU quick, and is the situation of a server that resizes images by limits of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .colours import ACTIONS, COLOURS, Colour, draw, reply

PATCH: Final = 14
MERGE: Final = 2
TOKEN: Final = PATCH * MERGE
"""Side of the square, in pixels, that becomes one visual token."""
MIN_PIXELS: Final = 2 * TOKEN**2
MAX_PIXELS: Final = 6 * TOKEN**2

SPECIALS: Final = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<|picture_1|>",
    "<|picture_2|>",
)
IMAGE: Final = "<|vision_start|><|image_pad|><|vision_end|>"
IMAGES: Final = (IMAGE + "<|picture_1|>", IMAGE + "<|picture_2|>")
"""The first image of a request and those after it. The numbers are this model's own, and what makes it learn their order in a minute."""
ASK: Final = "<|im_start|>assistant\n"
END: Final = "<|im_end|>\n"

IGNORED: Final = -100
"""The label of a token on which the student is not taught."""

TERMS: Final = ((300, 4e-3), (200, 2e-3), (200, 2e-3), (200, 2e-3), (200, 2e-3))
"""Steps and highest learning rate of each round of training. The first has short prompts only, in which it is soon found out which
image is meant. From the second on the rounds end when an exam is passed without a mistake; the later ones are a reserve for a machine
whose arithmetic leads elsewhere."""

POOL: Final[dict[Colour, int]] = {"red": 120, "green": 120, "blue": 120, "plain": 480}
"""Different screens of each colour to learn from; with few, the student learns those by heart and errs on others. Plain ones vary most."""

SHORT: Final = (5, 10, 20)
PROSE: Final = (10, 10, 20, 20, 60, 60, 200)
"""The most words of a made-up system prompt, one drawn for each: in the first round, and later."""
REAL: Final = 0.5
"""The share of dialogues whose texts are the harness's own."""
BATCH_TOKENS: Final = 2400
"""A batch has so many tokens at most, padding included; dialogues of like length share one."""

TEMPLATE: Final = (
    "{% set seen = namespace(images=0) %}"
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] in ('image', 'image_url') %}{% set seen.images = seen.images + 1 %}"
    "{% if seen.images == 1 %}" + IMAGES[0] + "{% else %}" + IMAGES[1] + "{% endif %}"
    "{% elif 'text' in part %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

SPLIT: Final = r" ?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+"

VOCABULARY: Final = (
    "a add agent alarm all an and answer app as at back be box button by can card check click close content coordinate date delete do"
    " done down drag each earlier edit enter far find finger first for form format from give go goal has height home how icon image in"
    " input instruction is it item json key last left list long mail mark me menu message must name next new no not note now of off on one"
    " open or out own page phone photo picture pixel point press previous reply right row same save say screen screenshot scroll search"
    " second seconds see send set settings should show so start state status step string success swipe system tap task text that the"
    " then there think this thought time timer title to top turn type two under until up use user video wait was what when which width"
    " with word write x y you your"
)
BITS: Final = (
    '{"action":',
    '"coordinate":',
    '"text": "..."',
    "[x, y]",
    "}",
    "<think>",
    "</think>",
    "<action>",
    "</action>",
    "\n",
    "\n\n",
    "\n# ",
    "\n- ",
    "Goal:",
    "...",
)
WORDS: Final = tuple(VOCABULARY.split())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("out", type=Path, help="folder to write; made if missing")
    parser.add_argument("words", type=Path, help="JSON file of the texts that the harness sends")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

    began = time.monotonic()
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "ready.json").unlink(missing_ok=True)
    student = Student(options.out, options.seed, Words(**json.loads(options.words.read_text())))
    facts: dict[str, Any] = {"parameters": student.parameters, "seed": options.seed}
    for term, (steps, rate) in enumerate(TERMS):
        student.train(steps, rate)
        if not student.advanced:
            student.advanced = True
            continue
        right, asked = student.exam(term)
        facts |= {"terms": term + 1, "right": right, "asked": asked, "seconds": round(time.monotonic() - began, 1)}
        print(json.dumps(facts), flush=True)
        if right == asked:
            student.save()
            (options.out / "ready.json").write_text(json.dumps(facts) + "\n")
            return 0
    print(
        f"tiny_vlm: it answers only {right} of {asked} new requests after {len(TERMS)} terms; lengthen TERMS",
        file=sys.stderr,
    )
    return 1


@dataclass(frozen=True)
class Words:
    """Texts of real requests: system prompts, and what stands before the screen in a turn."""

    system: list[str]
    turn: list[str]


@dataclass(frozen=True)
class Dialogue:
    """A request and its right answer.

    pieces: the request's text, with one of `IMAGES` for each screen, in parts; a part marked True is an earlier reply of the assistant
    that is right about the screens before it, so the student can be taught on it too. screens: their colours, in order.
    """

    pieces: tuple[tuple[str, bool], ...]
    screens: tuple[Colour, ...]

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)

    @property
    def answer(self) -> str:
        return reply(self.screens[0], self.screens[-1])


def dialogue(rng: random.Random, longest: int, words: Words | None = None) -> Dialogue:
    """A made-up request of the shape that the `uis1` family sends: one turn a screen, of which the last one or two are shown.

    Its texts are from `words`, or where there are none, made up; `longest` bounds the words of its system prompt.
    """
    colours = [rng.choice(COLOURS) for _ in range(rng.randint(1, 5))]
    shown = min(len(colours), rng.choice([1, 2, 2, 2]))
    system = rng.choice(words.system) if words else _prose(rng, longest)
    pieces = [(f"<|im_start|>system\n{system}<|im_end|>\n", False)]
    for index, colour in enumerate(colours):
        visible = index >= len(colours) - shown
        image = IMAGES[index - len(colours) + shown] if visible else ""
        pieces.append((_turn(rng, image, 60 if index == 0 else 12, words) + ASK, False))
        if index < len(colours) - 1:
            # Half the time the history says anything, so that only the screens themselves can be trusted.
            right = visible and rng.random() < 0.5
            said = reply(colour, colour) if right else reply(rng.choice(COLOURS), rng.choice(COLOURS))
            pieces += [(said + END, right)]
    return Dialogue(tuple(pieces), tuple(colours[-shown:]))


def _turn(rng: random.Random, image: str, longest: int, words: Words | None) -> str:
    before, after = (_prose(rng, longest) if rng.random() < 0.5 else "" for _ in range(2))
    if words:
        before, after = rng.choice(words.turn), ""
    return f"<|im_start|>user\n{before}{image}{after}<|im_end|>\n"


def _prose(rng: random.Random, longest: int) -> str:
    """Up to `longest` words: known ones, unknown ones, numbers, and the bits of the reply language that a prompt explains it with."""
    pieces = []
    for _ in range(rng.randint(0, longest)):
        kind = rng.random()
        if kind < 0.75:
            pieces.append(rng.choice(WORDS))
        elif kind < 0.85:
            pieces.append("".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(2, 9))))
        elif kind < 0.9:
            pieces.append(str(rng.randint(0, 1200)) + rng.choice(["", ",", "."]))
        elif kind < 0.99:
            pieces.append(rng.choice(BITS))
        else:
            action = json.dumps(rng.choice(list(ACTIONS.values())))
            pieces.append(
                rng.choice([action, f"<action>{action}</action>", f"<think> it </think> <action> {action} </action>"])
            )
    return " ".join(pieces)


@dataclass(frozen=True)
class Lesson:
    """A dialogue as the model takes it. row: each token with its label; screens: each image's patches and grid."""

    row: list[tuple[int, int]]
    screens: list[tuple[Any, Any]]


class Student:
    """The model, its tokenizer and image processor, and how it is taught and examined."""

    def __init__(self, folder: Path, seed: int, words: Words) -> None:
        import torch  # type: ignore[import-not-found, unused-ignore]

        self.torch = torch
        torch.manual_seed(seed)
        # Two threads that wait for each other after each small matrix take ten times as long where other work shares the cores.
        torch.set_num_threads(1)
        self.folder, self.words = folder, words
        self.rng = random.Random(seed)
        self.advanced = False
        self.pool: dict[Colour, list[tuple[Any, Any]]] = {}
        self.tokenizer = _tokenizer(words)
        self.model = _model(self.tokenizer)
        self.tokenizer.save_pretrained(folder)
        _write_processor(folder)
        self.model.save_pretrained(folder)
        from transformers import AutoProcessor  # type: ignore[import-not-found, unused-ignore]

        self.processor = AutoProcessor.from_pretrained(folder)

    @property
    def parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    def save(self) -> None:
        self.model.save_pretrained(self.folder)

    def train(self, steps: int, rate: float) -> None:
        """One term: AdamW, the rate rising for a tenth of `steps` and then falling to nothing.

        The second beta is short, 0.95: in so few steps the usual 0.999 never forgets the first gradients, and took twice as many.
        """
        torch = self.torch
        self.pool = self.pool or {c: [self._pixels(draw(c, n)) for n in range(POOL[c])] for c in COLOURS}
        optimiser = torch.optim.AdamW(self.model.parameters(), rate, betas=(0.9, 0.95), weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps, pct_start=0.1)
        self.model.train()
        began = time.monotonic()
        for step, lessons in zip(range(steps), self._batches(), strict=False):
            loss = self.model(**self._tensors(lessons)).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
            if step % 20 == 0 or step == steps - 1:
                print(f"step {step}: loss {loss.item():.4f}, {time.monotonic() - began:.0f} s", flush=True)

    def exam(self, term: int, asked: int = 64) -> tuple[int, int]:
        """How many of `asked` new requests, on screens never seen, it answers right to the letter under greedy decoding."""
        rng = random.Random(f"exam {term}")
        self.model.eval()
        right = 0
        for number in range(asked):
            request = dialogue(rng, 30, None if number % 4 == 0 else self.words)
            images = [draw(c, 1000 * (term + 1) + number) for c in request.screens]
            inputs = self.processor(text=[request.text], images=images, return_tensors="pt")
            with self.torch.no_grad():
                tokens = self.model.generate(**inputs, max_new_tokens=96, do_sample=False)
            said = self.tokenizer.decode(tokens[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
            right += said == request.answer
            if said != request.answer:
                print(f"wanted {request.answer!r}, got {said!r}", flush=True)
        return right, asked

    def _pixels(self, image: Any) -> tuple[Any, Any]:
        features = self.processor.image_processor(images=[image], return_tensors="pt")
        return features["pixel_values"], features["image_grid_thw"]

    def _batches(self) -> Iterator[list[Lesson]]:
        """Dialogues without end, the like in length together so that little is padding, batches in random order."""
        while True:
            lessons = sorted((self._lesson() for _ in range(96)), key=lambda lesson: len(lesson.row))
            batches: list[list[Lesson]] = [[]]
            for lesson in lessons:
                if (len(batches[-1]) + 1) * len(lesson.row) > BATCH_TOKENS and batches[-1]:
                    batches.append([])
                batches[-1].append(lesson)
            self.rng.shuffle(batches)
            yield from batches

    def _lesson(self) -> Lesson:
        """A new dialogue on screens from the pool.

        Beside the right replies, the student is taught to know after each image what its colour is: half of the way to the reply.
        """
        words = self.words if self.advanced and self.rng.random() < REAL else None
        talk = dialogue(self.rng, self.rng.choice(PROSE if self.advanced else SHORT), words)
        screens = [self.rng.choice(self.pool[colour]) for colour in talk.screens]
        image = self.tokenizer.convert_tokens_to_ids("<|image_pad|>")
        marks = self.tokenizer.convert_tokens_to_ids(["<|picture_1|>", "<|picture_2|>"])
        row: list[tuple[int, int]] = []
        seen, side = 0, IGNORED
        for text, taught in (*talk.pieces, (talk.answer + END, True)):
            for token in self.tokenizer(text).input_ids:
                count = 1
                if token == image:
                    _, grid = screens[seen]
                    count, seen = int(grid.prod()) // MERGE**2, seen + 1
                row += [(token, token if taught else side)] * count
                # A label says what the model should put out one token before it.
                side = self._word(" " + talk.screens[seen - 1]) if token in (image, *marks) else IGNORED
        return Lesson(row, screens)

    def _word(self, text: str) -> int:
        """The number of a word that is one token."""
        (token,) = self.tokenizer(text).input_ids
        return int(token)

    def _tensors(self, lessons: Sequence[Lesson]) -> dict[str, Any]:
        """The model's inputs, padded on the right."""
        torch = self.torch
        pad, image = self.tokenizer.pad_token_id, self.tokenizer.convert_tokens_to_ids("<|image_pad|>")
        rows = [lesson.row for lesson in lessons]
        screens = [screen for lesson in lessons for screen in lesson.screens]
        width = max(len(row) for row in rows)
        ids = torch.full((len(rows), width), pad)
        labels, mask = torch.full_like(ids, IGNORED), torch.zeros_like(ids)
        for index, row in enumerate(rows):
            ids[index, : len(row)], labels[index, : len(row)] = torch.tensor(row).T
            mask[index, : len(row)] = 1
        return {
            "input_ids": ids,
            "attention_mask": mask,
            "labels": labels,
            "pixel_values": torch.cat([patches for patches, _ in screens]),
            "image_grid_thw": torch.cat([grid for _, grid in screens]),
            "mm_token_type_ids": (ids == image).int(),
        }


def _tokenizer(words: Words) -> Any:
    """A byte-level BPE in which every common word is one token, and any other text is still representable."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers  # type: ignore[import-not-found, unused-ignore]
    from transformers import PreTrainedTokenizerFast  # type: ignore[import-not-found, unused-ignore]

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    replies = [reply(first, last) for first in COLOURS for last in COLOURS]
    common = [f"{w} {w}" for w in WORDS]
    trainer = trainers.BpeTrainer(
        vocab_size=1200, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    core.train_from_iterator(replies + common * 2 + (words.system + words.turn) * 2, trainer)
    core.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in SPECIALS])
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=list(SPECIALS[1:]),
        chat_template=TEMPLATE,
        model_max_length=32768,
        clean_up_tokenization_spaces=False,
    )


def _model(tokenizer: Any) -> Any:
    """The smallest Qwen2.5-VL that vLLM's CPU attention takes: its text heads must have 32, 64, 80, 96, ... dimensions."""
    from transformers import GenerationConfig, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration  # type: ignore[import-not-found, unused-ignore]

    number = tokenizer.convert_tokens_to_ids
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 3,
        "initializer_range": 0.04,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 32768,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 6, 6]},
        "bos_token_id": number("<|endoftext|>"),
        "eos_token_id": number("<|im_end|>"),
        "pad_token_id": number("<|endoftext|>"),
    }
    vision = {
        "depth": 2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_heads": 1,
        "out_hidden_size": 64,
        "patch_size": PATCH,
        "spatial_merge_size": MERGE,
        "temporal_patch_size": 2,
        "window_size": 112,
        "fullatt_block_indexes": [0, 1],
    }
    config = Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        tie_word_embeddings=False,
        image_token_id=number("<|image_pad|>"),
        video_token_id=number("<|video_pad|>"),
        vision_start_token_id=number("<|vision_start|>"),
        vision_end_token_id=number("<|vision_end|>"),
    )
    model = Qwen2_5_VLForConditionalGeneration(config)
    model.generation_config = GenerationConfig(
        eos_token_id=[number("<|im_end|>")], pad_token_id=number("<|endoftext|>"), do_sample=False
    )
    return model


def _write_processor(folder: Path) -> None:
    shared = {
        "do_convert_rgb": True,
        "do_normalize": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "rescale_factor": 1 / 255,
        "resample": 3,
        "patch_size": PATCH,
        "merge_size": MERGE,
        "temporal_patch_size": 2,
        "processor_class": "Qwen2_5_VLProcessor",
        "size": {"shortest_edge": MIN_PIXELS, "longest_edge": MAX_PIXELS},
    }
    image = shared | {"image_processor_type": "Qwen2VLImageProcessor"}
    video = shared | {"video_processor_type": "Qwen2VLVideoProcessor"}
    (folder / "preprocessor_config.json").write_text(json.dumps(image, indent=1) + "\n")
    (folder / "video_preprocessor_config.json").write_text(json.dumps(video, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
