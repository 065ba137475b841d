"""How Android itself is acted on, where the simulated phone knows better: apps by their package, and letters that `input text` does not know."""

from __future__ import annotations

import base64
import time
from typing import Final

from emulator.actuate import pieces
from emulator.adb import quoted
from emulator.adb_device import AdbDevice
from emulator.apps import KNOWN, key, package_of
from emulator.device import DeviceFailed
from sopbench.actions import Action, Type

ADB_KEYBOARD: Final = "com.android.adbkeyboard/.AdbIME"
KEYBOARD_SETTLES: Final = 0.5
"""Seconds that an input method gets to take over."""


class AndroidHands(AdbDevice):
    """A device behind adb that is Android, whoever started it."""

    def package_of(self, app: str) -> str | None:
        """From the table of known apps; else by what is installed."""
        if key(app) in KNOWN:
            return KNOWN[key(app)]
        said = self.line("pm list packages").text
        return package_of(app, [line.removeprefix("package:").strip() for line in said.splitlines()])

    def act(self, action: Action, *, within: float | None = None) -> None:
        """As everywhere; letters that Android's `input text` does not know go through ADBKeyboard where that is installed."""
        if not isinstance(action, Type) or action.text.isascii():
            super().act(action, within=within)
            return
        deadline = time.monotonic() + (self.limits.act if within is None else within)
        for piece in pieces(action.text):
            done = self.line(quoted("input", "text", piece), max(0.1, deadline - time.monotonic()))
            if done.code != 0 or b"Exception" in done.stderr + done.stdout:
                self._type_by_keyboard(piece, deadline)

    def _type_by_keyboard(self, text: str, deadline: float) -> None:
        def ask_device(command: str) -> str:
            return self.line(command, max(0.1, deadline - time.monotonic())).text

        if ADB_KEYBOARD not in ask_device("ime list -a -s").split():
            raise DeviceFailed(
                "unsupported",
                f"{self.name}: `input text` cannot type {text[:40]!r}: install ADBKeyboard ({ADB_KEYBOARD}) in the golden device",
            )
        before = ask_device("settings get secure default_input_method")
        ask_device(quoted("ime", "enable", ADB_KEYBOARD))
        ask_device(quoted("ime", "set", ADB_KEYBOARD))
        try:
            time.sleep(min(KEYBOARD_SETTLES, max(0.0, deadline - time.monotonic())))
            message = base64.b64encode(text.encode("utf-8", "replace")).decode()
            ask_device(quoted("am", "broadcast", "-a", "ADB_INPUT_B64", "--es", "msg", message))
        finally:
            if before and before != "null":
                ask_device(quoted("ime", "set", before))
