"""`python -m emulator.pocket`: look at PocketPhone's tasks, and write their experts' recordings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from sopbench.errors import EXIT_BAD_INPUT, EXIT_INTERRUPTED, SopbenchError, UsageError

EXAMPLES = """\
examples:
  python -m emulator.pocket export --split test --out recordings
  python -m emulator.pocket export --split train --display large --per-template 100 --out large_train
  python -m emulator.pocket tasks notes
  python -m emulator.pocket tasks --split heldout
  python -m emulator.pocket show notes.copy-7
  python -m emulator.pocket show notes.copy-7 --display large --out strip.png

PocketPhone is a simulation. A split's tasks, screens and recordings are the same on every run.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 done; 2 bad arguments or input; 130 interrupted."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], None] = options.run
    try:
        run(options)
    except SopbenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m emulator.pocket",
        description="PocketPhone, a simulated phone: its tasks and their recordings.",
        epilog=EXAMPLES,
        formatter_class=shape,
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    export = verbs.add_parser(
        "export", help="write a split as SOP JSONL with PNG screens", epilog=EXAMPLES, formatter_class=shape
    )
    export.add_argument("--split", required=True, metavar="S", help="train, validation, test or heldout")
    export.add_argument("--out", required=True, type=Path, metavar="DIR", help="a new or empty folder")
    export.add_argument("--display", default="regular", help="regular (540x1200, the default) or large (504x1092)")
    export.add_argument("--limit", type=_count, metavar="N", help="only the first N tasks of the split")
    export.add_argument(
        "--per-template", type=_count, metavar="N", help="tasks of each template (default: the split's own number)"
    )
    export.add_argument("--overwrite", action="store_true", help="replace an earlier export in DIR")
    export.set_defaults(run=_export)

    tasks = verbs.add_parser(
        "tasks", help="list task templates, or the tasks of a split", epilog=EXAMPLES, formatter_class=shape
    )
    tasks.add_argument("prefix", nargs="?", default="", help="only templates whose name starts so, for example notes")
    tasks.add_argument("--split", metavar="S", help="list this split's tasks")
    tasks.add_argument(
        "--seeds", type=_count, default=5, metavar="N", help="seeds tried to tell a template's steps (default 5)"
    )
    tasks.set_defaults(run=_tasks)

    show = verbs.add_parser("show", help="play one task with its expert", epilog=EXAMPLES, formatter_class=shape)
    show.add_argument("task", help="TEMPLATE-SEED, as in notes.pin-3")
    show.add_argument("--display", default="regular", help="regular or large")
    show.add_argument("--out", type=Path, metavar="FILE.png", help="write its screens as one picture")
    show.set_defaults(run=_show)
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _export(options: argparse.Namespace) -> None:
    from emulator.pocket.export import export
    from emulator.pocket.tasks import load_split

    specs = load_split(options.split, options.per_template, options.display)[: options.limit]
    done = export(specs, options.split, options.out, overwrite=options.overwrite)
    kinds = ", ".join(f"{kind} {n}" for kind, n in done.kinds.most_common())
    print(f"{done.trajectories} trajectories, {done.steps} steps ({kinds})")
    print(f"{done.screens} screens; {done.bytes / 1e6:.1f} MB in {options.out}")
    print(
        f"play it:  sopbench run --suite sop --data {options.out / 'trajectories.jsonl'} --images {options.out / 'screens'}"
    )


def _tasks(options: argparse.Namespace) -> None:
    from emulator.pocket.tasks import load_split, start, templates

    if options.split:
        for spec in load_split(options.split):
            if spec.template.startswith(options.prefix):
                print(f"{spec.id}  ({spec.steps} steps, budget {spec.budget})  {spec.goal}")
        return
    chosen = [t for t in templates() if t.name.startswith(options.prefix)]
    if not chosen:
        raise UsageError(f"no template's name starts with {options.prefix!r}; see `python -m emulator.pocket tasks`")
    for template in chosen:
        lengths = {
            display: sorted({len(start(template, seed, display).solve()) - 1 for seed in range(options.seeds)})
            for display in ("regular", "large")
        }
        session = start(template, 0)
        print(f"{template.name}{'  (held out)' if template.heldout else ''}")
        print(f"    {session.goal}")
        print(f"    {'; '.join(move.instruction for move in session.solve())}")
        print(f"    steps before terminate: {'; '.join(f'{d} {n[0]}-{n[-1]}' for d, n in lengths.items())}")


def _show(options: argparse.Namespace) -> None:
    from emulator.pocket.strip import film_strip
    from emulator.pocket.tasks import start

    name, _, seed = options.task.rpartition("-")
    if not name or not seed.isdecimal():
        raise UsageError(f"{options.task[:60]!r} names no task; write TEMPLATE-SEED, for example notes.pin-3")
    session = start(name, int(seed), options.display)
    print(session.goal)
    if options.out is None:
        moves = session.solve()
    else:
        picture, moves = film_strip(session)
        try:
            picture.save(options.out)
        except (OSError, ValueError) as error:  # ValueError: an ending that names no picture format
            raise UsageError(f"--out {options.out}: {error}") from error
    for number, move in enumerate(moves, 1):
        print(f"{number:3}. {move.instruction}")


if __name__ == "__main__":
    sys.exit(main())
