"""A folder of recordings: made once, by as many processes as there are cores, and read by memory map.

steps.jsonl    one recording a line
looks.jsonl    one screen a line, in the order of their numbers
screens.bin    the screens' pixels, compressed one by one; index.json says where each begins
"""

from __future__ import annotations

import json
import mmap
import multiprocessing
import random
import time
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.pocket.tasks import templates
from emulator.pocket.tasks.splits import seeds
from uis1_train.tiny.recording import SMALL, Element, Look, RecordedStep, Recorder, Recording


@dataclass(frozen=True)
class Order:
    """Which recordings: `per_template` seeds of each template of `split`, and of these `wandering` more with detours. `only`: of so many templates, spread over all."""

    split: str
    per_template: int
    wandering: int = 0
    only: int | None = None


def _job(order: Order, name: str) -> tuple[list[str], dict[str, bytes], dict[str, str]]:
    (template,) = (t for t in templates() if t.name == name)
    recorder = Recorder()
    made: list[Recording] = []
    chosen = list(islice(seeds(template, order.split, order.per_template), order.per_template))
    for seed in chosen:
        made += filter(None, [recorder.record(template, seed)])
    for number, seed in enumerate(chosen[: order.wandering]):
        made += filter(None, [recorder.record(template, seed, wander=random.Random(f"{name}/{seed}/{number}"))])
    used = {step.screen for recording in made for step in recording.steps}
    return (
        [recording.to_json() for recording in made],
        {name: data for name, data in recorder.images.items() if name in used},
        {name: json.dumps(asdict(seen), ensure_ascii=False) for name, seen in recorder.looks.items() if name in used},
    )


def build(folder: Path, order: Order, *, processes: int = 2, log: Any = print) -> None:
    """Write the folder; `ready.json` last, so that a folder without it is an unfinished one."""
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    names = [t.name for t in templates() if t.heldout == (order.split == "heldout")]
    if order.only is not None:
        names = names[:: max(1, len(names) // order.only)][: order.only]
    index: dict[str, int] = {}
    offsets = [0]
    recordings = 0
    context = multiprocessing.get_context("spawn")
    with (
        context.Pool(processes) as pool,
        (folder / "steps.jsonl").open("w") as steps,
        (folder / "looks.jsonl").open("w") as looks,
        (folder / "screens.bin").open("wb") as screens,
    ):
        jobs = [pool.apply_async(_job, (order, name)) for name in names]
        for done, job in enumerate(jobs, start=1):
            lines, images, seen = job.get()
            for name, data in images.items():
                if name not in index:
                    index[name] = len(index)
                    screens.write(data)
                    offsets.append(offsets[-1] + len(data))
                    looks.write(seen[name] + "\n")
            for line in lines:
                steps.write(line + "\n")
            recordings += len(lines)
            if done % 20 == 0 or done == len(names):
                log(
                    f"recordings {order.split}: {done}/{len(names)} templates, {recordings} recordings, {len(index)} screens, {time.monotonic() - began:.0f} s"
                )
    (folder / "index.json").write_text(json.dumps({"names": list(index), "offsets": offsets}))
    (folder / "ready.json").write_text(json.dumps(asdict(order) | {"recordings": recordings, "screens": len(index)}))


def ensure(folder: Path, order: Order, *, processes: int = 2, log: Any = print) -> Corpus:
    """The recordings in `folder`, made first where they are missing or were made to another order."""
    ready = folder / "ready.json"
    if (
        not ready.exists()
        or Order(**{k: v for k, v in json.loads(ready.read_text()).items() if k in asdict(order)}) != order
    ):
        build(folder, order, processes=processes, log=log)
    return Corpus(folder)


class Corpus:
    """Reads such a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        index = json.loads((folder / "index.json").read_text())
        self.number: dict[str, int] = {name: number for number, name in enumerate(index["names"])}
        self._offsets: list[int] = index["offsets"]

    def __len__(self) -> int:
        return len(self.number)

    @cached_property
    def _bytes(self) -> mmap.mmap:
        with (self.folder / "screens.bin").open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    @cached_property
    def recordings(self) -> list[Recording]:
        made = []
        for line in (self.folder / "steps.jsonl").open():
            row = json.loads(line)
            steps = [RecordedStep(**(s | {"box": tuple(s["box"]) if s["box"] else None})) for s in row.pop("steps")]
            made.append(Recording(**row, steps=steps))
        return made

    @cached_property
    def looks(self) -> list[Look]:
        found = []
        for line in (self.folder / "looks.jsonl").open():
            row = json.loads(line)
            elements = [Element(**(e | {"box": tuple(e["box"])})) for e in row["elements"]]
            found.append(Look(elements, [tuple(w) for w in row["words"]]))
        return found

    def images(self, numbers: Iterable[int]) -> NDArray[np.uint8]:
        """[n, 364, 168, 3]."""
        rows = [
            np.frombuffer(zlib.decompress(self._bytes[self._offsets[n] : self._offsets[n + 1]]), np.uint8).reshape(
                SMALL[1], SMALL[0], 3
            )
            for n in numbers
        ]
        return np.stack(rows)
