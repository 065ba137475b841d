"""The wire format of protocol buffers, read field by field from bytes that may be anything.

Two messages are all that the data sets need (`tf.train.Example` and the accessibility forest of android_env), a dozen fields of them, so this page takes the place of
the packages that carry their generated classes: android-env 1.3.0 brings grpcio, pygame and dm_env along. Reading lazily also leaves alone what is not asked for.
Format: "Encoding" in the protocol buffers documentation. Fields of types unknown are passed over, as there; groups, which neither message has, are refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, TypeAlias

from sopbench.errors import DataError

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5
_LONGEST_VARINT: Final = 10

Value: TypeAlias = int | memoryview
"""A varint as an unsigned 64-bit number; anything else as its bytes, which are not copied."""


class WireError(DataError):
    """Bytes that are no message."""


def fields(message: memoryview) -> Iterator[tuple[int, int, Value]]:
    """(field number, wire type, value) of every field, in the message's order. Raises `WireError` at the first byte that cannot be."""
    at, end = 0, len(message)
    while at < end:
        key, at = varint(message, at)
        number, kind = key >> 3, key & 7
        if not 0 < number < 1 << 29:
            raise WireError(f"field number {number} at byte {at}")
        if kind == VARINT:
            value, at = varint(message, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            length, at = varint(message, at)
        elif kind == FIXED32:
            length = 4
        elif kind == FIXED64:
            length = 8
        else:
            raise WireError(f"wire type {kind} at byte {at}")
        if length > end - at:
            raise WireError(f"field {number} claims {length} bytes, {end - at} are left")
        yield number, kind, message[at : at + length]
        at += length


def varint(message: memoryview, at: int) -> tuple[int, int]:
    """The unsigned 64-bit number that begins at byte `at`, and where the next field begins."""
    if at < len(message) and (byte := message[at]) < 0x80:
        return byte, at + 1  # nearly all of them
    value = 0
    for place in range(_LONGEST_VARINT):
        if at + place >= len(message):
            raise WireError("ends in the middle of a number")
        byte = message[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + place + 1
    raise WireError(f"a number of more than {_LONGEST_VARINT} bytes at byte {at}")


def varints(packed: memoryview) -> Iterator[int]:
    """The numbers of a packed field."""
    at = 0
    while at < len(packed):
        value, at = varint(packed, at)
        yield value


def floats(packed: memoryview) -> tuple[float, ...]:
    """The numbers of a packed field of 32-bit floats."""
    if len(packed) % 4:
        raise WireError(f"{len(packed)} bytes are no list of 32-bit numbers")
    return struct.unpack(f"<{len(packed) // 4}f", packed)


def signed(value: int) -> int:
    """An int64 from its varint."""
    return value - (1 << 64) if value >= 1 << 63 else value


def signed32(value: int) -> int:
    """An int32 from its varint: the low 32 bits count, as the generated classes read it."""
    value &= 0xFFFF_FFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def submessage(value: Value, kind: int, what: str) -> memoryview:
    """`value`, if it is what a message or a text is stored as."""
    if kind != BYTES or isinstance(value, int):
        raise WireError(f"{what} has wire type {kind}")
    return value


def number(value: Value, kind: int, what: str) -> int:
    """`value`, if it is a varint."""
    if kind != VARINT or not isinstance(value, int):
        raise WireError(f"{what} has wire type {kind}")
    return value


def text(raw: bytes | memoryview, what: str) -> str:
    """UTF-8, or a `WireError` that names the first byte that is none."""
    data = bytes(raw)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise WireError(f"{what} is not UTF-8 (byte {error.start} is 0x{data[error.start]:02x})") from error
