"""Commands that change files: mkdir, rm, rmdir, cp, mv, touch, chmod, chown, ln, truncate, restorecon, sync, dd."""

from __future__ import annotations

import errno
import re
from datetime import UTC, datetime

from emulator.sim.files import FileError, FileTree
from emulator.sim.shell.call import Call, Commands, Failed

PROTECTED = (
    "/",
    "/system",
    "/data",
    "/data/data",
    "/storage",
    "/storage/emulated",
    "/storage/emulated/0",
    "/proc",
    "/dev",
    "/sdcard",
)
"""Folders that `rm` empties and then leaves, as the device's own mount points are."""


def mkdir(call: Call) -> None:
    on, values, names = call.split("p", "m")
    if not names:
        raise Failed("Needs 1 argument")
    mode = int(values["m"], 8) if re.fullmatch(r"[0-7]{1,4}", values.get("m", "")) else 0o771
    for name in names:
        call.android.files.mkdir(call.path(name), parents="p" in on, mode=mode)


def rmdir(call: Call) -> None:
    for name in call.split("p")[2]:
        call.android.files.rmdir(call.path(name))


def rm(call: Call) -> int:
    on, _, names = call.split("rRfiv")
    recursive, force = bool(on & {"r", "R"}), "f" in on
    if not names and not force:
        raise Failed("Needs 1 argument")
    code = 0
    for name in names:
        try:
            _remove(call.android.files, call.path(name), recursive)
        except FileError as error:
            if error.errno == errno.ENOENT and force:
                continue
            call.warn(f"{name}: {error.reason}")
            code = 1
    return code


def _remove(tree: FileTree, path: str, recursive: bool) -> None:
    if recursive and tree.lstat(path).kind == "dir" and tree.real(path) in PROTECTED:
        for below in tree.names(path):
            _remove(tree, f"{path.rstrip('/')}/{below}", True)
        return
    tree.remove(path, recursive=recursive)


def cp(call: Call) -> None:
    on, _, names = call.split("rRafpPduLHvnF")
    if len(names) < 2:
        raise Failed("Needs 2 arguments")
    tree, target = call.android.files, call.path(names[-1])
    for name in names[:-1]:
        source = call.path(name)
        node = tree.stat(source)
        if node.kind == "dir" and not on & {"r", "R", "a"}:
            raise Failed(f"Skipped dir '{name}'")
        contents = node.kind == "dir" and name.rstrip("/").endswith("/.")
        into = target
        if tree.is_dir(target) and not contents:
            into = f"{target.rstrip('/')}/{_base(source)}"
        folder = into if tree.is_dir(into) else into.rstrip("/").rpartition("/")[0] or "/"
        if node.kind == "dir" and f"{tree.real(folder)}/".startswith(f"{tree.real(source)}/"):
            raise Failed(f"'{name}' into itself")
        _copy(tree, source, into, keep=bool(on & {"a", "p"}), depth=0)


def _base(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]


def _copy(tree: FileTree, source: str, target: str, *, keep: bool, depth: int) -> None:
    node = tree.stat(source)
    mtime = node.mtime if keep else None
    if node.kind != "dir":
        tree.write(target, node.data, mode=node.mode, mtime=mtime)
        return
    if depth > 60:
        raise Failed("nested too deeply")
    names = tree.names(source)
    if not tree.is_dir(target):
        tree.mkdir(target, mode=node.mode)
    for name in names:
        _copy(tree, f"{source.rstrip('/')}/{name}", f"{target.rstrip('/')}/{name}", keep=keep, depth=depth + 1)
    if mtime is not None:
        tree.touch(target, mtime)


def mv(call: Call) -> None:
    _, _, names = call.split("finv")
    if len(names) < 2:
        raise Failed("Needs 2 arguments")
    tree, target = call.android.files, call.path(names[-1])
    folder = tree.is_dir(target)
    if len(names) > 2 and not folder:
        raise Failed(f"'{names[-1]}' not directory")
    for name in names[:-1]:
        source = call.path(name)
        tree.move(source, f"{target.rstrip('/')}/{_base(source)}" if folder else target)


def touch(call: Call) -> None:
    on, values, names = call.split("acmh", "tdr")
    when: float | None = None
    if "r" in values:
        when = call.android.files.stat(call.path(values["r"])).mtime
    elif "t" in values:
        when = _stamp(values["t"])
    elif "d" in values:
        try:
            when = datetime.fromisoformat(values["d"]).replace(tzinfo=UTC).timestamp()
        except ValueError:
            raise Failed(f"bad date '{values['d'][:40]}'") from None
    for name in names:
        if "c" not in on or call.android.files.exists(call.path(name)):
            call.android.files.touch(call.path(name), when)


def _stamp(text: str) -> float:
    """`[[CC]YY]MMDDhhmm[.ss]` of `touch -t`."""
    found = re.fullmatch(r"(\d{2})?(\d{2})?(\d{2})(\d{2})(\d{2})(\d{2})(?:\.(\d{2}))?", text)
    if found is None:
        raise Failed(f"bad date '{text[:40]}'")
    century, year, month, day, hour, minute, second = found.groups()
    if century and not year:
        century, year = "20", century
    try:
        return datetime(
            int(f"{century or 20}{year or 23}"),
            int(month),
            int(day),
            int(hour),
            int(minute),
            int(second or 0),
            tzinfo=UTC,
        ).timestamp()
    except ValueError:
        raise Failed(f"bad date '{text[:40]}'") from None


def chmod(call: Call) -> None:
    words = [word for word in call.args if word not in ("-R", "-f", "-v", "-fR", "-Rf")]
    recursive = len(words) < len(call.args) and any("R" in word for word in call.args if word.startswith("-"))
    if len(words) < 2:
        raise Failed("Needs 2 arguments")
    for name in words[1:]:
        path = call.path(name)
        paths = [below for below, _ in call.android.files.walk(path)] if recursive else [path]
        for one in paths:
            call.android.files.chmod(one, _mode(words[0], call.android.files.lstat(one).mode))


def _mode(text: str, now: int) -> int:
    if re.fullmatch(r"[0-7]{1,4}", text):
        return int(text, 8)
    found = re.fullmatch(r"([ugoa]*)([+=-])([rwxXst]*)", text)
    if found is None:
        raise Failed(f"bad mode '{text[:20]}'")
    who, how, what = found.groups()
    bits = sum({"r": 4, "w": 2, "x": 1, "X": 1}.get(letter, 0) for letter in set(what))
    places = {"u": 6, "g": 3, "o": 0}
    shifts = [places[letter] for letter in (who.replace("a", "ugo") or "ugo")]
    mask = sum(bits << shift for shift in set(shifts))
    if how == "+":
        return now | mask
    if how == "-":
        return now & ~mask
    return (now & ~sum(7 << shift for shift in set(shifts))) | mask


def owner(call: Call) -> None:
    """chown and chgrp: everything belongs to root, and nothing asks."""
    for name in [word for word in call.args if not word.startswith("-")][1:]:
        call.android.files.lstat(call.path(name))


def ln(call: Call) -> None:
    on, _, names = call.split("sfnr")
    if len(names) != 2:
        raise Failed("Needs 2 arguments")
    if "s" not in on:
        raise Failed("hard links are not simulated; use -s")
    path = call.path(names[1])
    if "f" in on and call.android.files.exists(path):
        call.android.files.remove(path)
    call.android.files.link(path, names[0])


def truncate(call: Call) -> None:
    _, values, names = call.split("c", "s")
    size = values.get("s", "")
    if not size.isdigit() or len(size) > 9:
        raise Failed("Needs -s SIZE")
    for name in names:
        path = call.path(name)
        data = call.android.files.read(path) if call.android.files.exists(path) else b""
        if int(size) > 256 * 1024 * 1024:
            raise FileError(errno.EFBIG, path)
        call.android.files.write(path, data[: int(size)].ljust(int(size), b"\0"))


def restorecon(call: Call) -> int:
    code = 0
    for name in call.args:
        if not name.startswith("-") and not call.android.files.exists(call.path(name)):
            call.warn(f"SELinux: Could not stat {name}: No such file or directory.")
            code = 1
    return code


def nothing(call: Call) -> None:
    """A command that changes nothing that could be seen here."""


def tee(call: Call) -> None:
    on, _, names = call.split("ai")
    data = call.read_stdin()
    for name in names:
        call.android.files.write(call.path(name), data, append="a" in on)
    call.out.write(data)


COMMANDS: Commands = {
    "mkdir": mkdir, "rmdir": rmdir, "rm": rm, "unlink": rm, "cp": cp, "mv": mv, "touch": touch, "chmod": chmod, "chown": owner, "chgrp": owner,
    "ln": ln, "truncate": truncate, "restorecon": restorecon, "chcon": nothing, "sync": nothing, "fsync": nothing, "tee": tee,
}  # fmt: skip
