"""Only the pinned commit is ever unpacked."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from sopbench.errors import DataError, UsageError
from sopbench.online.androidworld import source
from sopbench.online.androidworld.source import from_clone, unpack


def tar_of(*members: tuple[str, bytes]) -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    out.seek(0)
    return out


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with files, a program, a link and a folder whose name sorts between files."""
    folder = tmp_path / "clone"
    (folder / "android_world" / "env").mkdir(parents=True)
    (folder / "android_world" / "env.txt").write_text("a")
    (folder / "android_world" / "env" / "x.py").write_text("b")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("run.sh")
    run = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*run, "init", "-q"], check=True)
    subprocess.run([*run, "add", "."], check=True)
    subprocess.run([*run, "commit", "-qm", "x"], check=True)
    return folder


def revision(folder: Path, what: str) -> str:
    return subprocess.run(["git", "-C", folder, "rev-parse", what], capture_output=True, text=True).stdout.strip()


def test_the_hash_of_the_files_is_gits(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "COMMIT", revision(repository, "HEAD"))
    monkeypatch.setattr(source, "TREE", revision(repository, "HEAD^{tree}"))
    (repository / "android_world" / "env" / "x.py").write_text("changed and not committed")
    from_clone(repository, tmp_path / "into")
    assert (tmp_path / "into" / "android_world" / "env" / "x.py").read_text() == "b"
    assert not (tmp_path / "into" / "run.sh").exists()


def test_another_tree_is_refused(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "COMMIT", revision(repository, "HEAD"))
    with pytest.raises(DataError, match="is not google-research/android_world"):
        from_clone(repository, tmp_path / "into")


def test_a_clone_without_the_commit_is_told_how_to_get_it(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"git -C .* fetch origin d9c569f"):
        from_clone(repository, tmp_path / "into")


def test_a_path_out_of_the_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="leads out"):
        unpack(tar_of(("top/../../evil", b"x")), tmp_path, "an archive")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", [b"", b"not a tar", b"\x1f\x8b broken"])
def test_what_is_no_archive_is_refused(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(DataError):
        unpack(io.BytesIO(data), tmp_path, "an archive")
