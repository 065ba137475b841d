"""What `--devices` says, and what it does not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator import kvm
from emulator.apps import KNOWN, package_of
from emulator.attach import AttachDevice
from emulator.avd import AvdDevice
from emulator.backends import Spec, devices_from, parse
from emulator.console import ConsoleRefused, ask
from emulator.device import DeviceFailed
from emulator.docker import DockerDevice
from emulator.ports import MOST, for_slot, usual
from sopbench.errors import UsageError


@pytest.mark.parametrize(
    ("words", "spec"),
    [
        ("sim:4", Spec("sim", 4, {})),
        ("avd:2,avd=Gold,mode=read-only", Spec("avd", 2, {"avd": "Gold", "mode": "read-only"})),
        ("docker:3,image=mine:1,accel=off", Spec("docker", 3, {"image": "mine:1", "accel": "off"})),
        ("attach:localhost:5554,far-away.example:5557,grpc=8600", Spec("attach", 2, {"grpc": "8600"}, (("127.0.0.1", 5554), ("far-away.example", 5557)))),
    ],
)  # fmt: skip
def test_words_that_say_something(words: str, spec: Spec) -> None:
    assert parse(words) == spec


@pytest.mark.parametrize(
    "words",
    ["", "avd", "avd:", "avd:0", "avd:65", "avd:two", "avd:1,2", "avd:1,gpu=on", "avd:1,avd=", "avd:1,avd=-wipe-data", "avd:1,mode=copy", "docker:1,accel=on",
     "docker:1,image=--privileged", "avd:1,avd=A,avd=B", "attach:", "attach:5554", "attach:h:80", "attach:h:5554,h:5554", "attach:h;x:5554", "attach:-h:5554",
     "attach:h:5554,grpc=0", "phone:1", "avd:" + "1" * 5000],
)  # fmt: skip
def test_words_that_do_not(words: str) -> None:
    with pytest.raises(UsageError, match="devices"):
        parse(words)


@given(st.text(max_size=60) | st.text("avd:ockersimth1,=-.", max_size=30).map(lambda tail: f"avd:{tail}"))
def test_any_words_are_read_or_refused(words: str) -> None:
    try:
        count = parse(words).count
    except UsageError as error:
        count = 1 if len(str(error)) < 500 else 0
    assert 1 <= count <= MOST


def test_a_maker_for_each_backend() -> None:
    for words, kind in {"avd:2": AvdDevice, "docker:2": DockerDevice, "attach:h:5554,h:5556": AttachDevice}.items():
        make, count = devices_from(words, check=False)
        assert count == 2
        assert isinstance(make(1), kind)
        assert make(0).name != make(1).name


def test_what_is_missing_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("ADB", str(program))
    for name in ("ANDROID_HOME", "ANDROID_SDK_ROOT", "EMULATOR", "DOCKER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ANDROID_AVD_HOME", str(tmp_path))
    with pytest.raises(UsageError, match="sdkmanager emulator"):
        devices_from("avd:1")
    with pytest.raises(UsageError, match="install Docker"):
        devices_from("docker:1")
    monkeypatch.setenv("EMULATOR", str(program))
    with pytest.raises(UsageError, match=r"no AVD AndroidWorldAvd .* \(there: none\)"):
        devices_from("avd:1")
    monkeypatch.setenv("ADB", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="ADB="):
        devices_from("attach:127.0.0.1:5554")


def test_slots_never_share_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = set(range(5554, 5554 + 2 * MOST))
    monkeypatch.setattr("emulator.ports.is_free", lambda port: port not in taken)
    ports = [for_slot(slot) for slot in range(MOST)]
    every = [port for each in ports for port in (each.console, each.adb, each.grpc)]
    assert len(set(every)) == 3 * MOST
    assert not taken & set(every)
    assert (usual(3).console, usual(3).adb, usual(3).grpc) == (5560, 5561, 8557)
    monkeypatch.setattr("emulator.ports.is_free", lambda port: False)
    with pytest.raises(DeviceFailed, match="no free ports"):
        for_slot(0)


@pytest.mark.parametrize(
    ("app", "package"),
    [("Simple Calendar  PRO", "com.simplemobiletools.calendar.pro"), ("org.example.App", "org.example.App"), ("Weather", "org.x.weather"), ("twice", None), ("", None), ("; reboot", None)],
)  # fmt: skip
def test_apps_by_name(app: str, package: str | None) -> None:
    assert package_of(app, ["org.x.weather", "a.twice", "b.twice"]) == package


def test_the_table_has_every_name_once() -> None:
    assert len(KNOWN) > 60
    assert all("." in package and " " not in package for package in KNOWN.values())


@contextmanager
def console(token: str) -> Iterator[tuple[int, list[str]]]:
    """A console that wants a token before anything else, with the greeting of Android's emulator."""
    heard: list[str] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        wire, _ = listener.accept()
        with wire, wire.makefile("rb") as lines:
            wire.sendall(
                b"Android Console: Authentication required\r\nAndroid Console: type 'auth <auth_token>'\r\nOK\r\n"
            )
            known = False
            for line in lines:
                words = line.decode().strip()
                heard.append(words)
                if words.startswith("auth "):
                    known = words == f"auth {token}"
                    wire.sendall(
                        b"Android Console: type 'help'\r\nOK\r\n"
                        if known
                        else b"KO: authentication token does not match\r\n"
                    )
                elif known:
                    wire.sendall(
                        b"I am alive!\r\nOK\r\n" if words == "ping" else b"List of snapshots\r\ngolden\r\nOK\r\n"
                    )

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1]), heard
    finally:
        listener.close()
        thread.join(5)


def test_the_console_gets_its_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    with console("s3cret") as (port, heard):
        assert ask("avd snapshot list", port, 5, token=token) == ["List of snapshots", "golden"]
    assert heard == ["auth s3cret", "ping", "avd snapshot list"]
    token.write_text("wrong")
    with console("s3cret") as (port, _), pytest.raises(ConsoleRefused, match="does not match"):
        ask("avd snapshot list", port, 5, token=token)
    with console("s3cret") as (port, _), pytest.raises(ConsoleRefused, match="cannot be read"):
        ask("ping", port, 5, token=tmp_path / "none")
    with pytest.raises(ConsoleRefused, match="line break"):
        ask("ping\nkill", 1, 1)


def test_a_silent_console_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimeoutError):
        ask("ping", int(silent.getsockname()[1]), 0.2)


def test_kvm_is_told_in_words(tmp_path: Path) -> None:
    assert "there is no" in kvm.probe(tmp_path / "none").words
    (tmp_path / "file").touch()
    found = kvm.probe(tmp_path / "file")
    assert not found.usable
    assert "makes no virtual machine" in found.words
    assert isinstance(kvm.probe().words, str)
