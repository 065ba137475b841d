"""The genuine adb talks to a simulated phone."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Phones, inside

from emulator.adb import AdbClient, AdbServer, AdbServerDown, AdbTimeout
from emulator.sim import SimDevice


def test_shell_keeps_exit_codes_and_both_outputs(phone: SimDevice) -> None:
    result = phone.adb("shell", "echo out; echo err 1>&2; ls /nowhere; exit 3")
    assert (result.code, result.stdout) == (3, b"out\n")
    assert result.stderr == b"err\nls: /nowhere: No such file or directory\n"
    assert phone.adb("shell", "nonsense").code == 127
    assert phone.adb("shell", "-T", "cat > /sdcard/typed; wc -c < /sdcard/typed", stdin=b"a\0b\n" * 1000).text == "4000"
    assert phone.adb("exec-out", "cat /sdcard/typed").stdout == b"a\0b\n" * 1000
    assert phone.adb("shell", stdin=b"echo one\necho two\n").stdout == b"one\ntwo\n"


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 3_000_001])
def test_files_come_and_go_unchanged(phone: SimDevice, tmp_path: Path, size: int) -> None:
    there, back = tmp_path / "ä b.bin", tmp_path / "back.bin"
    there.write_bytes(os.urandom(size))
    os.utime(there, (1_600_000_000, 1_600_000_000))
    assert phone.adb("push", str(there), "/sdcard/new/folder/ä b.bin").code == 0
    assert phone.shell("stat", "-c", "%s %Y", "/sdcard/new/folder/ä b.bin").text == f"{size} 1600000000"
    assert phone.adb("pull", "/sdcard/new/folder/ä b.bin", str(back)).code == 0
    assert back.read_bytes() == there.read_bytes()


def test_folders_come_and_go_whole(phone: SimDevice, tmp_path: Path) -> None:
    for name in ("a/one", "a/b/two", "a/b/c/three"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert phone.adb("push", str(tmp_path / "a"), "/sdcard/").code == 0
    assert phone.adb("pull", "/sdcard/a", str(tmp_path / "back")).code == 0
    assert (tmp_path / "back" / "b" / "c" / "three").read_text() == "a/b/c/three"
    missing = phone.adb("pull", "/sdcard/none", str(tmp_path / "none"))
    assert missing.code == 1
    assert b"No such file" in missing.stderr + missing.stdout


def test_screencap_is_the_phone_s_picture_to_the_byte(phone: SimDevice) -> None:
    assert phone.screenshot().read() == inside(phone).android.screen.png()


def test_logcat_streams_until_it_is_left(phone: SimDevice, adb: Path) -> None:
    address = phone.address
    command = [adb, "-P", str(address.adb_server_port), "-s", address.serial, "logcat", "-v", "epoch", "mine:I", "*:S"]
    reader = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        assert reader.stdout is not None
        for number in range(3):
            phone.shell("log", "-t", "mine", f"line {number}")
            line = reader.stdout.readline().decode()
            assert line.rstrip().endswith(f"I mine: line {number}")
    finally:
        reader.kill()
        reader.wait()
        assert reader.stdout is not None
        reader.stdout.close()


def test_apps_are_installed_and_removed(phone: SimDevice, tmp_path: Path) -> None:
    apk = tmp_path / "org.example.thing.apk"
    apk.write_bytes(b"PK")
    assert phone.adb("install", "-r", "-t", "-g", str(apk)).code == 0
    assert "package:org.example.thing" in phone.shell("pm", "list", "packages").text.splitlines()
    assert phone.adb("uninstall", "org.example.thing").code == 0
    assert "org.example.thing" not in phone.shell("pm", "list", "packages").text


def test_the_console_answers_adb_emu(phone: SimDevice) -> None:
    assert phone.adb("emu", "avd", "name").text.splitlines()[0] == phone.address.serial
    phone.adb("emu", "sms", "send", "+15551234", "see you")
    assert "body=see you" in phone.shell("content", "query", "--uri", "content://sms/inbox").text


def test_a_restarted_phone_is_found_again_by_the_same_server(phone: SimDevice) -> None:
    assert phone.shell("echo", "before").text == "before"
    inside(phone).stop()
    inside(phone).start()
    assert phone.adb("wait-for-device", within=20).code == 0
    assert phone.shell("echo", "after").text == "after"


def test_adb_reboot_brings_it_back_with_its_files(phone: SimDevice) -> None:
    phone.shell("touch", "/sdcard/kept")
    phone.shell("settings", "put", "global", "kept", "1")
    phone.snapshot_save("kept")
    phone.adb("reboot")
    time.sleep(0.3)
    assert phone.adb("wait-for-device", within=20).code == 0
    phone.wait_until_up(time.monotonic() + 20)
    assert phone.shell("ls", "/sdcard/kept").text == "/sdcard/kept"
    assert phone.shell("settings", "get", "global", "kept").text == "1"
    phone.snapshot_load("kept")


def test_a_server_that_starts_later_finds_the_phone(phone: SimDevice, adb: Path) -> None:
    """As when android-env kills and starts the server because a call failed."""
    address = phone.address
    phone._server.stop()  # type: ignore[union-attr]
    with pytest.raises(AdbServerDown):
        AdbClient(phone._server, address.serial)("devices")  # type: ignore[arg-type]
    server = AdbServer(address.adb_server_port, adb)
    server.start()
    try:
        client = AdbClient(server, address.serial)
        assert client("wait-for-device", within=20).code == 0
        assert client("shell", "echo here").text == "here"
    finally:
        server.stop()


def test_each_phone_is_seen_by_its_own_server_alone(phones: Phones) -> None:
    one, two = phones("one", in_process=True), phones("two", in_process=True)
    assert one.address.adb_server_port != two.address.adb_server_port
    assert one.address.serial in one.adb("devices").text
    assert two.address.serial not in one.adb("devices").text
    one.shell("touch", "/sdcard/mine")
    assert two.shell("ls", "/sdcard/mine").code == 1


def test_a_call_that_hangs_is_killed_at_its_deadline(phone: SimDevice) -> None:
    began = time.monotonic()
    client = AdbClient(phone._server, phone.address.serial)  # type: ignore[arg-type]
    with pytest.raises(AdbTimeout, match="did not come back within 1 s"):
        client("logcat", within=1)
    assert time.monotonic() - began < 10


def test_ports_forward_nowhere(phone: SimDevice) -> None:
    """A phone that let adb reach ports would let it reach this machine's."""
    assert phone.adb("reverse", "tcp:1", "tcp:2").code == 1
    assert phone.adb("shell", "nc 127.0.0.1 22").code == 127
