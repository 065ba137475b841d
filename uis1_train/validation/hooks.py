"""What the trainer calls: evaluate the current weights with sopbench, whoever holds them.

`validate_addresses` asks live servers (the rollout servers of a GPU run), `validate_policy` a policy in this process, `validate_checkpoint` whatever is on
disk. Each leaves ordinary run folders in `<out>/step-000120/` and returns scalars for the tracker. None of them raises because an evaluation went wrong:
that is `val/failed` 1 and a log line with the cause, and training goes on.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sopbench import api
from sopbench.clients.base import Policy, Sampling
from sopbench.files import write_json
from sopbench.runs.config import RunConfig
from sopbench.waiting import wait_for
from uis1_train.policies.base import TokenPolicy
from uis1_train.validation.asking import AskedTokenPolicy
from uis1_train.validation.scalars import scalars_of
from uis1_train.validation.settings import POCKET, SuiteCheck, ValidationSettings

log = logging.getLogger("uis1_train.validation")

RECORD = "validation.json"

Change = Callable[[RunConfig], RunConfig]


@dataclass(slots=True)
class Validation:
    """What came of one step's evaluation. `scalars` go to the tracker as they are; `failures` say why a suite has no result."""

    step: int
    folder: Path
    scalars: dict[str, float] = field(default_factory=dict)
    runs: dict[str, Path] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For validation.json; runs are named relative to its folder."""
        return {
            "v": 1,
            "step": self.step,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "scalars": self.scalars,
            "runs": {name: path.name for name, path in self.runs.items()},
            "failures": self.failures,
        }


def validate_addresses(addresses: Sequence[str], settings: ValidationSettings, step: int) -> Validation:
    """Evaluate what OpenAI-compatible servers serve; `addresses` as verl lists them (`10.0.0.7:4711`) or with a scheme.

    The model's name is `settings.model`, else what the first server says that it serves.
    """
    return _validate(settings, step, lambda: _asking_servers(addresses, settings))


def validate_policy(policy: Policy | TokenPolicy, settings: ValidationSettings, step: int) -> Validation:
    """Evaluate a policy in this process, which stays open. It samples as it was made: give one that is greedy.

    A trainer's `TokenPolicy` is recorded under the name `settings.model`, or `policy`, with the step behind it.
    """
    asked: Policy
    if isinstance(policy, TokenPolicy):
        sampling = Sampling(temperature=settings.temperature, top_k=settings.top_k, max_tokens=settings.max_tokens)
        asked = AskedTokenPolicy(policy, f"{settings.model or 'policy'}@{step_name(step)}", sampling)
    else:
        asked = policy
    return _validate(settings, step, lambda: (lambda config: config, asked))


def validate_checkpoint(path: Path, settings: ValidationSettings, step: int) -> Validation:
    """Evaluate a checkpoint on disk: a transformers folder, or one of the trainer's, which is merged into a temporary folder first.

    An evaluation of the same files that was interrupted is continued.
    """
    from uis1_train.validation.checkpoints import answering

    try:
        with answering(path, settings, step) as (change, policy, folder):
            return _validate(settings, step, lambda: (change, policy), folder)
    except Exception as error:  # noqa: BLE001  # the boundary: whatever a damaged checkpoint or a server that does not start raises must not end training
        return _failed_before(settings, step, error)


def _validate(
    settings: ValidationSettings, step: int, who: Callable[[], tuple[Change, Policy | None]], folder: Path | None = None
) -> Validation:
    """Run every suite; `folder`: where an earlier evaluation of the same weights is to be continued (None: a new one)."""
    started = time.monotonic()
    result = Validation(step, folder or new_folder(settings.out, step))
    try:
        result.folder.mkdir(parents=True, exist_ok=True)
        change, policy = who()
    except Exception as error:  # noqa: BLE001  # the boundary: see validate_checkpoint
        return _failed_before(settings, step, error)
    for name, check in settings.checks().items():
        _one_suite(result, name, change(config_of(check, settings, result.folder / name)), policy, settings.time_limit)
    result.scalars |= {"val/failed": float(bool(result.failures)), "val/seconds": round(time.monotonic() - started, 2)}
    with suppress(OSError):  # a full disk: the scalars are returned all the same
        write_json(result.folder / RECORD, result.as_json())
    log.info("validation at step %d: %s", step, json.dumps(result.scalars))
    return result


def _one_suite(result: Validation, name: str, config: RunConfig, policy: Policy | None, time_limit: float) -> None:
    assert config.out is not None
    try:
        run = wait_for(_within(config, policy, time_limit))
        summary = run.summary
        result.runs[name] = run.path
        result.scalars |= scalars_of(name, summary)
        if not summary["complete"]:
            result.failures[name] = f"not all was scored: {_reasons(summary)} (run {run.path})"
    except TimeoutError:
        result.failures[name] = (
            f"not done after {time_limit:g} s (validation.time_limit); what it scored is in {config.out}"
        )
    except Exception as error:  # the boundary: an evaluation that fails is reported, training goes on
        result.failures[name] = f"{type(error).__name__}: {error}"
        log.debug("validation %s at step %d", name, result.step, exc_info=True)
    if name in result.failures:
        log.error("validation %s at step %d failed: %s", name, result.step, result.failures[name])


async def _within(config: RunConfig, policy: Policy | None, seconds: float) -> api.Run:
    async with asyncio.timeout(seconds):
        return await api.arun(config, policy=policy)


def _failed_before(settings: ValidationSettings, step: int, error: Exception) -> Validation:
    cause = f"{type(error).__name__}: {error}"
    log.error("validation at step %d failed before any suite was played: %s", step, cause)
    log.debug("validation at step %d", step, exc_info=error)
    return Validation(step, settings.out, {"val/failed": 1.0}, failures=dict.fromkeys(settings.checks(), cause))


def config_of(check: SuiteCheck, settings: ValidationSettings, out: Path) -> RunConfig:
    """The run that `sopbench run` would make of one suite with these settings."""
    data, images = check.data, check.images
    if data == POCKET:
        from sopbench.suites.pocket import pocket_data

        data, images = pocket_data() / "trajectories.jsonl", pocket_data() / "screens"
    return RunConfig(
        suite=check.suite,
        adapter=settings.adapter,
        prompts=settings.prompts,
        profile=check.profile,
        data=Path(data) if data is not None else None,
        images=images,
        image_pattern=check.image_pattern,
        out=out,
        limit=check.limit,
        seed=settings.seed,
        repeats=check.repeats,
        history_images=settings.history_images,
        sampling=Sampling(temperature=settings.temperature, top_k=settings.top_k, max_tokens=settings.max_tokens),
        concurrency=settings.concurrency,
        attempt_timeout=settings.request_timeout,
        deadline=settings.request_deadline,
    )


def step_name(step: int) -> str:
    return f"step-{step:06}"


def new_folder(out: Path, step: int) -> Path:
    """`<out>/step-000120`, or with `.2`, `.3` behind it: a step that is trained again (after a crash) has other weights, and its runs are other runs."""
    folder, again = out / step_name(step), 1
    while folder.exists():
        again += 1
        folder = out / f"{step_name(step)}.{again}"
    return folder


def _asking_servers(addresses: Sequence[str], settings: ValidationSettings) -> tuple[Change, None]:
    from dataclasses import replace

    from sopbench.clients.keys import api_key_from_environment
    from sopbench.clients.served import only_model
    from sopbench.clients.urls import normalise_base_urls
    from sopbench.errors import UsageError

    if not addresses:
        raise UsageError("there are no rollout servers to ask: validation has nobody to evaluate")
    urls = normalise_base_urls([a if "://" in a else f"http://{a}" for a in addresses])
    model = settings.model or wait_for(only_model(urls[0], api_key=api_key_from_environment()))
    return (lambda config: replace(config, model=model, base_urls=urls)), None


def _reasons(summary: Mapping[str, Any]) -> str:
    counts = summary.get("not_scored_reasons") or {}
    told = ", ".join(f"{reason} {n}x" for reason, n in counts.items()) or "unknown"
    stopped = summary.get("stopped")
    return f"{told}; stopped early: {stopped['detail']}" if stopped else told
