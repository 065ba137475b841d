"""Thousands of trajectories in flight do not hold their screens in memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_server import answer
from PIL import Image
from recordings import SWIPE, says

LIMIT_MB = 500
EPISODES = 1543
IN_FLIGHT = 256

CHILD = """
import json, re, sys
from pathlib import Path
import sopbench

run = sopbench.run(**(json.loads(sys.argv[1]) | {"data": Path(sys.argv[2]), "images": Path(sys.argv[3]), "out": Path(sys.argv[4])}))
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text()).group(1))
print(json.dumps({"tsr": run.summary["tsr"], "n": run.summary["n"], "peak_mb": peak / 1024}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak memory from /proc")
def test_1543_trajectories_with_256_in_flight_stay_under_500_mb(tmp_path: Path, fault_server: Any) -> None:
    images = tmp_path / "images"
    images.mkdir()
    noise = np.random.default_rng(1).integers(0, 256, (2400, 1080, 3), dtype=np.uint8) // 32 * 32
    noise[:1500] = 240
    Image.fromarray(noise).save(images / "screen.png", compress_level=1)
    nbytes = (images / "screen.png").stat().st_size
    assert nbytes > 1_000_000
    lines = []
    for episode in range(EPISODES):
        name = f"{episode}_0.png"
        os.link(images / "screen.png", images / name)
        step = {"action_content": SWIPE, "screenshot": name, "step_instruction": "", "check_options": SWIPE}
        lines.append(json.dumps({"goal": "g", "is_successful": True, "steps": [step], "episode_id": episode}))
    (tmp_path / "data.jsonl").write_text("\n".join(lines))

    server = fault_server(answer(says(SWIPE), delay=1.0))
    options = {
        "suite": "sop",
        "model": "tiny",
        "base_urls": [server.base_url],
        "concurrency": IN_FLIGHT,
        "attempt_timeout": 600,
    }
    args = [json.dumps(options), tmp_path / "data.jsonl", images, tmp_path / "run"]
    child = subprocess.run([sys.executable, "-c", CHILD, *map(str, args)], capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
    result = json.loads(child.stdout)
    assert (result["n"], result["tsr"]) == (EPISODES, 100.0)
    assert server.most_at_once > IN_FLIGHT // 2
    assert result["peak_mb"] < LIMIT_MB
    print(result, server.most_at_once, nbytes)
