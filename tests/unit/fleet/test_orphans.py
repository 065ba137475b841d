"""Processes that must not outlive their owner, and strangers that must not be touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.fleet.state import Record, StateFolder
from emulator.orphans import MARK, ROOT, Process, began, end_all, from_json, identified, marked
from tests.unit.fleet.toy import eventually

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
PARENT = """
import subprocess, sys, time
from emulator.orphans import Guard, identified
guard = Guard({mark!r}); guard.start()
told = subprocess.Popen({sleep!r}, start_new_session=True)
guard.tell(identified([told.pid]))
untold = subprocess.Popen({sleep!r}, start_new_session=True)
print(told.pid, untold.pid, guard.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(SLEEP)
    yield child
    child.kill()
    child.wait()


def test_a_process_is_known_by_its_beginning(sleeper: subprocess.Popen[bytes]) -> None:
    [known] = identified([sleeper.pid])
    assert known.alive
    sleeper.kill()
    sleeper.wait()
    assert not known.alive


def test_an_id_that_another_program_has_got_is_left_alone(sleeper: subprocess.Popen[bytes]) -> None:
    assert end_all([Process(sleeper.pid, "12345")]) == ()
    assert sleeper.poll() is None


def test_what_does_not_go_by_itself_is_killed() -> None:
    deaf = subprocess.Popen(
        [sys.executable, "-c", "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert deaf.stdout is not None
    deaf.stdout.readline()
    [known] = identified([deaf.pid])
    assert end_all([known], within=0.2) == (known,)
    assert deaf.wait(5) == -signal.SIGKILL
    deaf.stdout.close()


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="environments of other processes are read on Linux only"
)
def test_marked_processes_are_found_and_only_they() -> None:
    child = subprocess.Popen(SLEEP, env=os.environ | {MARK: "unit-test-1"})
    try:
        assert [process.pid for process in marked("unit-test-1")] == [child.pid]
        assert marked("unit-test") == ()
    finally:
        child.kill()
        child.wait()


def test_a_killed_parent_leaves_nothing_behind() -> None:
    mark = f"unit-{os.getpid()}"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(mark=mark, sleep=SLEEP)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | {MARK: mark},
    )
    assert parent.stdout is not None
    left = [int(word) for word in parent.stdout.readline().split()]
    parent.kill()
    parent.wait()
    parent.stdout.close()
    try:
        eventually(lambda: not any(psutil.pid_exists(pid) for pid in left), within=15)
    finally:
        end_all(identified(left), 0.0)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=12,
    )
)
def test_any_json_is_read_as_processes_or_left_out(value: object) -> None:
    for process in from_json(value):
        assert process.pid > 1
        assert from_json([process.as_json()]) == (process,)


def test_a_record_is_read_as_it_was_written_and_a_torn_one_is_none(tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "fleet")
    state.make()
    assert state.read() is None
    record = Record(4321, "sim:2", "m", Process(12, "34"), (Process(56, "78"),))
    state.write(record)
    assert state.read() == record
    file = tmp_path / "fleet" / "service.json"
    whole = file.read_text()
    for length in range(0, len(whole), 7):
        file.write_text(whole[:length])
        assert state.read() is None
    assert oct((tmp_path / "fleet").stat().st_mode & 0o777) == "0o700"


def test_a_folder_is_busy_as_long_as_its_lock_is_held(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    lock = state.lock()
    assert lock is not None
    assert state.busy
    lock.close()
    assert not state.busy


def test_what_a_dead_service_left_is_ended_and_forgotten(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    state = StateFolder(tmp_path)
    told = began(sleeper.pid)
    assert told is not None
    own = Process(os.getpid(), "not this process")
    state.write(Record(4321, "sim:1", "", own, (Process(sleeper.pid, told),)))
    assert [process.pid for process in state.end_leftovers()] == [sleeper.pid]
    assert sleeper.wait(5) != 0
    assert state.read() is None
