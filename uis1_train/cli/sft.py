"""`uis1-train sft`: supervised fine-tuning on the experts' steps, the stage before RL."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from sopbench.errors import EXIT_BAD_INPUT, UsageError, command

HELP = """Fine-tune a model on expert recordings: asked exactly as in play, answered in the adapter's words, with the loss on replies only.

On verl's own SFT trainer (one process a GPU, started by torchrun), or with --embedded in this one process. What it leaves is a checkpoint that `uis1-train merge`
makes the model that RL starts from.

Examples:

  uis1-train sft --config sft_7b --dry-run

  uis1-train sft --config sft_7b data.train_files=[android_control.jsonl,amex.jsonl] uis1.screens=images/

  uis1-train sft --embedded --config recipe.yaml sft.steps=400
"""


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def sft(
        overrides: Annotated[
            list[str] | None,
            typer.Argument(
                metavar="[KEY=VALUE]...", help="Settings in place of the configuration's.", show_default=False
            ),
        ] = None,
        config: Annotated[
            str, typer.Option(help="A configuration's name or YAML file; with --embedded a recipe.")
        ] = "sft_7b",
        embedded: Annotated[bool, typer.Option("--embedded", help="In this process, without Ray and verl.")] = False,
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Print what it would do, and refuse what cannot work.")
        ] = False,
        gpu_memory: Annotated[float, typer.Option(help="Memory of one GPU in GB, for the estimate.", min=1)] = 80.0,
        as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: the plan as one JSON object.")] = False,
    ) -> None:
        chosen = tuple(overrides or ())
        if as_json and not dry_run:
            raise UsageError("--json belongs to --dry-run: training writes its numbers to its folder")
        if embedded:
            from uis1_train.cli.embedded import run_stage

            run_stage("sft", Path(config), chosen, dry_run=dry_run, as_json=as_json)
            return
        from sopbench.cli.terminal import print_json, safe
        from uis1_train.plan.keys import plain
        from uis1_train.plan.sft import make_sft_plan, sft_lines
        from uis1_train.plan.show import finding_lines

        plan = make_sft_plan(config, chosen, gpu_gb=gpu_memory)
        if dry_run:
            if as_json:
                print_json(plain(plan.as_dict()))
            for line in () if as_json else sft_lines(plan):
                print(safe(line, 1000))
            raise typer.Exit(EXIT_BAD_INPUT if plan.impossible else 0)
        if in_the_way := [*plan.impossible, *plan.missing]:
            for finding in in_the_way:
                for line in finding_lines(finding):
                    print(safe(line, 1000), file=sys.stderr)
            raise UsageError(f"nothing was started: {len(in_the_way)} thing(s) above stand in the way")
        start(
            config,
            chosen,
            int(plan.flat["trainer.n_gpus_per_node"]),
            int(plan.flat["trainer.nnodes"]),
            cpu=plan.flat["trainer.device"] == "cpu",
        )


def start(config: str, overrides: tuple[str, ...], processes: int, nodes: int, *, cpu: bool) -> NoReturn:
    """Become torchrun on this node. With several nodes the command is the user's to give on each, since only they know the nodes' addresses."""
    module = ["-m", "uis1_train.verl_ext.sft", config, *overrides]
    if nodes > 1:
        line = command(
            "torchrun",
            "--nnodes",
            nodes,
            "--nproc-per-node",
            processes,
            "--rdzv-backend",
            "c10d",
            "--rdzv-endpoint",
            "HOST:29500",
            *module,
        )
        raise UsageError(
            f"trainer.nnodes={nodes}: give this on every node, with the first one's address for HOST: {line}"
        )
    assert find_spec("torch") is not None
    environment = dict(os.environ)
    if cpu:
        from uis1_train.verl_cpu.environment import environment as cpu_environment

        environment |= cpu_environment()
    sys.stdout.flush()
    sys.stderr.flush()
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    os.execve(sys.executable, [sys.executable, *torchrun, *module], environment)
