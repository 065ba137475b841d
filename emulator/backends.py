"""Devices by a word of a command line, for real Android: which backend, how many, with what options.

avd:4,avd=NAME[,mode=clone|read-only][,accel=auto|on|off]     the emulator of the Android SDK
docker:4[,image=NAME][,accel=auto|off]                        containers of emulator/docker's image
attach:HOST:PORT[,HOST:PORT...][,grpc=PORT]                   what somebody else runs; PORT: a console's (even) or adb's (odd)
sim:4                                                         simulated phones
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from emulator.device import Device, DeviceFailed
from emulator.ports import FIRST_CONSOLE, FIRST_GRPC, MOST
from sopbench.errors import UsageError

Backend: TypeAlias = Literal["sim", "avd", "docker", "attach"]
BACKENDS: Final[tuple[str, ...]] = get_args(Backend)
OPTIONS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "sim": {},
    "avd": {"avd": (), "mode": ("clone", "read-only"), "accel": ("auto", "on", "off")},
    "docker": {"image": (), "accel": ("auto", "off")},
    "attach": {"grpc": ()},
}
"""What each takes; the values that there are, where not every word will do."""
DEFAULT_AVD: Final = "AndroidWorldAvd"
"""AndroidWorld's own name for it (its README)."""
LONGEST: Final = 4000
Make: TypeAlias = Callable[[int], Device]


@dataclass(frozen=True, slots=True)
class Spec:
    """What the words say. `places`: of `attach`, host and port of each device."""

    backend: str
    count: int
    options: Mapping[str, str]
    places: tuple[tuple[str, int], ...] = ()


def parse(words: str) -> Spec:
    """Raises `UsageError`, which says what was expected."""
    backend, colon, rest = words.strip().partition(":")
    if len(words) > LONGEST or backend not in BACKENDS or not colon:
        raise UsageError(f"devices {words[:60]!r}: one of sim:N, avd:N, docker:N, attach:HOST:PORT[,HOST:PORT...]")
    parts = [part.strip() for part in rest.split(",")]
    plain = [part for part in parts if "=" not in part]
    options = _options(backend, [part for part in parts if "=" in part])
    if backend == "attach":
        places = tuple(_place(part) for part in plain)
        if not 1 <= len(places) <= MOST or len(set(places)) < len(places):
            raise UsageError(f"devices {words[:60]!r}: say 1 to {MOST} different places, as in attach:127.0.0.1:5554")
        return Spec(backend, len(places), options, places)
    if len(plain) != 1 or not _number(plain[0], 1, MOST):
        raise UsageError(f"devices {words[:60]!r}: say how many, 1 to {MOST}, as in {backend}:4")
    return Spec(backend, int(plain[0]), options)


def _options(backend: str, parts: Sequence[str]) -> dict[str, str]:
    chosen: dict[str, str] = {}
    known = OPTIONS[backend]
    for part in parts:
        name, _, value = part.partition("=")
        if name not in known or name in chosen:
            raise UsageError(
                f"devices: {backend} takes {', '.join(f'{key}=' for key in known) or 'no options'} once each, not {part[:60]!r}"
            )
        if not value or value.startswith("-") or (known[name] and value not in known[name]):
            raise UsageError(f"devices: {name}= is {' or '.join(known[name]) or 'a name'}, not {value[:60]!r}")
        chosen[name] = value
    if "grpc" in chosen and not _number(chosen["grpc"], 1, 65535):
        raise UsageError(f"devices: grpc={chosen['grpc'][:20]} is no port")
    return chosen


def _number(text: str, least: int, most: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 6 and least <= int(text) <= most


def _place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if (
        not _number(port, 1024, 65534)
        or not host
        or len(host) > 253
        or not all(c.isascii() and (c.isalnum() or c in "-.") for c in host)
    ):
        raise UsageError(f"devices: {text[:60]!r} is no HOST:PORT with a port from 1024 to 65534")
    if host.startswith("-"):
        raise UsageError(f"devices: {text[:60]!r} is no host's name")
    return ("127.0.0.1" if host == "localhost" else host), int(port)


def devices_from(
    words: str, *, screen: str = "pocket", grpc: bool = False, python: Path | None = None, check: bool = True
) -> tuple[Make, int]:
    """A maker of devices by slot (0 up), and their number. `screen`, `grpc`, `python`: of simulated phones.

    Raises `UsageError` for words that say nothing, and, with `check`, where something that the backend needs is not on this machine.
    """
    spec = parse(words)
    if check:
        try:
            _expect_installed(spec)
        except DeviceFailed as error:
            raise UsageError(f"devices {words[:60]!r}: {error.detail}") from error
    return _maker(spec, screen, grpc, python), spec.count


def _expect_installed(spec: Spec) -> None:
    from emulator.adb import AdbMissing, find_adb

    try:
        find_adb()
    except AdbMissing as error:
        raise DeviceFailed("not_installed", str(error)) from error
    if spec.backend == "avd":
        from emulator.avd import avd_home, find_emulator, golden_folder

        find_emulator()
        golden_folder(spec.options.get("avd", DEFAULT_AVD), avd_home())
    elif spec.backend == "docker":
        from emulator.docker import IMAGE, expect_image, find_docker

        expect_image(find_docker(), spec.options.get("image", IMAGE))
    if spec.backend in ("avd", "docker") and spec.options.get("accel", "auto") == "auto":
        _expect_kvm(spec.backend)


def _expect_kvm(backend: str) -> None:
    import sys

    from emulator import kvm

    if sys.platform.startswith("linux") and not (found := kvm.probe()).usable:
        raise DeviceFailed(
            "not_installed", f"no KVM: {found.words}. In software, many times slower: {backend}:N,accel=off"
        )


def _maker(spec: Spec, screen: str, grpc: bool, python: Path | None) -> Make:
    options = spec.options
    if spec.backend == "avd":
        from emulator.avd import AvdDevice

        mode: Literal["clone", "read-only"] = "read-only" if options.get("mode") == "read-only" else "clone"
        asked = options.get("accel", "auto")
        accel: Literal["auto", "on", "off"] = "on" if asked == "on" else "off" if asked == "off" else "auto"
        avd = options.get("avd", DEFAULT_AVD)
        return lambda slot: AvdDevice(f"avd-{slot}", avd, slot, mode=mode, accel=accel)
    if spec.backend == "docker":
        from emulator.docker import IMAGE, DockerDevice

        return lambda slot: DockerDevice(
            f"docker-{slot}", slot, image=options.get("image", IMAGE), accel=options.get("accel", "auto")
        )
    if spec.backend == "attach":
        from emulator.attach import AttachDevice

        return lambda slot: AttachDevice(
            f"attach-{slot}", spec.places[slot][1], spec.places[slot][0], grpc=_grpc_port(spec, slot) if grpc else None
        )
    from emulator.sim import SimDevice
    from emulator.sim.screens.choosing import NAMES

    if screen not in NAMES:
        raise UsageError(f"no screen {screen[:60]!r}; there are {', '.join(NAMES)}")
    return lambda slot: SimDevice(f"sim-{slot}", screen, grpc=grpc, python=python)


def _grpc_port(spec: Spec, slot: int) -> int | None:
    """`grpc=PORT` is the first device's, the next ones follow; else by the emulators' custom, 8554 + k beside a console on 5554 + 2k."""
    if "grpc" in spec.options:
        return int(spec.options["grpc"]) + slot
    port = spec.places[slot][1]
    if port % 2 or not FIRST_CONSOLE <= port < FIRST_CONSOLE + 2 * MOST:
        return None
    return FIRST_GRPC + (port - FIRST_CONSOLE) // 2
