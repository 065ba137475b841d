"""android-env 1.3.0, as published, on a simulated phone. Needs `.venv-android` (`python3.11 scripts/setup_android.py`)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import ANDROID, Phones

from emulator.sim import SimDevice

HERE = Path(__file__).parent
needs_android_env = pytest.mark.skipif(
    not ANDROID.exists(), reason="no .venv-android: make it with `python3.11 scripts/setup_android.py` (about a minute)"
)


@pytest.fixture
def served(phones: Phones) -> SimDevice:
    """A phone with gRPC, in a process of that environment."""
    return phones(grpc=True, python=ANDROID)


@needs_android_env
def test_android_env_runs_unmodified(served: SimDevice, adb: Path, tmp_path: Path) -> None:
    address = served.address
    picture = tmp_path / "screen.png"
    picture.write_bytes(served.screenshot().read())
    words = [str(address.console_port), str(address.grpc_port), str(address.adb_server_port), str(adb), str(picture)]
    result = subprocess.run(
        [ANDROID, HERE / "drive_android_env.py", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    seen = json.loads(result.stdout.splitlines()[-1])
    forest = seen.pop("forest")
    assert seen == {
        "shape": [1200, 540, 3],
        "orientation": [1, 0, 0, 0],
        "same_picture": True,
        "saved": "OK",
        "activity": "org.sopbench.pocket.notes/.Main",
        "button": True,
        "after_touch": "org.sopbench.pocket.notes/.Edit",
        "reward_from_logcat": 7.0,
        "pulled": ["OK", "abc"],
        "install": "OK",
        "loaded": "OK",
        "missing": "NOT_FOUND",
        "back_as_before": True,
    }
    assert "Notes" in forest


@needs_android_env
def test_grpc_faults_and_forests(served: SimDevice) -> None:
    """The genuine messages of android-env read what the phone's own writer made."""
    address = served.address
    result = subprocess.run(
        [
            ANDROID,
            HERE / "watch_forests.py",
            str(address.console_port),
            str(address.grpc_port),
            str(address.adb_server_port),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    seen = json.loads(result.stdout.splitlines()[-1])
    assert seen == {
        "booted": True,
        "forests_before": True,
        "forests_under": {"no_forest": 0, "airplane": 0},
        "forests_after": True,
        "bounds_inside": True,
        "hang": "DEADLINE_EXCEEDED",
        "black": True,
        "png_is_screencap": True,
        "unknown_method": "UNIMPLEMENTED",
        "hostile_request": "UNKNOWN",
    }


def test_without_grpcio_the_phone_says_where_it_is(phones: Phones, adb: Path) -> None:
    import importlib.util
    import sys

    if importlib.util.find_spec("grpc") is not None:
        pytest.skip("grpcio is in this environment")
    root = HERE.parents[2]
    result = subprocess.run(
        [sys.executable, "-m", "emulator.sim", "--grpc-port", "0"], cwd=root, capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 2
    assert "needs the package grpcio" in result.stderr
