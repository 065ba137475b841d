"""Train, test and study the tiny model.

python -m uis1_train.tiny sft --out DIR [--minutes M]        from nothing to a model that operates PocketPhone
python -m uis1_train.tiny overfit --out DIR                  eight recordings learnt by heart: is the machinery right?
python -m uis1_train.tiny study --out DIR                    SFT, then offline and semi-online RL, three seeds each, and docs/study.md
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m uis1_train.tiny", description=(__doc__ or "").split("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, words in (
        ("sft", "train from nothing"),
        ("overfit", "learn eight recordings by heart"),
        ("study", "SFT, then RL three ways, three seeds"),
    ):
        verb = verbs.add_parser(name, help=words)
        verb.add_argument(
            "--out", type=Path, required=True, help="folder; what is done there already is not done again"
        )
        verb.add_argument("--processes", type=int, default=2, help="one thread each (default 2)")
        verb.add_argument("--seed", type=int, default=0)
        if name in ("sft", "overfit"):
            verb.add_argument(
                "--minutes",
                type=float,
                default={"sft": 32.0, "overfit": 3.0}[name],
                help="of training, recordings not counted",
            )
        if name != "overfit":
            verb.add_argument(
                "--recordings", type=Path, help="folder for recordings and screens (default OUT/recordings)"
            )
    options = parser.parse_args(argv)
    os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    if options.verb == "sft":
        return sft(
            options.out,
            options.recordings or options.out / "recordings",
            options.minutes,
            options.processes,
            options.seed,
        )
    if options.verb == "overfit":
        return overfit(options.out, options.minutes, options.processes, options.seed)
    from uis1_train.tiny.study import study

    return study(options.out, options.recordings or options.out / "recordings", options.processes)


def sft(out: Path, recordings: Path, minutes: float, processes: int, seed: int) -> int:
    """A quarter of the time for the eyes. Ends in `out/final`, a model folder."""
    from uis1_train.tiny.corpus import Order, ensure
    from uis1_train.tiny.learn import Recipe, run

    ensure(recordings / "validation", Order("validation", 1), processes=processes)
    ensure(recordings / "train", Order("train", 40, 12), processes=processes)
    recipe = Recipe(eye_minutes=0.25 * minutes, hand_minutes=0.75 * minutes, processes=processes, seed=seed)
    run(recipe, recordings / "train", recordings / "validation", out)
    return 0


def overfit(
    out: Path, minutes: float, processes: int, seed: int, *, wanted: int = 8, steps: tuple[int, int] | None = None
) -> int:
    """Exit status 0 if the semi-online protocol gives TSR 100 on the recordings that were learnt. `steps`: of both stages, in place of the minutes."""
    from uis1_train.tiny.corpus import Order, ensure
    from uis1_train.tiny.learn import Recipe, run

    began = time.monotonic()
    folder = out / "recordings"
    ensure(folder, Order("train", 1, only=wanted), processes=processes, log=lambda _: None)
    recipe = Recipe(
        eye_minutes=0.3 * minutes,
        hand_minutes=0.7 * minutes,
        eye_steps=steps[0] if steps else None,
        hand_steps=steps[1] if steps else None,
        eye_batch=8,
        hand_rate=1.5e-3,
        grounding=0.05,
        grounding_end=0.0,
        forgets=0.0,
        processes=processes,
        seed=seed,
    )
    run(recipe, folder, folder, out)
    facts = json.loads((out / "checks.jsonl").read_text().splitlines()[-1])["sop"]
    print(
        f"SOP on the {facts['n']} recordings learnt: PG {facts['pg']:.1f}, TSR {facts['tsr']:.1f}, after {time.monotonic() - began:.0f} s"
    )
    return 0 if facts["tsr"] == 100 else 1


if __name__ == "__main__":
    sys.exit(main())
