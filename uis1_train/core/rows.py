"""What the functions of `core` share: flat rows, the names of their groups, and the errors that tell which row is wrong.

A row is one step of one rollout. Rows come in any order; `goals`, `rollouts` and `steps` say where each belongs. `valid` marks the rows that count:
padding rows (False) take no part in any group, may hold anything (NaN too), and get 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
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


def valid_rows(valid: npt.ArrayLike | None, like: Sequence[Any] | npt.NDArray[Any]) -> Mask:
    return np.ones(len(like), dtype=np.bool_) if valid is None else mask(valid, "valid")


def step_numbers(values: npt.ArrayLike, valid: Mask) -> Codes:
    """`values` as int64[n], not negative wherever `valid`; padding becomes 0."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise SignalError(f"steps: one number a row, not an array of shape {array.shape}")
    same_length("steps", array, "valid", valid)
    kept = np.where(valid, array, 0) if len(array) else np.zeros(0)
    try:
        numbers = kept.astype(np.int64)
        wrong = np.flatnonzero((numbers != kept) | (numbers < 0))
    except (TypeError, ValueError) as error:
        raise SignalError(f"steps: whole numbers from 0, not {shown(array.tolist()[:3])}") from error
    if len(wrong):
        raise SignalError(f"steps: row {wrong[0]} holds {kept[wrong[0]]}, which is no step's number")
    return numbers


def codes(names: Names, what: str) -> tuple[Codes, list[Hashable]]:
    """Every row's group as a number (groups in the order in which they appear), and the groups' names by number."""
    listed: Iterable[Hashable] = names.tolist() if isinstance(names, np.ndarray) else names
    seen: dict[Hashable, int] = {}
    try:
        numbers = [seen.setdefault(name, len(seen)) for name in listed]
    except TypeError as error:
        raise SignalError(f"{what}: names must be texts or numbers ({error})") from error
    for name, number in seen.items():
        if name is None or name != name:
            raise SignalError(f"{what}: row {numbers.index(number)} holds {name}, which names nothing")
    return np.array(numbers, dtype=np.int64), list(seen)


def joined(first: Codes, second: Codes) -> tuple[Codes, int]:
    """The group of every pair, as numbers without gaps, and how many there are."""
    if not len(first):
        return first, 0
    _, numbers = np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)
    return numbers.astype(np.int64), int(numbers.max()) + 1


def same_length(
    first: str, a: Sequence[Any] | npt.NDArray[Any], second: str, b: Sequence[Any] | npt.NDArray[Any]
) -> None:
    if len(a) != len(b):
        raise SignalError(f"{first} has {len(a)} rows, {second} has {len(b)}: one entry a row in each")
