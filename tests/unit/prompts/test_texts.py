"""Prompt texts: filled in one pass, hashed over what they say, and ours."""

from __future__ import annotations

import pytest

from sopbench.adapters import ADAPTERS
from sopbench.adapters.base import PromptSource
from sopbench.errors import UsageError
from sopbench.prompts import builtin
from sopbench.prompts.texts import PromptTexts

TEXTS = PromptTexts("f", "builtin", {"user": '{goal} and {goal} in {size}: {"a": [x]}', "plain": "text"}, "note")


def test_fields_are_filled_in_one_pass_and_other_braces_are_text() -> None:
    assert TEXTS.fill("user", goal="{size}", size=5) == '{size} and {size} in 5: {"a": [x]}'


def test_a_field_without_a_value_stays() -> None:
    assert TEXTS.fill("user", size="s") == '{goal} and {goal} in s: {"a": [x]}'


def test_a_field_s_text_is_taken_literally() -> None:
    assert TEXTS.fill("user", goal=r"\g<0> \1", size="s").startswith(r"\g<0> \1 and")


def test_the_hash_is_over_the_texts_and_nothing_else() -> None:
    same = PromptTexts("g", "pulled", dict(reversed(TEXTS.templates.items())), "another note")
    other = PromptTexts("f", "builtin", {**TEXTS.templates, "plain": "text."}, "note")
    renamed = PromptTexts("f", "builtin", {"user": TEXTS.templates["user"], "simple": "text"}, "note")
    assert same.sha256 == TEXTS.sha256
    assert len({TEXTS.sha256, other.sha256, renamed.sha256}) == 3
    assert TEXTS.source() == PromptSource("builtin", TEXTS.sha256, "note")


@pytest.mark.parametrize("name", ADAPTERS)
def test_built_in_texts_say_whose_words_they_are(name: str) -> None:
    texts = builtin(name)
    assert (texts.family, texts.kind) == (name, "builtin")
    assert texts.note == "our words"


def test_a_family_without_built_in_texts_is_named() -> None:
    with pytest.raises(UsageError, match="'nobody'"):
        builtin("nobody")
