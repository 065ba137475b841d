"""The emulator's console: lines of text on the even port beside adb's, used by `adb emu`.

Knows: help, ping, kill, quit, avd name|status|snapshot list|save|load|delete, gsm call|accept|cancel|list, sms send, geo fix,
and, of our own, fault set NAME [SECONDS] | clear [NAME] | list.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable
from typing import Final

from emulator.sim.android import Android
from emulator.sim.databases import execute
from emulator.sim.faults import ABOUT, FAULTS
from emulator.sim.system_apps import TELEPHONY

GREETING: Final = (
    b"Android Console: no authentication needed\r\nOK\r\nAndroid Console: type 'help' for a list of commands\r\nOK\r\n"
)
"""Two greetings, each with its OK: `adb emu` passes over as much and prints what follows (AOSP adb, console.cpp)."""
MAX_LINE: Final = 64 * 1024
MAX_SNAPSHOTS: Final = 32
NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,80}")


class Refused(Exception):
    """What the console answers with KO."""


class Quit(Exception):
    """The client says goodbye."""


class Console:
    """Answers one line after the other. `kill` is what the command of that name does."""

    def __init__(self, android: Android, name: str, kill: Callable[[], None]) -> None:
        self._android, self._name, self._kill = android, name, kill

    def answer(self, line: str) -> list[str]:
        """The lines of the answer; raises `Refused` or `Quit`."""
        words = line.split()
        match words:
            case []:
                return []
            case ["help"]:
                return ["Commands: help ping kill quit avd gsm sms geo fault"]
            case ["ping"]:
                return ["I am alive!"]
            case ["quit" | "exit"]:
                raise Quit
            case ["kill"]:
                threading.Thread(target=self._kill, name="kill", daemon=True).start()
                return [f"{self._name}: killing emulator, bye bye"]
            case ["avd", *rest]:
                return self._avd(rest)
            case ["gsm", *rest]:
                return self._gsm(rest)
            case ["sms", "send", number, *_]:
                return self._sms(number, line.split(None, 3)[3] if len(words) > 3 else "")
            case ["geo", "fix", *_] | ["power", *_] | ["rotate"] | ["finger", *_] | ["network", *_]:
                return []
            case ["fault", *rest]:
                return self._fault(rest)
        raise Refused("unknown command, try 'help'")

    def _avd(self, words: list[str]) -> list[str]:
        android = self._android
        match words:
            case ["name"]:
                return [self._name]
            case ["status"]:
                return ["virtual device is running"]
            case ["snapshot", "list"]:
                return ["List of snapshots present on all disks:", *sorted(android.snapshots)]
            case ["snapshot", "save", name] if NAME.fullmatch(name):
                if len(android.snapshots) >= MAX_SNAPSHOTS and name not in android.snapshots:
                    raise Refused(f"there are {MAX_SNAPSHOTS} snapshots already: delete one")
                android.save(name)
                return []
            case ["snapshot", "load", name]:
                if not android.load(name):
                    raise Refused(f"no snapshot {name[:80]}")
                return []
            case ["snapshot", "delete" | "del", name]:
                if android.snapshots.pop(name, None) is None:
                    raise Refused(f"no snapshot {name[:80]}")
                return []
        raise Refused("bad sub-command")

    def _gsm(self, words: list[str]) -> list[str]:
        phone = self._android.telephony
        match words:
            case ["call", number]:
                phone.state, phone.number = 1, number[:40]
                return []
            case ["accept", _]:
                phone.state = 2
                return []
            case ["cancel" | "busy", _]:
                phone.state, phone.number = 0, ""
                return []
            case ["list"]:
                return (
                    [f"inbound from {phone.number} : {'incoming' if phone.state == 1 else 'active'}"]
                    if phone.state
                    else []
                )
        raise Refused("bad sub-command")

    def _sms(self, number: str, text: str) -> list[str]:
        now = int(self._android.clock.now() * 1000)
        with self._android.lock:
            execute(
                self._android.files,
                TELEPHONY,
                "INSERT INTO sms (address, body, date, date_sent, type, read, seen, thread_id) VALUES (?, ?, ?, ?, 1, 0, 0, 1)",
                [number[:40], text[:10_000], now, now],
            )
        return []

    def _fault(self, words: list[str]) -> list[str]:
        faults = self._android.faults
        match words:
            case ["set", name, *rest] if name in FAULTS and len(rest) < 2:
                seconds = float(rest[0]) if rest and re.fullmatch(r"\d{1,6}(\.\d{1,3})?", rest[0]) else float("inf")
                faults.set(name, seconds)
                return []
            case ["clear", *rest]:
                faults.clear(rest[0] if rest else None)
                return []
            case ["list"]:
                return [f"{name}: {ABOUT[name]}{' (on)' if name in faults.active() else ''}" for name in FAULTS]
        raise Refused(f"fault set NAME [SECONDS] | clear [NAME] | list; names: {', '.join(FAULTS)}")


class ConsoleServer:
    """The console on a port of the loopback interface."""

    def __init__(self, console: Console, port: int) -> None:
        self._console, self._port = console, port
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()

    def start(self) -> None:
        """Raises `OSError` where the port is taken."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", self._port))
            listener.listen(8)
        except OSError:
            listener.close()
            raise
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), name="console", daemon=True).start()

    def stop(self) -> None:
        for wire in (self._listener, *list(self._open)):
            if wire is not None:
                with contextlib.suppress(OSError):  # not connected any more
                    wire.shutdown(socket.SHUT_RDWR)
                wire.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                wire, _ = listener.accept()
            except OSError:
                return  # stopped
            threading.Thread(target=self._serve, args=(wire,), name="console client", daemon=True).start()

    def _serve(self, wire: socket.socket) -> None:
        self._open.add(wire)
        try:
            wire.settimeout(60.0)
            wire.sendall(GREETING)
            with wire.makefile("rb") as lines:
                while line := lines.readline(MAX_LINE):
                    wire.sendall(self._reply(line.decode("utf-8", "replace")))
        except (OSError, Quit):
            pass  # the client left
        finally:
            self._open.discard(wire)
            wire.close()

    def _reply(self, line: str) -> bytes:
        if line.startswith("auth "):
            return b""  # adb sends its token unasked where it has one
        try:
            lines = [*self._console.answer(line.strip()), "OK"]
        except Refused as refusal:
            lines = [f"KO: {refusal}"]
        return "".join(f"{text}\r\n" for text in lines).encode("utf-8", "replace")
