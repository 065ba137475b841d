"""Can this machine's KVM be used? A look that really makes a virtual machine (and throws it away), told in words."""

from __future__ import annotations

import fcntl
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEVICE: Final = Path("/dev/kvm")
GET_API_VERSION: Final = 0xAE00
CREATE_VM: Final = 0xAE01
CREATE_VCPU: Final = 0xAE41
"""Requests of KVM's device file, and the only version of its interface: Linux, Documentation/virt/kvm/api.rst, sections 2, 4.1, 4.2 and 4.7."""
API_VERSION: Final = 12


@dataclass(frozen=True, slots=True)
class Kvm:
    """`words` say what was found and, where it cannot be used, what to do. `group`: the device file's, for a container's user."""

    usable: bool
    words: str
    group: int | None = None


def probe(device: Path = DEVICE) -> Kvm:
    """Open the device, ask for its version, make a machine with one processor. Whether Android *boots* with it only a boot tells."""
    if not sys.platform.startswith("linux"):
        return Kvm(
            False, f"KVM is Linux's; this is {sys.platform}, whose own accelerator the emulator chooses by itself"
        )
    try:
        group = device.stat().st_gid
    except OSError:
        return Kvm(False, f"there is no {device}: switch virtualisation on in the firmware, or nesting on in the host")
    try:
        handle = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        return Kvm(
            False, f"{device} cannot be opened ({error.strerror}): add this user to its group and log in anew", group
        )
    opened = [handle]
    try:
        version = fcntl.ioctl(handle, GET_API_VERSION)
        if version != API_VERSION:
            return Kvm(False, f"{device} speaks version {version}, not {API_VERSION}", group)
        opened.append(fcntl.ioctl(handle, CREATE_VM, 0))
        opened.append(fcntl.ioctl(opened[-1], CREATE_VCPU, 0))
    except OSError as error:
        return Kvm(False, f"{device} is there and makes no virtual machine ({error.strerror})", group)
    finally:
        for each in reversed(opened):
            os.close(each)
    return Kvm(True, f"{device} makes virtual machines", group)
