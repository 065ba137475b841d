"""The device's side of adb: what the genuine adb server connects to."""

from emulator.sim.adbd.daemon import AdbDaemon
from emulator.sim.adbd.packets import Command, Packet, PacketError, PacketReader

__all__ = ["AdbDaemon", "Command", "Packet", "PacketError", "PacketReader"]
