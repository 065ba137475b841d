"""Nothing that reaches the phone's shell is run on this machine, or sees its files."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.actuate import commands
from emulator.adb import quoted
from sopbench.actions import Type
from tests.unit.sim.machine import Machine, pocket


@pytest.fixture(autouse=True)
def no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts a program, opens a file for writing or a connection fails the test."""

    def forbidden(*args: object, **kwargs: object) -> None:
        raise AssertionError(f"the phone reached for this machine: {args}")

    for module, name in (
        (subprocess, "Popen"),
        (os, "system"),
        (os, "popen"),
        (os, "execv"),
        (os, "fork"),
        (socket, "create_connection"),
        (os, "remove"),
    ):
        monkeypatch.setattr(module, name, forbidden)


HOSTILE = [
    "; rm -rf {here}", "$(rm -rf {here})", "`rm -rf {here}`", "| rm -rf {here}", "&& rm -rf {here}", "|| rm -rf {here}", "> {here}/canary",
    "' ; rm -rf {here} ; '", "\" ; rm -rf {here} ; \"", "\\; rm -rf {here}", "\nrm -rf {here}", "; cat /etc/passwd", "; ls /root", "; cat {here}/canary",
    "; cp -r {here} /sdcard", "; find / -exec rm -rf {here} \\;", "; su 0 rm -rf {here}", "; sh -c 'rm -rf {here}'", "; eval rm -rf {here}",
    "; xargs rm -rf {here}", "; sqlite3 /sdcard/x.db \"ATTACH '{here}/canary' AS c\"", "; sqlite3 /sdcard/x.db \"SELECT readfile('{here}/canary')\"",
    "; sqlite3 /sdcard/x.db \"SELECT load_extension('{here}/canary')\"", "; sqlite3 /sdcard/x.db \"VACUUM INTO '{here}/copy'\"",
    "; python3 -c 'print(1)'", "; nc 127.0.0.1 80", "; curl http://127.0.0.1/", "; ln -s {here} /sdcard/l; cat /sdcard/l/canary",
    "; cd {here}; cat canary", "; cat ../../../../../../../..{here}/canary", "; . {here}/canary", "; exec rm -rf {here}",
]  # fmt: skip


@pytest.mark.parametrize("tail", HOSTILE)
def test_hostile_text_does_nothing_here(tail: str, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    canary.write_text("the secret")
    machine = Machine()
    for line in (f"echo hello {tail}", f"input text hello{tail}", f"am start -n a/b --es x {tail}"):
        _, out, err = machine.run(line.replace("{here}", str(tmp_path)))
        assert "the secret" not in out + err
    assert canary.read_text() == "the secret"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["canary"]


@pytest.mark.parametrize(
    "name",
    [
        "sh",
        "bash",
        "python3",
        "curl",
        "nc",
        "reboot",
        "mount",
        "ssh",
        "toybox",
        "eval",
        "source",
        "/bin/ls",
        "../../bin/ls",
    ],
)
def test_unknown_commands_are_not_found(name: str) -> None:
    assert Machine().run(f"{name} -c true") == (127, "", f"sh: {name}: inaccessible or not found\n")


def test_a_refused_line_runs_nothing_of_it() -> None:
    machine = Machine()
    code, out, err = machine.run("echo first; touch /sdcard/made; echo $(id)")
    assert (code, out) == (2, "")
    assert "not simulated" in err
    assert not machine.android.files.exists("/sdcard/made")


@pytest.mark.parametrize(
    "line",
    [
        "grep '\\(a*\\)*b' /sdcard/f",
        "grep -E '(a+)+b' /sdcard/f",
        "grep -E '(a|a)*b' /sdcard/f",
        "grep -E '((a+))+b' /sdcard/f",
        "sed 's/\\(a*\\)*b/x/' /sdcard/f",
    ],
)
def test_patterns_that_would_take_for_ever_are_refused(line: str) -> None:
    machine = Machine()
    machine.android.files.write("/sdcard/f", b"a" * 200)
    code, _, err = machine.run(line)
    assert code == 1
    assert "nested repetition" in err


def test_runaway_sql_is_ended() -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    code, _, err = Machine().run(f'sqlite3 /sdcard/x.db "{endless}"')
    assert code == 1
    assert "interrupted" in err


def test_output_and_files_are_bounded() -> None:
    machine = Machine()
    machine.android.files.write("/sdcard/f", b"x" * 40_000_000)
    assert machine.run("cat /sdcard/f /sdcard/f /sdcard/f")[0] == 141
    assert "File too large" in machine.run("truncate -s 999999999 /sdcard/f")[2]
    assert (
        "No space left"
        in machine.run(
            "for i in " + " ".join("abcdefghijklmnopqrstuvwxyzABCDEF") + "; do cp /sdcard/f /sdcard/f$i; done"
        )[2]
    )


COMMANDS = ["ls", "cat", "rm -rf", "cp -r", "mv", "find", "grep", "sed", "stat", "am start", "am broadcast", "pm", "input", "settings", "content query --uri",
    "dumpsys", "date", "wm", "svc", "cmd", "touch -t", "chmod", "test", "[", "printf", "cut -f", "head -n", "sqlite3 /sdcard/x.db", "logcat -d", "sleep",
    "monkey -p", "uiautomator", "getprop", "setprop", "tr", "sort", "seq", "xargs", "base64", "truncate -s", "ime", "service", "du", "ln -s", "su 0"]  # fmt: skip


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    command=st.sampled_from(COMMANDS),
    words=st.lists(
        st.text(max_size=12) | st.sampled_from(["/sdcard", "*", "/", "-x", "--", "1", "-1", "..", "content://sms"]),
        max_size=4,
    ),
)
def test_every_command_answers_whatever_it_is_given(command: str, words: list[str]) -> None:
    code, _, _ = SHARED.run(f"{command} {quoted(*words)}")
    assert 0 <= code <= 255


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80))
def test_any_line_comes_back(line: str) -> None:
    code, _, _ = SHARED.run(line)
    assert 0 <= code <= 255


SHARED = Machine()


def test_typed_text_is_typed_and_nothing_else() -> None:
    machine, screen = pocket()
    machine.run("monkey -p org.sopbench.pocket.notes 1")
    new = next(node for node in screen.phone.ui() if node.id == "new")
    machine.run(f"input tap {new.centre.x} {new.centre.y}")
    field = next(node for node in screen.phone.ui() if node.editable)
    machine.run(f"input tap {field.centre.x} {field.centre.y}")
    text = '\'; rm -rf /sdcard; echo "$(id)" `id` | tee %s %d & <x> \\ *'
    for line in commands(Type(text), screen.size, lambda name: None):
        assert machine.run(line) == (0, "", "")
    typed = [value for page in screen.phone.state.nav.stacks["notes"] for value in page.fields.values()]
    assert text in typed
    assert machine.android.files.is_dir("/sdcard/Download")
