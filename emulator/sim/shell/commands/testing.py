"""`test` and `[`, true, false."""

from __future__ import annotations

from emulator.sim.files import FileError
from emulator.sim.shell.call import Call, Commands, Failed


def test(call: Call) -> int:
    words = list(call.args)
    if call.name == "[" and (not words or words.pop() != "]"):
        raise Failed("missing ]", 2)
    answer = _either(call, words)
    if words:
        raise Failed(f"unexpected '{words[0][:40]}'", 2)
    return 0 if answer else 1


def _either(call: Call, words: list[str]) -> bool:
    answer = _both(call, words)
    while words and words[0] == "-o":
        words.pop(0)
        answer = _both(call, words) or answer
    return answer


def _both(call: Call, words: list[str]) -> bool:
    answer = _one(call, words)
    while words and words[0] == "-a":
        words.pop(0)
        answer = _one(call, words) and answer
    return answer


def _one(call: Call, words: list[str]) -> bool:
    if not words:
        return False
    if words[0] == "!" and len(words) > 1:
        words.pop(0)
        return not _one(call, words)
    if len(words) >= 3 and words[1] in _BINARY:
        left, operator, right = words.pop(0), words.pop(0), words.pop(0)
        return _compared(left, operator, right)
    if len(words) >= 2 and words[0] in _UNARY:
        operator, word = words.pop(0), words.pop(0)
        if operator in ("-n", "-z"):
            return (operator == "-n") == bool(word)
        return _file(call, operator, call.path(word)) if word else False
    return bool(words.pop(0))


_BINARY = ("=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge")
_UNARY = ("-e", "-f", "-d", "-h", "-L", "-s", "-r", "-w", "-x", "-n", "-z")


def _compared(left: str, operator: str, right: str) -> bool:
    if operator in ("=", "=="):
        return left == right
    if operator == "!=":
        return left != right
    try:
        first, second = int(left[:20]), int(right[:20])
    except ValueError:
        raise Failed("not a number", 2) from None
    return {
        "-eq": first == second, "-ne": first != second, "-lt": first < second,
        "-le": first <= second, "-gt": first > second, "-ge": first >= second,
    }[operator]  # fmt: skip


def _file(call: Call, operator: str, path: str) -> bool:
    try:
        node = call.android.files.lstat(path) if operator in ("-h", "-L") else call.android.files.stat(path)
    except FileError:
        return False
    match operator:
        case "-f":
            return node.kind == "file"
        case "-d":
            return node.kind == "dir"
        case "-h" | "-L":
            return node.kind == "link"
        case "-s":
            return node.size > 0
        case "-x":
            return node.kind == "dir" or bool(node.mode & 0o111)
    return True


def true(call: Call) -> int:
    return 0


def false(call: Call) -> int:
    return 1


COMMANDS: Commands = {"test": test, "[": test, "true": true, ":": true, "false": false}
