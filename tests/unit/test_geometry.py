"""Sizes, points, boxes, and the resizing that decides what a model's pixels mean."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.errors import DataError
from sopbench.geometry import (
    MAX_ASPECT,
    PER_MILLE,
    QWEN_FACTOR,
    UIS1_MAX_PIXELS,
    UIS1_MIN_PIXELS,
    Box,
    Point,
    Size,
    smart_resize,
)

sizes = st.builds(Size, st.integers(1, 20_000), st.integers(1, 20_000))
phones = st.builds(Size, st.integers(200, 3000), st.integers(200, 3000))
coordinates = st.floats(-1e4, 1e4)
boxes = st.builds(Box, coordinates, coordinates, coordinates, coordinates)


@pytest.mark.parametrize(
    ("original", "resized"),
    [
        ((1080, 2400), (1092, 2408)),
        ((1440, 3120), (1428, 3108)),
        ((2400, 1080), (2408, 1092)),
        ((28, 28), (56, 56)),  # under the least number of pixels: scaled up
        ((42, 112), (56, 112)),  # 1.5 rounds to even: 2
        ((70, 112), (56, 112)),  # 2.5 rounds to even: 2
        ((98, 112), (112, 112)),  # 3.5 rounds to even: 4
        ((10_000, 10_000), (3164, 3164)),  # over the most: scaled down
        ((10, 2000), (28, 812)),
    ],
)
def test_smart_resize(original, resized):
    assert smart_resize(Size(*original)) == Size(*resized)


@given(sizes)
def test_resized_sides_are_multiples_within_the_limits(size):
    if max(size.width, size.height) > MAX_ASPECT * min(size.width, size.height):
        with pytest.raises(DataError, match="too long and thin"):
            smart_resize(size)
        return
    resized = smart_resize(size)
    assert resized.width % QWEN_FACTOR == resized.height % QWEN_FACTOR == 0
    assert UIS1_MIN_PIXELS <= resized.width * resized.height <= UIS1_MAX_PIXELS


@given(phones)
def test_resizing_twice_changes_nothing_more(size):
    assert smart_resize(smart_resize(size)) == smart_resize(size)


@given(phones)
def test_resizing_turned_is_turned_resizing(size):
    turned = smart_resize(Size(size.height, size.width))
    assert smart_resize(size) == Size(turned.height, turned.width)


@pytest.mark.parametrize(("text", "size"), [("1080x2400", Size(1080, 2400)), ("1X1", Size(1, 1))])
def test_sizes_are_read_as_width_by_height(text, size):
    assert Size.parse(text) == size
    assert Size.parse(str(size)) == size


@pytest.mark.parametrize(
    "text", ["", "x", "1080", "1080x", "0x5", "-1x5", "1e3x5", "1.5x2", "٣x٣", "9999999x1", "1x2x3", " 1x1"]
)
def test_what_is_no_size_is_an_error_that_shows_the_form(text):
    with pytest.raises(DataError, match=r"1080x2400|cannot be|six digits"):
        Size.parse(text)


@pytest.mark.parametrize("sides", [(0, 1), (1, 0), (-1, 5)])
def test_an_image_has_at_least_one_pixel(sides):
    with pytest.raises(DataError):
        Size(*sides)


@given(st.integers(-5_000, 5_000), st.integers(-5_000, 5_000), sizes)
def test_whole_pixels_survive_the_way_through_unit_coordinates(x, y, size):
    assert Point.from_pixels(x, y, size).to_pixels(size) == (x, y)


def test_per_mille_is_the_pixels_of_a_thousand_by_a_thousand():
    assert Point.from_pixels(500, 250, PER_MILLE).to_pixels(Size(1080, 2400)) == (540, 600)


@given(coordinates, coordinates, st.integers(1, 5_000), phones)
def test_the_same_share_of_two_images_is_the_same_point(x, y, factor, size):
    larger = Size(size.width * factor, size.height * factor)
    one, other = Point.from_pixels(x, y, size), Point.from_pixels(x * factor, y * factor, larger)
    assert math.isclose(one.x, other.x, abs_tol=1e-9)
    assert math.isclose(one.y, other.y, abs_tol=1e-9)


def test_edges_belong_to_a_box():
    box = Box(10, 20, 30, 40)
    assert all(box.contains(Point(x, y)) for x in (10, 20, 30) for y in (20, 30, 40))
    assert not any(box.contains(Point(x, y)) for x, y in [(9.99, 30), (30.01, 30), (20, 19.99), (20, 40.01)])


@given(boxes, st.floats(1, 5), st.floats(0, 1), st.floats(0, 1))
def test_an_enlarged_box_contains_the_box_about_the_same_centre(box, factor, u, v):
    if box.x1 > box.x2 or box.y1 > box.y2:
        return
    large = box.enlarged(factor + 1e-6)
    inside = Point(box.x1 + u * (box.x2 - box.x1), box.y1 + v * (box.y2 - box.y1))
    assert box.area == 0 or large.contains(inside)
    assert math.isclose(large.centre.x, box.centre.x, abs_tol=1e-6)
    assert math.isclose(large.area, box.area * (factor + 1e-6) ** 2, rel_tol=1e-6, abs_tol=1e-6)


@given(boxes, coordinates, coordinates)
def test_a_box_turned_inside_out_contains_nothing_however_enlarged(box, x, y):
    if box.x1 <= box.x2 and box.y1 <= box.y2:
        return
    assert not box.contains(Point(x, y))
    assert not box.enlarged(1.2).contains(Point(x, y))
    assert box.area == 0


@given(st.integers(-50, 3_000), st.integers(-50, 3_000), st.tuples(*[st.integers(-50, 3_000)] * 4), phones)
def test_a_pixel_is_in_a_box_exactly_when_its_unit_point_is_in_the_unit_box(x, y, corners, size):
    box = Box(*corners)
    assert box.to_unit(size).contains(Point.from_pixels(x, y, size)) == box.contains(Point(x, y))
