"""Does a gRPC server live at a port? Its first words of HTTP/2 tell, without a gRPC library."""

from __future__ import annotations

import socket
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client of HTTP/2 says first (RFC 9113, section 3.4)."""
SETTINGS: Final = 4
EMPTY_SETTINGS: Final = bytes([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0])
"""A SETTINGS frame that sets nothing (RFC 9113, sections 4.1 and 6.5)."""


def greet(host: str, port: int, within: float) -> None:
    """Exchange the greetings of HTTP/2. Raises `OSError` where nobody answers, or somebody who speaks something else."""
    with socket.create_connection((host, port), within) as wire:
        wire.settimeout(within)
        wire.sendall(PREFACE + EMPTY_SETTINGS)
        head = b""
        while len(head) < 4:
            more = wire.recv(9 - len(head))
            if not more:
                raise OSError("the connection was closed")
            head += more
    if head[3] != SETTINGS:
        raise OSError("whoever answers speaks no HTTP/2")
