"""Hostile files: archives, bombs, YAML, text; what verify writes, how much memory it takes, and that no byte may change."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import shutil
import socket
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from board_workshop import Opened, Workshop, renew_sums
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sopbench.leaderboard.reading import FILES, METADATA, STEPS

MEMORY = 300 * 1024
"""KiB of the process that verifies, at its peak (VmHWM: ru_maxrss would count the process that started it too)."""


def refusal(shop: Workshop, path: Path) -> tuple[str, str]:
    refused = shop.verify(path).refused
    assert refused is not None
    return refused.rule, refused.detail


def tar_with(shop: Workshop, out: Path, *more: tarfile.TarInfo, mode: str = "w", folder: str = "submission") -> Path:
    with tarfile.open(out, mode) as archive:  # type: ignore[call-overload]
        for name in FILES:
            archive.add(shop.folder / name, f"{folder}/{name}" if folder else name)
        for member in more:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return out


def zip_with(
    shop: Workshop, out: Path, *more: tuple[zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED
) -> Path:
    with zipfile.ZipFile(out, "w", method) as archive:
        for name in FILES:
            archive.write(shop.folder / name, f"submission/{name}")
        for member, content in more:
            archive.writestr(member, content)
    return out


def member(name: str, kind: bytes = tarfile.REGTYPE, **more: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    for key, value in more.items():
        setattr(info, key, value)
    return info


class TestArchives:
    @pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
    @pytest.mark.parametrize("folder", ["submission", ""])
    def test_plain_ones_are_read_without_being_unpacked(
        self, shop: Workshop, tmp_path: Path, mode: str, folder: str
    ) -> None:
        assert shop.verify(tar_with(shop, tmp_path / "a.tar", mode=mode, folder=folder)).ok
        assert list(tmp_path.iterdir()) == [tmp_path / "a.tar"]

    def test_a_zip_is_read(self, shop: Workshop, tmp_path: Path) -> None:
        assert shop.verify(zip_with(shop, tmp_path / "a.zip")).ok

    @pytest.mark.parametrize(
        "bad",
        [
            member("submission/../../evil", size=1),
            member("/etc/evil", size=1),
            member("..", tarfile.DIRTYPE),
            member("submission/link", tarfile.SYMTYPE, linkname="/etc/passwd"),
            member("submission/run.json", tarfile.LNKTYPE, linkname="submission/metadata.yaml"),
            member("submission/null", tarfile.CHRTYPE, devmajor=1, devminor=3),
            member("submission/pipe", tarfile.FIFOTYPE),
            member("submission/block", tarfile.BLKTYPE),
            member("submission/deep/run.json", size=1),
            member("other/run.json", size=1),
            member("submission/run.json", size=1),
            member("submission/extra.txt", size=1),
            member("C:\\evil", size=1),
            member("submission\\run.json", size=1),
            member("submission/\x1b[2J", size=1),
        ],
        ids=lambda m: ascii(m.name)[1:-1] + m.type.decode("latin-1"),
    )
    def test_a_tar_with_anything_else_is_refused(self, shop: Workshop, tmp_path: Path, bad: tarfile.TarInfo) -> None:
        rule, detail = refusal(shop, tar_with(shop, tmp_path / "a.tar", bad))
        assert rule == "reading"
        assert "\x1b" not in detail
        assert list(tmp_path.iterdir()) == [tmp_path / "a.tar"]

    @pytest.mark.parametrize(
        "name", ["../evil", "/etc/evil", "submission/../../evil", "submission/extra", "a/b/c", "submission\\..\\evil"]
    )
    def test_a_zip_with_other_names_is_refused(self, shop: Workshop, tmp_path: Path, name: str) -> None:
        assert refusal(shop, zip_with(shop, tmp_path / "a.zip", (zipfile.ZipInfo(name), b"x")))[0] == "reading"
        assert list(tmp_path.iterdir()) == [tmp_path / "a.zip"]

    def test_a_zip_with_a_link_is_refused(self, shop: Workshop, tmp_path: Path) -> None:
        link = zipfile.ZipInfo("submission/link")
        link.external_attr = 0o120777 << 16
        rule, detail = refusal(shop, zip_with(shop, tmp_path / "a.zip", (link, b"/etc/passwd")))
        assert (rule, "link" in detail) == ("reading", True)

    @pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_zip_methods_that_cannot_be_bounded_are_refused(self, shop: Workshop, tmp_path: Path, method: int) -> None:
        assert refusal(shop, zip_with(shop, tmp_path / "a.zip", method=method))[0] == "reading"

    def test_a_zip_with_very_many_members_is_refused_before_they_are_read(self, shop: Workshop, tmp_path: Path) -> None:
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for k in range(2_000):
                archive.writestr(f"{k}", b"")
        rule, detail = refusal(shop, path)
        assert (rule, "members" in detail) == ("reading", True)

    @pytest.mark.parametrize(
        "junk",
        [b"", b"hello", b"PK\x05\x06" + b"\0" * 18, b"\x1f\x8b\x08", b"\xfd7zXZ\0\0", b"\0" * 1024, os.urandom(4096)],
    )
    def test_what_is_no_archive_is_refused(self, shop: Workshop, tmp_path: Path, junk: bytes) -> None:
        (tmp_path / "a").write_bytes(junk)
        assert refusal(shop, tmp_path / "a")[0] in ("reading", "files")

    @settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(place=st.integers(min_value=0), value=st.integers(1, 255), kind=st.sampled_from(["tar", "gz", "xz", "zip"]))
    def test_a_damaged_archive_is_never_a_crash(
        self, shop: Workshop, tmp_path: Path, place: int, value: int, kind: str
    ) -> None:
        whole = tmp_path / f"whole.{kind}"
        if not whole.exists():
            if kind == "zip":
                zip_with(shop, whole)
            else:
                tar_with(shop, whole, mode="w" if kind == "tar" else f"w:{kind}")
        data = bytearray(whole.read_bytes())
        data[place % len(data)] ^= value
        (tmp_path / "a").write_bytes(data)
        shop.verify(tmp_path / "a")  # a byte of padding may change nothing; whatever it does, nothing is raised


class TestFolders:
    def test_links_in_it_are_refused(self, shop: Workshop, tmp_path: Path) -> None:
        shutil.copytree(shop.folder, tmp_path / "copy")
        (tmp_path / "copy" / STEPS).unlink()
        (tmp_path / "copy" / STEPS).symlink_to(shop.folder / STEPS)
        rule, detail = refusal(shop, tmp_path / "copy")
        assert (rule, "link" in detail) == ("reading", True)

    def test_pipes_sockets_and_folders_in_it_are_refused_without_waiting(self, shop: Workshop, tmp_path: Path) -> None:
        for number, make in enumerate((os.mkfifo, lambda p: socket.socket(socket.AF_UNIX).bind(str(p)), os.mkdir)):
            copy = tmp_path / str(number)
            shutil.copytree(shop.folder, copy)
            (copy / METADATA).unlink()
            make(copy / METADATA)
            assert refusal(shop, copy)[0] == "reading"

    def test_a_device_or_nothing_is_refused(self, shop: Workshop, tmp_path: Path) -> None:
        for path in (Path("/dev/zero"), tmp_path / "nowhere", Path("a\0b")):
            assert refusal(shop, path)[0] == "reading"

    def test_other_files_are_refused(self, shop: Workshop, tmp_path: Path) -> None:
        shutil.copytree(shop.folder, tmp_path / "copy")
        (tmp_path / "copy" / "screens.zip").write_bytes(b"x")
        rule, detail = refusal(shop, tmp_path / "copy")
        assert (rule, "screens.zip" in detail) == ("reading", True)

    def test_too_large_ones_are_refused(self, shop: Workshop, tmp_path: Path) -> None:
        shutil.copytree(shop.folder, tmp_path / "copy")
        with (tmp_path / "copy" / STEPS).open("ab") as handle:
            handle.truncate(10 * 1024 * 1024 + 1)
        rule, detail = refusal(shop, tmp_path / "copy")
        assert (rule, "10485760" in detail) == ("reading", True)


class TestOneByte:
    def test_changing_any_byte_of_any_file_is_refused(self, shop: Workshop, tmp_path: Path) -> None:
        """At every place of the small files, at many places of the large ones."""
        copy = tmp_path / shop.folder.name
        shutil.copytree(shop.folder, copy)
        rng = random.Random(0)
        for name in FILES:
            whole = (copy / name).read_bytes()
            for place in sorted(rng.sample(range(len(whole)), min(len(whole), 120))):
                changed = bytearray(whole)
                changed[place] ^= 1 << rng.randrange(8)
                (copy / name).write_bytes(changed)
                assert refusal(shop, copy)[0] == "sums", (name, place)
            (copy / name).write_bytes(whole)
        assert shop.verify(copy).ok

    @pytest.mark.parametrize("more", [b"\n", b"\0", b" "])
    def test_adding_one_is_refused_too(self, shop: Workshop, tmp_path: Path, more: bytes) -> None:
        copy = tmp_path / shop.folder.name
        shutil.copytree(shop.folder, copy)
        for name in FILES:
            whole = (copy / name).read_bytes()
            (copy / name).write_bytes(whole + more)
            assert refusal(shop, copy)[0] == "sums"
            (copy / name).write_bytes(whole)


YAMLS = {
    "a tag": "model: !!python/object/apply:os.system ['touch evil']",
    "a local tag": "model: !evil x",
    "an anchor": "model: &a x",
    "an alias": "a: &a [x]\nb: *a",
    "laughs": "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]",
    "a doubled name": "model: a\nmodel: b",
    "a merge": "<<: {model: a}",
    "depth": "a: " + "[" * 5_000,
    "many nodes": "a: [" + "x," * 20_000 + "]",
    "size": "a: " + "x" * 70_000,
    "no mapping": "- a",
    "nothing": "",
    "two documents": "a: b\n---\nc: d",
    "a complex name": "? [a]\n: b",
    "a control": "model: a\x07b",
    "no text": "\xff\xfe",
    "a tab": "\tmodel: a",
    "an unknown field": "boards: x",
}


class TestMetadata:
    @pytest.mark.parametrize("text", YAMLS.values(), ids=YAMLS.keys())
    def test_yaml_beyond_plain_fields_is_refused(self, shop: Workshop, tmp_path: Path, text: str) -> None:
        target = shop.tampered(tmp_path, lambda o: None)
        (target / METADATA).write_bytes(text.encode("latin-1"))
        renew_sums(target)
        assert refusal(shop, target)[0] == "metadata"
        assert not Path("evil").exists()

    @pytest.mark.parametrize(
        "field",
        ["model", "organisation", "contact", "training_data", "notes", "base_model", "board", "parameters", "date"],
    )
    @pytest.mark.parametrize(
        "bad",
        ["a\x1b[31mb", "a\u202eb", "a\u200bb", "a\u2066b", "a\x00b", "\ufeffa", "a\u2028b", "a\x85b", "\U000e0041"],
        ids=ascii,
    )
    def test_text_that_is_not_seen_as_itself_is_refused_in_every_field(
        self, shop: Workshop, tmp_path: Path, field: str, bad: str
    ) -> None:
        def change(o: Opened) -> None:
            kept = [line for line in o.metadata.splitlines() if not line.startswith(f"{field}:")]
            o.metadata = "\n".join([*kept, f"{field}: {json.dumps(bad)}"]) + "\n"

        assert refusal(shop, shop.tampered(tmp_path, change))[0] == "metadata"

    @pytest.mark.parametrize(
        "bad",
        [
            "javascript:alert(1)",
            "http://example.org/",
            "https://a:b@example.org/",
            "https://example.org:8443/",
            "https://localhost/",
            "https://exa mple.org/",
            'https://example.org/"onclick=x',
            "data:text/html,x",
            "https://example.org/<script>",
            "https://ex\u00e4mple.org/",
            "//example.org",
        ],
    )
    def test_links_lead_to_plain_https_or_nowhere(self, shop: Workshop, tmp_path: Path, bad: str) -> None:
        def change(o: Opened) -> None:
            o.metadata += f"links:\n  paper: {json.dumps(bad)}\n"

        assert refusal(shop, shop.tampered(tmp_path, change))[0] == "metadata"

    def test_markup_is_text_like_any_other(self, shop: Workshop, tmp_path: Path) -> None:
        def change(o: Opened) -> None:
            o.metadata = o.metadata.replace("Nothing: it was made up for a test.", "<script>alert(1)</script> & *b*")

        assert shop.verify(shop.tampered(tmp_path, change)).ok


class TestJournals:
    """Of records whose JSON is right and whose values are anything."""

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(data=st.data())
    def test_any_field_may_be_anything_and_nothing_crashes(
        self, shop: Workshop, tmp_path: Path, data: st.DataObject
    ) -> None:
        values = st.recursive(
            st.none() | st.booleans() | st.integers(-2, 2**60) | st.floats(allow_nan=False) | st.text(max_size=20),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
            max_leaves=8,
        )
        place = tmp_path / "case"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()

        def change(o: Opened) -> None:
            line = data.draw(st.sampled_from(o.lines))
            name = data.draw(st.sampled_from(sorted({*line, "end", "told", "error", "finish_reason", "score"})))
            line[name] = data.draw(values)

        found = shop.verify(shop.tampered(place, change))
        assert found.ok or found.refused is not None

    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(data=st.data())
    def test_any_fact_may_be_anything_and_nothing_crashes(
        self, shop: Workshop, tmp_path: Path, data: st.DataObject
    ) -> None:
        values = st.none() | st.booleans() | st.integers(-2, 2**60) | st.text(max_size=20) | st.lists(st.text(max_size=3), max_size=3) | st.dictionaries(st.text(max_size=8), st.integers(), max_size=3)  # fmt: skip
        place = tmp_path / "case"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()

        def change(o: Opened) -> None:
            facts = o.run["facts"]
            where = data.draw(st.sampled_from([facts, facts["adapter"], facts["adapter"]["prompt"], facts["sampling"], o.run, o.run["settings"], o.summary]))  # fmt: skip
            where[data.draw(st.sampled_from(sorted(where)))] = data.draw(values)
            o.fingerprinted = isinstance(o.run.get("facts"), dict)

        found = shop.verify(shop.tampered(place, change))
        assert found.ok or found.refused is not None


Maker = Callable[[Workshop, Path], Path]


def zst_bomb(shop: Workshop, place: Path) -> Path:
    """One line without end."""
    return _with_steps(shop, place, zstandard.ZstdCompressor(level=1).compress(b"x" * (1 << 28)))


def zst_of_short_lines(shop: Workshop, place: Path) -> Path:
    return _with_steps(shop, place, zstandard.ZstdCompressor(level=3).compress(b"{}\n" * 4_000_000))


def zst_of_large_replies(shop: Workshop, place: Path) -> Path:
    """As many lines as there are steps, each as long as a line may be, of characters that take four bytes in memory."""
    copy = shop.tampered(place, lambda o: None)
    opened = Opened(copy)
    for line in opened.lines:
        line["reply"] = "\U0001f600" + "x" * 500_000
    opened.write(sums=True)
    return copy


def zst_with_a_huge_window(shop: Workshop, place: Path) -> Path:
    options = zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False)
    packer = zstandard.ZstdCompressor(compression_params=options).compressobj()
    return _with_steps(shop, place, packer.compress(b"{}\n" * 10_000) + packer.flush())


def _with_steps(shop: Workshop, place: Path, data: bytes) -> Path:
    copy = shop.tampered(place, lambda o: None)
    (copy / STEPS).write_bytes(data)
    renew_sums(copy)
    return copy


def gz_bomb(shop: Workshop, place: Path) -> Path:
    (place / "a.tar.gz").write_bytes(gzip.compress(b"\0" * (1 << 26), 1))
    return place / "a.tar.gz"


def xz_bomb(shop: Workshop, place: Path) -> Path:
    (place / "a.tar.xz").write_bytes(lzma.compress(b"\0" * (1 << 25), preset=0))
    return place / "a.tar.xz"


def zip_bomb(shop: Workshop, place: Path) -> Path:
    with (
        zipfile.ZipFile(place / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("s/run.json", "w") as handle,
    ):
        for _ in range(1 << 6):
            handle.write(b"\0" * (1 << 20))
    return place / "a.zip"


def bzip2_in_a_zip(shop: Workshop, place: Path) -> Path:
    with zipfile.ZipFile(place / "a.zip", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("s/run.json", b"\0" * (1 << 25))
    return place / "a.zip"


def bz2_tar(shop: Workshop, place: Path) -> Path:
    (place / "a.tar.bz2").write_bytes(bz2.compress(b"\0" * (1 << 25)))
    return place / "a.tar.bz2"


def json_of_empty_objects(shop: Workshop, place: Path) -> Path:
    copy = shop.tampered(place, lambda o: None)
    (copy / "run.json").write_bytes(b'{"facts":[' + b"{}," * 3_000_000 + b"{}]}")
    renew_sums(copy)
    return copy


CHILD = """
import json, sys
from pathlib import Path
from sopbench.leaderboard import verify
from sopbench.suites.base import DataSource
root, data, images, path = map(Path, sys.argv[1:])
found = verify(path, boards=root, source=DataSource(data, images))
peak = next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM'))
print(json.dumps([found.ok, found.refused.rule if found.refused else None, peak]))
"""


def in_a_child(shop: Workshop, path: Path) -> tuple[bool, str | None, int]:
    """(verified?, the rule that refused, the most memory in KiB), measured in a process of its own."""
    words = [sys.executable, "-c", CHILD, shop.root, shop.source.file or "", shop.source.images or "", path]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    ok, rule, peak = json.loads(done.stdout)
    return ok, rule, peak


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads its memory from /proc")
class TestBombs:
    @pytest.mark.parametrize(
        ("make", "rule"),
        [
            (zst_bomb, "records"),
            (zst_of_short_lines, "records"),
            (zst_of_large_replies, "replies"),
            (zst_with_a_huge_window, "records"),
            (gz_bomb, "reading"),
            (xz_bomb, "reading"),
            (zip_bomb, "reading"),
            (bzip2_in_a_zip, "reading"),
            (bz2_tar, "reading"),
            (json_of_empty_objects, "run"),
        ],
        ids=lambda value: getattr(value, "__name__", None),
    )
    def test_is_refused_within_the_memory_bound_and_writes_nothing(
        self, shop: Workshop, tmp_path: Path, make: Maker, rule: str
    ) -> None:
        path = make(shop, tmp_path)
        before = sorted(tmp_path.rglob("*"))
        ok, refused, peak = in_a_child(shop, path)
        assert (ok, refused) == (False, rule)
        assert peak < MEMORY
        assert sorted(tmp_path.rglob("*")) == before
