"""The command sqlite3: SQL on a database file of the device."""

from __future__ import annotations

from emulator.sim.databases import DatabaseError, Value, execute_script
from emulator.sim.shell.call import Call, Commands, Failed


def sqlite3(call: Call) -> None:
    words = list(call.args)
    header = False
    separator = "|"
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "-header":
            header = True
        elif option == "-separator" and words:
            separator = words.pop(0)
        elif option == "-csv":
            separator = ","
        elif option not in ("-noheader", "-batch", "-list", "-readonly", "-bail"):
            raise Failed(f"unknown option: {option[:40]}")
    if not words:
        raise Failed("Needs a database file")
    path = call.path(words[0])
    script = " ".join(words[1:]) if len(words) > 1 else call.stdin_text()
    if script.lstrip().startswith("."):
        script = _dotted(script.strip())
    try:
        columns, rows = execute_script(call.android.files, path, script)
    except DatabaseError as error:
        raise Failed(f"Error: {error}") from None
    if header and columns:
        call.print(separator.join(columns))
    for row in rows:
        call.print(separator.join(_shown(value) for value in row))


def _dotted(command: str) -> str:
    if command == ".tables":
        return "SELECT name FROM sqlite_master WHERE type IN ('table','view') AND name NOT LIKE 'sqlite_%' ORDER BY 1"
    if command == ".schema":
        return "SELECT sql || ';' FROM sqlite_master WHERE sql IS NOT NULL ORDER BY tbl_name, type DESC, name"
    raise Failed(f"{command[:40]} is not simulated")


def _shown(value: Value) -> str:
    if value is None:
        return ""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


COMMANDS: Commands = {"sqlite3": sqlite3}
