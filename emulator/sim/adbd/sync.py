"""The service `sync:`: push, pull and ls of adb (AOSP packages/modules/adb, SYNC.TXT and file_sync_protocol.h), version 1."""

from __future__ import annotations

import errno
import stat
import struct
from typing import Final

from emulator.sim.adbd.streams import Stream
from emulator.sim.files import MAX_FILE, FileError, FileTree, Node

CHUNK: Final = 64 * 1024
_ASK: Final = struct.Struct("<4sI")
_STAT1: Final = struct.Struct("<4sIII")
_STAT2: Final = struct.Struct("<4sIQQIIIIQqqq")
_DENT1: Final = struct.Struct("<4sIIII")
_DENT2: Final = struct.Struct("<4sIQQIIIIQqqqI")
MAX_PATH: Final = 4096


def serve_sync(stream: Stream, files: FileTree) -> None:
    """Answer requests until the other side quits. A request that is none ends the stream."""
    while True:
        kind, length = _ASK.unpack(stream.read(_ASK.size))
        if kind == b"QUIT":
            return
        if length > MAX_PATH:
            _fail(stream, "path too long")
            return
        path = stream.read(length).decode("utf-8", "surrogateescape")
        match kind:
            case b"STAT":
                _stat(stream, files, path)
            case b"STA2" | b"LST2":
                _stat2(stream, files, path, kind)
            case b"LIST" | b"LIS2":
                _list(stream, files, path, kind)
            case b"SEND":
                _receive(stream, files, path)
            case b"RECV":
                _send(stream, files, path)
            case _:
                _fail(stream, "unknown request")
                return


def _fail(stream: Stream, message: str) -> None:
    data = message.encode()
    stream.write(_ASK.pack(b"FAIL", len(data)) + data)


def _stat(stream: Stream, files: FileTree, path: str) -> None:
    try:
        node = files.lstat(path) if not path.endswith("/") else files.stat(path)
    except FileError:
        stream.write(_STAT1.pack(b"STAT", 0, 0, 0))
        return
    stream.write(_STAT1.pack(b"STAT", node.st_mode, min(node.size, 2**32 - 1), _seconds(node)))


def _seconds(node: Node) -> int:
    return max(0, min(int(node.mtime), 2**32 - 1))


def _facts2(node: Node) -> tuple[int, ...]:
    """dev, ino, mode, nlink, uid, gid, size, atime, mtime, ctime."""
    moment = int(node.mtime)
    return (65025, node.ino, node.st_mode, 1, 0, 0, node.size, moment, moment, moment)


def _stat2(stream: Stream, files: FileTree, path: str, kind: bytes) -> None:
    try:
        node = files.stat(path) if kind == b"STA2" else files.lstat(path)
    except FileError as error:
        stream.write(_STAT2.pack(kind, error.errno or errno.EIO, *(0,) * 10))
        return
    stream.write(_STAT2.pack(kind, 0, *_facts2(node)))


def _list(stream: Stream, files: FileTree, path: str, kind: bytes) -> None:
    out = b""
    try:
        folder = files.stat(path)
    except FileError:
        folder = Node("dir", 0, 0.0, 0)
    for name, node in sorted({".": folder, "..": folder, **folder.entries}.items()):
        label = name.encode("utf-8", "surrogateescape")
        if kind == b"LIST":
            out += _DENT1.pack(b"DENT", node.st_mode, min(node.size, 2**32 - 1), _seconds(node), len(label)) + label
        else:
            out += _DENT2.pack(b"DNT2", 0, *_facts2(node), len(label)) + label
    done = _DENT1.pack(b"DONE", 0, 0, 0, 0) if kind == b"LIST" else _DENT2.pack(b"DONE", *(0,) * 12)
    stream.write(out + done)


def _receive(stream: Stream, files: FileTree, request: str) -> None:
    """A push: `PATH,MODE`, then the data, then its time. Everything is read before an error is told, as adb wants it."""
    path, _, mode_text = request.rpartition(",")
    parts: list[bytes] = []
    total = 0
    while True:
        kind, number = _ASK.unpack(stream.read(_ASK.size))
        if kind == b"DONE":
            break
        if kind != b"DATA" or number > CHUNK:
            raise EOFError
        data = stream.read(number)
        total += len(data)
        if total <= MAX_FILE:
            parts.append(data)
    try:
        if total > MAX_FILE:
            raise FileError(errno.EFBIG, path)
        mode = int(mode_text) if mode_text.isascii() and mode_text.isdigit() and len(mode_text) < 9 else 0o644
        folder = path.rsplit("/", 1)[0]
        if folder and not files.is_dir(folder):
            files.mkdir(folder, parents=True)
        if stat.S_ISLNK(mode):
            if files.exists(path):
                files.remove(path)
            files.link(path, b"".join(parts).rstrip(b"\0").decode("utf-8", "surrogateescape"))
        else:
            files.write(path, b"".join(parts), mode=mode & 0o777, mtime=float(number))
    except FileError as error:
        _fail(stream, f"couldn't create file: {error.reason}")
        return
    stream.write(_ASK.pack(b"OKAY", 0))


def _send(stream: Stream, files: FileTree, path: str) -> None:
    try:
        data = files.read(path)
    except FileError as error:
        _fail(stream, f"open failed: {error.reason}")
        return
    pieces = [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]
    for piece in pieces:
        stream.write(_ASK.pack(b"DATA", len(piece)) + piece)
    stream.write(_ASK.pack(b"DONE", 0))
