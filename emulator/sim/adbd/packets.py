"""adb's transport packets, without I/O (AOSP packages/modules/adb, protocol.txt): six little-endian words, then the payload."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

HEADER: Final = struct.Struct("<6I")
VERSION: Final = 0x01000001
"""A_VERSION_SKIP_CHECKSUM: payloads carry no checksum."""
MAX_PAYLOAD: Final = 256 * 1024


class Command(IntEnum):
    """The first word: four letters."""

    CNXN = 0x4E584E43
    AUTH = 0x48545541
    OPEN = 0x4E45504F
    OKAY = 0x59414B4F
    CLSE = 0x45534C43
    WRTE = 0x45545257
    SYNC = 0x434E5953
    STLS = 0x534C5453


class PacketError(ValueError):
    """Bytes that are no packet."""


@dataclass(frozen=True, slots=True)
class Packet:
    command: Command
    arg0: int
    arg1: int
    payload: bytes = b""

    def encode(self) -> bytes:
        magic = self.command ^ 0xFFFFFFFF
        return HEADER.pack(self.command, self.arg0, self.arg1, len(self.payload), 0, magic) + self.payload


class PacketReader:
    """Cuts a stream of bytes into packets. `feed` raises `PacketError` at the first bytes that cannot be one."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[Packet]:
        self._data += data
        found: list[Packet] = []
        while len(self._data) >= HEADER.size:
            word, arg0, arg1, length, _, magic = HEADER.unpack_from(self._data)
            if magic != word ^ 0xFFFFFFFF or word not in Command._value2member_map_:
                raise PacketError(f"no packet: {bytes(self._data[:24])!r}")
            if length > MAX_PAYLOAD * 4:
                raise PacketError(f"a payload of {length} bytes, more than {MAX_PAYLOAD * 4}")
            if len(self._data) < HEADER.size + length:
                break
            found.append(Packet(Command(word), arg0, arg1, bytes(self._data[HEADER.size : HEADER.size + length])))
            del self._data[: HEADER.size + length]
        return found
