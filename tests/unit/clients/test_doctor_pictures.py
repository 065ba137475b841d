"""What taps on two squares tell about the frame in which a model counts."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sopbench.clients.doctor_pictures import TARGETS, Aim, aim, squares
from sopbench.geometry import Point, Size

SENT = Size(1092, 2408)


def taps(x: float = 1.0, y: float = 1.0) -> dict[str, Point | None]:
    return {colour: Point(target.x * x, target.y * y) for colour, target in TARGETS.items()}


@given(st.floats(-0.07, 0.07), st.floats(-0.07, 0.07))
def test_taps_on_the_squares_are_hits_wherever_they_fall(dx: float, dy: float) -> None:
    assert aim({c: Point(t.x + dx, t.y + dy) for c, t in TARGETS.items()}, SENT) == Aim("hits")


@given(st.floats(0.1, 10), st.floats(0.1, 10))
def test_a_frame_of_its_own_is_found_with_its_size(x: float, y: float) -> None:
    found = aim(taps(x, y), SENT)
    if found.verdict == "hits":
        assert abs(x - 1) < 0.35
        assert abs(y - 1) < 0.42
    else:
        assert found == Aim("scaled", Size(round(x * SENT.width), round(y * SENT.height)))


def test_a_reply_in_thousandths_read_as_pixels_tells_1000_by_1000() -> None:
    assert aim(taps(1000 / 1092, 1000 / 2408), SENT) == Aim("scaled", Size(1000, 1000))


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"red": None, "blue": TARGETS["blue"]},
        {"red": TARGETS["blue"], "blue": TARGETS["red"]},
        {"red": Point(0.5, 0.5), "blue": Point(0.5, 0.5)},
        {"red": Point(0.0, 0.0), "blue": Point(0.0, 0.0)},
        {"red": Point(-0.3, -0.25), "blue": Point(-0.7, -0.6)},
        {"red": TARGETS["red"], "blue": Point(0.2, 0.9)},
    ],
)
def test_taps_that_no_one_scale_explains_tell_nothing(found: dict[str, Point | None]) -> None:
    assert aim(found, SENT) == Aim("unclear")


@given(st.dictionaries(st.sampled_from(list(TARGETS)), st.builds(Point, st.floats(-1e7, 1e7), st.floats(-1e7, 1e7))))
def test_no_taps_crash_it(found: dict[str, Point | None]) -> None:
    assert aim(found, SENT).verdict in ("hits", "scaled", "unclear")


@pytest.mark.parametrize("size", [Size(1080, 2400), Size(2560, 1600), Size(280, 560)], ids=str)
def test_the_squares_are_where_they_are_said_to_be(size: Size) -> None:
    picture = Image.open(io.BytesIO(squares(size).read())).convert("RGB")
    for colour, target in TARGETS.items():
        x, y = target.to_pixels(size)
        red, _, blue = picture.getpixel((round(x), round(y)))  # type: ignore[misc]
        assert (red > 150 and blue < 100) == (colour == "red")
        assert (blue > 150 and red < 100) == (colour == "blue")
