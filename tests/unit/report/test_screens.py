"""Small copies of screens: inline while they fit, else files; what cannot be read becomes a message."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest
from PIL import Image

from sopbench.errors import DataError
from sopbench.report.episodes import ScreenSlots
from sopbench.report.screens import AS_IS_BYTES, LONGEST_SIDE, NOT_INCLUDED, make_gallery, small_copy
from sopbench.screen import Screen


def png(width: int = 30, height: int = 60, *, seed: int | None = None) -> bytes:
    """A flat picture, or one full of noise, which no format makes small."""
    image = Image.new("RGB", (width, height), "teal")
    if seed is not None:
        image = Image.frombytes("RGB", (width, height), random.Random(seed).randbytes(width * height * 3))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def slots(*screens: tuple[Screen, bool]) -> ScreenSlots:
    made = ScreenSlots()
    for screen, reached in screens:
        made.add(screen, reached=reached)
    return made


def test_a_small_file_is_kept_byte_for_byte() -> None:
    data = png()
    picture = small_copy(Screen.from_bytes(data))
    assert (picture.data, picture.media_type, picture.width, picture.height) == (data, "image/png", 30, 60)


def test_a_large_screen_is_shrunk_and_remembers_its_own_size() -> None:
    data = png(700, 1400, seed=1)
    picture = small_copy(Screen.from_bytes(data))
    assert (picture.width, picture.height) == (700, 1400)
    assert len(picture.data) < len(data)
    with Image.open(io.BytesIO(picture.data)) as image:
        assert image.size == (LONGEST_SIDE // 2, LONGEST_SIDE)


def test_a_tiny_file_that_unpacks_to_a_giant_picture_is_not_passed_on() -> None:
    data = png(4000, 4000)
    assert len(data) > 0
    picture = small_copy(Screen.from_bytes(data))
    with Image.open(io.BytesIO(picture.data)) as image:
        assert max(image.size) <= LONGEST_SIDE


def test_a_damaged_screen_is_a_data_error() -> None:
    with pytest.raises(DataError):
        small_copy(Screen.from_bytes(png(700, 1400, seed=1)[: AS_IS_BYTES + 100]))


def test_pictures_that_fit_stay_inline_each_content_once(tmp_path: Path) -> None:
    same = png()
    given = slots((Screen.from_bytes(same), True), (Screen.from_bytes(same), True), (Screen.from_bytes(png(31)), False))
    gallery = make_gallery(given, inline_limit_bytes=100_000, folder=tmp_path / "screens")
    assert gallery.inline is not None
    assert len(gallery.inline) == 2
    assert gallery.slots[0] == gallery.slots[1]
    assert [entry[1:] for entry in gallery.slots] == [[30, 60], [30, 60], [31, 60]]
    assert not (tmp_path / "screens").exists()


def test_screens_the_model_never_saw_are_left_out_first(tmp_path: Path) -> None:
    seen, unseen = png(31), png(32)
    given = slots((Screen.from_bytes(unseen), False), (Screen.from_bytes(seen), True))
    gallery = make_gallery(given, inline_limit_bytes=len(seen), folder=tmp_path / "screens")
    assert gallery.inline is not None
    assert gallery.slots[0] == [None, NOT_INCLUDED]
    assert gallery.slots[1][1:] == [31, 60]


def test_seen_screens_that_do_not_fit_send_all_pictures_to_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "screens"
    given = slots(*[(Screen.from_bytes(png(30 + k)), k < 3) for k in range(4)])
    gallery = make_gallery(given, inline_limit_bytes=len(png(30)) + 10, folder=folder)
    assert gallery.inline is None
    names = [str(entry[0]) for entry in gallery.slots]
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    assert [Image.open(folder / name).size[0] for name in names] == [30, 31, 32, 33]


def test_unreadable_screens_become_messages_and_lose_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no picture")
    given = slots(
        (Screen.from_file(tmp_path / "gone.png"), True),
        (Screen.from_file(tmp_path / "text.png"), True),
        (Screen.from_bytes(png()), True),
    )
    gallery = make_gallery(given, inline_limit_bytes=100_000, folder=tmp_path / "screens")
    assert gallery.slots[0][0] is None
    assert "gone.png" in str(gallery.slots[0][1])
    assert "text.png" in str(gallery.slots[1][1])
    assert gallery.slots[2][1:] == [30, 60]


def test_progress_counts_every_screen(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    given = slots(*[(Screen.from_bytes(png(30 + k)), True) for k in range(3)])
    make_gallery(
        given, inline_limit_bytes=10**6, folder=tmp_path, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]
