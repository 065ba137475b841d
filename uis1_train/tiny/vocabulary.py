"""The tiny model's own tokenizer: whole words, numbers up to two digits, coordinates and the fixed parts of a reply are one token each; all else is spelt in bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import regex

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

SPECIALS: Final = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
PAD, BEGIN, END, VISION, VISION_END, IMAGE, VIDEO = SPECIALS

SPLIT: Final = r" ?\p{L}+|\p{N}{1,4}| ?[^\s\p{L}\p{N}]|\s"
"""What a word is. A number never carries the space before it, so that it is the same token wherever it stands."""

FIXED: Final = (
    "<think>",
    "</think><action>",
    "<action>",
    "</action>",
    '{"action": "click", "coordinate": [',
    '{"action": "long_press", "coordinate": [',
    '{"action": "swipe", "coordinate": [',
    '{"action": "type", "text": "',
    '{"action": "open", "text": "',
    '{"action": "system_button", "button": "',
    '{"action": "key", "text": "',
    '{"action": "wait", "time": ',
    '{"action": "answer", "text": "',
    '{"action": "terminate", "status": "',
    ", ",
    "]}",
    '"}',
    "]}</action>",
    '"}</action>',
    "}</action>",
    '], "time": ',
    '], "coordinate2": [',
)
"""Parts of the language that are always the same: one token each, so that a reply is about ten tokens."""

STEP: Final = 42
"""Pixels between the coordinates of cells' edges and middles on the display `large`."""

TEMPLATE: Final = (
    "{% for message in messages %}<|im_start|>"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] in ('image', 'image_url') %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif 'text' in part %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>{% endif %}"
)
"""A message between its two marks and nothing more: the family knows one user turn and its reply."""


def pieces(text: str) -> list[str]:
    """`text` as the tokenizer cuts it, outside its fixed parts."""
    return regex.findall(SPLIT, text)


def words_of(texts: Iterable[str]) -> Counter[str]:
    """How often each word stands in `texts`."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(p for p in pieces(text) if not p.strip().isdigit())
    return counts


def numbers() -> list[str]:
    """0 to 99, both with and without a leading zero, and all coordinates."""
    small = [str(n) for n in range(10, 100)] + [f"0{n}" for n in range(10)]
    return small + [str(n) for n in range(3 * STEP, 1093, STEP)]


def tokenizer(words: Iterable[str]) -> PreTrainedTokenizerFast:
    """The tokenizer that knows `words`, in this order (a word with a space before it and one without are two)."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    spelt = _byte_letters()
    known = {letter: number for number, letter in enumerate(letters)}
    for word in [*numbers(), *words]:
        known.setdefault("".join(spelt[byte] for byte in word.encode()), len(known))
    made = Tokenizer(models.BPE(vocab=known, merges=[], ignore_merges=True))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in SPECIALS])
    made.add_tokens([AddedToken(t, normalized=False, special=False) for t in FIXED])
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=list(SPECIALS[1:]),
        chat_template=TEMPLATE,
        model_max_length=32768,
        clean_up_tokenization_spaces=False,
    )


def _byte_letters() -> dict[int, str]:
    """The letter by which byte-level tokenizers write each byte: printable Latin-1 as it is, the rest from U+0100 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in plain}
    for number, byte in enumerate(b for b in range(256) if b not in letters):
        letters[byte] = chr(256 + number)
    return letters
