"""A simulated phone that the genuine adb and android-env talk to. It is a simulation, and always says so.

    with SimDevice("phone-0") as phone:
        phone.shell("input", "tap", "100", "200")

`python -m emulator.sim --help` starts one in a terminal. See docs/simulated-phone.md.
"""

from emulator.sim.child import ChildPhone, InProcessPhone
from emulator.sim.device import SimDevice
from emulator.sim.faults import FAULTS
from emulator.sim.phone import PhoneError, Ports, SimPhone, free_ports

__all__ = ["FAULTS", "ChildPhone", "InProcessPhone", "PhoneError", "Ports", "SimDevice", "SimPhone", "free_ports"]
