"""The container's start script with STAND-INS for emulator, adb and socat: no container and no Android runs here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "emulator" / "docker" / "entrypoint.sh"


@pytest.fixture
def world(tmp_path: Path) -> dict[str, str]:
    """Programs by name on a path of their own; `emulator.calls` keeps the emulator's words, which it also says aloud."""
    calls = tmp_path / "emulator.calls"
    programs = {
        "emulator": f'echo "$*" >> "{calls}"; echo "stand-in: $*" >&2; case "$1" in -accel-check) exit "${{CHECK:-0}}";; esac; exec sleep 30',
        "adb": 'case "$*" in *boot_completed*) echo "${BOOTED:-1}";; esac',
        "socat": "exec sleep 30",
    }
    for name, body in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    return {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CALLS": str(calls), "SOPBENCH_TIED": "1", "SOPBENCH_BOOT": "2"}


def run(world: dict[str, str], *words: str, until: str = "", **more: str) -> tuple[int, str]:
    """Start it, wait for words on standard error, close its standard input, and see how it ends."""
    process = subprocess.Popen(
        [SCRIPT, *words],
        env=world | more,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    said = ""
    while until and until not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    process.stdin.close()
    try:
        code = process.wait(10)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    said += process.stderr.read()
    process.stderr.close()
    return code, said


def started(world: dict[str, str]) -> list[str]:
    calls = Path(world["CALLS"])
    lines = calls.read_text().splitlines() if calls.exists() else []
    return [line for line in lines if line.startswith("-avd")]


def test_software_is_said_and_the_container_ends_with_its_owner(world: dict[str, str]) -> None:
    code, said = run(world, until="in software", SOPBENCH_ACCEL="off")
    assert code == 143
    assert "many times slower" in said


def test_kvm_that_does_not_boot_is_replaced_or_refused(world: dict[str, str]) -> None:
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        pytest.skip("this user may not open /dev/kvm: the script does not get as far as a boot")
    run(world, until="-accel off", BOOTED="0")
    assert [line.partition("-accel ")[2].split()[0] for line in started(world)] == ["on", "off"]
    code, said = run(world, until="giving up", SOPBENCH_ACCEL="on", CHECK="1")
    assert code == 1
    assert "cannot use /dev/kvm" in said


@pytest.mark.parametrize(("booted", "code"), [("1", 0), ("0", 1), ("", 1)])
def test_health_is_the_boot(world: dict[str, str], booted: str, code: int) -> None:
    adb = Path(world["CALLS"]).with_name("adb")
    adb.write_text(f"#!/bin/sh\necho '{booted}'\n")
    assert run(world, "health")[0] == code


def test_other_words_are_refused(world: dict[str, str]) -> None:
    assert run(world, "sh")[0] == 2
