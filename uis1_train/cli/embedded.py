"""What `run --embedded` and `sft --embedded` share: a recipe, checked, printed or trained in this process."""

from __future__ import annotations

import json
import logging
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from sopbench.errors import EXIT_BAD_INPUT, UsageError

if TYPE_CHECKING:
    from uis1_train.embedded.config import Recipe
    from uis1_train.plan.findings import Finding


def run_stage(
    stage: Literal["sft", "rl"], config: Path, overrides: tuple[str, ...], *, dry_run: bool, as_json: bool
) -> None:
    """Train one stage of a recipe, or with `dry_run` print its settings and what stands in the way. Ends by returning, or with `typer.Exit`."""
    if find_spec("yaml") is None or find_spec("torch") is None:
        raise UsageError(
            "training needs torch, which is not installed here: `python scripts/setup_train.py` makes an environment with it (.venv-train)"
        )
    from uis1_train.embedded.config import read_recipe

    recipe = read_recipe(config, overrides)
    findings = _in_the_way(recipe, stage)
    if dry_run:
        _print(recipe, stage, findings, as_json=as_json)
        raise typer.Exit(EXIT_BAD_INPUT if any(f.weight == "impossible" for f in findings) else 0)
    if findings:
        raise UsageError("; ".join(f"{f.what} ({f.fix})" for f in findings))
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    if stage == "sft":
        from uis1_train.embedded.sft import run_sft as train
    else:
        from uis1_train.embedded.rl import run_rl as train
    print(json.dumps(train(recipe), default=str))


def _in_the_way(recipe: Recipe, stage: Literal["sft", "rl"]) -> list[Finding]:
    from sopbench.errors import SopbenchError
    from sopbench.suites import get_suite
    from sopbench.suites.base import DataSource
    from uis1_train.merge.found import is_whole_model
    from uis1_train.plan.findings import Finding

    found = []
    start = recipe.sft.init if stage == "sft" else recipe.rl.init
    folder = start or recipe.model
    if not is_whole_model(folder):
        found.append(Finding("missing", f"{folder} is no whole transformers model on this machine", "model=FOLDER"))
    data = recipe.data
    try:
        if data.file is not None and not data.file.is_file():
            found.append(Finding("missing", f"training data {data.file} is not on this machine", "data.file=FILE"))
        else:
            loaded = get_suite(data.suite).load(DataSource(data.file, data.images, data.pattern), data.limit)
            if not loaded.trajectories:
                found.append(
                    Finding(
                        "impossible",
                        f"suite {data.suite} has no recordings to learn from",
                        "data.suite=sop data.file=FILE",
                    )
                )
    except SopbenchError as error:
        found.append(Finding("impossible", str(error), "data.file=FILE data.images=FOLDER"))
    if recipe.max_reply >= recipe.max_prompt:
        found.append(Finding("note", "replies may be longer than prompts", "max_reply=..."))
    return found


def _print(recipe: Recipe, stage: str, findings: list[Finding], *, as_json: bool) -> None:
    from sopbench.cli.terminal import print_json, safe
    from uis1_train.plan.keys import flatten, plain
    from uis1_train.plan.show import finding_lines, value

    settings = plain(recipe.model_dump(mode="python"))
    if as_json:
        possible = all(f.weight != "impossible" for f in findings)
        print_json(
            {"stage": stage, "settings": settings, "findings": [f.as_dict() for f in findings], "possible": possible}
        )
        return
    print(f"plan of stage {stage}, in one process (change any setting with KEY=VALUE)")
    for key, of in flatten(settings).items():
        print(safe(f"  {key:44} {value(of)}", 500))
    print()
    rl = recipe.rl
    if stage == "rl":
        print(
            f"a step: {rl.goals} goals x {rl.rollouts} rollouts, {rl.steps} steps; a group is dropped unless its step-0 returns deviate by more than {recipe.method.eta}"
        )
    else:
        print(f"a step: {recipe.sft.batch} samples, {recipe.sft.steps} steps")
    for finding in findings:
        for line in finding_lines(finding):
            print(safe(line, 1000))
