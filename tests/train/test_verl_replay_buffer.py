"""Which groups are learned from, with verl's queue replaced by dictionaries."""

from __future__ import annotations

from typing import Any

import pytest

from uis1_train.verl_ext import replay_buffer
from uis1_train.verl_ext.replay_buffer import FilteringReplayBuffer, NoBatch


class Queue:
    """What the buffer asks of verl's TransferQueue. `returns`: the step-0 returns of the rollouts of each goal; None where a rollout failed."""

    def __init__(self, returns: dict[str, list[float | None]]) -> None:
        self.returns = returns
        self.live = dict.fromkeys(list(returns)[:2], True)
        self.waiting = list(returns)[2:]

    def refill(self, goals: int) -> int:
        for goal in self.waiting[:goals]:
            self.live[goal] = True
        self.waiting = self.waiting[goals:]
        return goals

    def kv_list(self) -> dict[str, dict[str, dict[str, Any]]]:
        items: dict[str, dict[str, Any]] = {}
        for goal in self.live:
            failed = None in self.returns[goal]
            items[goal] = {"is_prompt": True, "status": "failure" if failed else "finished", "global_steps": 1}
            for rollout, value in enumerate(self.returns[goal]):
                if value is not None:
                    items |= {f"{goal}_{rollout}_{step}": {"global_steps": 1} for step in range(2)}
        return {"train": items}

    def kv_batch_get(self, *, keys: list[str], partition_id: str, select_fields: list[str]) -> dict[str, Any]:
        def fact(key: str) -> dict[str, Any]:
            goal, rollout, step = key.split("_")
            value = self.returns[goal][int(rollout)]
            return {"step_return": value if step == "0" else 99.0, "trajectory": f"recording-{goal}"}

        return {"extra_fields": [fact(key) for key in keys]}

    def kv_clear(self, *, partition_id: str, keys: list[str]) -> None:
        for key in keys:
            self.live.pop(key, None)


def buffer(queue: Queue, monkeypatch: pytest.MonkeyPatch, *, eta: float | None = 0.3, most: int = 20) -> Any:
    for name in ("kv_list", "kv_batch_get", "kv_clear"):
        monkeypatch.setattr(replay_buffer.tq, name, getattr(queue, name), raising=False)
    return FilteringReplayBuffer(
        "sync",
        {},
        None,
        "drop",
        {},
        poll_interval=0,
        filter_groups_metric="step_return",
        train_batch_size=2,
        gen_batch_size=1,
        max_inflight_gen_batches=1,
        sync_refill_failed_groups=True,
        eta=eta,
        most=most,
        refill_fn=queue.refill,
    )


def goals_of(batch: Any) -> set[str]:
    return {key.split("_")[0] for key in batch.keys}


def test_groups_within_eta_are_dropped_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue({"a": [0.1, 0.1], "b": [0.0, 1.5], "c": [0.5, 1.0], "d": [1.5, 0.1], "e": [0.0, 1.0]})
    batch, metrics = buffer(queue, monkeypatch).sample(1, "train", 2)
    # a: 0; c: 0.25 <= eta 0.3; b, d and e deviate by more, and two of them are taken
    assert goals_of(batch) < {"b", "d", "e"}
    assert len(goals_of(batch)) == 2
    assert metrics["uis1/groups/dropped"] == 2
    assert metrics["uis1/groups/failed"] == 0


def test_only_the_first_step_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Later steps all say 99 here, which would make every group equal."""
    queue = Queue({"a": [0.0, 1.0], "b": [0.0, 1.0]})
    batch, metrics = buffer(queue, monkeypatch).sample(1, "train", 2)
    assert goals_of(batch) == {"a", "b"}
    assert len(batch.keys) == 8
    assert metrics["uis1/groups/played"] == 2


def test_a_group_of_which_one_rollout_failed_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue({"a": [0.0, None], "b": [0.0, 1.0], "c": [1.0, 0.0]})
    batch, metrics = buffer(queue, monkeypatch).sample(1, "train", 2)
    assert goals_of(batch) == {"b", "c"}
    assert metrics["uis1/groups/failed"] == 1
    assert metrics["uis1/groups/dropped"] == 0


def test_without_eta_every_group_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue({"a": [0.1, 0.1], "b": [0.0, 0.0]})
    batch, metrics = buffer(queue, monkeypatch, eta=None).sample(1, "train", 2)
    assert goals_of(batch) == {"a", "b"}
    assert metrics["uis1/groups/dropped"] == 0


def test_a_group_of_one_rollout_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue({"a": [0.1], "b": [0.0]})
    batch, _ = buffer(queue, monkeypatch).sample(1, "train", 2)
    assert goals_of(batch) == {"a", "b"}


def test_the_bound_ends_it_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue({str(n): [0.1, 0.1] for n in range(100)})
    with pytest.raises(NoBatch, match="after 6 goals") as raised:
        buffer(queue, monkeypatch, most=6).sample(1, "train", 2)
    assert "uis1.max_generated" in str(raised.value)
    assert "more SFT first" not in str(raised.value)  # mean returns are as high as any seen
    assert "eta=0.3" in str(raised.value)


def test_failures_are_told_as_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue({str(n): [0.1, None] for n in range(100)})
    with pytest.raises(NoBatch, match="Mend what fails"):
        buffer(queue, monkeypatch, most=6).sample(1, "train", 2)


def test_dropped_groups_are_logged_by_their_recording(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="uis1_train.groups")
    queue = Queue({"a": [0.1, 0.1], "b": [0.0, 1.0], "c": [0.0, 1.0], "d": [0.0, 1.0]})
    buffer(queue, monkeypatch).sample(1, "train", 2)
    assert "dropped: recording-a, 2 rollouts, step-0 return 0.100 +- 0.000" in caplog.text
