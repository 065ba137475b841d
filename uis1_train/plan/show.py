"""A plan as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from uis1_train.plan.findings import Finding
from uis1_train.plan.memory import GB
from uis1_train.plan.plan import Plan
from uis1_train.plan.settings import Setting

SAYS = {
    "both": "as the paper",
    "paper": "as the paper; script: {released}",
    "released": "as the authors' script; paper: {paper}",
    "own": "OTHER than paper ({paper}) and script ({released})",
    "untold": "",
}
OWN = "the suite's own"
MARKS = {"impossible": "FAIL", "missing": "miss", "note": "note"}


def lines_of(plan: Plan) -> Iterator[str]:
    """The whole plan, line by line."""
    told = f" with {' '.join(plan.overrides)}" if plan.overrides else ""
    yield f"plan of {plan.name}{told}"
    yield from _settings(plan)
    yield from _batches(plan)
    yield from _tokens(plan)
    yield from _memory(plan)
    yield from _validation(plan)
    yield from _changed(plan)
    yield from _findings(plan)


def value(of: Any) -> str:
    """As it would be written in an override."""
    if of is None:
        return "null"
    if isinstance(of, bool):
        return str(of).lower()
    if isinstance(of, float):
        return f"{of:g}"
    return str(of)


def _settings(plan: Plan) -> Iterator[str]:
    yield ""
    yield "settings (change any with KEY=VALUE)"
    group = ""
    for setting in plan.settings:
        if setting.known.group != group:
            group = setting.known.group
            yield f"  {group}"
        yield f"    {setting.known.label:28} {value(setting.value):>14}  {setting.known.key:58} {_says(setting)}".rstrip()


def _says(setting: Setting) -> str:
    known = setting.known
    paper, released = ("not told" if v is None else value(v) for v in (known.paper, known.released))
    if setting.verdict == "own" and known.paper is None:
        said = f"OTHER than the script ({released}); the paper does not tell"
    elif setting.verdict == "released" and known.paper is None:
        said = "as the authors' script; the paper does not tell"
    else:
        said = SAYS[setting.verdict].format(paper=paper, released=released)
    return said + (f" [{known.values}]" if known.values else "")


def _batches(plan: Plan) -> Iterator[str]:
    b = plan.batches
    yield ""
    yield "a training step"
    yield (
        f"  {b.goals} goals x {b.rollouts} rollouts x {b.steps_a_rollout:.2f} steps = {b.samples:,.0f} samples expected (at {plan.match:.0%} matching steps; --match changes "
        f"the assumption), {b.most:,} at most"
    )
    yield (
        f"  {b.mini_batches} mini-batches of about {b.mini_batch:,.0f} rows; rows are padded to a multiple of {b.multiple} ({b.data_parallel} data-parallel "
        f"ranks) with up to {b.padding_at_most} that weigh nothing"
    )
    yield f"  {b.micro_steps:,.0f} forward and backward passes a GPU and mini-batch"
    yield f"  dropped groups are replaced until {b.goals} are kept, or {b.played_at_most} were played (uis1.max_generated)"
    if b.trajectories is None:
        yield "  steps in all: known when the training data is here"
    else:
        steps = "?" if b.steps is None else f"{b.steps:,}"
        yield f"  {b.trajectories:,} trajectories: {b.steps_an_epoch:,} steps an epoch at least, {steps} in all, {b.mini_batches} optimiser updates each"


def _tokens(plan: Plan) -> Iterator[str]:
    t = plan.tokens
    yield ""
    yield "tokens of one sample"
    told = " (assumed: no screens here to measure)" if t.assumed else ""
    for cost in t.screens:
        yield f"  a screen of {cost.size} is resized to {cost.resized}: {cost.tokens:,} tokens{told}"
    yield f"  {t.images} screens in a prompt: {t.image_tokens:,} of the {t.max_prompt:,} tokens that it may have; {t.max_prompt - t.image_tokens:,} are left for words"
    if t.looked_at:
        yield f"  the longest recording ({t.longest_name}) ends in a prompt of about {t.longest:,} tokens"
    yield f"  prompt {t.max_prompt:,} + response {t.max_response:,} = {t.max_prompt + t.max_response:,} of the servers' {t.max_model_len:,}"


def _memory(plan: Plan) -> Iterator[str]:
    yield ""
    if plan.memory is None or plan.shape is None:
        yield "memory: not estimated"
        return
    m, shape = plan.memory, plan.shape
    yield f"memory of a GPU of {m.capacity / GB:.0f} GB (--gpu-memory), estimated for {shape.parameters:,} parameters ({shape.source})"
    for phase in m.phases:
        yield f"  {phase.name}: {phase.bytes / GB:.1f} GB"
        for part in phase.parts:
            yield f"    {part.name:24} {part.bytes / GB:6.1f}  {part.why}"
    room = plan.tokens.max_prompt + plan.tokens.max_response
    yield f"  the KV cache of a server holds {m.kv_tokens:,} tokens ({m.kv_bytes_a_token:,} bytes each): {m.kv_tokens // room} of the longest samples at once"
    if m.host:
        yield f"  main memory of a node for what is offloaded: {m.host / GB:.0f} GB"


def _validation(plan: Plan) -> Iterator[str]:
    v = plan.validation
    yield ""
    freq = plan.flat["trainer.test_freq"]
    yield (
        f"validation by sopbench every {freq} steps, runs in {v.out}"
        if int(freq) > 0
        else "validation: off (trainer.test_freq)"
    )
    for name, check in v.checks().items():
        some = f"the first {check.limit} trajectories" if check.limit else "all"
        yield f"  {name:8} suite {check.suite}, {some}, profile {check.profile or OWN}" + (
            f", data {check.data}" if check.data else ""
        )
    yield f"  the best checkpoint by SOP: {'not kept' if v.keep_best == 'off' else f'kept ({v.keep_best})'}"


def _changed(plan: Plan) -> Iterator[str]:
    yield ""
    yield f"{len(plan.changed)} settings differ from stock verl"
    for key, (theirs, ours) in plan.changed.items():
        yield f"  {key}: {value(theirs)} -> {value(ours)}"


def _findings(plan: Plan) -> Iterator[str]:
    yield ""
    for finding in plan.findings:
        yield from finding_lines(finding)
    if plan.impossible:
        yield f"this plan is impossible: {len(plan.impossible)} problem(s)"
    elif plan.missing:
        yield f"this plan is sound; {len(plan.missing)} thing(s) that it needs are not on this machine"
    else:
        yield "this plan is sound, and everything that it needs is here"


def finding_lines(finding: Finding) -> Iterator[str]:
    yield f"{MARKS[finding.weight]}  {finding.what}"
    yield f"      -> {finding.fix}"
