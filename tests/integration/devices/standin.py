"""STAND-INS, for tests: what looks like the Android SDK's `emulator` or like `docker` and is the simulated phone.

    python standin.py emulator -avd NAME -ports C,A -grpc P ...     writes its words to $STANDIN_RECORD, then becomes the simulated phone
    python standin.py docker run ... | image inspect ... | rm -f NAME

$STANDIN_FAULT: `die` ends at once with words on standard error; `no-image` and `no-daemon` are docker's refusals.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
INSIDE = {"15554": "console", "15555": "adb", "18554": "grpc"}


def main() -> None:
    kind, *words = sys.argv[1:]
    with open(os.environ["STANDIN_RECORD"], "a") as record:
        record.write(
            json.dumps({"kind": kind, "words": words, "pid": os.getpid(), "home": os.environ.get("ANDROID_AVD_HOME")})
            + "\n"
        )
    fault = os.environ.get("STANDIN_FAULT", "")
    if fault == "die" and (kind == "emulator" or words[0] == "run"):
        sys.exit("PANIC: the stand-in was told to die")
    if kind == "emulator":
        console = words[words.index("-ports") + 1].split(",")[0]
        become(console, words[words.index("-grpc") + 1], os.environ["ANDROID_ADB_SERVER_PORT"], tied=False)
    elif words[:2] == ["image", "inspect"]:
        if fault == "no-image":
            sys.exit("Error response from daemon: No such image: x")
        if fault == "no-daemon":
            sys.exit("Cannot connect to the Docker daemon")
        print("sha256:standin")
    elif words[0] == "run":
        pairs = [words[place + 1].split(":") for place, word in enumerate(words) if word == "-p"]
        ports = {INSIDE[inside]: outside for _, outside, inside in pairs}
        become(ports["console"], ports["grpc"], "1", tied="SOPBENCH_TIED=1" in words)


def greet_as_grpc(port: int) -> None:
    """A greeting of HTTP/2 (an empty SETTINGS frame) to whoever comes: all that the health ladder asks for."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        while True:
            wire, _ = listener.accept()
            with wire:
                wire.recv(64)
                wire.sendall(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))


def become(console: str, grpc: str, server: str, *, tied: bool) -> None:
    sys.path.insert(0, str(ROOT))
    from emulator.sim.__main__ import main as phone

    threading.Thread(target=greet_as_grpc, args=(int(grpc),), daemon=True).start()
    if tied:  # as the container's start script does: the pipe's end is the device's end

        def watch() -> None:
            sys.stdin.buffer.read()
            os._exit(0)

        threading.Thread(target=watch, daemon=True).start()
    sys.exit(phone(["--port", console, "--adb-server", server, "--screen", "androidworld"]))


if __name__ == "__main__":
    main()
