"""The tiny model: its folder is a Qwen2.5-VL folder like any other, and our fast arithmetic on it is transformers' own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from emulator.pocket.tasks import start
from sopbench.actions import from_released
from sopbench.adapters import get_adapter
from sopbench.adapters.base import Text, Turn
from uis1_train.tiny import fast
from uis1_train.tiny.corpus import Corpus, Order, ensure
from uis1_train.tiny.folder import Shape, load_folder, new_model, parameters, vocabulary_from, write_folder
from uis1_train.tiny.learn import Recipe, lesson_loss
from uis1_train.tiny.lessons import Tongue, cells_of, grounding_row, step_row, targets, told
from uis1_train.tiny.playing import LARGE, NamedScreen, Player, sop, static, trajectory
from uis1_train.tiny.recording import Recorder, Recording


@dataclass
class World:
    corpus: Corpus
    folder: Path
    model: Any
    tongue: Tongue


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Six recordings, and a random model with the words of their goals and screens."""
    root = tmp_path_factory.mktemp("tiny")
    corpus = ensure(root / "recordings", Order("validation", 1, only=6), processes=1, log=lambda _: None)
    texts = [r.goal for r in corpus.recordings] + [" " + s.thought for r in corpus.recordings for s in r.steps]
    texts += [" " + e.label for seen in corpus.looks for e in seen.elements]
    tok = vocabulary_from(texts, (w[0] for seen in corpus.looks for w in seen.words))
    write_folder(root / "model", new_model(tok, Shape(), 0), tok, half=False)
    model, tok = load_folder(root / "model")
    model.eval()
    return World(corpus, root / "model", model, Tongue(tok))


def example(world: World) -> tuple[Recording, int, list[int]]:
    """A recording, the number of a step that has a history, and the prompt for it."""
    recording = next(r for r in world.corpus.recordings if len(r.steps) > 3)
    return recording, 2, world.tongue.prompt(recording.goal, [told(s) for s in recording.steps[:2]])


def test_the_vocabulary_makes_a_reply_nine_tokens_and_each_coordinate_one(world: World) -> None:
    tok = world.tongue.tok
    for pixels in range(42, 1092, 42):
        assert len(tok(str(pixels), add_special_tokens=False).input_ids) == 1
    said = '<think> Save</think><action>{"action": "click", "coordinate": [84, 252]}</action>'
    assert len(tok(said, add_special_tokens=False).input_ids) <= 9


@pytest.mark.parametrize("text", ["Grüße, 北京 🙂", "zzqx 12345 {[<", ' "quoted"\n\ttab'])
def test_any_text_survives_the_tokenizer(world: World, text: str) -> None:
    tok = world.tongue.tok
    assert tok.decode(tok(text, add_special_tokens=False).input_ids, skip_special_tokens=True) == text


def test_it_has_at_most_five_million_parameters_and_heads_that_vllm_serves(world: World) -> None:
    text = world.model.config.text_config
    assert parameters(world.model) <= 5_000_000
    assert text.hidden_size // text.num_attention_heads in (32, 64, 80, 96)


def test_the_processor_asks_what_the_lessons_teach(world: World) -> None:
    from transformers import AutoProcessor

    recording, index, row = example(world)
    adapter = get_adapter("tiny")
    past = [
        Turn(NamedScreen(0), adapter.format(from_released(s.action, LARGE), LARGE, s.thought))
        for s in recording.steps[:index]
    ]
    (message,) = adapter.render(recording.goal, [*past, Turn(NamedScreen(0))], 1)
    text = next(part.text for part in message.parts if isinstance(part, Text))
    processor = AutoProcessor.from_pretrained(world.folder)
    chat = [{"role": "user", "content": [{"type": "text", "text": text}, {"type": "image"}]}]
    prompt = processor.apply_chat_template(chat, add_generation_prompt=True)
    inputs = processor(text=[prompt], images=[Image.new("RGB", (504, 1092))], return_tensors="pt")
    assert inputs["image_grid_thw"].tolist() == [[1, 26, 12]]
    assert inputs["input_ids"][0].tolist() == row
    assert Player(world.model, world.tongue, np.zeros((0,), np.float16)).row(text) == row


def inputs_for(world: World) -> tuple[Any, list[int], torch.Tensor]:
    """The processor's inputs for a step, the row of tokens, and the screen as `fast` embeds it."""
    from transformers import AutoProcessor

    recording, index, row = example(world)
    session = start(recording.template, recording.seed, "large")
    screens = [session.phone.screen().convert("RGB") for _ in session.moves()]
    processor = AutoProcessor.from_pretrained(world.folder)
    prompt = world.tongue.tok.decode(row).replace("<|image_pad|>" * fast.CELLS, "<|image_pad|>")
    inputs = processor(text=[prompt], images=[screens[index]], return_tensors="pt")
    number = world.corpus.number[recording.steps[index].screen]
    return inputs, row, fast.see(world.model, world.corpus.images([number]))


def test_a_recorded_screen_is_what_the_image_processor_makes_of_it(world: World) -> None:
    inputs, *_ = inputs_for(world)
    recording, index, _ = example(world)
    mine = fast.patches(world.corpus.images([world.corpus.number[recording.steps[index].screen]]))[0]
    theirs = inputs["pixel_values"].view(-1, 3, 2, 14, 14)[:, :, 0].reshape(mine.shape)
    assert torch.allclose(theirs, mine, atol=1e-5)


@torch.no_grad()
def test_fast_arithmetic_gives_the_logits_of_transformers(world: World) -> None:
    inputs, row, seen = inputs_for(world)
    theirs = world.model(**inputs).logits[0]
    given = fast.batch([row, row[:1] + row], world.tongue.image, world.tongue.pad)
    hidden = fast.think(world.model, given, torch.cat((seen, seen)), world.tongue.image).hidden
    mine = world.model.lm_head(hidden[0, : len(row)])
    assert torch.allclose(theirs, mine, atol=1e-4)
    needed = torch.tensor([[5, len(row) - 1], [7, len(row)]])
    some = fast.think(world.model, given, torch.cat((seen, seen)), world.tongue.image, needed).hidden
    assert torch.allclose(some, hidden.gather(1, needed[..., None].expand(-1, -1, hidden.shape[-1])), atol=1e-5)


@torch.no_grad()
def test_fast_generation_is_greedy_generation(world: World) -> None:
    inputs, row, seen = inputs_for(world)
    theirs = world.model.generate(**inputs, max_new_tokens=12, do_sample=False)[0, len(row) :].tolist()
    tongue = world.tongue
    said = fast.generate(
        world.model,
        [row, row[:1] + row],
        torch.cat((seen, seen)),
        image=tongue.image,
        pad=tongue.pad,
        end=tongue.end,
        longest=12,
        copies=[1, 0, 0],
    )
    assert said.ids[1] == said.ids[2] == theirs
    assert said.ids[0]
    assert len(said.log_probs[0]) == len(said.ids[0])


def test_copies_point_at_the_words_that_are_said(world: World) -> None:
    tongue = world.tongue
    pairs = 0
    for recording in world.corpus.recordings:
        for index, step in enumerate(recording.steps):
            number = world.corpus.number[step.screen]
            row = step_row(tongue, recording, index, number, world.corpus.looks[number], None)
            for query, key in row.copies:
                assert tongue.spaceless[row.ids[query + 1]] == tongue.spaceless[row.ids[key]]
                pairs += 1
            for query, box in row.points:
                assert row.ids[query + 1] != tongue.image
                assert cells_of(box).any()
    assert pairs > 10


def test_a_touch_points_at_its_target_when_it_says_where(world: World) -> None:
    tongue = world.tongue
    recording, index = next(
        (r, i) for r in world.corpus.recordings for i, s in enumerate(r.steps) if s.action["action"] == "click"
    )
    step = recording.steps[index]
    number = world.corpus.number[step.screen]
    row = step_row(tongue, recording, index, number, world.corpus.looks[number], None)
    said = [int(tongue.tok.decode([row.ids[query + 1]])) for query, _ in row.points]
    assert said == step.action["coordinate"]
    assert all(box == step.box for _, box in row.points)


def test_grounding_teaches_the_middle_of_each_thing_and_nothing_else(world: World) -> None:
    import random

    tongue = world.tongue
    row = grounding_row(tongue, world.corpus.looks[3], 3, random.Random(0))
    assert row is not None
    taught = [int(tongue.tok.decode([t])) for t, wanted in zip(row.ids, row.taught, strict=True) if wanted]
    boxes = [box for _, box in row.points]
    assert taught == [value for box in boxes[::2] for value in ((box[0] + box[2]) // 2, (box[1] + box[3]) // 2)]


def test_targets_name_each_cell_of_a_screen(world: World) -> None:
    tongue = world.tongue
    wanted = targets(tongue, world.corpus.looks)
    for number, seen in enumerate(world.corpus.looks):
        element = min(seen.elements, key=lambda e: (e.box[2] - e.box[0]) * (e.box[3] - e.box[1]))
        for cell in np.flatnonzero(cells_of(element.box)):
            assert [t for t in wanted.labels[number, cell] if t >= 0] == tongue.label(element.label)
            assert wanted.x[number, cell] * 42 == (element.box[0] + element.box[2]) / 2


def test_gradients_reach_every_weight_but_the_eyes(world: World) -> None:
    model, tongue = world.model, world.tongue
    rows = [
        step_row(
            tongue,
            r,
            0,
            world.corpus.number[r.steps[0].screen],
            world.corpus.looks[world.corpus.number[r.steps[0].screen]],
            None,
        )
        for r in world.corpus.recordings
    ]
    seen = fast.see(model, world.corpus.images([row.screen for row in rows])).detach()
    flags = torch.nn.Linear(Shape().hidden, 1)
    loss, facts = lesson_loss(model, tongue, rows, seen, Recipe(), flags)
    loss.backward()
    assert {"ce", "point", "copies", "glance", "flag"} <= set(facts)
    for name, weight in model.named_parameters():
        if "visual" in name:
            assert weight.grad is None
        else:
            assert weight.grad is not None, name
            assert weight.grad.abs().sum() > 0, name
    model.zero_grad(set_to_none=True)


def test_a_perfect_player_gets_everything(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The measuring itself: replies that are the expert's give TSR 100, and the first wrong one ends a recording."""
    tasks = [trajectory(r, world.corpus.number) for r in world.corpus.recordings]
    adapter = get_adapter("tiny")
    by_screen = {
        (t.goal, s.screen.number): adapter.format(s.action(LARGE), LARGE, s.thought)  # type: ignore[attr-defined]  # NamedScreen
        for t in tasks
        for s in t.steps
    }

    class Oracle(Player):
        def answer(self, asks: Any, size: int = 64, **how: Any) -> Any:
            from uis1_train.tiny.playing import Reply

            return [Reply(by_screen[text.split("\n")[0].strip(), screen], [], screen, [], []) for text, screen in asks]

    player = Oracle(world.model, world.tongue, np.zeros((0,), np.float16))
    distinct = [t for t in tasks if len({s.screen.number for s in t.steps}) == len(t.steps)]  # type: ignore[attr-defined]
    assert distinct
    assert sop(player, distinct).summary() == {"pg": 100.0, "tsr": 100.0, "n": len(distinct)}
    assert static(player, distinct)[1]["all"] == 100.0


def test_a_recording_is_the_same_each_time_and_detours_are_marked() -> None:
    import random

    first, second = (Recorder().record("notes.delete", 1) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.to_json() == second.to_json()
    assert all(step.gold for step in first.steps)
    for seed in range(20):
        wandering = Recorder().record("notes.delete", 1, wander=random.Random(seed))
        if wandering is not None and not all(step.gold for step in wandering.steps):
            assert wandering.steps[-1].action == {"action": "terminate", "status": "success"}
            return
    raise AssertionError("twenty wandering experts never went astray")


def test_a_folder_keeps_its_weights_in_half_precision(world: World, tmp_path: Path) -> None:
    write_folder(tmp_path / "half", world.model, world.tongue.tok)
    again, _ = load_folder(tmp_path / "half")
    for name, weight in world.model.state_dict().items():
        assert torch.equal(again.state_dict()[name], weight.half().float()), name
    assert json.loads((tmp_path / "half" / "config.json").read_text())["tie_word_embeddings"]
    assert sum(f.stat().st_size for f in (tmp_path / "half").iterdir()) <= 10_000_000
