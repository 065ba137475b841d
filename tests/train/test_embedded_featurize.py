"""Messages become exactly what the model's own processor and chat template make of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from sopbench.adapters import get_adapter
from sopbench.adapters.base import Image, Message, Text, ToolCall, Turn
from sopbench.clients.base import AskFailed
from sopbench.errors import UsageError
from sopbench.screen import Screen
from tests.train.worlds import opened, screen, talk
from uis1_train.embedded.model import load_model

CONVERSATIONS = {
    "one picture": talk("Open Wi-Fi", screens=1),
    "two pictures": talk("Open Wi-Fi", "I tap it", "And now?", screens=2),
    "none": talk("No picture here"),
    "pictures of different sizes": (
        Message("system", (Text("You operate a phone"),)),
        Message("user", (Text("a"), Image(screen(1, (200, 60))), Text("b"), Image(screen(2, (60, 200))), Text("c"))),
    ),
}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_ids_are_those_of_the_processor(tiny_vl: Path, name: str) -> None:
    model, featurizer, _ = opened(tiny_vl)
    messages = CONVERSATIONS[name]
    prompt = featurizer.prompt(messages)
    pictures = [part.screen.decode() for m in messages for part in m.parts if isinstance(part, Image)]
    theirs = model.template(text=[featurizer.written(messages)], images=pictures or None, return_tensors="pt")
    assert list(prompt.ids) == theirs["input_ids"][0].tolist()
    if pictures:
        ours = torch.cat([featurizer.patches(picture) for picture in prompt.pictures])
        assert torch.equal(ours, theirs["pixel_values"])


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_positions_are_those_of_the_model(tiny_vl: Path, name: str) -> None:
    model, featurizer, _ = opened(tiny_vl)
    prompt = featurizer.prompt(CONVERSATIONS[name])
    ids = torch.tensor([prompt.ids])
    grids = torch.tensor([picture.grid for picture in prompt.pictures]) if prompt.pictures else None
    theirs, deltas = model.module.model.get_rope_index(ids, (ids == model.image_token).int(), grids)
    found = featurizer.positions(prompt, following=3)
    assert torch.equal(found[:, :-3], theirs[:, 0])
    following = torch.arange(len(prompt.ids), len(prompt.ids) + 3) + deltas[0]
    assert torch.equal(found[:, -3:], following.expand(3, -1))


def test_a_text_only_model_is_told_the_texts_alone(tiny_text: Path) -> None:
    _, featurizer, _ = opened(tiny_text)
    with_pictures, without = talk("Open Wi-Fi", screens=2), talk("Open Wi-Fi")
    assert featurizer.prompt(with_pictures).pictures == ()
    assert featurizer.prompt(with_pictures).ids == featurizer.prompt(without).ids
    assert torch.equal(
        featurizer.positions(featurizer.prompt(without)), torch.arange(len(featurizer.prompt(without).ids))
    )


def test_equal_screens_are_made_once_and_again_after_they_were_forgotten(
    tiny_vl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, featurizer, _ = opened(tiny_vl)
    first, same = featurizer.picture(screen(1)), featurizer.picture(screen(1))
    assert first is same
    before = featurizer.patches(first)
    assert featurizer.patches(same) is before
    monkeypatch.setattr("uis1_train.embedded.featurize.MAX_PICTURE_BYTES", 1)
    featurizer.picture(screen(2))
    assert featurizer.patches(first) is not before
    assert torch.equal(featurizer.patches(first), before)


def test_a_reply_ends_as_the_chat_template_ends_it(tiny_vl: Path) -> None:
    model, featurizer, _ = opened(tiny_vl)
    assert featurizer.end_of_reply == model.tokenizer.convert_tokens_to_ids("<|im_end|>")


@pytest.mark.parametrize(
    ("messages", "options", "kind", "said"),
    [
        (talk("a", screens=3), {"max_images": 2}, "too_many_images", "3 screens, the limit is 2"),
        (talk("word " * 300), {"max_prompt": 100}, "context_overflow", "the limit is 100"),
        (talk("see <|image_pad|> here"), {}, "rejected", "1 placeholders for 0 screens"),
        ((Message("user", (Image(Screen.from_bytes(b"no picture")),)),), {}, "screen", "not a readable PNG"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(
    tiny_vl: Path, messages: tuple[Message, ...], options: dict[str, int], kind: str, said: str
) -> None:
    _, featurizer, _ = opened(tiny_vl, **options)
    with pytest.raises(AskFailed, match=said) as refused:
        featurizer.prompt(messages)
    assert refused.value.kind == kind
    assert refused.value.fatal == (kind == "too_many_images")


def test_an_adapter_that_calls_tools_is_refused(tiny_vl: Path) -> None:
    _, featurizer, _ = opened(tiny_vl)
    called = Message("assistant", (), calls=(ToolCall("act", "{}", "1"),))
    with pytest.raises(UsageError, match="tool calling"):
        featurizer.prompt((*talk("a"), called))


def test_the_harness_s_own_requests_fit(tiny_vl: Path) -> None:
    model, featurizer, _ = opened(tiny_vl)
    adapter = get_adapter("uis1")
    turns = [Turn(screen(n), "<think>x</think><action>{}</action>") for n in range(4)]
    prompt = featurizer.prompt(adapter.render("Open Wi-Fi", [*turns, Turn(screen(9))], 2))
    assert [picture.key for picture in prompt.pictures] == [screen(3).sha256, screen(9).sha256]
    assert prompt.ids.count(model.image_token) == sum(picture.tokens for picture in prompt.pictures)


def _without_template(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config.pop("chat_template", None)
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def _of_another_family(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "llava", "architectures": ["Llava"]}))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_without_template, "has no chat template"),
        (lambda folder: (folder / "config.json").unlink(), r"no config.json there"),
        (lambda folder: (folder / "model.safetensors").unlink(), "does not load"),
        (_of_another_family, "this trainer knows qwen2_vl, qwen2_5_vl and text-only"),
    ],
)
def test_a_model_that_is_not_whole_is_named_with_what_is_missing(
    tiny_vl: Path, tmp_path: Path, change, said: str
) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path / "model"
    shutil.copytree(tiny_vl, folder)
    change(folder)
    with pytest.raises(UsageError, match=said):
        load_model(folder, device="cpu")


def test_a_gpu_that_is_not_there_is_said(tiny_text: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(UsageError, match="sees no GPU"):
        load_model(tiny_text, device="cuda")
