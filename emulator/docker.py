"""A container of emulator/docker's image for each slot: an emulator that needs nothing of Android on this machine but adb.

`docker run` stays in the foreground as this process's child, and the container's own start script ends when the pipe to it closes: a
killed manager leaves no container behind. Written from Docker's documentation and tested with a stand-in for `docker`: no container of
this image has run under it yet.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from emulator import kvm
from emulator.adb import AdbServer, AdbTimeout, run
from emulator.device import Address, DeviceFailed, Facts, FailureKind, Limits
from emulator.ports import EmulatorPorts, for_slot
from emulator.real import Child, RealDevice

IMAGE: Final = "sopbench-android:33"
LABEL: Final = "sopbench.device"
CONSOLE_INSIDE, ADB_INSIDE, GRPC_INSIDE = 15554, 15555, 18554
"""Where the container's start script serves what the emulator has on its own loopback interface (emulator/docker/entrypoint.sh)."""
BUILD: Final = "`docker build -t sopbench-android:33 emulator/docker` makes it (docs/emulators.md)"


def find_docker(environ: Mapping[str, str] = os.environ) -> Path:
    """$DOCKER, else the one on the path. Raises `DeviceFailed("not_installed")`."""
    named = environ.get("DOCKER") or shutil.which("docker", path=environ.get("PATH"))
    if named and os.access(named, os.X_OK):
        return Path(named)
    raise DeviceFailed(
        "not_installed", "no docker on this machine: install Docker Engine, or name it with DOCKER=/path/to/docker"
    )


def expect_image(docker: Path, image: str, within: float = 20.0) -> str:
    """The image's id. Raises `DeviceFailed("not_installed")` where the daemon or the image is missing."""
    try:
        done = run([str(docker), "image", "inspect", "--format", "{{.Id}}", image], within=within)
    except AdbTimeout as error:
        raise DeviceFailed("timeout", f"docker does not answer: {error}") from error
    if done.code == 0:
        return done.text[:100]
    if "such image" in done.error.lower():
        raise DeviceFailed("not_installed", f"no image {image}: {BUILD}")
    raise DeviceFailed("not_installed", f"docker: {done.error}: start its daemon, or add this user to its group")


class DockerDevice(RealDevice):
    """accel: `auto` gives /dev/kvm to the container where this machine's KVM can be used (the container boots with it or says why not),
    and refuses where it cannot; `off` boots in software."""

    forgets = True

    def __init__(
        self,
        name: str,
        slot: int = 0,
        *,
        image: str = IMAGE,
        accel: str = "auto",
        docker: Path | None = None,
        adb: Path | None = None,
    ) -> None:
        super().__init__(name, adb)
        self._slot, self._image, self._accel = slot, image, accel
        self._docker = docker
        self._child = Child()
        self._container: str | None = None
        self._id = ""
        self._token = Path(os.devnull)  # the image's token is empty: its ports are on loopback only
        if accel == "off":
            self.limits = Limits(start=1800.0)

    @property
    def facts(self) -> Facts:
        return Facts("docker", {"image": self._image, "id": self._id, "accel": self._accel})

    @property
    def pids(self) -> tuple[int, ...]:
        own = self._child.pid
        return (*(() if own is None else (own,)), *super().pids)

    def _launch(self, server: AdbServer, deadline: float) -> Address:
        docker = self._docker or find_docker()
        self._id = expect_image(docker, self._image, max(0.5, min(20.0, deadline - time.monotonic())))
        ports = for_slot(self._slot)
        self._container = f"sopbench-{self._slot}-{os.getpid()}"
        self._child.start([str(docker), *self._words(ports, self._accelerator())], {}, tied=True)
        return Address(f"emulator-{ports.console}", server.port, ports.console, ports.grpc)

    def _words(self, ports: EmulatorPorts, accelerator: list[str]) -> list[str]:
        pairs = ((ports.console, CONSOLE_INSIDE), (ports.adb, ADB_INSIDE), (ports.grpc, GRPC_INSIDE))
        published = [word for outside, inside in pairs for word in ("-p", f"127.0.0.1:{outside}:{inside}")]
        return [
            "run", "--rm", "-i", "--init", "--name", str(self._container), "--label", f"{LABEL}={self._slot}",
            "--security-opt", "no-new-privileges", *published, *accelerator, "-e", "SOPBENCH_TIED=1",
            "-e", f"SOPBENCH_ACCEL={self._accel}", self._image,
        ]  # fmt: skip

    def _accelerator(self) -> list[str]:
        if self._accel == "off":
            return []
        found = kvm.probe()
        if not found.usable:
            raise DeviceFailed(
                "not_installed",
                f"{self.name}: no KVM: {found.words}. In software, many times slower: docker:N,accel=off",
            )
        return ["--device", "/dev/kvm", "--group-add", str(found.group)]

    def _halt(self, within: float) -> None:
        name, self._container = self._container, None
        self._child.stop(within)
        if name is None:
            return
        with contextlib.suppress(
            AdbTimeout, OSError, DeviceFailed
        ):  # `--rm` has mostly removed it; a daemon that is gone has none
            run([str(self._docker or find_docker()), "rm", "-f", name], within=10.0)

    def _gone(self) -> FailureKind | None:
        return "died" if self._child.pid is None else None

    def reclone(self, *, within: float | None = None) -> None:
        """A new container from the image."""
        self.restart(within=within)

    def logs(self, lines: int = 200) -> list[str]:
        return self._child.logs(lines)
