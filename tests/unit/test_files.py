"""Files by names that others chose: what is no regular file of a bounded size is refused, and nothing is written through a link."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from sopbench.errors import DataError
from sopbench.files import create_json, file_sha256, is_temporary, open_regular, read_json, replacing, write_json


def test_a_regular_file_is_opened_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"content")
    (tmp_path / "b").symlink_to("a")
    with open_regular(tmp_path / "b") as handle:
        assert handle.read() == b"content"


def test_a_pipe_is_refused_at_once_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("path", "code"), [("/dev/zero", errno.EINVAL), ("/", errno.EISDIR), ("/nowhere", errno.ENOENT)]
)
def test_devices_and_folders_are_no_files(path: str, code: int) -> None:
    with pytest.raises(OSError, match=r".") as caught:
        open_regular(Path(path))
    assert caught.value.errno == code


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "not JSON"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b'{"a": 1e999}', "1e999"),
        (b'"' + b"a" * 2_000 + b'"', "larger than 1000 bytes"),
    ],
)
def test_what_is_no_json_of_a_bounded_size_is_a_data_error_that_names_the_file(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "some.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=says) as caught:
        read_json(path, 1_000 if says.startswith("larger") else 1_000_000)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_a_data_error(tmp_path: Path) -> None:
    for read in (lambda: read_json(tmp_path / "x", 10), lambda: file_sha256(tmp_path / "x")):
        with pytest.raises(DataError, match="No such file"):
            read()


def test_json_is_read_as_it_was_written(tmp_path: Path) -> None:
    value = {"a": [1, 2.5, None, True], "b": "é中\udcff\x00"}
    write_json(tmp_path / "x.json", value)
    assert read_json(tmp_path / "x.json", 1_000) == value


def test_replacing_does_not_write_through_a_link(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "summary.json"
    victim.write_text("mine")
    path.symlink_to(victim)
    write_json(path, {"a": 1})
    assert victim.read_text() == "mine"
    assert json.loads(path.read_text()) == {"a": 1}
    assert not path.is_symlink()


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as handle:
            handle.write(b"half of the n")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_stands_there_already_is_not_created_again(tmp_path: Path) -> None:
    create_json(tmp_path / "run.json", 1)
    with pytest.raises(FileExistsError):
        create_json(tmp_path / "run.json", 2)
    assert read_json(tmp_path / "run.json", 10) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]


def test_creating_works_where_the_file_system_has_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*args: object, **options: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    create_json(tmp_path / "run.json", 1)
    with pytest.raises(FileExistsError):
        create_json(tmp_path / "run.json", 2)
    assert read_json(tmp_path / "run.json", 10) == 1


def test_leftovers_of_a_killed_writer_are_known_as_such(tmp_path: Path) -> None:
    with replacing(tmp_path / "x"):
        (leftover,) = tmp_path.iterdir()
        assert is_temporary(leftover)
    assert not is_temporary(tmp_path / "x")
    assert not is_temporary(tmp_path / "thesis.tmp")
