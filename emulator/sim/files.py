"""The phone's files: a tree in memory, with nothing of this machine in it. Paths are POSIX paths of the simulated device."""

from __future__ import annotations

import errno
import fnmatch
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

MAX_FILE: Final = 256 * 1024 * 1024
MAX_TOTAL: Final = 1024 * 1024 * 1024
MAX_NODES: Final = 200_000
MAX_DEPTH: Final = 64
MAX_NAME: Final = 255
MAX_LINKS: Final = 16

Kind = Literal["file", "dir", "link"]
_TYPE: Final = {"file": stat.S_IFREG, "dir": stat.S_IFDIR, "link": stat.S_IFLNK}


class FileError(OSError):
    """What went wrong with a path, with the error number that the device would give."""

    def __init__(self, code: int, path: str) -> None:
        super().__init__(code, os.strerror(code), path)

    @property
    def reason(self) -> str:
        return os.strerror(self.errno or 0)


@dataclass(slots=True)
class Node:
    """One file, folder or link. `data` is never changed in place, so copies of a tree share it."""

    kind: Kind
    mode: int
    mtime: float
    ino: int
    data: bytes = b""
    target: str = ""
    entries: dict[str, Node] = field(default_factory=dict)

    @property
    def st_mode(self) -> int:
        return _TYPE[self.kind] | self.mode

    @property
    def size(self) -> int:
        return len(self.data) if self.kind == "file" else 4096 if self.kind == "dir" else len(self.target)

    def copy(self) -> Node:
        entries = {name: node.copy() for name, node in self.entries.items()}
        return Node(self.kind, self.mode, self.mtime, self.ino, self.data, self.target, entries)


class FileTree:
    """A whole file system. `now` gives the device's time in seconds since 1970; changed files get it.

    Every method raises `FileError`. Methods that name a path follow links in it; `lstat`, `remove` and `move` not the last one.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._serial = 1
        self._used = 0
        self._count = 1
        self.root = Node("dir", 0o755, now(), 1)

    # ---- whole trees
    def save(self) -> Node:
        return self.root.copy()

    def load(self, root: Node) -> None:
        self.root = root.copy()
        self._used, self._count = _weight(self.root)

    # ---- looking
    def stat(self, path: str) -> Node:
        return self._find(path, follow=True)

    def lstat(self, path: str) -> Node:
        return self._find(path, follow=False)

    def exists(self, path: str) -> bool:
        try:
            self.stat(path)
        except FileError:
            return False
        return True

    def is_dir(self, path: str) -> bool:
        return self.exists(path) and self.stat(path).kind == "dir"

    def read(self, path: str) -> bytes:
        node = self.stat(path)
        if node.kind == "dir":
            raise FileError(errno.EISDIR, path)
        return node.data

    def names(self, path: str) -> list[str]:
        """The entries of a folder, sorted."""
        node = self.stat(path)
        if node.kind != "dir":
            raise FileError(errno.ENOTDIR, path)
        return sorted(node.entries)

    def walk(self, path: str) -> Iterator[tuple[str, Node]]:
        """`path` and all below it as (path, node), folders before what is in them; links are not followed."""
        pending = [(path, self.lstat(path) if not path.endswith("/") else self.stat(path))]
        while pending:
            here, node = pending.pop()
            yield here, node
            below = sorted(node.entries.items(), reverse=True)
            pending += [(f"{here.rstrip('/')}/{name}", child) for name, child in below]

    def glob(self, pattern: str) -> list[str]:
        """Paths that match a shell pattern (`*`, `?`, `[...]`; a leading dot must be written out), sorted; none gives an empty list."""
        parts = [part for part in pattern.split("/") if part]
        found = ["/" if pattern.startswith("/") else ""]
        for part in parts:
            after: list[str] = []
            for base in found:
                if not any(letter in part for letter in "*?["):
                    path = base.rstrip("/") + "/" + part if base else part
                    after += [path] if self.exists(path) else []
                    continue
                try:
                    names = self.names(base or "/")
                except FileError:
                    continue
                shown = [name for name in names if part.startswith(".") or not name.startswith(".")]
                after += [
                    f"{base.rstrip('/')}/{name}" if base else name for name in shown if fnmatch.fnmatchcase(name, part)
                ]
            found = after
        return sorted(found) if parts else []

    def real(self, path: str) -> str:
        """The absolute path without links."""
        names: list[str] = []
        self._walk_to(path, follow=True, names=names)
        return "/" + "/".join(names)

    # ---- changing
    def write(
        self, path: str, data: bytes, *, mode: int | None = None, mtime: float | None = None, append: bool = False
    ) -> None:
        """Create or replace a file; its folder must be there."""
        try:
            node: Node | None = self.stat(path)
        except FileError as error:
            if error.errno != errno.ENOENT:
                raise
            node = None
        if node is not None and node.kind == "dir":
            raise FileError(errno.EISDIR, path)
        if node is None:
            parent, name = self._parent(self._through_link(path))
            node = self._new(parent, name, "file", 0o660)
        data = node.data + data if append else data
        if len(data) > MAX_FILE or self._used + len(data) - len(node.data) > MAX_TOTAL:
            raise FileError(errno.ENOSPC, path)
        self._used += len(data) - len(node.data)
        node.data = data
        node.mtime = self._now() if mtime is None else mtime
        if mode is not None:
            node.mode = mode & 0o7777

    def mkdir(self, path: str, *, parents: bool = False, mode: int = 0o771) -> None:
        if parents:
            names = [part for part in _split(path) if part]
            for depth in range(1, len(names) + 1):
                step = "/" + "/".join(names[:depth])
                if not self.is_dir(step):
                    self.mkdir(step, mode=mode)
            return
        parent, name = self._parent(path)
        if name in parent.entries:
            raise FileError(errno.EEXIST, path)
        self._new(parent, name, "dir", mode)

    def link(self, path: str, target: str) -> None:
        parent, name = self._parent(path)
        if name in parent.entries:
            raise FileError(errno.EEXIST, path)
        self._new(parent, name, "link", 0o777).target = target

    def remove(self, path: str, *, recursive: bool = False) -> None:
        parent, name = self._parent(path)
        node = parent.entries.get(name)
        if node is None:
            raise FileError(errno.ENOENT, path)
        if node.kind == "dir" and not recursive:
            raise FileError(errno.EISDIR, path)
        del parent.entries[name]
        self._forget(node)

    def rmdir(self, path: str) -> None:
        node = self.lstat(path)
        if node.kind != "dir":
            raise FileError(errno.ENOTDIR, path)
        if node.entries:
            raise FileError(errno.ENOTEMPTY, path)
        self.remove(path, recursive=True)

    def move(self, source: str, target: str) -> None:
        """Rename; a file that is at `target` is replaced, a folder only if it is empty."""
        node = self.lstat(source)
        old_parent, old_name = self._parent(source)
        parent, name = self._parent(target)
        if node.kind == "dir" and f"{self.real(target.rsplit('/', 1)[0] or '/')}/".startswith(self.real(source) + "/"):
            raise FileError(errno.EINVAL, target)
        there = parent.entries.get(name)
        if there is node:
            return
        if there is not None:
            if there.kind == "dir" and (node.kind != "dir" or there.entries):
                raise FileError(errno.EISDIR if node.kind != "dir" else errno.ENOTEMPTY, target)
            self._forget(there)
        del old_parent.entries[old_name]
        parent.entries[name] = node

    def chmod(self, path: str, mode: int) -> None:
        self.stat(path).mode = mode & 0o7777

    def touch(self, path: str, mtime: float | None = None) -> None:
        if not self.exists(path):
            self.write(path, b"")
        self.stat(path).mtime = self._now() if mtime is None else mtime

    # ---- inside
    def _find(self, path: str, *, follow: bool) -> Node:
        return self._walk_to(path, follow=follow, names=[])

    def _walk_to(self, path: str, *, follow: bool, names: list[str]) -> Node:
        """The node at `path`; `names` becomes the way to it from the root, without links."""
        parts = _split(path)
        chain = [self.root]
        links = 0
        while parts:
            name = parts.pop(0)
            node = chain[-1]
            if node.kind != "dir":
                raise FileError(errno.ENOTDIR, path)
            if name in ("", "."):
                continue
            if name == "..":
                if len(chain) > 1:
                    chain.pop()
                    names.pop()
                continue
            child = node.entries.get(name)
            if child is None:
                raise FileError(errno.ENOENT, path)
            if child.kind == "link" and (parts or follow):
                links += 1
                if links > MAX_LINKS:
                    raise FileError(errno.ELOOP, path)
                if child.target.startswith("/"):
                    del chain[1:], names[:]
                parts = _split(child.target) + parts
                continue
            chain.append(child)
            names.append(name)
        return chain[-1]

    def _through_link(self, path: str) -> str:
        """Where a new file goes: past a link at the end of `path` whose target is not there yet."""
        for _ in range(MAX_LINKS):
            try:
                node = self.lstat(path)
            except FileError:
                return path
            if node.kind != "link":
                return path
            path = node.target if node.target.startswith("/") else path.rsplit("/", 1)[0] + "/" + node.target
        raise FileError(errno.ELOOP, path)

    def _parent(self, path: str) -> tuple[Node, str]:
        parts = [part for part in _split(path) if part not in ("", ".")]
        if not parts or parts[-1] == "..":
            raise FileError(errno.EINVAL if parts else errno.EBUSY, path)
        try:
            parent = self.stat("/" + "/".join(parts[:-1]))
        except FileError as error:
            raise FileError(error.errno or errno.ENOENT, path) from error
        if parent.kind != "dir":
            raise FileError(errno.ENOTDIR, path)
        if len(os.fsencode(parts[-1])) > MAX_NAME or len(parts) > MAX_DEPTH:
            raise FileError(errno.ENAMETOOLONG, path)
        return parent, parts[-1]

    def _new(self, parent: Node, name: str, kind: Kind, mode: int) -> Node:
        if self._count >= MAX_NODES:
            raise FileError(errno.ENOSPC, name)
        self._serial += 1
        self._count += 1
        node = Node(kind, mode, self._now(), self._serial)
        parent.entries[name] = node
        parent.mtime = node.mtime
        return node

    def _forget(self, node: Node) -> None:
        used, count = _weight(node)
        self._used -= used
        self._count -= count


def _split(path: str) -> list[str]:
    return path.split("/")


def _weight(node: Node) -> tuple[int, int]:
    """Bytes and nodes of a subtree."""
    used, count, pending = 0, 0, [node]
    while pending:
        one = pending.pop()
        used += len(one.data)
        count += 1
        pending += one.entries.values()
    return used, count
