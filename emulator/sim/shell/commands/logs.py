"""logcat and log."""

from __future__ import annotations

from typing import Final, cast

from emulator.sim.logcat import PRIORITIES, Entry, Priority
from emulator.sim.shell.call import Call, Commands, Failed

STYLES: Final = frozenset(["brief", "epoch", "raw", "tag", "time", "threadtime", "process", "long"])


def logcat(call: Call) -> None:
    """Prints the log; without `-d` it goes on until the reader leaves (in a pipe it ends)."""
    words = [word for word in call.args if word not in ("--pid", "-L")]
    call.args = words
    on, values, filters = call.split("dcgSDsB", "bvtTefGrn")
    styles = [word for word in values.get("v", "threadtime").split() if word in STYLES]
    if "c" in on:
        call.android.log.clear()
        return
    if "g" in on:
        call.print("main: ring buffer is 1 MiB (5 KiB consumed), max entry is 5120 B, max payload is 4068 B")
        return
    style = "epoch" if values.get("v") == "epoch" or "epoch" in call.args else styles[0] if styles else "threadtime"
    wanted = _filter(filters, "s" in on)
    entries = call.android.log.after(0) or []
    tail = values.get("t") or values.get("T")
    if tail and tail.isdigit():
        entries = entries[-int(tail) :] if int(tail) else []
    seen = _print(call, entries, style, wanted, 0)
    if "d" in on or values.get("t") or not call.last:
        return
    while (fresh := call.android.log.after(seen, wait=0.5)) is not None:
        seen = _print(call, fresh, style, wanted, seen)
        call.out.write(b"")  # notices that nobody reads any more


def _print(call: Call, entries: list[Entry], style: str, wanted: dict[str, str], seen: int) -> int:
    for entry in entries:
        least = wanted.get(entry.tag, wanted["*"])
        if PRIORITIES.index(entry.priority) >= PRIORITIES.index(least):
            call.print(entry.line(style))
        seen = entry.number
    return seen


def _filter(words: list[str], silent: bool) -> dict[str, str]:
    """Tag -> least priority, from `TAG:P` and `*:P`."""
    wanted = {"*": "S" if silent else "V"}
    for word in words:
        tag, colon, priority = word.rpartition(":")
        if not colon:
            continue
        wanted[tag or "*"] = priority.upper() if priority.upper() in PRIORITIES and priority else "V"
    return wanted


def log(call: Call) -> None:
    _, values, words = call.split("", "pt")
    priority = values.get("p", "i").upper()[:1]
    if priority not in "VDIWEF":
        raise Failed(f"bad -p '{values['p'][:20]}'")
    call.android.log.write(cast(Priority, priority), values.get("t", "log")[:60], " ".join(words))


COMMANDS: Commands = {"logcat": logcat, "log": log}
