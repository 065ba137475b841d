"""Commands that pass text on: echo, printf, cat, head, tail, grep, wc, sort, uniq, cut, tr, sed (s only), xargs, base64, seq, yes."""

from __future__ import annotations

import base64 as base64_codec
import re
from typing import Final

from emulator.sim.files import FileError
from emulator.sim.shell.call import Call, Commands, Failed, decoded, encoded

MAX_PATTERN: Final = 300
_RISKY: Final = re.compile(r"\([^()]*[*+?{|][^()]*\)[*+{]|\)\)[*+{]")
"""A repeated group with a repetition or a choice inside: what can make Python's matcher take for ever."""
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "0": "\0"}


def echo(call: Call) -> None:
    words = list(call.args)
    on: set[str] = set()
    while words and re.fullmatch(r"-[neE]+", words[0]):
        on |= set(words.pop(0)[1:])
    text = " ".join(words)
    if "e" in on:
        text = _unescaped(text)
    call.out.write(encoded(text + ("" if "n" in on else "\n")))


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found.group(1), found.group()), text, flags=re.DOTALL)


def printf(call: Call) -> None:
    if not call.args:
        raise Failed("Needs 1 argument")
    pattern, values = _unescaped(call.args[0]), list(call.args[1:])
    while True:
        used = False

        def fill(found: re.Match[str]) -> str:
            nonlocal used
            if found.group() == "%%":
                return "%"
            used = True
            value = values.pop(0) if values else ""
            if found.group(2) in "di":
                digits = re.match(r"\s*[+-]?\d{1,18}", value)
                return f"%{found.group(1)}d" % int(digits.group() if digits else 0)
            return f"%{found.group(1)}s" % (_unescaped(value) if found.group(2) == "b" else value)

        call.out.write(encoded(re.sub(r"%(-?\d{0,3})([sdbi])|%%", fill, pattern)))
        if not values or not used:
            return


def _inputs(call: Call, names: list[str]) -> list[tuple[str, bytes]]:
    """What the named files hold, `-` and none being standard input."""
    return [
        (name, call.read_stdin() if name == "-" else call.android.files.read(call.path(name)))
        for name in names or ["-"]
    ]


def cat(call: Call) -> int:
    code = 0
    for name in call.split("uvte")[2] or ["-"]:
        try:
            for _, data in _inputs(call, [name]):
                call.out.write(data)
        except FileError as error:
            call.warn(f"{name}: {error.reason}")
            code = 1
    return code


def _count(call: Call, default: int) -> tuple[int, list[str], bool, bool]:
    """Lines (or bytes) that head and tail are to show: (number, files, whether bytes, whether counted from the start)."""
    words = [f"-n{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in call.args]
    call.args = words
    _, values, names = call.split("qv", "nc")
    text = values.get("c", values.get("n", str(default)))
    if not re.fullmatch(r"[+-]?\d{1,9}", text):
        raise Failed(f"bad number '{text[:20]}'")
    return abs(int(text)), names, "c" in values, text.startswith("+")


def head(call: Call) -> None:
    number, names, as_bytes, _ = _count(call, 10)
    for _, data in _inputs(call, names):
        call.out.write(data[:number] if as_bytes else b"".join(data.splitlines(keepends=True)[:number]))


def tail(call: Call) -> None:
    number, names, as_bytes, from_start = _count(call, 10)
    for _, data in _inputs(call, names):
        pieces = [data[place : place + 1] for place in range(len(data))] if as_bytes else data.splitlines(keepends=True)
        start = max(0, number - 1) if from_start else max(0, len(pieces) - number)
        call.out.write(b"".join(pieces[start:]))


def pattern_of(text: str, *, extended: bool, fixed: bool, fold: bool) -> re.Pattern[str]:
    """A grep pattern for Python's matcher. Raises `Failed` for one that is broken, too long or could take for ever."""
    if len(text) > MAX_PATTERN:
        raise Failed("pattern too long")
    if fixed:
        text = "|".join(re.escape(line) for line in text.split("\n"))
    elif not extended:  # in basic expressions ( ) { } + ? | are plain, and operators with a backslash
        text = re.sub(
            r"\\?[(){}+?|]", lambda found: found.group()[1:] if found.group()[0] == "\\" else "\\" + found.group(), text
        )
    if _RISKY.search(text):
        raise Failed("a pattern with nested repetition: not simulated")
    text = text.replace("[[:space:]]", r"\s").replace("[[:digit:]]", r"\d")
    try:
        return re.compile(text, re.IGNORECASE if fold else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise Failed(f"bad pattern: {error}") from None


def grep(call: Call) -> int:
    on, values, operands = call.split("EFivcnloqshHwxrRa", "emAB")
    if "e" in values:
        operands.insert(0, values["e"])
    if not operands:
        raise Failed("no pattern", 2)
    extended = "E" in on or call.name == "egrep"
    pattern = pattern_of(operands[0], extended=extended, fixed="F" in on or call.name == "fgrep", fold="i" in on)
    if on & {"w", "x"}:
        edge = r"\b" if "w" in on else ""
        pattern = re.compile(
            f"{'^' if 'x' in on else edge}(?:{pattern.pattern}){'$' if 'x' in on else edge}", pattern.flags
        )
    names = operands[1:]
    if on & {"r", "R"}:
        names = [
            path
            for name in names or ["."]
            for path, node in call.android.files.walk(call.path(name))
            if node.kind == "file"
        ]
    limit = int(values["m"]) if values.get("m", "").isdigit() else 10**9
    found = False
    for name, data in _inputs(call, names):
        prefix = f"{name}:" if (len(names) > 1 or "H" in on or on & {"r", "R"}) and "h" not in on else ""
        hits = [
            (number, line, match)
            for number, line in enumerate(decoded(data).splitlines(), 1)
            if ((match := pattern.search(line)) is not None) != ("v" in on)
        ][:limit]
        found |= bool(hits)
        if "q" in on:
            continue
        if "c" in on:
            call.print(f"{prefix}{len(hits)}")
        elif "l" in on:
            if hits:
                call.print(name)
        else:
            for number, line, match in hits:
                shown = [hit.group() for hit in pattern.finditer(line)] if "o" in on and match else [line]
                for text in shown:
                    call.print(f"{prefix}{f'{number}:' if 'n' in on else ''}{text}")
    return 0 if found else 1


def wc(call: Call) -> None:
    on, _, names = call.split("lwcm")
    for name, data in _inputs(call, names):
        facts = {"l": data.count(b"\n"), "w": len(data.split()), "m": len(decoded(data)), "c": len(data)}
        chosen = [str(facts[key]) for key in "lwmc" if key in (on or {"l", "w", "c"})]
        call.print(" ".join(chosen) + (f" {name}" if name != "-" else ""))


def sort(call: Call) -> None:
    on, _, names = call.split("rnufbdk", "kto")
    lines = [line for _, data in _inputs(call, names) for line in decoded(data).splitlines()]
    number = re.compile(r"\s*-?\d{1,18}(\.\d{1,18})?")
    if "n" in on:
        lines.sort(key=lambda line: (float(found.group()) if (found := number.match(line)) else 0.0, line))
    else:
        lines.sort(key=str.lower if "f" in on else None)
    if "r" in on:
        lines.reverse()
    for line in dict.fromkeys(lines) if "u" in on else lines:
        call.print(line)


def uniq(call: Call) -> None:
    on, _, names = call.split("cdu")
    groups: list[tuple[str, int]] = []
    for _, data in _inputs(call, names):
        for line in decoded(data).splitlines():
            if groups and groups[-1][0] == line:
                groups[-1] = (line, groups[-1][1] + 1)
            else:
                groups.append((line, 1))
    for line, count in groups:
        if ("d" in on and count < 2) or ("u" in on and count > 1):
            continue
        call.print(f"{count:7d} {line}" if "c" in on else line)


def cut(call: Call) -> None:
    _, values, names = call.split("s", "dfc")
    wanted = values.get("f") or values.get("c") or ""
    places: list[tuple[int, int]] = []
    for piece in wanted.split(","):
        found = re.fullmatch(r"(\d{0,6})(-?)(\d{0,6})", piece)
        if found is None or not piece.strip("-"):
            raise Failed(f"bad list '{wanted[:40]}'")
        low = int(found.group(1) or 1)
        places.append((low, int(found.group(3) or 10**6) if found.group(2) else low))
    delimiter = values.get("d", "\t")
    for _, data in _inputs(call, names):
        for line in decoded(data).splitlines():
            parts = line.split(delimiter) if "f" in values and delimiter else list(line)
            kept = [part for at, part in enumerate(parts, 1) if any(low <= at <= high for low, high in places)]
            call.print((delimiter if "f" in values else "").join(kept))


def tr(call: Call) -> None:
    on, _, sets = call.split("dcs")
    text = call.stdin_text()
    if "d" in on and sets:
        gone = set(_letters(sets[0]))
        call.out.write(encoded("".join(letter for letter in text if letter not in gone)))
        return
    if len(sets) != 2:
        raise Failed("Needs 2 arguments")
    old, new = _letters(sets[0]), _letters(sets[1]) or " "
    table = {ord(letter): new[min(place, len(new) - 1)] for place, letter in enumerate(old)}
    call.out.write(encoded(text.translate(table)))


def _letters(text: str) -> str:
    text = _unescaped(text).replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z").replace("[:digit:]", "0-9")
    return re.sub(
        r"(.)-(.)",
        lambda f: "".join(map(chr, range(ord(f.group(1)), min(ord(f.group(2)), ord(f.group(1)) + 500) + 1))),
        text,
    )


def sed(call: Call) -> None:
    on, values, operands = call.split("nErsi", "e")
    script = values.get("e") or (operands.pop(0) if operands else "")
    found = re.fullmatch(r"s([/|#,@])((?:\\.|(?!\1).)*)\1((?:\\.|(?!\1).)*)\1([gI]*)", script, re.DOTALL)
    if found is None:
        raise Failed("only s/PATTERN/TEXT/ is simulated")
    _, old, new, flags = found.groups()
    pattern = pattern_of(old, extended=bool(on & {"E", "r"}), fixed=False, fold="I" in flags)
    replacement = re.sub(r"(?<!\\)&", lambda _: r"\g<0>", new).replace("\\&", "&").replace("\\/", "/")
    for name, data in _inputs(call, operands):
        try:
            lines = [
                pattern.sub(replacement, line, count=0 if "g" in flags else 1)
                for line in decoded(data).splitlines(keepends=True)
            ]
        except (re.error, IndexError) as error:
            raise Failed(f"bad replacement: {error}") from None
        if "i" in on and name != "-":
            call.android.files.write(call.path(name), encoded("".join(lines)))
        else:
            call.out.write(encoded("".join(lines)))


def xargs(call: Call) -> int:
    words = list(call.args)
    zero = "-0" in words[:1]
    if zero:
        words.pop(0)
    text = call.stdin_text()
    values = text.split("\0") if zero else text.split()
    return call.run([*(words or ["echo"]), *[value for value in values if value]])


def base64(call: Call) -> None:
    on, _, names = call.split("di", "w")
    for _, data in _inputs(call, names):
        if "d" in on:
            try:
                call.out.write(base64_codec.b64decode(data, validate=False))
            except ValueError as error:
                raise Failed(f"bad input: {error}") from None
        else:
            call.out.write(base64_codec.encodebytes(data))


def seq(call: Call) -> None:
    if not 1 <= len(call.args) <= 3 or not all(re.fullmatch(r"-?\d{1,7}", word) for word in call.args):
        raise Failed("Needs whole numbers")
    numbers = [int(word) for word in call.args]
    first, step, last = numbers if len(numbers) == 3 else (numbers[0] if len(numbers) == 2 else 1, 1, numbers[-1])
    if not step:
        raise Failed("step of 0")
    for number in range(first, last + (1 if step > 0 else -1), step)[:100_000]:
        call.print(str(number))


COMMANDS: Commands = {
    "echo": echo, "printf": printf, "cat": cat, "head": head, "tail": tail, "grep": grep, "egrep": grep, "fgrep": grep, "wc": wc, "sort": sort,
    "uniq": uniq, "cut": cut, "tr": tr, "sed": sed, "xargs": xargs, "base64": base64, "seq": seq,
}  # fmt: skip
