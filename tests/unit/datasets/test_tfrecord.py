"""Records come out as they went in; whatever has changed since is an error that names file and record."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.datasets.tfrecord import ShardError, masked_crc, records
from tests.integration.datasets.archives import record, write_shard

THREE = [b"one", b"", b"three" * 100]


@pytest.mark.parametrize(
    ("data", "crc"),
    [(b"", 0x00000000), (b"123456789", 0xE3069283), (b"\x00" * 32, 0x8A9136AA), (bytes(range(32)), 0x46DD794E)],
)
def test_the_checksum_is_crc32c_masked(data: bytes, crc: int) -> None:
    """Values of RFC 3720, B.4."""
    rotated = (crc >> 15 | crc << 17) & 0xFFFFFFFF
    assert masked_crc(data) == (rotated + 0xA282EAD8) % 2**32


@given(st.lists(st.binary(max_size=300), max_size=8), st.booleans())
def test_records_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, data: list[bytes], zipped: bool
) -> None:
    path = tmp_path_factory.mktemp("shard") / "shard"
    if zipped:
        write_shard(path, data)
    else:
        path.write_bytes(b"".join(map(record, data)))
    assert list(records(path)) == data


def test_the_bytes_read_add_up_to_the_file(tmp_path: Path) -> None:
    path = write_shard(tmp_path / "shard", [bytes(1000)] * 50)
    told: list[int] = []
    assert len(list(records(path, told.append))) == 50
    assert sum(told) == path.stat().st_size


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("at", "complaint"),
    [
        (0, "its length does not have the checksum"),
        (9, "its length does not have"),
        (12, "its data does not have"),
        (-1, "its data does not have"),
    ],
)
def test_a_changed_bit_is_found(tmp_path: Path, at: int, complaint: str) -> None:
    first, second = record(b"first"), record(b"second")
    (tmp_path / "shard-00003-of-00020").write_bytes(first + flipped(second, at % len(second)))
    found = records(tmp_path / "shard-00003-of-00020")
    assert next(found) == b"first"
    with pytest.raises(ShardError, match=rf"^shard-00003-of-00020, record 1: {complaint}"):
        next(found)


@pytest.mark.parametrize("cut", [1, 8, 11, 12, 15, 20, 24])
def test_a_shard_cut_in_a_record_is_found(tmp_path: Path, cut: int) -> None:
    (tmp_path / "shard").write_bytes(record(b"first") + record(b"a longer record")[:cut])
    with pytest.raises(ShardError, match=r"^shard ends in the middle of record 1\. .*sopbench data pull"):
        list(records(tmp_path / "shard"))


def test_a_gzip_stream_cut_anywhere_is_found(tmp_path: Path) -> None:
    whole = write_shard(tmp_path / "whole", THREE).read_bytes()
    for length in range(2, len(whole)):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(ShardError, match="ends in the middle of record"):
            list(records(tmp_path / "cut"))


def test_a_damaged_gzip_stream_is_found_even_where_the_records_are_whole(tmp_path: Path) -> None:
    whole = write_shard(tmp_path / "whole", THREE).read_bytes()
    (tmp_path / "bad").write_bytes(flipped(whole, len(whole) - 8))
    with pytest.raises(ShardError, match="CRC check failed"):
        list(records(tmp_path / "bad"))


def test_a_length_with_a_right_checksum_is_still_bounded(tmp_path: Path) -> None:
    length = struct.pack("<Q", 2**62)
    (tmp_path / "shard").write_bytes(length + struct.pack("<I", masked_crc(length)))
    with pytest.raises(ShardError, match=f"record 0: it claims {2**62} bytes, more than"):
        list(records(tmp_path / "shard"))


def test_a_gzip_file_of_something_else_is_no_shard(tmp_path: Path) -> None:
    (tmp_path / "notes.gz").write_bytes(gzip.compress(b"Dear diary, today I wrote no records."))
    with pytest.raises(ShardError, match="or this is no TFRecord file"):
        list(records(tmp_path / "notes.gz"))


def test_a_file_that_is_not_there_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(ShardError, match="No such file"):
        list(records(tmp_path / "none"))
    with pytest.raises(ShardError, match="directory"):
        list(records(tmp_path))
