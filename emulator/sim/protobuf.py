"""Messages of protocol buffers as plain values: the dozen that the emulator's services and the accessibility forwarder exchange.

Written by hand so that a phone needs no generated classes, and so no version of protobuf: the field numbers are those of
emulator_controller.proto, snapshot_service.proto and a11y/*.proto as android-env 1.3.0 ships them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from sopbench.datasets.wire import VARINT, fields, signed

Field: TypeAlias = "tuple[int, int | bool | str | bytes]"
"""A field number and its value: numbers as varints (negative ones in ten bytes), texts and messages as bytes."""
MAX_FIELDS: Final = 100_000


def encode(*parts: Field) -> bytes:
    """A message. Fields that have their default (0, false, empty text) are left out, as proto3 does; empty messages (bytes) are kept."""
    out = bytearray()
    for number, value in parts:
        if isinstance(value, str):
            data = value.encode("utf-8", "replace")
            if data:
                out += _varint(number << 3 | 2) + _varint(len(data)) + data
        elif isinstance(value, bytes):
            out += _varint(number << 3 | 2) + _varint(len(value)) + value
        elif value:
            out += _varint(number << 3) + _varint(int(value) & 0xFFFF_FFFF_FFFF_FFFF)
    return bytes(out)


def packed(number: int, values: Iterable[int]) -> Field:
    """A repeated field of numbers."""
    return number, b"".join(_varint(value & 0xFFFF_FFFF_FFFF_FFFF) for value in values)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class Message:
    """A message that came in: fields by number, the last one counting where there are several. Raises `WireError` for none."""

    def __init__(self, data: bytes) -> None:
        self._numbers: dict[int, int] = {}
        self._bytes: dict[int, list[bytes]] = {}
        for count, (number, kind, value) in enumerate(fields(memoryview(data))):
            if count > MAX_FIELDS:
                break
            if isinstance(value, int):
                self._numbers[number] = value
            elif kind != VARINT:
                self._bytes.setdefault(number, []).append(bytes(value))

    def number(self, field: int) -> int:
        return signed(self._numbers.get(field, 0))

    def text(self, field: int) -> str:
        return self._bytes.get(field, [b""])[-1].decode("utf-8", "replace")

    def messages(self, field: int) -> list[Message]:
        return [Message(data) for data in self._bytes.get(field, [])]
