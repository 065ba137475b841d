"""`tf.train.Example`: named lists of bytes, numbers or floats. Source: tensorflow/tensorflow `core/example/example.proto` and `feature.proto`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

from sopbench.datasets.wire import (
    BYTES,
    FIXED32,
    Value,
    WireError,
    fields,
    floats,
    signed,
    submessage,
    text,
    varints,
)

MAX_FEATURES: Final = 1_000
MAX_VALUES: Final = 1_000_000
_BYTES_LIST: Final = 1
_FLOAT_LIST: Final = 2
_INT64_LIST: Final = 3

T = TypeVar("T")


class Example:
    """The features of one record. Each list is read when it is asked for; `WireError` names the feature."""

    def __init__(self, record: bytes) -> None:
        self._features = dict(_features(memoryview(record)))

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._features)

    def many_bytes(self, name: str) -> list[memoryview]:
        """Not copied: they live as long as the record."""
        values: list[memoryview] = []
        for value, kind in self._values(name, _BYTES_LIST):
            values.append(submessage(value, kind, f"`{name}`"))
            _bounded(values, name)
        return values

    def texts(self, name: str) -> list[str]:
        """Raises `WireError` for bytes that are not UTF-8."""
        return [text(raw, f"`{name}` {index}") for index, raw in enumerate(self.many_bytes(name))]

    def integers(self, name: str) -> list[int]:
        values: list[int] = []
        for value, kind in self._values(name, _INT64_LIST):
            if isinstance(value, int):
                values.append(signed(value))
            elif kind == BYTES:
                for item in varints(value):
                    values.append(signed(item))
                    _bounded(values, name)
            else:
                raise WireError(f"`{name}` has numbers of wire type {kind}")
            _bounded(values, name)
        return values

    def reals(self, name: str) -> list[float]:
        values: list[float] = []
        for value, kind in self._values(name, _FLOAT_LIST):
            if isinstance(value, int) or kind not in (BYTES, FIXED32):
                raise WireError(f"`{name}` has numbers of wire type {kind}")
            values.extend(floats(value))
            _bounded(values, name)
        return values

    def one_text(self, name: str) -> str:
        return _one(self.texts(name), name)

    def one_integer(self, name: str) -> int:
        return _one(self.integers(name), name)

    def one_bytes(self, name: str) -> memoryview:
        return _one(self.many_bytes(name), name)

    def _values(self, name: str, wanted: int) -> Iterator[tuple[Value, int]]:
        """The values of the list `wanted` of the feature: nothing where there is no such feature, or it is empty."""
        for number, kind, value in fields(self._features.get(name, memoryview(b""))):
            if number not in (_BYTES_LIST, _FLOAT_LIST, _INT64_LIST):
                continue
            if number != wanted and not isinstance(value, int) and len(value) == 0:
                continue  # an empty list has no type to speak of
            if number != wanted:
                raise WireError(f"`{name}` holds values of another type than it should")
            for inner, inner_kind, item in fields(submessage(value, kind, f"`{name}`")):
                if inner == 1:
                    yield item, inner_kind


def _features(record: memoryview) -> Iterator[tuple[str, memoryview]]:
    count = 0
    for number, kind, value in fields(record):
        if number != 1:
            continue
        for inner, inner_kind, entry in fields(submessage(value, kind, "features")):
            if inner == 1:
                yield _entry(submessage(entry, inner_kind, "a feature"))
                count += 1
                if count > MAX_FEATURES:
                    raise WireError(f"more than {MAX_FEATURES} features")


def _entry(message: memoryview) -> tuple[str, memoryview]:
    """Key and value of one entry of a map."""
    name, feature = "", memoryview(b"")
    for number, kind, value in fields(message):
        if number == 1:
            name = text(submessage(value, kind, "a feature's name"), "a feature's name")
        elif number == 2:
            feature = submessage(value, kind, "a feature")
    return name, feature


def _bounded(values: list[memoryview] | list[int] | list[float], name: str) -> None:
    if len(values) > MAX_VALUES:
        raise WireError(f"`{name}` has more than {MAX_VALUES} values")


def _one(values: list[T], name: str) -> T:
    if len(values) != 1:
        raise WireError(f"`{name}` has {len(values)} values, not one")
    return values[0]
