"""What the functions of `core` share: flat rows, the names of their groups, and the errors that tell which row is wrong.

A row is one step of one rollout. Rows come in any order; `goals`, `rollouts` and `steps` say where each belongs. `valid` marks the rows that count:
padding rows (False) take no part in any group, may hold anything (NaN too), and get 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sopbench.errors import SopbenchError, shown

Floats: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Names: TypeAlias = Sequence[Hashable] | npt.NDArray[Any]


class SignalError(SopbenchError):
    """Rows that make no learning signal: the message names the argument, the row and what is wrong with it."""


def floats(values: npt.ArrayLike, what: str, valid: Mask | None = None) -> Floats:
    """`values` as float64[n], finite wherever `valid`; padding becomes 0."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != 1:
        raise SignalError(f"{what}: one number a row, not an array of shape {array.shape}")
    if valid is not None:
        same_length(what, array, "valid", valid)
        array[~valid] = 0.0
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise SignalError(f"{what}: row {bad[0]} holds {array[bad[0]]}, which is no number to learn from")
    return array


def mask(values: npt.ArrayLike, what: str) -> Mask:
    """`values` as bool[n]: booleans, or the numbers 0 and 1."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise SignalError(f"{what}: one flag a row, not an array of shape {array.shape}")
    flags = array.astype(np.bool_)
    if array.dtype != np.bool_ and len(array) and not np.array_equal(flags, array):
        raise SignalError(f"{what}: flags are True and False (or 1 and 0)")
    return flags


def valid_rows(valid: npt.ArrayLike | None, like: npt.ArrayLike) -> Mask:
    """`valid` as bool[n]; where it is None, as many rows as `like` has, all valid."""
    return np.ones(len(np.atleast_1d(like)), dtype=np.bool_) if valid is None else mask(valid, "valid")


def step_numbers(values: npt.ArrayLike, valid: Mask) -> Codes:
    """`values` as int64[n], not negative wherever `valid`; padding becomes 0."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise SignalError(f"steps: one number a row, not an array of shape {array.shape}")
    same_length("steps", array, "valid", valid)
    try:
        kept = np.where(valid, array, 0) if len(array) else np.zeros(0)
        with np.errstate(invalid="ignore"):
            numbers = kept.astype(np.int64)
        wrong = np.flatnonzero((numbers != kept) | (numbers < 0))
    except (TypeError, ValueError) as error:
        raise SignalError(f"steps: whole numbers from 0, not {shown(array.tolist()[:3])}") from error
    if len(wrong):
        raise SignalError(f"steps: row {wrong[0]} holds {kept[wrong[0]]}, which is no step's number")
    return numbers


def codes(names: Names, what: str, rows: npt.NDArray[np.intp] | None = None) -> tuple[Codes, list[Hashable]]:
    """Every row's group as a number (groups in the order in which they appear), and the groups' names by number. Of `rows` only, where given."""
    if isinstance(names, np.ndarray) and names.dtype.kind in "iu" and names.ndim == 1:
        return _whole_numbers(names if rows is None else names[rows])
    listed: Sequence[Hashable] = names.tolist() if isinstance(names, np.ndarray) else names
    if rows is not None and len(rows) != len(listed):
        listed = [listed[row] for row in rows.tolist()]
    seen: dict[Hashable, int] = {}
    try:
        numbers = [seen.setdefault(name, len(seen)) for name in listed]
    except TypeError as error:
        raise SignalError(f"{what}: names must be texts or numbers ({error})") from error
    for name, number in seen.items():
        if name is None or name != name:
            raise SignalError(f"{what}: row {numbers.index(number)} holds {name}, which names nothing")
    return np.array(numbers, dtype=np.int64), list(seen)


def _whole_numbers(names: npt.NDArray[Any]) -> tuple[Codes, list[Hashable]]:
    found, numbers = _renumbered(names.astype(np.int64))
    first = np.empty(len(found), dtype=np.int64)
    first[numbers[::-1]] = np.arange(len(names))[::-1]
    by_appearance = np.argsort(first)
    rank = np.empty(len(found), dtype=np.int64)
    rank[by_appearance] = np.arange(len(found))
    return rank[numbers], found[by_appearance].tolist()


def joined(first: Codes, second: Codes) -> tuple[Codes, int]:
    """The group of every pair, as numbers without gaps, and how many there are."""
    if not len(first):
        return first, 0
    values, second = _renumbered(second)
    found, numbers = _renumbered(first * len(values) + second)
    return numbers, len(found)


def _renumbered(values: Codes) -> tuple[Codes, Codes]:
    """The different values in ascending order, and for each value its place among them. Without sorting, where the values lie close enough."""
    if not len(values) or values.min() < 0 or values.max() > 8 * len(values):
        found, numbers = np.unique(values, return_inverse=True)
        return found, numbers.astype(np.int64)
    there = np.zeros(int(values.max()) + 1, dtype=np.bool_)
    there[values] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[values]


def same_length(
    first: str, a: Sequence[Any] | npt.NDArray[Any], second: str, b: Sequence[Any] | npt.NDArray[Any]
) -> None:
    if len(a) != len(b):
        raise SignalError(f"{first} has {len(a)} rows, {second} has {len(b)}: one entry a row in each")
