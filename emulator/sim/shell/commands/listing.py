"""Commands that tell about files: ls, find, stat, du, df, pwd, realpath, readlink, basename, dirname, md5sum and their kin, file, wc -c."""

from __future__ import annotations

import fnmatch
import hashlib
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from emulator.sim.files import FileError, Node
from emulator.sim.shell.call import Call, Commands, Failed

OWNER: Final = "root"


def ls(call: Call) -> int:
    on, _, names = call.split("alAdR1htrSkinpFuoZcgsL", "")
    code, first = 0, True
    listed: list[tuple[str, Node]] = []
    folders: list[str] = []
    for name in names or ["."]:
        path = call.path(name)
        try:
            node = (
                call.android.files.stat(path) if "l" not in on or name.endswith("/") else call.android.files.lstat(path)
            )
        except FileError as error:
            call.warn(f"{name}: {error.reason}")
            code = 1
            continue
        if node.kind == "dir" and "d" not in on:
            folders.append(name)
        else:
            listed.append((name, node))
    _rows(call, listed, on)
    for name in folders:
        _folder(call, name, on, titled=len(folders) > 1 or bool(listed) or "R" in on, first=first and not listed)
        first = False
    return code


def _folder(call: Call, name: str, on: set[str], *, titled: bool, first: bool) -> None:
    path = call.path(name)
    node = call.android.files.stat(path)
    entries = [
        (below, child) for below, child in node.entries.items() if "a" in on or "A" in on or not below.startswith(".")
    ]
    if "a" in on:
        entries += [(".", node), ("..", call.android.files.stat(path + "/.."))]
    if titled:
        call.print(("" if first else "\n") + f"{name}:")
    if "l" in on or "s" in on:
        call.print(f"total {sum((child.size + 4095) // 4096 * 4 for _, child in entries)}")
    _rows(call, entries, on)
    if "R" in on:
        for below, child in sorted(entries):
            if child.kind == "dir" and below not in (".", ".."):
                _folder(call, f"{name.rstrip('/')}/{below}", on, titled=True, first=False)


def _rows(call: Call, entries: list[tuple[str, Node]], on: set[str]) -> None:
    key: Callable[[tuple[str, Node]], tuple[float, str]]
    if "t" in on:
        key = lambda pair: (-pair[1].mtime, pair[0])  # noqa: E731
    elif "S" in on:
        key = lambda pair: (-pair[1].size, pair[0])  # noqa: E731
    else:
        key = lambda pair: (0.0, pair[0])  # noqa: E731
    double = call.args and any(word.startswith("-") and word.count("l") > 1 for word in call.args)
    for name, node in sorted(entries, key=key, reverse="r" in on):
        shown = name + (_mark(node) if "F" in on else "/" if "p" in on and node.kind == "dir" else "")
        if "i" in on:
            shown = f"{node.ino} {shown}"
        if "l" in on:
            arrow = f" -> {node.target}" if node.kind == "link" else ""
            when = _when(node.mtime, nanoseconds=bool(double))
            shown = f"{stat.filemode(node.st_mode)} 1 {OWNER} {OWNER} {node.size:>8} {when} {shown}{arrow}"
        call.print(shown)


def _mark(node: Node) -> str:
    return {"dir": "/", "link": "@"}.get(node.kind, "*" if node.mode & 0o111 else "")


def _when(moment: float, *, nanoseconds: bool) -> str:
    when = datetime.fromtimestamp(moment, UTC)
    if not nanoseconds:
        return f"{when:%Y-%m-%d %H:%M}"
    return f"{when:%Y-%m-%d %H:%M:%S}.{when.microsecond * 1000:09d} +0000"


class _Find:
    """The expression of find: tests joined by -a, -o and ! ( ), and what is done with what they let through."""

    def __init__(self, call: Call, words: list[str]) -> None:
        self._call = call
        self._words = words
        self._depth = (0, 10**6)
        self.acts = False
        self.collected: dict[int, tuple[list[str], list[str]]] = {}
        self.test = self._either() if words else self._always
        if self._words:
            raise Failed(f"bad arg '{self._words[0][:40]}'")

    @property
    def depth(self) -> tuple[int, int]:
        return self._depth

    def _either(self) -> Callable[[str, Node], bool]:
        left = self._both()
        while self._words and self._words[0] in ("-o", "-or"):
            self._words.pop(0)
            left = _joined(left, self._both(), any_of=True)
        return left

    def _both(self) -> Callable[[str, Node], bool]:
        left = self._one()
        while self._words and self._words[0] not in ("-o", "-or", ")"):
            if self._words[0] in ("-a", "-and"):
                self._words.pop(0)
            left = _joined(left, self._one(), any_of=False)
        return left

    def _one(self) -> Callable[[str, Node], bool]:
        if not self._words:
            raise Failed("missing argument")
        word = self._words.pop(0)
        if word in ("!", "-not"):
            inner = self._one()
            return lambda path, node: not inner(path, node)
        if word == "(":
            inner = self._either()
            if not self._words or self._words.pop(0) != ")":
                raise Failed("missing )")
            return inner
        if word in ("-print", "-print0", "-delete"):
            self.acts = True
            return {"-print": self._print, "-print0": self._print0, "-delete": self._delete}[word]
        if word == "-exec":
            return self._exec()
        return self._test(word)

    def _argument(self, word: str) -> str:
        if not self._words:
            raise Failed(f"{word} needs an argument")
        return self._words.pop(0)

    def _test(self, word: str) -> Callable[[str, Node], bool]:
        if word == "-empty":
            return lambda path, node: not (node.entries if node.kind == "dir" else node.data)
        if word not in ("-name", "-iname", "-path", "-type", "-maxdepth", "-mindepth", "-size", "-newer"):
            raise Failed(f"bad arg '{word[:40]}' (not simulated, or no such test)")
        value = self._argument(word)
        if word in ("-name", "-iname"):
            fold = word == "-iname"
            return lambda path, node: _like(path.rstrip("/").rsplit("/", 1)[-1], value, fold)
        if word == "-path":
            return lambda path, node: _like(path, value, False)
        if word == "-type":
            kinds = {"f": "file", "d": "dir", "l": "link"}
            return lambda path, node: node.kind == kinds.get(value)
        if word == "-newer":
            than = self._call.android.files.stat(self._call.path(value)).mtime
            return lambda path, node: node.mtime > than
        if word == "-size":
            return _size_test(value)
        if not value.isdigit():
            raise Failed(f"{word} needs a number")
        low, high = self._depth
        self._depth = (low, int(value)) if word == "-maxdepth" else (int(value), high)
        return self._always

    def _exec(self) -> Callable[[str, Node], bool]:
        command: list[str] = []
        while self._words and self._words[0] not in (";", "+"):
            command.append(self._words.pop(0))
        if not self._words or not command:
            raise Failed("-exec needs a command and ; or +")
        self.acts = True
        if self._words.pop(0) == "+":
            key = len(self.collected)
            self.collected[key] = (command, [])

            def gather(path: str, node: Node) -> bool:
                self.collected[key][1].append(path)
                return True

            return gather
        return lambda path, node: self._call.run([word.replace("{}", path) for word in command]) == 0

    @staticmethod
    def _always(path: str, node: Node) -> bool:
        return True

    def _print(self, path: str, node: Node) -> bool:
        self._call.print(path)
        return True

    def _print0(self, path: str, node: Node) -> bool:
        self._call.out.write(path.encode("utf-8", "surrogateescape") + b"\0")
        return True

    def _delete(self, path: str, node: Node) -> bool:
        try:
            if node.kind == "dir":
                self._call.android.files.rmdir(self._call.path(path))
            else:
                self._call.android.files.remove(self._call.path(path))
        except FileError as error:
            self._call.warn(f"{path}: {error.reason}")
            return False
        return True


def _joined(
    left: Callable[[str, Node], bool], right: Callable[[str, Node], bool], *, any_of: bool
) -> Callable[[str, Node], bool]:
    if any_of:
        return lambda path, node: left(path, node) or right(path, node)
    return lambda path, node: left(path, node) and right(path, node)


def _like(text: str, pattern: str, fold: bool) -> bool:
    return fnmatch.fnmatchcase(text.lower(), pattern.lower()) if fold else fnmatch.fnmatchcase(text, pattern)


def _size_test(value: str) -> Callable[[str, Node], bool]:
    sign, number = (value[0], value[1:]) if value[:1] in ("+", "-") else ("", value)
    unit = {"c": 1, "k": 1024, "M": 1024**2, "G": 1024**3}.get(number[-1:], 0)
    digits = number[:-1] if unit else number
    if not digits.isdigit() or len(digits) > 12:
        raise Failed(f"bad size '{value[:20]}'")
    wanted, step = int(digits), unit or 512

    def test(path: str, node: Node) -> bool:
        size = -(-node.size // step)
        return size > wanted if sign == "+" else size < wanted if sign == "-" else size == wanted

    return test


def find(call: Call) -> int:
    words = list(call.args)
    while words and words[0] in ("-L", "-H", "-P"):
        words.pop(0)
    places: list[str] = []
    while words and not words[0].startswith("-") and words[0] not in ("(", "!"):
        places.append(words.pop(0))
    finder = _Find(call, words)
    low, high = finder.depth
    code = 0
    for place in places or ["."]:
        try:
            walked = [(path, node) for path, node in call.android.files.walk(call.path(place))]
        except FileError as error:
            call.warn(f"{place}: {error.reason}")
            code = 1
            continue
        base = call.path(place).rstrip("/")
        order = reversed(walked) if "-delete" in call.args else walked
        for path, node in order:
            below = "" if path.rstrip("/") == base else path[len(base) :]
            shown = place.rstrip("/") + below if below else place
            if low <= below.count("/") <= high and finder.test(shown, node) and not finder.acts:
                call.print(shown)
    for command, paths in finder.collected.values():
        if paths:
            spot = command.index("{}") if "{}" in command else len(command)
            code = max(code, call.run(command[:spot] + paths + command[spot + 1 :]))
    return code


def stat_(call: Call) -> None:
    on, values, names = call.split("Lft", "c")
    for name in names:
        node = call.android.files.stat(call.path(name)) if "L" in on else call.android.files.lstat(call.path(name))
        if "c" in values:
            call.print(_filled(values["c"], name, node))
            continue
        kind = {"dir": "directory", "link": "symbolic link"}.get(node.kind, "regular file")
        mode = f"({node.mode:04o}/{stat.filemode(node.st_mode)})"
        call.print(f"  File: {name}\n  Size: {node.size}\t Blocks: {-(-node.size // 512)}\t IO Blocks: 512\t{kind}")
        call.print(
            f"Device: fe01h/65025d\t Inode: {node.ino}\t Links: 1\nAccess: {mode}\tUid: (0/    root)\tGid: (0/    root)"
        )
        when = _when(node.mtime, nanoseconds=True)
        call.print(f"Access: {when}\nModify: {when}\nChange: {when}")


def _filled(pattern: str, name: str, node: Node) -> str:
    kind = {"dir": "directory", "link": "symbolic link"}.get(node.kind, "regular file")
    when, moment = _when(node.mtime, nanoseconds=True), str(int(node.mtime))
    facts = {
        "n": name, "s": str(node.size), "a": f"{node.mode:o}", "A": stat.filemode(node.st_mode), "F": kind, "i": str(node.ino), "U": OWNER,
        "G": OWNER, "u": "0", "g": "0", "y": when, "Y": moment, "z": when, "Z": moment, "x": when, "X": moment, "h": "1", "%": "%",
    }  # fmt: skip
    out, letters = "", iter(pattern)
    for letter in letters:
        out += facts.get(following := next(letters, ""), "%" + following) if letter == "%" else letter
    return out


def du(call: Call) -> None:
    on, _, names = call.split("sahkbcm", "d")
    for name in names or ["."]:
        total = sum(node.size for _, node in call.android.files.walk(call.path(name)))
        unit = 1 if "b" in on else 1024 * 1024 if "m" in on else 1024
        call.print(f"{-(-total // unit)}\t{name}")


def df(call: Call) -> None:
    call.print("Filesystem     1K-blocks    Used Available Use% Mounted on")
    call.print("/dev/block/dm-5  6291456 1048576   5242880  17% /data")
    call.print("/dev/fuse        6291456 1048576   5242880  17% /storage/emulated")


def pwd(call: Call) -> None:
    call.print(call.cwd)


def realpath(call: Call) -> None:
    for name in call.split("ef")[2]:
        call.print(call.android.files.real(call.path(name)))


def readlink(call: Call) -> int:
    on, _, names = call.split("fen")
    for name in names:
        node = call.android.files.lstat(call.path(name))
        if "f" in on:
            call.print(call.android.files.real(call.path(name)))
        elif node.kind == "link":
            call.print(node.target)
        else:
            return 1
    return 0


def basename(call: Call) -> None:
    if not call.args:
        raise Failed("Needs 1 argument")
    base = call.args[0].rstrip("/").rsplit("/", 1)[-1] or "/"
    suffix = call.args[1] if len(call.args) > 1 else ""
    call.print(base[: -len(suffix)] if suffix and base.endswith(suffix) and base != suffix else base)


def dirname(call: Call) -> None:
    for name in call.args:
        head, slash, _ = name.rstrip("/").rpartition("/")
        call.print(head or (slash or "."))


def checksum(call: Call) -> int:
    """md5sum, sha1sum, sha256sum, sha512sum."""
    on, _, names = call.split("bc")
    digest = call.name.removesuffix("sum")
    code = 0
    for name in names or ["-"]:
        try:
            data = call.read_stdin() if name == "-" else call.android.files.read(call.path(name))
        except FileError as error:
            call.warn(f"{name}: {error.reason}")
            code = 1
            continue
        value = hashlib.new(digest, data, usedforsecurity=False).hexdigest()
        call.print(value if "b" in on else f"{value}  {name}")
    return code


def file(call: Call) -> None:
    for name in call.args:
        node = call.android.files.lstat(call.path(name))
        call.print(f"{name}: {'directory' if node.kind == 'dir' else _magic(node.data)}")


def _magic(data: bytes) -> str:
    for head, kind in (
        (b"\x89PNG", "PNG image data"),
        (b"\xff\xd8", "JPEG image data"),
        (b"SQLite format 3", "SQLite database"),
    ):
        if data.startswith(head):
            return kind
    return "empty" if not data else "ASCII text" if data.isascii() else "data"


COMMANDS: Commands = {
    "ls": ls, "find": find, "stat": stat_, "du": du, "df": df, "pwd": pwd, "realpath": realpath, "readlink": readlink, "basename": basename,
    "dirname": dirname, "md5sum": checksum, "sha1sum": checksum, "sha256sum": checksum, "sha512sum": checksum, "file": file,
}  # fmt: skip
