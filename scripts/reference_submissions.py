"""Make the submissions of the built-in policies anew: `python scripts/reference_submissions.py [--runs DIR] [--only POLICY ...]`.

Needed when PocketPhone, its data, the adapter `uis1` or a policy changes what a run of them gives: `sopbench board check` says so. Runs that are whole in `--runs` are used as they are.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import sopbench
from sopbench.clients.builtin import builtins
from sopbench.leaderboard import submit
from sopbench.leaderboard.boards import load_boards

ORGANISATION = "sopbench"
BOARDS = ("pocket-sop", "pocket-online")
NOTES = {
    "builtin:oracle": "Answers with the expert's own action: what a perfect model reaches.",
    "builtin:noisy": "The expert's action, or with probability 0.1 a plausible wrong one: what small errors cost.",
    "builtin:stray": "As the expert, until with chance 0.1 at a step it errs, and does not find back: what small errors cost an agent that cannot mend them.",
    "builtin:null": "Says at once that the task is done: what doing nothing is worth.",
    "builtin:random": "Any action of the family's space, uniformly by type, then by argument: the floor of chance.",
    "builtin:swipe": "Always the same swipe: what the commonest one is worth.",
    "builtin:prose": "Answers in a sentence that is no action: what cannot be read is worth nothing.",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, help="keep the runs here, and use those that are whole already")
    parser.add_argument("--only", nargs="*", default=list(builtins()), choices=list(builtins()), metavar="POLICY")
    parser.add_argument("--boards", nargs="*", default=list(BOARDS), choices=list(BOARDS), metavar="BOARD")
    parser.add_argument("--date", default=datetime.now(UTC).date().isoformat())
    asked = parser.parse_args()
    boards = load_boards()
    with tempfile.TemporaryDirectory() as scratch:
        for number, (board, model) in enumerate(((b, m) for b in asked.boards for m in asked.only), start=1):
            suite = boards.get(board).suite
            out = (asked.runs or Path(scratch)) / f"{suite}-{model.partition(':')[2]}"
            run = sopbench.run(suite=suite, model=model, seed=0, adapter="uis1", prompts="builtin", out=out)
            place = boards.root / board / "submissions"
            for older in place.glob(f"*_{ORGANISATION}_{model.replace(':', '-')}"):
                shutil.rmtree(older)
            metadata = {
                "model": model,
                "organisation": ORGANISATION,
                "contact": "@sopbench",
                "date": asked.date,
                "weights_open": True,
                "training_data": "None: a rule of a few lines, no model.",
                "trained_on_benchmark": "no",
                "notes": NOTES[model],
            }
            made = submit(run.path, place, metadata, boards=boards, board=board)
            row = made.verification.row
            print(
                f"{number}/{len(asked.boards) * len(asked.only)} {made.path}: {row.values if row else '?'}", flush=True
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
