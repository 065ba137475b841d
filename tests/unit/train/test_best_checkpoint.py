"""The best checkpoint by SOP is kept, whatever becomes of the trainer's own folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sopbench.errors import DataError
from uis1_train.validation.best import KeepBest


def checkpoint(folder: Path, step: int, content: str = "weights") -> Path:
    path = folder / f"global_step_{step}"
    (path / "actor").mkdir(parents=True)
    (path / "actor" / "model_world_size_1_rank_0.pt").write_text(content)
    (path / "actor" / "optim_world_size_1_rank_0.pt").write_text("moments")
    (path / "data.pt").write_text("cursor")
    return path


def sop(score: float) -> dict[str, float]:
    return {"val/sop/score": score, "val/sop/pg": score, "val/sop/tsr": score}


def test_the_first_whole_score_is_the_best_and_only_a_higher_one_replaces_it(tmp_path: Path) -> None:
    keeper = KeepBest(tmp_path / "best")

    verdicts = [
        keeper.offer(s, checkpoint(tmp_path, s), sop(x)) for s, x in ((10, 20.0), (20, 31.5), (30, 31.5), (40, 30.0))
    ]

    assert verdicts == [True, True, False, False]
    best = keeper.best
    assert best is not None
    assert (best.step, best.score) == (20, 31.5)
    assert best.scalars == sop(31.5)
    assert [p.name for p in (tmp_path / "best").glob("best-*")] == ["best-step-000020"]


def test_what_is_kept_outlives_the_checkpoint(tmp_path: Path) -> None:
    keeper, path = KeepBest(tmp_path / "best"), checkpoint(tmp_path, 10)
    keeper.offer(10, path, sop(50.0))
    shutil.rmtree(path)

    best = keeper.best
    assert best is not None
    assert best.kept is not None
    assert (best.kept / "actor" / "model_world_size_1_rank_0.pt").read_text() == "weights"


def test_a_step_written_again_does_not_change_a_copy(tmp_path: Path) -> None:
    keeper, path = KeepBest(tmp_path / "best"), checkpoint(tmp_path, 10)
    keeper.offer(10, path, sop(50.0))

    with (path / "actor" / "model_world_size_1_rank_0.pt").open(
        "w"
    ) as handle:  # as torch.save does: the same file, new bytes
        handle.write("other weights")

    assert (tmp_path / "best/best-step-000010/actor/model_world_size_1_rank_0.pt").read_text() == "weights"


def test_optimizer_and_data_state_are_left_out(tmp_path: Path) -> None:
    KeepBest(tmp_path / "best").offer(10, checkpoint(tmp_path, 10), sop(1.0))

    kept = tmp_path / "best" / "best-step-000010"
    assert sorted(p.name for p in kept.rglob("*") if p.is_file()) == ["model_world_size_1_rank_0.pt"]


def test_links_share_the_bytes(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, 10)
    KeepBest(tmp_path / "best", "link").offer(10, path, sop(1.0))

    kept = tmp_path / "best/best-step-000010/actor/model_world_size_1_rank_0.pt"
    assert kept.samefile(path / "actor" / "model_world_size_1_rank_0.pt")


def test_a_pointer_alone_copies_nothing(tmp_path: Path) -> None:
    keeper = KeepBest(tmp_path / "best", "pointer")

    assert keeper.offer(10, checkpoint(tmp_path, 10), sop(1.0))
    assert [p.name for p in (tmp_path / "best").iterdir()] == ["best.json"]
    assert json.loads((tmp_path / "best" / "best.json").read_text())["kept"] is None


@pytest.mark.parametrize("scalars", [{}, {"val/sop/tsr_low": 0.0, "val/sop/tsr_high": 90.0}, {"val/static/sr": 99.0}])
def test_what_was_not_measured_whole_is_never_the_best(tmp_path: Path, scalars: dict[str, float]) -> None:
    keeper = KeepBest(tmp_path / "best")

    assert not keeper.offer(10, checkpoint(tmp_path, 10), scalars)
    assert keeper.best is None


def test_off_keeps_nothing(tmp_path: Path) -> None:
    assert not KeepBest(tmp_path / "best", "off").offer(10, checkpoint(tmp_path, 10), sop(99.0))
    assert not (tmp_path / "best").exists()


def test_a_checkpoint_that_vanishes_while_it_is_copied_leaves_the_old_best(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keeper = KeepBest(tmp_path / "best")
    keeper.offer(10, checkpoint(tmp_path, 10), sop(50.0))

    assert not keeper.offer(20, tmp_path / "global_step_20", sop(60.0))

    assert "global_step_20" in caplog.text
    assert keeper.best is not None
    assert keeper.best.step == 10
    assert sorted(p.name for p in (tmp_path / "best").iterdir()) == ["best-step-000010", "best.json"]


def test_a_pointer_that_was_edited_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "best.json").write_text('{"step": "ten"}')

    with pytest.raises(DataError, match="delete it"):
        _ = KeepBest(tmp_path).best
    assert not KeepBest(tmp_path).offer(10, checkpoint(tmp_path, 10), sop(99.0)), "training goes on all the same"
