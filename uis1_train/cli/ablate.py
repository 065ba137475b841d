"""`uis1-train ablate`: the paper's ablations as runs that differ in one setting."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from sopbench.errors import UsageError, command

HELP = """The paper's ablations: each a run of the same configuration with one setting changed, into a folder of its own.

--dry-run lists the commands, for a cluster's queue or to choose from; without it they are run here, one after the other. A run that is done or was begun is gone on with,
so the same command can be given again. --only chooses ablations, --seeds repeats all of them.

Ablations: gamma, step-weight, eta, epsilon, patch, images, segment, data (sizes of the training data, for each epsilon: the paper's data law).

Examples:

  uis1-train ablate --config uis1_7b --dry-run

  uis1-train ablate --config uis1_7b --only epsilon --only patch uis1.off_policy.base_url=http://aux:8000/v1 uis1.off_policy.model=Qwen3-VL-8B

  uis1-train ablate --embedded --config recipe.yaml --only gamma --seeds 1,2,3
"""
FAILED = 1

VALUES: dict[str, tuple[str, ...]] = {
    "gamma": ("0", "0.5", "0.9"),
    "step-weight": ("0", "0.5", "1"),
    "eta": ("0.1", "0.3", "0.5"),
    "epsilon": ("0", "1", "2", "inf"),
    "patch": ("thought_free", "off_policy", "on_policy"),
    "images": ("1", "2", "3"),
    "segment": ("paper", "whole"),
}
"""Values of the paper's ablations (arXiv 2509.11543, section 5 and appendix); those of the number of screens are ours."""
DATA_SIZES = (125, 250, 500, 1000)
SETTINGS = {
    "gamma": "gamma",
    "step-weight": "step_weight",
    "eta": "eta",
    "epsilon": "epsilon",
    "patch": "patch",
    "images": "images",
    "segment": "segment",
}


@dataclass(frozen=True, slots=True)
class Ablation:
    """One run. `name` is also its folder's name."""

    name: str
    overrides: tuple[str, ...]

    def over(self, chosen: list[str], place: list[str]) -> list[str]:
        """The run's settings in place of those that were chosen for all runs."""
        own = [*place, *self.overrides]
        keys = {override.partition("=")[0] for override in own}
        return [*(c for c in chosen if c.partition("=")[0] not in keys), *own]


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def ablate(
        overrides: Annotated[
            list[str] | None,
            typer.Argument(metavar="[KEY=VALUE]...", help="Settings of every run.", show_default=False),
        ] = None,
        config: Annotated[str, typer.Option(help="A configuration, as for `run`.")] = "uis1_7b",
        embedded: Annotated[
            bool, typer.Option("--embedded", help="The configuration is a recipe of the one-process trainer.")
        ] = False,
        only: Annotated[
            list[str] | None,
            typer.Option(help="An ablation; repeat it for several (default: all).", show_default=False),
        ] = None,
        data_sizes: Annotated[str, typer.Option(help="For `data`: numbers of trajectories.")] = ",".join(
            map(str, DATA_SIZES)
        ),
        seeds: Annotated[str, typer.Option(help="One run each, for every ablation.")] = "1",
        out: Annotated[str, typer.Option(help="Folder of the runs.")] = "checkpoints/ablations",
        dry_run: Annotated[bool, typer.Option("--dry-run", help="List the commands.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json

        chosen = list(overrides or ())
        names = only or [*VALUES, "data"]
        require_known(names)
        node = _current(config, tuple(chosen), embedded=embedded)
        runs = grid(names, _numbers(data_sizes, "--data-sizes"), _numbers(seeds, "--seeds"), node, embedded=embedded)
        base = ["--embedded"] if embedded else []
        commands = {
            run.name: ["run", *base, "--config", config, *run.over(chosen, _place(run, out, embedded=embedded))]
            for run in runs
        }
        if dry_run:
            if as_json:
                print_json(
                    {"runs": [{"name": name, "command": ["uis1-train", *words]} for name, words in commands.items()]}
                )
                return
            for words in commands.values():
                print(command("uis1-train", *words))
            return
        failed = [name for name, words in commands.items() if not _run(name, words)]
        if failed:
            print(f"error: {len(failed)} of {len(commands)} runs failed: {', '.join(failed)}", file=sys.stderr)
            raise typer.Exit(FAILED)


def grid(
    only: list[str], data_sizes: list[int], seeds: list[int], current: Mapping[str, Any], *, embedded: bool
) -> list[Ablation]:
    """All runs in order. `current`: what the configuration has (by the names of `SETTINGS`, and `train_files`): runs that would be equal to it are one, `base`."""
    node = "method" if embedded else "uis1"
    runs: dict[str, Ablation] = {}
    for seed in seeds:
        mark = f"-seed{seed}" if len(seeds) > 1 else ""
        chance = f"seed={seed}" if embedded else f"uis1.seed={seed}"
        for name in dict.fromkeys(only):
            if name == "data":
                for size in data_sizes:
                    some = f"data.limit={size}" if embedded else f"data.train_files={current['train_files']}@{size}"
                    for epsilon in VALUES["epsilon"]:
                        called = f"data{size}-epsilon{epsilon}{mark}"
                        runs[called] = Ablation(called, (some, f"{node}.epsilon={epsilon}", chance))
                continue
            for value in VALUES[name]:
                same = _same(current.get(SETTINGS[name]), value)
                called = f"base{mark}" if same else f"{name}-{value}{mark}"
                runs.setdefault(
                    called, Ablation(called, (chance,) if same else (f"{node}.{SETTINGS[name]}={value}", chance))
                )
    return list(runs.values())


def require_known(names: list[str]) -> None:
    """Raise `UsageError` for a name that is no ablation."""
    for name in names:
        if name not in VALUES and name != "data":
            raise UsageError(f"no ablation is called {name!r}; there are: {', '.join([*VALUES, 'data'])}")


def _same(current: Any, value: str) -> bool:
    try:
        return float(current) == float(value)
    except (TypeError, ValueError):
        return bool(str(current) == value)


def _current(config: str, overrides: tuple[str, ...], *, embedded: bool) -> dict[str, Any]:
    """The method's settings of a configuration, and its training data."""
    if embedded:
        from uis1_train.embedded.config import read_recipe

        return read_recipe(Path(config), overrides).method.model_dump()
    if find_spec("verl") is None:
        from uis1_train.plan.plan import NEEDS_VERL

        raise UsageError(NEEDS_VERL)
    from omegaconf import OmegaConf

    from uis1_train.verl_ext.compose import compose_config

    composed = compose_config(config, overrides)
    files = composed.data.train_files
    if not isinstance(files, str):
        raise UsageError("the data ablation takes parts of one file: data.train_files names several")
    node = OmegaConf.to_container(composed.uis1, resolve=True)
    return {**{str(key): value for key, value in dict(node).items()}, "train_files": files.partition("@")[0]}


def _place(run: Ablation, out: str, *, embedded: bool) -> list[str]:
    if embedded:
        return [f"output={out}/{run.name}"]
    return [f"trainer.experiment_name={run.name}", f"trainer.default_local_dir={out}/{run.name}"]


def _run(name: str, words: list[str]) -> bool:
    print(f"ablation {name}: {command('uis1-train', *words)}", flush=True)
    return subprocess.run([sys.executable, "-m", "uis1_train", *words]).returncode == 0


def _numbers(text: str, option: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise UsageError(f"{option} is a list such as 1,2,3, not {text!r}") from error
    if min(numbers) < 1:
        raise UsageError(f"{option}: numbers from 1")
    return numbers
