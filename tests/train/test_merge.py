"""Merging a real FSDP2 checkpoint of two ranks: the same model, whole, and every lie is found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForImageTextToText

from sopbench.adapters import get_adapter
from sopbench.errors import DataError, UsageError
from tests.train.fsdp_checkpoint import make_fsdp_checkpoint
from tests.unit.train.commands import Call
from uis1_train.merge.checks import Check, check_merged
from uis1_train.merge.found import find_checkpoint
from uis1_train.merge.merging import Merged, MergeFailed, merge
from uis1_train.merge.serving import serve_command
from uis1_train.merge.shards import whole_state
from uis1_train.validation.hooks import validate_checkpoint
from uis1_train.validation.settings import ValidationSettings


@pytest.fixture(scope="module")
def trained(tiny_vl: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_fsdp_checkpoint(tiny_vl, tmp_path_factory.mktemp("fsdp"))


@pytest.fixture(scope="module")
def merged(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Merged:
    """Merged once by verl, in bfloat16. Copy it before changing anything."""
    return merge(trained, tmp_path_factory.mktemp("merged") / "model")


def copy_of(merged: Merged, folder: Path) -> Merged:
    shutil.copytree(merged.out, folder / "model")
    return Merged(merged.checkpoint, folder / "model", merged.precision, merged.copied)


def problems(checks: list[Check]) -> dict[str, str]:
    return {check.name: check.detail for check in checks if check.status == "problem"}


def test_verls_merge_of_two_ranks_is_the_model_that_was_trained(merged: Merged) -> None:
    checks = list(check_merged(merged))

    assert problems(checks) == {}
    assert [check.name for check in checks] == ["files", "loads", "prompt", "image size", "logits"]
    assert "bit by bit" in checks[-1].detail


def test_processor_files_of_both_generations_are_there(merged: Merged, tiny_vl: Path) -> None:
    names = {p.name for p in merged.out.iterdir()}

    assert {
        "processor_config.json",
        "preprocessor_config.json",
        "tokenizer.json",
        "chat_template.jinja",
        "generation_config.json",
    } <= names
    size = json.loads((merged.out / "preprocessor_config.json").read_text())["size"]
    assert size == json.loads((tiny_vl / "preprocessor_config.json").read_text())["size"]


def test_float32_keeps_what_bfloat16_rounds(trained: Path, tmp_path: Path) -> None:
    exact = merge(trained, tmp_path / "model", precision="float32")

    assert problems(list(check_merged(exact))) == {}
    model = AutoModelForImageTextToText.from_pretrained(exact.out, dtype="auto")
    state = whole_state(find_checkpoint(trained).shards())
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items() if name in state)
    assert any(not torch.equal(v, v.bfloat16().float()) for v in state.values())


def test_the_trainers_folder_stands_for_its_latest_checkpoint(trained: Path) -> None:
    found = find_checkpoint(trained.parent)

    assert (found.kind, found.step, found.weights) == ("fsdp", 4, trained / "actor")
    assert find_checkpoint(trained / "actor").step == 4


def test_a_text_model_with_a_tied_head_merges(tiny_text: Path, tmp_path: Path) -> None:
    trained = make_fsdp_checkpoint(tiny_text, tmp_path / "fsdp")

    result = merge(trained, tmp_path / "model", precision="float32")

    assert problems(list(check_merged(result))) == {}


def test_one_changed_weight_is_found(merged: Merged, tmp_path: Path) -> None:
    spoilt = copy_of(merged, tmp_path)
    weights = load_file(spoilt.out / "model.safetensors")
    name = next(n for n in weights if n.endswith("layers.1.mlp.down_proj.weight"))
    weights[name][0, 0] += 1
    save_file(weights, spoilt.out / "model.safetensors", metadata={"format": "pt"})

    assert "layers.1.mlp.down_proj.weight" in problems(list(check_merged(spoilt)))["logits"]


def test_a_weight_that_is_missing_is_found(merged: Merged, tmp_path: Path) -> None:
    spoilt = copy_of(merged, tmp_path)
    weights = load_file(spoilt.out / "model.safetensors")
    name = next(n for n in weights if n.endswith("layers.1.mlp.down_proj.weight"))
    del weights[name]
    save_file(weights, spoilt.out / "model.safetensors", metadata={"format": "pt"})

    assert "layers.1.mlp.down_proj.weight" in problems(list(check_merged(spoilt)))["loads"]


def test_another_image_size_is_found(merged: Merged, tiny_vl: Path, tmp_path: Path) -> None:
    spoilt = copy_of(merged, tmp_path)
    for name in ("processor_config.json", "preprocessor_config.json"):
        path = spoilt.out / name
        path.write_text(path.read_text().replace("25088", "50176"))

    assert "50176" in problems(list(check_merged(spoilt, base=tiny_vl)))["image size"]


def test_missing_companions_are_found(merged: Merged, tmp_path: Path) -> None:
    spoilt = copy_of(merged, tmp_path)
    (spoilt.out / "chat_template.jinja").unlink()

    assert "chat_template.jinja" in problems(list(check_merged(spoilt)))["files"]


def test_weights_that_diverged_are_found(merged: Merged, tmp_path: Path) -> None:
    result = copy_of(merged, tmp_path)
    weights = load_file(result.out / "model.safetensors")
    next(v for n, v in weights.items() if n.endswith("norm.weight")).fill_(float("nan"))
    save_file(weights, result.out / "model.safetensors", metadata={"format": "pt"})

    assert "not finite" in problems(list(check_merged(result)))["logits"]


def test_a_shard_that_was_left_on_another_machine_is_named(trained: Path, tmp_path: Path) -> None:
    half = tmp_path / "global_step_4"
    shutil.copytree(trained, half)
    (half / "actor" / "model_world_size_2_rank_1.pt").unlink()

    with pytest.raises(DataError, match=r"model_world_size_2_rank_1\.pt"):
        merge(half, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_damaged_shard_ends_with_the_mergers_last_words_and_no_folder(trained: Path, tmp_path: Path) -> None:
    half = tmp_path / "global_step_4"
    shutil.copytree(trained, half)
    (half / "actor" / "model_world_size_2_rank_1.pt").write_bytes(b"half a file")

    with pytest.raises(MergeFailed, match="verl's merger failed"):
        merge(half, tmp_path / "model")
    assert [p.name for p in tmp_path.iterdir()] == ["global_step_4"]


def test_a_folder_with_something_in_it_is_not_written_over(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    with pytest.raises(UsageError, match="not empty"):
        merge(trained, tmp_path)


def test_a_transformers_folder_is_copied_and_checked_too(tiny_vl: Path, tmp_path: Path) -> None:
    result = merge(tiny_vl, tmp_path / "model", precision="float32")

    assert problems(list(check_merged(result, base=tiny_vl))) == {}


def test_the_serve_command_has_the_limit_of_images_that_requests_carry() -> None:
    words = serve_command(Path("out/ui-s1"), get_adapter("uis1"))

    assert words.startswith("vllm serve out/ui-s1 --served-model-name ui-s1 --limit-mm-per-prompt '{\"image\": 2}'")
    assert words.count("--limit-mm-per-prompt") == 1
    assert "'{\"image\": 5}'" in serve_command(Path("m"), get_adapter("uis1"), images=5)


def test_the_command_merges_checks_and_prints_how_to_serve(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call = Call(monkeypatch, capsys)

    done = call("merge", trained, "--out", tmp_path / "ui-s1", "--precision", "float32", "--json")
    again = call("merge", trained, "--out", tmp_path / "ui-s1")

    facts = json.loads(done.out)
    assert done.status == 0
    assert (facts["ok"], facts["kind"], facts["step"]) == (True, "fsdp", 4)
    assert facts["serve"].startswith("vllm serve")
    assert again.status == 2
    assert "not empty" in again.err


def test_a_sharded_checkpoint_is_validated_in_this_process_and_leaves_no_merge_behind(
    trained: Path, tmp_path: Path
) -> None:
    settings = ValidationSettings.read(
        {"sop": {"suite": "pocket", "limit": 1}, "out": tmp_path / "evaluated", "prompts": "builtin", "max_tokens": 4}
    )

    result = validate_checkpoint(trained, settings, 4)

    assert result.failures == {}
    assert result.scalars["val/sop/scored"] == 1
    assert sorted(p.name for p in result.folder.iterdir()) == ["checkpoint.json", "sop", "validation.json"]
