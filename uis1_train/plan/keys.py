"""Configurations as flat tables of dotted keys: what an override may name, what differs from verl's own, which keys nobody reads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sopbench.errors import UsageError

FREE = (
    "actor_rollout_ref.model.override_config",
    "actor_rollout_ref.rollout.engine_kwargs",
    "actor_rollout_ref.rollout.limit_images",
    "actor_rollout_ref.actor.fsdp_config.mixed_precision",
    "actor_rollout_ref.ref.fsdp_config.mixed_precision",
    "actor_rollout_ref.actor.checkpoint",
    "data.apply_chat_template_kwargs",
    "data.method",
    "ray_kwargs.ray_init",
    "trainer.v1.sampler.sampler_kwargs",
    "transfer_queue",
    "uis1",
)
"""Below these anything may stand: verl hands them on to somebody else (transformers, vLLM, Ray), or `uis1` is checked by its own model."""

_OVERRIDE = re.compile(r"(?P<sign>\+{0,2}|~)(?P<key>[A-Za-z_][\w./@-]*)(?P<rest>=.*)?", re.DOTALL)


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """`{"a": {"b": 1}}` -> `{"a.b": 1}`. Lists and empty tables are values."""
    if not isinstance(value, Mapping) or not value:
        return {prefix: value} if prefix else {}
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        flat |= flatten(inner, f"{prefix}.{key}" if prefix else str(key))
    return flat


def check_overrides(overrides: Sequence[str], known: Iterable[str]) -> None:
    """Raise `UsageError` for an override that is none, or names a key that the configuration has not, with the key that was probably meant."""
    names = set(known)
    tables = {".".join(parts[:n]) for parts in (name.split(".") for name in names) for n in range(1, len(parts))}
    for override in overrides:
        match = _OVERRIDE.fullmatch(override)
        if match is None or (match["rest"] is None and match["sign"] != "~"):
            raise UsageError(f"{override!r} is no override: write key=value, for example uis1.epsilon=2")
        key = match["key"].partition("@")[0]
        if match["sign"].startswith("+") or key in names | tables or "/" in key:
            continue
        if free := next((f for f in FREE if key.startswith(f"{f}.") and f != "uis1"), None):
            raise UsageError(f"{key} is not in the configuration yet: add it with +{override} ({free} takes anything)")
        raise UsageError(
            f"there is no setting {key!r}{meant(key, names) or '.'} To add a key that verl hands on, write +{override}"
        )


def meant(key: str, names: Iterable[str]) -> str:
    """`; did you mean a, or b?` for a key that is not among `names`: by the whole of it, or by its last part, which people remember."""
    names = sorted(names)
    near = get_close_matches(key, names, n=2, cutoff=0.8)
    last = key.rpartition(".")[2]
    near += [n for n in names if n.rpartition(".")[2] == last and n not in near][: 3 - len(near)]
    if not near:
        near = [
            n
            for n in names
            if n.rpartition(".")[2] in get_close_matches(last, [m.rpartition(".")[2] for m in names], n=1, cutoff=0.75)
        ][:3]
    return f"; did you mean {', or '.join(near)}?" if near else ""


def unknown_keys(config: Mapping[str, Any], known: Iterable[str]) -> dict[str, str]:
    """Keys of a configuration file that neither verl nor we know (they would be ignored without a word), each with what was probably meant."""
    names = set(known)
    tables = {".".join(parts[:n]) for parts in (name.split(".") for name in names) for n in range(1, len(parts))}
    found = {}
    for key in flatten(config):
        if key in names or key in tables or any(key == free or key.startswith(f"{free}.") for free in FREE):
            continue
        found[key] = meant(key, names)
    return found


def differences(config: Mapping[str, Any], stock: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Key -> (verl's value, ours) for every setting of verl's that is not as verl has it; ours alone have `None` for verl's."""
    mine, theirs = flatten(config), flatten(stock)
    return {key: (theirs.get(key), value) for key, value in mine.items() if key not in theirs or theirs[key] != value}


def plain(value: Any) -> Any:
    """`value` for JSON, which knows neither infinity (it becomes the text `inf`, as an override has it) nor paths."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return str(value) if isinstance(value, Path) or (isinstance(value, float) and not math.isfinite(value)) else value
