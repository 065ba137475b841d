"""The phone's file tree: POSIX where it matters, bounded, and apart from this machine's files."""

from __future__ import annotations

import errno
import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.sim import files as module
from emulator.sim.files import FileError, FileTree


@pytest.fixture
def tree() -> FileTree:
    made = FileTree(lambda: 1000.0)
    made.mkdir("/storage/emulated/0/Download", parents=True)
    made.link("/sdcard", "/storage/emulated/0")
    made.write("/sdcard/Download/a", b"abc")
    return made


def code(error: pytest.ExceptionInfo[FileError]) -> str:
    return errno.errorcode[error.value.errno or 0]


def test_links_are_followed_where_posix_follows_them(tree: FileTree) -> None:
    assert tree.read("/storage/emulated/0/Download/a") == b"abc"
    assert tree.real("/sdcard/Download/../Download/./a") == "/storage/emulated/0/Download/a"
    assert tree.lstat("/sdcard").kind == "link"
    assert tree.stat("/sdcard").kind == "dir"
    tree.remove("/sdcard")
    assert tree.exists("/storage/emulated/0/Download/a")
    tree.link("/relative", "storage/emulated")
    assert tree.names("/relative/0") == ["Download"]
    tree.link("/dangling", "/storage/new")
    tree.write("/dangling", b"x")
    assert tree.read("/storage/new") == b"x"


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/none", "ENOENT"), ("/sdcard/Download/a/b", "ENOTDIR"), ("/sdcard/none/x", "ENOENT"), ("/loop/x", "ELOOP")],
)
def test_paths_that_lead_nowhere(tree: FileTree, path: str, expected: str) -> None:
    tree.link("/loop", "/loop")
    with pytest.raises(FileError) as error:
        tree.stat(path)
    assert code(error) == expected
    assert error.value.filename == path


def test_a_copy_of_the_tree_does_not_change_with_it(tree: FileTree) -> None:
    saved = tree.save()
    tree.write("/sdcard/Download/a", b"changed")
    tree.remove("/storage/emulated/0/Download", recursive=True)
    tree.load(saved)
    assert tree.read("/sdcard/Download/a") == b"abc"
    tree.write("/sdcard/Download/a", b"again")
    tree.load(saved)
    assert tree.read("/sdcard/Download/a") == b"abc"


def test_space_and_names_are_bounded(tree: FileTree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TOTAL", 10)
    tree.write("/b", b"1234567")
    with pytest.raises(FileError) as error:
        tree.write("/c", b"1")
    assert code(error) == "ENOSPC"
    tree.remove("/b")
    tree.write("/c", b"1234567")
    with pytest.raises(FileError) as error:
        tree.write("/" + "x" * 256, b"")
    assert code(error) == "ENAMETOOLONG"
    with pytest.raises(FileError) as error:
        tree.mkdir("/d" * 65, parents=True)
    assert code(error) == "ENAMETOOLONG"
    monkeypatch.setattr(module, "MAX_NODES", 0)
    with pytest.raises(FileError) as error:
        tree.write("/e", b"")
    assert code(error) == "ENOSPC"


def test_moving(tree: FileTree) -> None:
    tree.mkdir("/d/e", parents=True)
    tree.move("/sdcard/Download/a", "/d/b")
    assert tree.read("/d/b") == b"abc"
    for source, target, expected in (("/d", "/d/e/f", "EINVAL"), ("/d/b", "/d/e", "EISDIR"), ("/none", "/x", "ENOENT")):
        with pytest.raises(FileError) as error:
            tree.move(source, target)
        assert code(error) == expected
    tree.move("/d/b", "/d/b")
    assert tree.names("/d") == ["b", "e"]


def test_patterns(tree: FileTree) -> None:
    for name in ("x.txt", "y.txt", ".hidden.txt", "z.md"):
        tree.write(f"/sdcard/Download/{name}", b"")
    assert tree.glob("/sdcard/*/[xy].txt") == ["/sdcard/Download/x.txt", "/sdcard/Download/y.txt"]
    assert tree.glob("/sdcard/Download/.*.txt") == ["/sdcard/Download/.hidden.txt"]
    assert tree.glob("/sdcard/Download/?.md") == ["/sdcard/Download/z.md"]
    assert tree.glob("/none/*") == []


NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))


@given(st.lists(st.tuples(st.sampled_from(["write", "mkdir", "remove", "move"]), PATHS, PATHS), max_size=40))
def test_a_tree_behaves_like_a_table_of_paths(steps: list[tuple[str, str, str]]) -> None:
    tree, table = FileTree(lambda: 0.0), {"/": "dir"}

    def below(path: str) -> list[str]:
        return [one for one in table if one == path or one.startswith(path + "/")]

    for what, path, other in steps:
        parent = posixpath.dirname(path)
        try:
            if what == "write":
                tree.write(path, b"")
                assert table.get(parent) == "dir"
                assert table.get(path) in (None, "file")
                table[path] = "file"
            elif what == "mkdir":
                tree.mkdir(path)
                assert table.get(parent) == "dir"
                assert path not in table
                table[path] = "dir"
            elif what == "remove":
                tree.remove(path, recursive=True)
                assert path in table
                for one in below(path):
                    del table[one]
            else:
                tree.move(path, other)
                assert path in table
                assert table.get(posixpath.dirname(other)) == "dir"
                moved = {other + one[len(path) :]: table.pop(one) for one in below(path)}
                for one in below(other):
                    del table[one]
                table |= moved
        except FileError:
            pass  # what it refused must not have changed anything
        assert {path for path, _ in tree.walk("/")} == {"/" if one == "/" else one for one in table}
