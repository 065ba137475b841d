"""`uis1-train run`: reinforcement learning, or with --dry-run the plan of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from sopbench.errors import EXIT_BAD_INPUT, UsageError

if TYPE_CHECKING:
    from uis1_train.plan.plan import Plan

HELP = """Train by semi-online reinforcement learning: on verl (one GPU, a node, or a cluster), or with --embedded in this one process.

--config is the name of a configuration of ours (uis1_7b, uis1_7b_released, uis1_3b, uis1_32b, tiny_cpu) or a YAML file that builds on one; with --embedded it
is a recipe. Whatever stands in it can be changed with KEY=VALUE. A run that was interrupted goes on from its last checkpoint.

Examples:

  uis1-train run --config uis1_7b --dry-run

  uis1-train run --config uis1_7b data.train_files=train.jsonl uis1.screens=images/ actor_rollout_ref.model.path=sft-merged

  uis1-train run --config uis1_7b uis1.epsilon=inf uis1.gamma=0.9 trainer.experiment_name=ablation

  uis1-train run --config uis1_7b uis1.mode=offline           the paper's baseline: single steps with the expert's history

  uis1-train run --embedded --config recipe.yaml rl.steps=50  no Ray, no verl: one GPU or a CPU
"""
FAILED = 1


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def run(
        overrides: Annotated[
            list[str] | None,
            typer.Argument(
                metavar="[KEY=VALUE]...", help="Settings in place of the configuration's.", show_default=False
            ),
        ] = None,
        config: Annotated[
            str, typer.Option(help="A configuration's name or YAML file; with --embedded a recipe.")
        ] = "uis1_7b",
        embedded: Annotated[bool, typer.Option("--embedded", help="In this process, without Ray and verl.")] = False,
        dry_run: Annotated[
            bool,
            typer.Option(
                "--dry-run",
                help="Print what the run would do, and refuse what cannot work. Needs no GPU and starts nothing.",
            ),
        ] = False,
        gpu_memory: Annotated[float, typer.Option(help="Memory of one GPU in GB, for the estimate.", min=1)] = 80.0,
        match: Annotated[
            float,
            typer.Option(help="Assumed share of steps that match, for the expected number of samples.", min=0, max=1),
        ] = 0.6,
        as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: the plan as one JSON object.")] = False,
    ) -> None:
        chosen = tuple(overrides or ())
        if as_json and not dry_run:
            raise UsageError("--json belongs to --dry-run: a run writes its numbers to its folder")
        if embedded:
            from uis1_train.cli.embedded import run_stage

            run_stage("rl", Path(config), chosen, dry_run=dry_run, as_json=as_json)
            return
        from uis1_train.plan.plan import make_plan

        plan = make_plan(config, chosen, gpu_gb=gpu_memory, match=match)
        if dry_run:
            _print(plan, as_json=as_json)
            raise typer.Exit(EXIT_BAD_INPUT if plan.impossible else 0)
        _refuse(plan)
        start(config, chosen, cpu=str(plan.flat["trainer.device"]) == "cpu")


def _print(plan: Plan, *, as_json: bool) -> None:
    from sopbench.cli.terminal import print_json, safe
    from uis1_train.plan.keys import plain
    from uis1_train.plan.show import lines_of

    if as_json:
        print_json(plain(plan.as_dict()))
        return
    for line in lines_of(plan):
        print(safe(line, 1000))


def _refuse(plan: Plan) -> None:
    """Say what stands in the way of a run, and leave with the status of bad input."""
    from sopbench.cli.terminal import safe
    from uis1_train.plan.show import finding_lines

    in_the_way = [*plan.impossible, *plan.missing]
    for finding in plan.findings:
        for line in finding_lines(finding):
            print(safe(line, 1000), file=sys.stderr)
    if in_the_way:
        raise UsageError(
            f"nothing was started: {len(in_the_way)} thing(s) above stand in the way (--dry-run shows the whole plan)"
        )


def start(config: str, overrides: tuple[str, ...], *, cpu: bool) -> NoReturn:
    """Become the trainer: this process is replaced, so that signals and exit status are its own."""
    environment = dict(os.environ)
    if cpu:
        from uis1_train.verl_cpu.environment import environment as cpu_environment

        environment |= cpu_environment()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, "-m", "uis1_train.verl_ext", config, *overrides], environment)
