"""The study: one SFT, an under-trained checkpoint of it, then RL three ways with three seeds each from there, measured on what was held out. One command, resumable."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from sopbench.trajectory import Trajectory
from uis1_train.tiny.corpus import Corpus, Order, ensure
from uis1_train.tiny.playing import trajectory
from uis1_train.tiny.recording import Recording
from uis1_train.tiny.rl import METHODS, RlSettings

SEEDS: Final = (1, 2, 3)
AFTERWARDS: Final = ("offline", "semi1")
"""RL that is also tried, with one seed, from the end of SFT; what is best on validation ships."""
KEPT: Final = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Shares of the SFT budget at which a checkpoint is kept; RL starts from one of them."""
WANTED_START: Final = 30.0
"""TSR on training goals at which RL should start: the kept checkpoint that comes nearest is taken."""
ORDERS: Final = {
    "train": Order("train", 40, 12),
    "validation": Order("validation", 1),
    "test": Order("test", 1),
    "heldout": Order("heldout", 4),
}


@dataclass(frozen=True)
class Plan:
    """eye_minutes, hand_minutes: of SFT. rl_steps: replies that each RL run samples. per_template: training recordings of each template that RL plays on."""

    eye_minutes: float = 8.0
    hand_minutes: float = 24.0
    rl_steps: int = 32_000
    per_template: int = 1
    processes: int = 2


def study(out: Path, recordings: Path, processes: int, plan: Plan | None = None) -> int:
    plan = plan or Plan(processes=processes)
    out.mkdir(parents=True, exist_ok=True)
    for split, order in ORDERS.items():
        ensure(recordings / split, order, processes=processes)
    _sft(out / "sft", recordings, plan)
    start = choose_start(out / "sft", recordings, out / "start.json")
    jobs = [
        ["rl", method, str(seed), str(start), str(recordings), str(out), str(plan.rl_steps), str(plan.per_template)]
        for seed in SEEDS
        for method in METHODS
    ]
    _together(jobs, processes, out)
    whole = out / "sft" / "final"
    more = [
        ["rl", m, "1", str(whole), str(recordings), str(out), str(plan.rl_steps), str(plan.per_template), f"whole-{m}"]
        for m in AFTERWARDS
    ]
    _together(more, processes, out)
    folders = {"sft": whole, "start": start}
    folders |= {f"{m}-{s}": out / "rl" / f"{m}-{s}" / "final" for s in SEEDS for m in METHODS}
    folders |= {f"whole-{m}": out / "rl" / f"whole-{m}" / "final" for m in AFTERWARDS}
    _together(
        [["measure", str(f), str(recordings), str(out / f"{n}.measured.json")] for n, f in folders.items()],
        processes,
        out,
    )
    from uis1_train.tiny.telling import ship, tell

    tell(out, plan)
    ship(out, Path("sopbench/models/tiny"))
    return 0


def _sft(out: Path, recordings: Path, plan: Plan) -> None:
    from uis1_train.tiny.learn import Recipe, run

    if (out / "final" / "config.json").exists():
        return
    recipe = Recipe(
        eye_minutes=plan.eye_minutes, hand_minutes=plan.hand_minutes, processes=plan.processes, keep_at=KEPT
    )
    run(recipe, recordings / "train", recordings / "validation", out)


def choose_start(sft: Path, recordings: Path, note: Path) -> Path:
    """The kept checkpoint from which RL begins, by its SOP on a sample of the training goals."""
    if note.exists():
        return sft / str(json.loads(note.read_text())["chosen"])
    from uis1_train.tiny.folder import load_folder
    from uis1_train.tiny.lessons import Tongue
    from uis1_train.tiny.playing import Player, sop

    corpus = Corpus(recordings / "train")
    tasks = training_tasks(corpus, 1)
    screens = np.load(sft / "train_screens.npy", mmap_mode="r")
    found: dict[str, dict[str, float]] = {}
    for folder in sorted(sft.glob("at_*")):
        model, tok = load_folder(folder)
        found[folder.name] = sop(Player(model, Tongue(tok), screens), tasks).summary()
        print(folder.name, found[folder.name], flush=True)
        if found[folder.name]["tsr"] > 60:
            break
    chosen = min(found, key=lambda name: abs(found[name]["tsr"] - WANTED_START))
    note.write_text(json.dumps({"chosen": chosen, "train_sop": found}))
    return sft / chosen


def training_tasks(corpus: Corpus, per_template: int) -> list[Trajectory]:
    """The first recordings of each template, without detours."""
    counts: dict[str, int] = {}
    chosen: list[Recording] = []
    for recording in corpus.recordings:
        if counts.get(recording.template, 0) < per_template and all(s.gold for s in recording.steps):
            counts[recording.template] = counts.get(recording.template, 0) + 1
            chosen.append(recording)
    return [trajectory(r, corpus.number) for r in chosen]


def _together(jobs: Sequence[Sequence[str]], processes: int, out: Path) -> None:
    """Run this module's jobs as processes of one thread, so many at a time; each skips what is done."""
    waiting = list(jobs)
    running: list[tuple[Sequence[str], subprocess.Popen[bytes]]] = []
    while waiting or running:
        while waiting and len(running) < processes:
            job = waiting.pop(0)
            said = [Path(w).name for w in (*job[:3], *job[8:])]
            log = (out / f"{'-'.join(said)}.log").open("a")
            running.append(
                (job, subprocess.Popen([sys.executable, "-m", "uis1_train.tiny.study", *job], stdout=log, stderr=log))
            )
            print(f"{time.strftime('%H:%M:%S')} begins: {' '.join(said)}", flush=True)
        time.sleep(0.5)
        for one in list(running):
            if one[1].poll() is not None:
                running.remove(one)
                if one[1].returncode:
                    for _, other in running:
                        other.terminate()
                    raise SystemExit(
                        f"{' '.join(one[0])} failed with status {one[1].returncode}; see the logs in {out}"
                    )


def job(words: Sequence[str]) -> None:
    """What one process does: `rl METHOD SEED START RECORDINGS OUT STEPS PER_TEMPLATE`, or `measure FOLDER RECORDINGS FILE`. A further word of `rl` names the run."""
    if words[0] == "measure":
        from uis1_train.tiny.measuring import measure

        folder, where, file = (Path(w) for w in words[1:])
        measure(folder, {"test": where / "test", "heldout": where / "heldout"}, file)
        return
    from uis1_train.tiny.rl import run

    method, seed, start, recordings, out, steps, per_template = words[1:8]
    name = words[8] if len(words) > 8 else f"{method}-{seed}"
    corpus, checked = Corpus(Path(recordings) / "train"), Corpus(Path(recordings) / "validation")
    run(
        Path(start),
        training_tasks(corpus, int(per_template)),
        np.load(Path(out) / "sft" / "train_screens.npy", mmap_mode="r"),
        [trajectory(r, checked.number) for r in checked.recordings],
        np.load(Path(out) / "sft" / "check_screens.npy", mmap_mode="r"),
        RlSettings(method=method, seed=int(seed), steps=int(steps)),
        Path(out) / "rl" / name,
    )


def described(plan: Plan) -> dict[str, Any]:
    return asdict(plan) | {"rl": asdict(RlSettings())}


if __name__ == "__main__":
    job(sys.argv[1:])
