"""`uis1-train rollout`: play semi-online rollouts and look at what they would teach."""

from __future__ import annotations

import json
import math
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sopbench.errors import UsageError

if TYPE_CHECKING:
    from sopbench.trajectory import Trajectory
    from uis1_train.cli.learning_signal import Group, Signal
    from uis1_train.session import RolloutConfig, TokenPolicy
    from uis1_train.verl_ext.settings import MethodSettings

HELP = """Play groups of semi-online rollouts with any model and look at the learning signal, without training.

Prints reward parts, how many steps were patched, the returns, their spread within each group, and how many groups the filter would keep. --out keeps every
sample: the harness's record of the step, its reward and return, and what was patched.

The model is an endpoint (its address, or its name with --base-url), a built-in policy, or the folder of a transformers model (played in this process).

Examples:

  uis1-train rollout --model builtin:noisy:p=0.3 --goals 8

  uis1-train rollout --model http://localhost:8000/v1 --suite sop --data train.jsonl --images screens/ --goals 32 --out samples.jsonl

  uis1-train rollout --model sft-merged --epsilon inf --n 4 --reward released --segment released

  uis1-train rollout --model http://localhost:8000/v1 --patch off_policy --aux-url http://other:8000/v1 --aux-model Qwen3-VL-8B
"""


@dataclass(frozen=True, slots=True)
class _Asked:
    model: str
    base_urls: tuple[str, ...]
    temperature: float
    max_tokens: int
    concurrency: int
    seed: int


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def rollout(
        model: Annotated[
            str, typer.Option(help="An endpoint's address or model name, builtin:NAME, or a model's folder.")
        ] = "builtin:noisy",
        base_url: Annotated[
            list[str] | None, typer.Option(help="Address of an endpoint that serves the model; repeat it for several.")
        ] = None,
        suite: Annotated[
            str, typer.Option(help="Whose recordings: pocket, pocket-large, or sop with --data.")
        ] = "pocket",
        data: Annotated[Path | None, typer.Option(help="Trajectory file (JSONL).")] = None,
        images: Annotated[Path | None, typer.Option(help="Folder of the screens of --data.")] = None,
        image_pattern: Annotated[str, typer.Option(help="How screens are named there.")] = "{name}",
        goals: Annotated[int, typer.Option(help="How many trajectories, the first ones.", min=1)] = 8,
        n: Annotated[int, typer.Option("--n", "-n", help="Rollouts of each.", min=1)] = 8,
        epsilon: Annotated[str, typer.Option(help="Patches a rollout may use: 0, 1, 2, ... or inf.")] = "1",
        patch: Annotated[
            str, typer.Option(help="thought_free, thought_recorded, off_policy or on_policy.")
        ] = "thought_free",
        aux_url: Annotated[
            str | None, typer.Option(help="For off_policy: the auxiliary model's endpoint.", show_default=False)
        ] = None,
        aux_model: Annotated[str | None, typer.Option(help="For off_policy: its name.", show_default=False)] = None,
        reward: Annotated[str, typer.Option(help="paper or released.")] = "paper",
        gamma: Annotated[float, typer.Option(help="Discount of the step return.", min=0, max=1)] = 0.5,
        segment: Annotated[str, typer.Option(help="Where a return ends: paper, released or whole.")] = "paper",
        eta: Annotated[
            float, typer.Option(help="A group is kept when its step-0 returns deviate by more.", min=0)
        ] = 0.3,
        mode: Annotated[
            str, typer.Option(help="semi_online, or offline: single steps with the expert's history.")
        ] = "semi_online",
        adapter: Annotated[str, typer.Option(help="The model family's language.")] = "uis1",
        prompts: Annotated[str, typer.Option(help="Whose words: auto, official or builtin.")] = "auto",
        profile: Annotated[str | None, typer.Option(help="The scoring profile (default: the suite's).")] = None,
        history_images: Annotated[int, typer.Option(help="Screens a request carries.", min=0)] = 2,
        temperature: Annotated[float, typer.Option(help="Sampling temperature.", min=0)] = 1.0,
        max_tokens: Annotated[int, typer.Option(help="Most tokens of one reply.", min=1)] = 512,
        concurrency: Annotated[int, typer.Option(help="Rollouts in flight.", min=1)] = 32,
        seed: Annotated[
            int, typer.Option(help="Of built-in policies and of sampling; each rollout has its own.", min=0)
        ] = 1,
        out: Annotated[Path | None, typer.Option(help="Write every sample here (JSONL).", show_default=False)] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
        quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No line for each group.")] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json
        from sopbench.suites import get_suite
        from sopbench.suites.base import DataSource
        from sopbench.waiting import wait_for
        from uis1_train.cli.learning_signal import Signal, table_lines
        from uis1_train.verl_ext.settings import rollout_config

        played = get_suite(suite)
        if played.protocol != "semi_online":
            raise UsageError(
                f"suite {suite} has no recordings to play semi-online: use pocket, or sop with --data FILE"
            )
        method = _method(
            mode=mode,
            adapter=adapter,
            prompts=prompts,
            profile=profile or played.default_profile,
            images=history_images,
            epsilon=_epsilon(epsilon),
            patch=patch,
            off_policy={"base_url": aux_url, "model": aux_model},
            reward=reward,
            gamma=gamma,
            segment=segment,
            eta=eta,
            seed=seed,
        )
        loaded = played.load(DataSource(data, images, image_pattern), goals)
        asked = _Asked(model, tuple(base_url or ()), temperature, max_tokens, concurrency, seed)
        signal = Signal(method.eta)
        work = _play(
            asked, loaded.trajectories, rollout_config(method), method, n, signal, out, show=not (quiet or as_json)
        )
        counts = wait_for(work)
        summary = signal.summary() | counts
        if as_json:
            print_json(summary)
            return
        for line in table_lines(summary):
            print(line)
        for kind, number in counts["dropped"].items():
            print(f"dropped     {number} groups that could not be played ({kind}); the last: {counts['last_failure']}")
        if out is not None:
            print(f"samples     {out}")


def _epsilon(text: str) -> float:
    try:
        return math.inf if text.lower() in ("inf", "-1") else float(int(text))
    except ValueError as error:
        raise UsageError(f"--epsilon is 0, 1, 2, ... or inf, not {text!r}") from error


def _method(**options: Any) -> MethodSettings:
    from pydantic import ValidationError

    from sopbench.runs.shapes import first_fault
    from uis1_train.verl_ext.settings import MethodSettings

    if options["patch"] == "off_policy" and not all(options["off_policy"].values()):
        raise UsageError("--patch off_policy asks an auxiliary model: give --aux-url and --aux-model")
    try:
        return MethodSettings.model_validate(options)
    except ValidationError as error:
        raise UsageError(first_fault(error)) from error


async def _play(
    asked: _Asked,
    trajectories: Any,
    config: RolloutConfig,
    method: MethodSettings,
    n: int,
    signal: Signal,
    out: Path | None,
    *,
    show: bool,
) -> dict[str, Any]:
    """Play everything, into `signal` and `out`. Returns the counters that are not part of the signal."""
    from uis1_train.session import PlayCounts, play_groups

    counts = PlayCounts()
    policy = await _policy(asked)
    handle = out.open("w", encoding="utf-8") if out is not None else None
    try:
        items = _items(trajectories, offline=method.mode == "offline")
        async with aclosing(
            play_groups(items, policy, config, n, concurrency=asked.concurrency, counts=counts)
        ) as groups:
            async for rollouts in groups:
                group = signal.add(rollouts)
                if handle is not None:
                    _write(handle, group)
                if show:
                    _line(group)
    finally:
        if handle is not None:
            handle.close()
        await policy.close()
        await config.patch.close()
    return {"retried": dict(counts.retried), "dropped": dict(counts.dropped), "last_failure": counts.last_failure}


def _items(trajectories: list[Trajectory], *, offline: bool) -> Any:
    from uis1_train.session import GroupItem

    for t in trajectories:
        if not offline:
            yield GroupItem(t.id, t)
            continue
        for step in range(len(t)):
            yield GroupItem(f"{t.id}#{step}", t, step)


async def _policy(asked: _Asked) -> TokenPolicy:
    """Whoever plays: a folder in this process, else what `sopbench run --model` takes."""
    from sopbench.clients import make_policy
    from sopbench.clients.base import Sampling
    from sopbench.runs.config import RunConfig
    from uis1_train.policies.endpoint import EndpointPolicy

    folder = Path(asked.model)
    if not asked.base_urls and (folder / "config.json").is_file():
        from uis1_train.validation.local import local_policy

        return local_policy(
            folder,
            temperature=asked.temperature,
            max_tokens=asked.max_tokens,
            concurrency=asked.concurrency,
            seed=asked.seed,
        )
    sampling = Sampling(temperature=asked.temperature, max_tokens=asked.max_tokens)
    options = RunConfig(
        model=asked.model, base_urls=asked.base_urls, sampling=sampling, seed=asked.seed, concurrency=asked.concurrency
    )
    return EndpointPolicy(await make_policy(options))


def _write(handle: Any, group: Group) -> None:
    from uis1_train.cli.learning_signal import sample_line

    for rollout in group.rollouts:
        for sample in rollout.samples:
            handle.write(json.dumps(sample_line(sample, rollout, kept=group.kept)) + "\n")
    handle.flush()


def _line(group: Group) -> None:
    from sopbench.cli.terminal import safe

    verdict = "kept" if group.kept else "dropped"
    reached = " ".join(f"{r.progress}/{r.of}{'+' * r.patches}" for r in group.rollouts)
    print(
        safe(
            f"{verdict:8} return {group.mean:.3f} +- {group.spread:.3f}  progress (+: patches) {reached}  {group.goal}",
            240,
        ),
        flush=True,
    )
