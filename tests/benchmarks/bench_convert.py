"""How fast AndroidControl converts, and whether all cores are at it.

    python -m tests.benchmarks.bench_convert [--episodes 200] [--jobs N]

Makes shards in the published format (200 episodes of 5.5 steps, screens of 1080x2400 pixels and about 0.5 MB, trees of 150 nodes), converts them once with one process and
once with one for every core, and prints episodes/s, MB/s of shards read and of screens written, and the processor time over the wall time: 2.0 means that two cores were busy all along.
The script prints figures and asserts nothing about them: they belong to the machine.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from sopbench.datasets.from_androidcontrol import convert_androidcontrol
from tests.integration.datasets.archives import EpisodeSpec, NodeSpec, Recorded, shard_name, write_shard

SIZE = (1080, 2400)
NODES = 150
SHARDS = 20
PICTURES = 12
"""Different screens; each is used many times, but every record has its own bytes to unpack."""


def screens() -> list[bytes]:
    """Pictures that compress about as well as real screens: flat areas, and a part full of noise."""
    found = []
    for seed in range(PICTURES):
        dice = random.Random(seed)
        image = Image.new("RGB", SIZE, (245, 245, 245 - seed))
        noise = Image.frombytes("RGB", (400, 400), dice.randbytes(400 * 400 * 3))
        image.paste(noise, (100 + seed * 10, 300))
        for row in range(20):
            image.paste(
                (dice.randrange(256), 90, 120), (60, 900 + row * 70, 60 + dice.randrange(200, 900), 940 + row * 70)
            )
        buffer = io.BytesIO()
        image.save(buffer, "PNG", compress_level=6)
        found.append(buffer.getvalue())
    return found


def episodes(count: int) -> Iterator[EpisodeSpec]:
    pictures = screens()
    dice = random.Random(0)
    for number in range(count):
        steps = []
        for _ in range(5 + number % 2):
            x, y = dice.randrange(SIZE[0]), dice.randrange(SIZE[1])
            nodes = [_node(dice) for _ in range(NODES)]
            steps.append(Recorded({"action_type": "click", "x": x, "y": y}, "press the thing", nodes))
        shown = [pictures[(number + k) % PICTURES] for k in range(len(steps) + 1)]
        yield EpisodeSpec(number, f"goal {number}", steps, SIZE, shown)


def _node(dice: random.Random) -> NodeSpec:
    left, top = dice.randrange(SIZE[0] - 50), dice.randrange(SIZE[1] - 50)
    box = (left, top, left + dice.randrange(20, 600), top + dice.randrange(20, 600))
    return NodeSpec(box, clickable=dice.random() < 0.4, visible=dice.random() < 0.9, text="a label of some length")


def make(folder: Path, count: int) -> int:
    """The bytes of the shards."""
    folder.mkdir()
    made = list(episodes(count))
    for index in range(SHARDS):
        write_shard(folder / shard_name(index, SHARDS), (episode.record() for episode in made[index::SHARDS]))
    return sum(path.stat().st_size for path in folder.iterdir())


def processor_seconds() -> float:
    """Of this process and of those it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measure(source: Path, out: Path, jobs: int, read: int) -> float:
    """One conversion; the episodes a second."""
    before, begun = processor_seconds(), time.perf_counter()
    made = convert_androidcontrol(source, out, jobs=jobs)
    wall = time.perf_counter() - begun
    busy = (processor_seconds() - before) / wall
    print(
        f"{jobs} process{'es' if jobs > 1 else '  '}: {made.episodes} episodes, {made.screens} screens in {wall:.1f} s: "
        f"{made.episodes / wall:.1f} episodes/s, {read / wall / 1e6:.0f} MB/s read, {made.screen_bytes / wall / 1e6:.0f} MB/s written, "
        f"{busy:.2f} cores busy; check {'clean' if made.check.ok else 'NOT CLEAN'}"
    )
    return made.episodes / wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-convert-") as name:
        folder = Path(name)
        read = make(folder / "shards", arguments.episodes)
        print(
            f"{arguments.episodes} episodes, {SHARDS} shards, {read / 1e6:.0f} MB; load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        )
        one = measure(folder / "shards", folder / "one", 1, read)
        shutil.rmtree(folder / "one")
        if arguments.jobs > 1:
            many = measure(folder / "shards", folder / "many", arguments.jobs, read)
            print(f"speed-up with {arguments.jobs} processes: {many / one:.2f}")


if __name__ == "__main__":
    main()
