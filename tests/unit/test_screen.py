"""Screens keep their bytes, know their size from the header, and refuse what is no screen."""

from __future__ import annotations

import hashlib
import io
import os
import random
import struct
import zlib

import pytest
from PIL import Image

from sopbench.errors import DataError
from sopbench.geometry import Size
from sopbench.screen import MAX_BYTES, MAX_PIXELS, Screen

pytestmark = pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")


def encoded(kind="PNG", size=(30, 50), mode="RGB", **options):
    out = io.BytesIO()
    Image.new(mode, size, 5 if mode != "RGB" else (10, 20, 30)).save(out, kind, **options)
    return out.getvalue()


def png_header(width, height):
    """A PNG that claims so many pixels and has none."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    ihdr = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", ihdr) + chunk(b"IDAT", b"x") + chunk(b"IEND", b"")


@pytest.mark.parametrize(("kind", "media"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp")])
def test_size_type_hash_and_bytes(tmp_path, kind, media):
    data = encoded(kind)
    path = tmp_path / "s.img"
    path.write_bytes(data)
    for screen in (Screen.from_file(path), Screen.from_bytes(data)):
        assert screen.size == Size(30, 50)
        assert screen.media_type == media
        assert screen.read() == data
        assert screen.nbytes == len(data)
        assert screen.sha256 == hashlib.sha256(data).hexdigest()
        assert screen.decode().size == (30, 50)


def test_the_size_needs_no_more_than_the_header(tmp_path):
    data = encoded("PNG", (1080, 2400))
    path = tmp_path / "torn.png"
    path.write_bytes(data[:60])
    assert Screen.from_file(path).size == Size(1080, 2400)
    with pytest.raises(DataError, match="damaged"):
        Screen.from_file(path).decode()


@pytest.mark.parametrize("mode", ["P", "L", "RGBA", "I;16", "1", "LA"])
def test_any_png_decodes_to_rgb(mode):
    assert Screen.from_bytes(encoded("PNG", mode=mode)).decode().mode == "RGB"


def test_nothing_is_read_before_it_is_asked_for(tmp_path):
    path = tmp_path / "later.png"
    screen = Screen.from_file(path)
    path.write_bytes(encoded())
    assert screen.size == Size(30, 50)


def test_a_missing_file_is_named_with_what_to_do(tmp_path):
    screen = Screen.from_file(tmp_path / "7_0.png")
    for access in (lambda: screen.size, lambda: screen.sha256, screen.read, lambda: screen.nbytes, screen.decode):
        with pytest.raises(DataError, match=r"7_0\.png.*--images DIR.*data check"):
            access()


@pytest.mark.parametrize("name", ["a\0b.png", "x" * 5_000 + ".png", "\ud800.png"])
def test_a_name_that_no_file_can_have_is_a_data_error(tmp_path, name):
    with pytest.raises(DataError, match="cannot read"):
        _ = Screen.from_file(tmp_path / name, label="x").size


def test_a_folder_is_no_screen(tmp_path):
    with pytest.raises(DataError):
        _ = Screen.from_file(tmp_path).size


@pytest.mark.parametrize("data", [b"", b"hello", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBP", b"<svg/>"])
def test_what_is_no_image_is_a_data_error(data):
    with pytest.raises(DataError, match="not a readable PNG, JPEG or WebP"):
        _ = Screen.from_bytes(data, "odd").size


@pytest.mark.parametrize("kind", ["GIF", "BMP", "TIFF", "EPS", "ICO", "PPM"])
def test_formats_that_screens_do_not_have_are_never_opened(kind):
    """Pillow reads dozens of formats; each is code that hostile bytes would reach."""
    with pytest.raises(DataError, match="not a readable PNG, JPEG or WebP"):
        _ = Screen.from_bytes(encoded(kind, (32, 32))).size


@pytest.mark.parametrize("sides", [(10_000, 10_000), (50_001, 1_000), (20_000, 20_000), (2**31 - 1, 2**31 - 1)])
def test_an_image_bomb_is_refused_by_its_header(sides):
    bomb = Screen.from_bytes(png_header(*sides), "bomb")
    for access in (lambda: bomb.size, bomb.decode):
        with pytest.raises(DataError, match="bomb"):
            access()


def test_the_limit_leaves_every_real_screen():
    assert MAX_PIXELS > 7680 * 4320
    assert Screen.from_bytes(png_header(7680, 4320)).size == Size(7680, 4320)


def test_a_file_that_is_too_large_is_not_read_whole(tmp_path):
    path = tmp_path / "huge.png"
    path.write_bytes(encoded())
    os.truncate(path, MAX_BYTES + 1)
    with pytest.raises(DataError, match="larger than"):
        Screen.from_file(path).read()


def test_broken_images_raise_data_errors_only():
    rng = random.Random(5)
    originals = [encoded(kind, (40, 60), mode) for kind in ("PNG", "JPEG", "WEBP") for mode in ("RGB", "L")]
    outcomes = set()
    for _ in range(1_500):
        data = bytearray(rng.choice(originals))
        for _ in range(rng.choice([1, 2, 8])):
            at = rng.randrange(min(len(data), rng.choice([40, 10_000])))
            data[at : at + rng.choice([0, 1, 1, 3])] = rng.randbytes(rng.choice([0, 1, 1, 4]))
            if not data:
                break
        screen = Screen.from_bytes(bytes(data))
        for access in (lambda s: s.size, lambda s: s.decode().size):
            try:
                outcomes.add(type(access(screen)))
            except DataError:
                outcomes.add(DataError)
    assert outcomes == {Size, tuple, DataError}


def turned(kind, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(kind, (30, 50), exif=exif)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize("orientation", [2, 3, 6, 8])
def test_a_screen_that_servers_may_turn_is_refused(kind, orientation):
    """vLLM 0.32 turns it, and sees 50x30; another server sees 30x50: coordinates would mean two things."""
    screen = Screen.from_bytes(turned(kind, orientation), "photo")
    with pytest.raises(DataError, match=f"photo says of itself .*orientation {orientation}.*upright"):
        _ = screen.size


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_screen_that_says_that_it_is_upright_is_taken(kind):
    assert Screen.from_bytes(turned(kind, 1)).size == Size(30, 50)


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_an_animation_is_no_screen(kind):
    """Which of its pictures a model sees is its server's choice."""
    frames = [Image.new("RGB", (30, 50), colour) for colour in ("red", "blue")]
    out = io.BytesIO()
    frames[0].save(out, kind, save_all=True, append_images=frames[1:])
    with pytest.raises(DataError, match="animated"):
        _ = Screen.from_bytes(out.getvalue()).size


@pytest.mark.parametrize("mode", ["CMYK", "L", "YCbCr"])
def test_any_jpeg_decodes_to_rgb(mode):
    screen = Screen.from_bytes(encoded("JPEG", mode=mode))
    assert (screen.size, screen.decode().mode) == (Size(30, 50), "RGB")


def test_a_pipe_under_a_screens_name_is_an_error_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "7_0.png")
    screen = Screen.from_file(tmp_path / "7_0.png")
    for access in (lambda: screen.size, lambda: screen.sha256, screen.read, lambda: screen.nbytes, screen.decode):
        with pytest.raises(DataError, match="not a regular file"):
            access()


def test_a_huge_file_behind_a_small_header_is_refused_by_every_access(tmp_path):
    """Hashing and sending it would take as long as it is."""
    path = tmp_path / "huge.png"
    path.write_bytes(encoded())
    os.truncate(path, 1 << 40)
    screen = Screen.from_file(path)
    for access in (lambda: screen.size, lambda: screen.sha256, screen.read, lambda: screen.nbytes, screen.decode):
        with pytest.raises(DataError, match="larger than"):
            access()
