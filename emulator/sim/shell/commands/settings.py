"""The command `settings`: get, put, delete, list, reset."""

from __future__ import annotations

from emulator.sim.android import SETTINGS
from emulator.sim.shell.call import Call, Commands, Failed

MAX_VALUE = 64 * 1024


def settings(call: Call) -> None:
    words = list(call.args)
    if words[:1] == ["--user"]:
        del words[:2]
    if len(words) < 2 or words[1] not in SETTINGS:
        raise Failed("Needs get|put|delete|list|reset and one of global, system, secure", 255)
    verb, space, *rest = words
    table = call.android.settings[space]
    match verb, rest:
        case "get", [key]:
            call.print(table.get(key, "null"))
        case "put", [key, value, *_]:
            if len(table) >= 10_000 or len(value) > MAX_VALUE:
                raise Failed("too much")
            table[key[:200]] = value
            call.android.log.write("D", "SettingsProvider", f"{space}/{key[:80]} changed")
        case "delete", [key]:
            call.print(f"Deleted {int(table.pop(key, None) is not None)} rows")
        case "list", []:
            for key in sorted(table):
                call.print(f"{key}={table[key]}")
        case "reset", _:
            call.android.settings[space] = dict(SETTINGS[space])
        case _:
            raise Failed(f"Bad arguments: {' '.join(call.args)[:80]}", 255)


COMMANDS: Commands = {"settings": settings}
