"""What kind of checkpoint a folder is, from its files alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sopbench.errors import DataError
from uis1_train.merge.found import find_checkpoint, is_whole_model, latest_step, missing_shards, step_in


def touch(path: Path, content: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def fsdp(folder: Path, world: int = 2) -> None:
    touch(folder / "fsdp_config.json", json.dumps({"FSDP_version": 2, "world_size": world}))
    for rank in range(world):
        touch(folder / f"model_world_size_{world}_rank_{rank}.pt")
    touch(folder / "huggingface" / "config.json", "{}")


def test_the_actor_of_an_rl_checkpoint(tmp_path: Path) -> None:
    fsdp(tmp_path / "global_step_40" / "actor")

    found = find_checkpoint(tmp_path / "global_step_40")

    assert (found.kind, found.step) == ("fsdp", 40)
    assert found.base == tmp_path / "global_step_40" / "actor" / "huggingface"


def test_an_sft_checkpoint_has_its_shards_in_the_step_folder_itself(tmp_path: Path) -> None:
    fsdp(tmp_path / "global_step_8")

    assert find_checkpoint(tmp_path / "global_step_8").weights == tmp_path / "global_step_8"


def test_shards_come_in_the_order_of_ranks_not_of_names(tmp_path: Path) -> None:
    fsdp(tmp_path / "actor", 12)

    assert [p.name for p in find_checkpoint(tmp_path).shards()] == [
        f"model_world_size_12_rank_{r}.pt" for r in range(12)
    ]


def test_megatron_in_its_present_layout(tmp_path: Path) -> None:
    touch(tmp_path / "global_step_2" / "actor" / "model" / "dist_ckpt" / "metadata.json")

    found = find_checkpoint(tmp_path / "global_step_2")

    assert (found.kind, found.weights.name, found.base.name) == ("megatron", "actor", "huggingface")


def test_megatron_in_the_old_layout_says_what_moves_it(tmp_path: Path) -> None:
    touch(tmp_path / "actor" / "dist_ckpt" / "metadata.json")

    with pytest.raises(DataError, match="migrate_megatron_checkpoint_layout"):
        find_checkpoint(tmp_path)


def test_a_trainers_folder_stands_for_the_step_in_its_tracker(tmp_path: Path) -> None:
    for step in (10, 20, 30):
        fsdp(tmp_path / f"global_step_{step}" / "actor")
    touch(tmp_path / "latest_checkpointed_iteration.txt", "20")

    assert find_checkpoint(tmp_path).step == 20


def test_a_tracker_that_names_a_removed_step_is_told(tmp_path: Path) -> None:
    touch(tmp_path / "latest_checkpointed_iteration.txt", "20")

    with pytest.raises(DataError, match="global_step_20 is not there"):
        find_checkpoint(tmp_path)


def test_a_model_in_parts_is_whole_with_all_of_them(tmp_path: Path) -> None:
    touch(tmp_path / "config.json", "{}")
    index = {"weight_map": {"a": "model-1-of-2.safetensors", "b": "model-2-of-2.safetensors"}}
    touch(tmp_path / "model.safetensors.index.json", json.dumps(index))
    touch(tmp_path / "model-1-of-2.safetensors")
    assert not is_whole_model(tmp_path)

    touch(tmp_path / "model-2-of-2.safetensors")
    assert is_whole_model(tmp_path)
    assert find_checkpoint(tmp_path).kind == "transformers"


def test_missing_shards_are_named(tmp_path: Path) -> None:
    fsdp(tmp_path, 3)
    (tmp_path / "model_world_size_3_rank_1.pt").unlink()

    assert missing_shards(find_checkpoint(tmp_path)) == ["model_world_size_3_rank_1.pt"]


def test_a_checkpoint_without_its_rank_count_was_not_finished(tmp_path: Path) -> None:
    fsdp(tmp_path)
    (tmp_path / "fsdp_config.json").unlink()

    with pytest.raises(DataError, match="not finished"):
        missing_shards(find_checkpoint(tmp_path))


def test_something_else_is_refused_with_what_was_looked_for_and_what_is_there(tmp_path: Path) -> None:
    touch(tmp_path / "notes.txt")

    with pytest.raises(DataError, match=r"model_world_size_.*There is: notes\.txt"):
        find_checkpoint(tmp_path)
    with pytest.raises(DataError, match="no folder"):
        find_checkpoint(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "step"),
    [("global_step_40", 40), ("step-000120", 120), ("checkpoint-8", 8), ("best-step-000020", 20), ("actor", None)],
)
def test_steps_in_names(name: str, step: int | None) -> None:
    assert step_in(name) == step


def test_a_tracker_with_something_else_in_it(tmp_path: Path) -> None:
    assert latest_step(tmp_path) is None
    touch(tmp_path / "latest_checkpointed_iteration.txt", "soon")
    with pytest.raises(DataError, match="no number"):
        latest_step(tmp_path)
