"""TFRecord files, read one record at a time, with both checksums of every record compared.

A record is: its length (8 bytes, little endian), the masked CRC-32C of those 8 bytes, the data, the masked CRC-32C of the data (4 bytes each). Published shards are
compressed as one gzip stream around all records; plain ones are read too. Source: tensorflow/tensorflow `core/lib/io/record_writer.h` and `core/lib/hash/crc32c.h`.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

from sopbench.errors import DataError
from sopbench.files import open_regular, why

MAX_RECORD: Final = 256 * 1024 * 1024
"""Bytes. The longest AndroidControl episodes stay well below a quarter of it; a record that claims more is not read."""
_GZIP: Final = b"\x1f\x8b"
_AGAIN: Final = (
    "The file is damaged: delete it and get it again (`sopbench data pull` compares it with the publisher's checksum)"
)


class ShardError(DataError):
    """A shard that is no shard, is cut short, or whose bytes have changed since they were written."""


def records(
    path: Path, consumed: Callable[[int], None] = lambda count: None, limit: int = MAX_RECORD
) -> Iterator[bytes]:
    """The data of every record, in order. `consumed` is told how many bytes of the file have been read since it was last told.

    Raises `ShardError` that names the file and the record, counted from 0.
    """
    try:
        raw = open_regular(path)
    except (OSError, ValueError) as error:
        raise ShardError(f"cannot read {path} ({why(error)})") from error
    with raw:
        zipped = raw.read(2) == _GZIP
        raw.seek(0)
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if zipped else raw
        index, told = 0, 0
        try:
            while (data := _record(stream, limit)) is not None:
                consumed(raw.tell() - told)
                told = raw.tell()
                yield data
                index += 1
        except EOFError as error:
            raise ShardError(f"{path.name} ends in the middle of record {index}. {_AGAIN}") from error
        except (_Damaged, gzip.BadGzipFile, zlib.error) as error:
            raise ShardError(f"{path.name}, record {index}: {error}. {_AGAIN}") from error
        consumed(raw.tell() - told)


class _Damaged(Exception):
    """What is wrong with a record; `records` says with which."""


def _record(stream: BinaryIO, limit: int) -> bytes | None:
    """The next record's data; None at the end. Raises `EOFError` where the stream ends before the record does."""
    head = stream.read(12)
    if not head:
        return None
    if len(head) < 12:
        raise EOFError
    length, length_crc = struct.unpack("<QI", head)
    if masked_crc(head[:8]) != length_crc:
        raise _Damaged("its length does not have the checksum that was written with it (or this is no TFRecord file)")
    if length > limit:
        raise _Damaged(f"it claims {length} bytes, more than {limit}")
    data = stream.read(length)
    tail = stream.read(4)
    if len(data) < length or len(tail) < 4:
        raise EOFError
    if masked_crc(data) != struct.unpack("<I", tail)[0]:
        raise _Damaged("its data does not have the checksum that was written with it")
    return data


def masked_crc(data: bytes) -> int:
    """CRC-32C, rotated right by 15 bits, plus a constant: checksums of data that contains checksums would be weak otherwise."""
    from google_crc32c import value  # here: `import sopbench` does not need it

    crc = int(value(data))
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
