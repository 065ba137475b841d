"""Runs on a Ray cluster of two local nodes: the same lines and the same summary as in one process, also when a node dies."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sopbench
from sopbench.api import resume
from sopbench.errors import UsageError
from sopbench.runs.on_ray import ClusterFailed
from sopbench.runs.progress import Progress

VOLATILE = {"run", "wall_s"}
"""Where the run lies and how long it took: all that two plays of one run may differ in."""
MODEL = "builtin:noisy:p=0.2"
PATIENCE = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "300",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_gcs_server_request_timeout_seconds": "300",
}
"""Two cores that do other things as well need minutes for what Ray gives seconds."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in PATIENCE.items():
            patch.setenv(name, value)
        yield from two_nodes()


def two_nodes() -> Iterator[Any]:
    import ray
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    found.add_node(num_cpus=1)
    ray.init(address=found.address, log_to_driver=False, logging_level="ERROR")
    yield found
    ray.shutdown()
    found.shutdown()


def summary_text(path: Path) -> str:
    """summary.json without what may differ, as bytes would be compared."""
    value = json.loads((path / "summary.json").read_text())
    return json.dumps({k: v for k, v in value.items() if k not in VOLATILE}, indent=1)


def lines(path: Path) -> list[dict[str, Any]]:
    """The journal in a canonical order, without the time at which each line was written."""
    rows = [json.loads(line) for line in (path / "steps.jsonl").read_text().splitlines()]
    for row in rows:
        row.pop("at")
        row.pop("shown", None)  # seconds
    return sorted(rows, key=lambda r: (r["episode"], r["repeat"], r.get("step", 10**6)))


@pytest.mark.parametrize(("suite", "limit"), [("pocket", 30), ("pocket-static", 8), ("pocket-online", 4)])
def test_a_run_on_a_cluster_is_the_run_in_one_process(cluster: Any, tmp_path: Path, suite: str, limit: int) -> None:
    asked = {"suite": suite, "model": MODEL, "limit": limit, "repeats": 2, "seed": 3}
    here = sopbench.run(out=tmp_path / "here", **asked)
    there = sopbench.run(out=tmp_path / "there", executor="ray", **asked)
    assert lines(there.path) == lines(here.path)
    assert summary_text(there.path) == summary_text(here.path)
    assert {p.name for p in (there.path / "screens").glob("*")} == {p.name for p in (here.path / "screens").glob("*")}


def test_what_a_cluster_began_is_finished_here(cluster: Any, tmp_path: Path) -> None:
    """The journal knows no executor: half of the lines of a run on Ray, resumed in this process, give the whole run."""
    whole = sopbench.run(suite="pocket", model=MODEL, limit=12, out=tmp_path / "there", executor="ray")
    expected = lines(whole.path)
    journal = whole.path / "steps.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:20]))
    again = resume(whole.path)
    assert lines(again.path) == expected


def test_a_node_that_dies_loses_nothing(cluster: Any, tmp_path: Path) -> None:
    """Killed while it plays; its episodes are played again on the node that is left."""
    asked = {"suite": "pocket-online", "model": MODEL, "limit": 14, "seed": 3, "concurrency": 4}
    here = sopbench.run(out=tmp_path / "here", **asked)
    doomed = cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    state = {"killed": False}

    def kill(progress: Progress) -> None:
        if progress.finished >= 2 and not state["killed"]:
            state["killed"] = True
            threading.Thread(target=cluster.remove_node, args=(doomed, False)).start()

    there = sopbench.run(out=tmp_path / "there", executor="ray", listener=kill, **asked)
    assert state["killed"]
    assert lines(there.path) == lines(here.path)
    assert summary_text(there.path) == summary_text(here.path)


def test_work_that_is_always_lost_stops_the_run(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sopbench.runs import on_ray

    class Dies(on_ray.Worker):
        async def play(self, job: on_ray.Job) -> on_ray.Played:
            import os

            os._exit(1)

    monkeypatch.setattr(on_ray, "Worker", Dies)
    monkeypatch.setattr(on_ray, "MAX_REDONE", 2)
    with pytest.raises(ClusterFailed, match="was lost with its node 2 times"):
        sopbench.run(suite="pocket", model=MODEL, limit=1, out=tmp_path / "r", executor="ray", concurrency=1)


def test_a_cancelled_run_can_be_resumed(cluster: Any, tmp_path: Path) -> None:
    async def cut_short() -> None:
        task = asyncio.create_task(
            sopbench.arun(
                suite="pocket-online", model=MODEL, limit=30, out=tmp_path / "r", executor="ray", concurrency=2
            )
        )
        deadline = time.monotonic() + 60
        while not (tmp_path / "r" / "steps.jsonl").exists() or not (tmp_path / "r" / "steps.jsonl").read_bytes():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cut_short())
    done = {row["episode"] for row in lines(tmp_path / "r") if row.get("end")}
    assert 0 < len(done) < 30


def test_a_cluster_that_is_not_there_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(ClusterFailed, match="no Ray cluster at"):
        sopbench.run(suite="pocket", limit=1, out=tmp_path / "r", executor="ray", ray_address="127.0.0.1:1")


def test_an_address_without_ray_is_refused() -> None:
    with pytest.raises(UsageError, match="belongs to executor='ray'"):
        sopbench.run(suite="pocket", limit=1, ray_address="auto")
