"""Screens scaled down to be sent: made once, kept on disk within bounds, and known by their recipe before they exist."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from sopbench import resized
from sopbench.errors import DataError
from sopbench.geometry import Size
from sopbench.resized import PictureStore, ResizedScreen, fitted, scaled_png
from sopbench.screen import Screen


def drawn(width: int = 1080, height: int = 2400, mark: int = 0) -> Screen:
    """A screen with a red band whose place tells the mark."""
    picture = Image.new("RGB", (width, height), (240, 240, 240))
    ImageDraw.Draw(picture).rectangle((0, height // 10 * mark, width, height // 10 * (mark + 1)), fill=(200, 0, 0))
    out = io.BytesIO()
    picture.save(out, "PNG")
    return Screen.from_bytes(out.getvalue(), f"drawn-{mark}")


@pytest.mark.parametrize(
    ("size", "small"),
    [
        (Size(1080, 2400), Size(504, 1120)),
        (Size(1080, 2340), Size(516, 1120)),
        (Size(1440, 3120), Size(516, 1120)),
        (Size(2560, 1600), Size(1120, 700)),
        (Size(320, 640), Size(320, 640)),
        (Size(1120, 1120), Size(1120, 1120)),
        (Size(1121, 2), Size(1120, 1)),
        (Size(1, 40_000), Size(1, 1120)),
    ],
    ids=str,
)
def test_the_longer_side_is_what_the_limit_says_and_no_screen_grows(size: Size, small: Size) -> None:
    assert fitted(size, 1120) == small


@given(st.integers(1, 9000), st.integers(1, 9000), st.integers(1, 4000))
def test_scaling_keeps_the_shape_to_within_a_pixel_and_is_done_once(width: int, height: int, longest: int) -> None:
    size = Size(width, height)
    small = fitted(size, longest)
    assert max(small.width, small.height) == min(longest, max(width, height))
    assert abs(small.width * height - small.height * width) <= max(width, height)
    assert fitted(small, longest) == small


def test_a_screen_that_fits_is_sent_as_it_is_without_being_encoded_again() -> None:
    screen = drawn(504, 1120)
    assert screen.resized(1120) is screen
    assert screen.original is screen
    assert not screen.must_be_made


def test_a_larger_screen_becomes_a_png_of_the_size_it_says() -> None:
    screen = drawn(mark=3)
    small = screen.resized(1120)
    assert (small.size, small.media_type) == (Size(504, 1120), "image/png")
    data = small.read()
    assert (small.nbytes, small.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    with Image.open(io.BytesIO(data)) as picture:
        assert (picture.format, picture.size) == ("PNG", (504, 1120))
        assert picture.getpixel((250, int(1120 * 0.35))) == (200, 0, 0)
        assert picture.getpixel((250, int(1120 * 0.75))) == (240, 240, 240)
    assert small.decode().size == (504, 1120)
    assert small.original is screen


@pytest.mark.parametrize(
    ("kind", "mode"), [("JPEG", "RGB"), ("WEBP", "RGB"), ("PNG", "P"), ("PNG", "RGBA"), ("PNG", "L")]
)
def test_whatever_the_screen_was_the_png_is_plain_rgb(kind: str, mode: str) -> None:
    out = io.BytesIO()
    Image.new(mode, (300, 600)).save(out, kind)
    with Image.open(io.BytesIO(Screen.from_bytes(out.getvalue()).resized(100).read())) as picture:
        assert (picture.format, picture.mode, picture.size) == ("PNG", "RGB", (50, 100))


def test_it_can_be_read_in_pieces_and_more_than_once() -> None:
    small = drawn(mark=1).resized(1120)
    whole = small.read()
    for _ in range(2):
        with small.open() as handle:
            assert b"".join(iter(lambda: handle.read(1000), b"")) == whole
            handle.seek(5)
            assert handle.read(7) == whole[5:12]
            assert handle.seek(-4, io.SEEK_END) == len(whole) - 4
            assert handle.read() == whole[-4:]
            assert handle.read() == b""


def test_the_fingerprint_tells_file_and_size_without_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Screen, "decode", lambda self: pytest.fail("decoded"))
    a, b = drawn(mark=1), drawn(mark=2)
    prints = [a.fingerprint, a.resized(1120).fingerprint, a.resized(1000).fingerprint, b.resized(1120).fingerprint]
    assert len(set(prints)) == 4
    assert a.resized(1120).fingerprint == drawn(mark=1).resized(1120).fingerprint
    assert a.resized(1120).must_be_made


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Screen]:
    made: list[Screen] = []

    def counting(screen: Screen, size: Size) -> bytes:
        made.append(screen)
        return scaled_png(screen, size)

    monkeypatch.setattr(resized, "scaled_png", counting)
    return made


def test_equal_screens_are_made_once_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    made = counted(monkeypatch)
    store = PictureStore()
    screens = [drawn(mark=k % 3) for k in range(12)]
    with ThreadPoolExecutor(8) as pool:
        pieces = list(pool.map(lambda screen: store.get(screen, Size(50, 100)), screens))
    assert [p.spool.read(p.start, p.nbytes) for p in pieces[:3]] == [
        scaled_png(screen, Size(50, 100)) for screen in screens[:3]
    ]
    assert pieces[:3] == pieces[3:6] == pieces[9:]
    assert len(made) <= 3 * (os.cpu_count() or 1), "those who start together may make one each"
    before = len(made)
    store.get(drawn(mark=0), Size(50, 100))
    store.get(drawn(mark=0), Size(25, 50))
    assert len(made) == before + 1


def test_few_are_made_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, now, most = threading.Lock(), 0, 0

    def slow(screen: Screen, size: Size) -> bytes:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        threading.Event().wait(0.02)
        with lock:
            now -= 1
        return b"x"

    monkeypatch.setattr(resized, "scaled_png", slow)
    monkeypatch.setattr(resized.os, "cpu_count", lambda: 2)
    store = PictureStore()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda mark: store.get(drawn(30, 60, mark), Size(5, 10)), range(10)))
    assert most <= 2


def test_the_store_forgets_the_older_half_but_never_what_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resized, "scaled_png", lambda screen, size: screen.label.encode() * 100)
    store = PictureStore(max_bytes=4_000)
    first = store.get(drawn(mark=0), Size(5, 10))
    told = first.spool.read(first.start, first.nbytes)
    spools = {id(store.get(drawn(30, 60, mark), Size(5, 10)).spool) for mark in range(1, 9)}
    assert len(spools) > 2
    assert first.spool.read(first.start, first.nbytes) == told == b"drawn-0" * 100
    assert store.get(drawn(mark=0), Size(5, 10)) != first, "forgotten, and made again"


def test_what_is_kept_has_no_name_so_that_no_crash_leaves_it_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    piece = PictureStore().get(drawn(mark=1), Size(50, 100))
    assert piece.spool.read(piece.start, 4) == b"\x89PNG"
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_a_data_error_that_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(resized.os, "pwrite", full)
    with pytest.raises(DataError, match=r"No space left on device.*TMPDIR"):
        PictureStore().get(drawn(mark=1), Size(50, 100))


def test_what_cannot_be_read_is_named_when_it_is_needed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.png"):
        Screen.from_file(tmp_path / "gone.png").resized(1120)
    torn = tmp_path / "torn.png"
    torn.write_bytes(drawn(mark=1).read()[:200])
    small = Screen.from_file(torn).resized(1120)
    assert small.size == Size(504, 1120)
    with pytest.raises(DataError, match=r"torn\.png.*damaged"):
        _ = small.nbytes


def test_it_costs_memory_only_while_it_is_made() -> None:
    assert "_data" in drawn().__dict__
    small = drawn(mark=5).resized(1120)
    _ = small.nbytes, small.sha256
    held = [value for value in small.__dict__.values() if isinstance(value, bytes)]
    assert held == []
    assert isinstance(small, ResizedScreen)
    assert not small.must_be_made
