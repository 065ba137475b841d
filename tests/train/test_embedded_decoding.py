"""Replies of the sampling loop: transformers' own greedy ones, exact log-probs, chance that belongs to the row."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import torch

from tests.train.worlds import opened, talk
from uis1_train.embedded.decoding import Decoder, Draw, uniforms
from uis1_train.embedded.featurize import Prompt
from uis1_train.embedded.model import LocalModel

TALKS = (
    talk("Open Wi-Fi", screens=1),
    talk("a", "b", "c", screens=2),
    talk("No picture"),
    talk("Open Wi-Fi", screens=1),
)


@pytest.fixture(params=["text", "vl"])
def opened_model(
    request: pytest.FixtureRequest, tiny_text: Path, tiny_vl: Path
) -> tuple[LocalModel, list[Prompt], Decoder]:
    model, featurizer, decoder = opened(tiny_text if request.param == "text" else tiny_vl)
    return model, [featurizer.prompt(messages) for messages in TALKS], decoder


def whole_pass(
    model: LocalModel, decoder: Decoder, prompt: Prompt, reply: tuple[int, ...], temperature: float
) -> torch.Tensor:
    """The log-probs of `reply` by one pass of the whole sequence through the model as transformers calls it."""
    ids = torch.tensor([[*prompt.ids, *reply]])
    inputs = {"input_ids": ids}
    if prompt.pictures:
        inputs |= {
            "pixel_values": torch.cat([decoder.featurizer.patches(p) for p in prompt.pictures]),
            "image_grid_thw": torch.tensor([p.grid for p in prompt.pictures]),
            "mm_token_type_ids": (ids == model.image_token).int(),
        }
    with torch.no_grad():
        logits = model.module(**inputs).logits[0, len(prompt.ids) - 1 : -1]
    logits[:, list(model.suppressed)] = -torch.inf
    return (logits / temperature).log_softmax(-1).gather(1, torch.tensor(reply)[:, None]).squeeze(1)


def test_greedy_replies_are_those_of_transformers(opened_model: tuple[LocalModel, list[Prompt], Decoder]) -> None:
    model, prompts, decoder = opened_model
    replies = decoder.decode(prompts, [Draw(0.0, 10)] * len(prompts))
    for prompt, reply in zip(prompts, replies, strict=True):
        inputs = {
            "input_ids": torch.tensor([prompt.ids]),
            "attention_mask": torch.ones(1, len(prompt.ids), dtype=torch.long),
        }
        if prompt.pictures:
            inputs |= {
                "pixel_values": torch.cat([decoder.featurizer.patches(p) for p in prompt.pictures]),
                "image_grid_thw": torch.tensor([p.grid for p in prompt.pictures]),
                "mm_token_type_ids": (inputs["input_ids"] == model.image_token).int(),
            }
        barred = list(model.suppressed) or None
        theirs = model.module.generate(**inputs, max_new_tokens=10, do_sample=False, suppress_tokens=barred)
        assert list(reply.ids) == theirs[0, len(prompt.ids) :].tolist()


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_log_probs_are_those_of_the_distribution_that_was_drawn_from(
    opened_model: tuple[LocalModel, list[Prompt], Decoder], temperature: float
) -> None:
    model, prompts, decoder = opened_model
    replies = decoder.decode(prompts, [Draw(temperature, 16, (n,)) for n in range(len(prompts))])
    for prompt, reply in zip(prompts, replies, strict=True):
        expected = whole_pass(model, decoder, prompt, reply.ids, temperature)
        assert torch.allclose(torch.tensor(reply.log_probs), expected, atol=1e-4)


def test_a_reply_does_not_depend_on_who_else_is_in_the_batch(
    opened_model: tuple[LocalModel, list[Prompt], Decoder],
) -> None:
    _, prompts, decoder = opened_model
    draws = [Draw(1.0, 5 + 4 * n, ("seed", n)) for n in range(len(prompts))]
    together = [reply.ids for reply in decoder.decode(prompts, draws)]
    alone = [decoder.decode([prompt], [draw])[0].ids for prompt, draw in zip(prompts, draws, strict=True)]
    backwards = [reply.ids for reply in decoder.decode(prompts[::-1], draws[::-1])][::-1]
    assert together == alone == backwards
    assert [len(ids) for ids in together] == [5, 9, 13, 17]  # random weights hardly ever end a reply by themselves


def test_the_key_is_all_of_the_chance(tiny_text: Path) -> None:
    _, featurizer, decoder = opened(tiny_text)
    prompt = featurizer.prompt(talk("hello"))
    first, again, other = (decoder.decode([prompt], [Draw(1.0, 12, key)])[0].ids for key in ((1,), (1,), (2,)))
    assert first == again
    assert first != other
    numbers = uniforms(("a", 1), 10_000)
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.02


def test_tokens_come_as_often_as_they_are_likely(tiny_text: Path) -> None:
    """A thousand first tokens of a model with a narrow distribution, against its own probabilities."""
    model, featurizer, decoder = opened(tiny_text)
    with torch.no_grad():
        model.module.lm_head.weight.mul_(60.0)
    prompt = featurizer.prompt(talk("hello"))
    temperature, count = 0.8, 2000
    said = Counter(
        reply.ids[0] for reply in decoder.decode([prompt] * count, [Draw(temperature, 1, (n,)) for n in range(count)])
    )
    likely = [token for token, _ in said.most_common(5)]
    expected = torch.cat([whole_pass(model, decoder, prompt, (token,), temperature) for token in likely]).exp().tolist()
    assert sum(expected) > 0.2
    for token, probability in zip(likely, expected, strict=True):
        assert said[token] / count == pytest.approx(
            probability, abs=4 * (probability * (1 - probability) / count) ** 0.5
        )


def test_placeholders_of_pictures_are_never_said(tiny_vl: Path) -> None:
    model, featurizer, decoder = opened(tiny_vl)
    barred = list(model.suppressed)
    assert model.image_token in barred
    with torch.no_grad():
        model.module.lm_head.weight[barred] = 50 * model.module.lm_head.weight.mean(0)
        model.module.lm_head.weight[barred] += 10 * torch.randn(len(barred), model.module.lm_head.weight.shape[1])
    prompt = featurizer.prompt(talk("hello", screens=1))
    for reply in decoder.decode([prompt] * 8, [Draw(0.0 if n == 0 else 1.0, 12, (n,)) for n in range(8)]):
        assert not set(reply.ids) & set(barred)


def test_a_reply_ends_at_the_end_token_or_at_its_limit(tiny_text: Path) -> None:
    model, featurizer, decoder = opened(tiny_text)
    prompt = featurizer.prompt(talk("hello"))
    cut = decoder.decode([prompt], [Draw(0.0, 6)])[0]
    assert (len(cut.ids), cut.finish_reason) == (6, "length")
    end = model.eos[-1]
    model.eos = (cut.ids[0],)  # whatever it says first now ends a reply
    ended = Decoder(model, featurizer).decode([prompt], [Draw(0.0, 6)])[0]
    assert (ended.ids, ended.text, ended.finish_reason) == (cut.ids[:1], "", "stop")
    assert len(ended.log_probs) == 1
    assert end not in cut.ids


def test_text_is_without_special_tokens(tiny_text: Path) -> None:
    model, featurizer, _ = opened(tiny_text)
    special = model.tokenizer.convert_tokens_to_ids("<|im_start|>")
    assert featurizer.decode([special, *featurizer.tokens("Back"), special]) == "Back"


def test_pictures_are_seen_with_the_weights_of_the_day(tiny_vl: Path) -> None:
    model, featurizer, decoder = opened(tiny_vl)
    prompt = featurizer.prompt(talk("hello", screens=1))
    before = decoder.decode([prompt], [Draw(0.0, 4)])[0].log_probs
    with torch.no_grad():
        for parameter in model.module.model.visual.parameters():
            parameter.mul_(1.5)
    assert decoder.decode([prompt], [Draw(0.0, 4)])[0].log_probs == before  # still as they were seen
    decoder.weights_changed()
    assert decoder.decode([prompt], [Draw(0.0, 4)])[0].log_probs != before


def test_entropy_is_that_of_the_distributions(tiny_text: Path) -> None:
    model, featurizer, decoder = opened(tiny_text)
    with torch.no_grad():
        for parameter in model.module.parameters():
            parameter.zero_()  # every token as likely as the next
    reply = decoder.decode([featurizer.prompt(talk("hello"))], [Draw(1.0, 5, ("x",))])[0]
    assert reply.entropy == pytest.approx(torch.tensor(float(len(model.tokenizer))).log().item(), rel=1e-4)
