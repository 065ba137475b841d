"""Whatever a bridge does, a question comes back by its deadline, and nothing of the bridge is left."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sopbench.online.androidworld import client
from sopbench.online.androidworld.client import Bridge, BridgeFailed
from sopbench.online.base import EnvironmentFailed

STAND_IN = Path(__file__).with_name("stand_in.py")


@pytest.fixture
def bridge(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bridge]:
    monkeypatch.setenv("HOME", f"/nowhere/{request.param}")
    made = Bridge(Path(sys.executable), STAND_IN)
    yield made
    made.kill()


def gone(pid: int) -> bool:
    """Whether no process of that group is left (a child takes a moment to be reaped)."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.killpg(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("bridge", ["works"], indirect=True)
def test_questions_are_answered_in_turn(bridge: Bridge) -> None:
    assert bridge.ask("a", 20, word="one") == {"echo": "one"}
    assert bridge.ask("b", 20, word="zwei\n✓") == {"echo": "zwei\n✓"}
    pid = bridge.pid
    assert pid is not None
    bridge.close()
    assert bridge.pid is None
    assert gone(pid)


@pytest.mark.parametrize("bridge", ["hangs"], indirect=True)
def test_one_that_hangs_is_killed_with_its_children(bridge: Bridge) -> None:
    began = time.monotonic()
    with pytest.raises(BridgeFailed) as caught:
        bridge.ask("start", 1.5)
    assert caught.value.kind == "timeout"
    assert not caught.value.alive
    assert time.monotonic() - began < 15
    assert bridge.pid is None


@pytest.mark.parametrize(
    ("bridge", "kind"), [("ends", "died"), ("garbage", "bad_reply"), ("other", "bad_reply")], indirect=["bridge"]
)
def test_one_that_breaks_is_told_by_kind(bridge: Bridge, kind: str) -> None:
    with pytest.raises(BridgeFailed) as caught:
        bridge.ask("start", 20)
    assert (caught.value.kind, caught.value.alive) == (kind, False)
    assert bridge.pid is None


@pytest.mark.parametrize("bridge", ["ends"], indirect=True)
def test_last_words_are_in_the_error(bridge: Bridge) -> None:
    with pytest.raises(BridgeFailed, match=r"status 3.*out of memory"):
        bridge.ask("start", 20)


@pytest.mark.parametrize("bridge", ["endless"], indirect=True)
def test_a_line_without_end_is_bounded(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LONGEST_ANSWER", 1_000_000)
    with pytest.raises(BridgeFailed, match="more than 1000000 bytes"):
        bridge.ask("screen", 20)


@pytest.mark.parametrize(("bridge", "kind"), [("error", "device"), ("odd", "environment_error")], indirect=["bridge"])
def test_an_error_that_it_tells_leaves_it_alive(bridge: Bridge, kind: str) -> None:
    with pytest.raises(BridgeFailed) as caught:
        bridge.ask("start", 20)
    assert (caught.value.kind, caught.value.alive) == (kind, True)
    assert bridge.pid is not None


@pytest.mark.parametrize("bridge", ["works"], indirect=True)
def test_it_starts_again_after_it_was_killed(bridge: Bridge) -> None:
    bridge.ask("a", 20)
    first = bridge.pid
    bridge.kill()
    assert bridge.ask("b", 20, word="again") == {"echo": "again"}
    assert bridge.pid != first


@pytest.mark.parametrize("bridge", ["keys"], indirect=True)
def test_keys_of_ours_do_not_reach_it(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    names = bridge.ask("hello", 20)["names"]
    assert "OPENAI_API_KEY" not in names
    assert {"PATH", "TMPDIR", "PYTHONHASHSEED"} <= set(names)


def test_an_environment_that_is_not_there_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(BridgeFailed, match="sopbench androidworld install") as caught:
        Bridge(tmp_path / "python").ask("hello", 5)
    assert caught.value.kind == "not_installed"


@pytest.mark.parametrize("bridge", ["hangs"], indirect=True)
def test_waiting_ends_when_the_watch_says_so(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "WATCH_EVERY", 0.2)

    def gone_meanwhile() -> None:
        raise EnvironmentFailed("died", "the phone is gone")

    with pytest.raises(EnvironmentFailed, match="the phone is gone"):
        bridge.ask("start", 60, watch=gone_meanwhile)
    assert bridge.pid is None
