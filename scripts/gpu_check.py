"""Does the embedded trainer work on this GPU, and in bfloat16? Rollouts, log-prob agreement, an optimiser step, memory; as a table and as JSON.

`scripts/gpu_check.sh` calls it. Everything that it needs is in the repository: the packaged tiny model and PocketPhone's training split, a few tasks of which
are rendered here. `--device cpu` runs the same on a CPU (the tests do, in float32); its figures say nothing about a GPU.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import torch

    from sopbench.trajectory import Trajectory
    from uis1_train.embedded.learner import PolicyRow
    from uis1_train.embedded.model import LocalModel
    from uis1_train.session import Rollout

NEEDS: Final = ("torch", "torchvision", "transformers", "numpy", "PIL", "pydantic", "yaml", "aiohttp", "pandas")
EXIT_FAILED: Final = 1
EXIT_NO_GPU: Final = 2
LIMITS: Final = {"float32": (1e-3, 1e-2), "bfloat16": (0.05, 1.0)}
"""Mean and largest difference of a token's log-probability between generation and training that passes, by arithmetic. Generation reads keys and values from a
cache, token by token, training reads whole rows: the sums are the same and their order is not. float32 has 24 bits for them, bfloat16 8."""
LR: Final = 1e-4


@dataclass
class Check:
    name: str
    ok: bool
    detail: str


@dataclass
class Found:
    """facts of the machine, figures by arithmetic, and what passed."""

    facts: dict[str, Any]
    figures: dict[str, dict[str, float]] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)

    def check(self, name: str, ok: bool, detail: str) -> None:
        self.checks.append(Check(name, ok, detail))
        print(f"{'ok  ' if ok else 'FAIL'}  {name}: {detail}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"gpu_check: this Python ({sys.executable}) has no {', '.join(missing)}; nothing was checked",
            file=sys.stderr,
        )
        return EXIT_NO_GPU
    import torch

    if options.device == "cuda" and not torch.cuda.is_available():
        print(f"gpu_check: torch {torch.__version__} sees no GPU on this machine; nothing was checked", file=sys.stderr)
        return EXIT_NO_GPU
    if options.model is None:
        from sopbench.clients.tiny import packaged_folder

        options.model = packaged_folder()
    from sopbench.errors import SopbenchError

    try:
        return _run(options)
    except SopbenchError as error:
        print(f"gpu_check: {error}", file=sys.stderr)
        return EXIT_FAILED


def _run(options: argparse.Namespace) -> int:
    began = time.perf_counter()
    found = Found(_facts(options.device, options.model))
    with tempfile.TemporaryDirectory() as folder:
        goals = _goals(Path(folder), options.goals)
        for dtype in options.dtypes:
            _examine(options, dtype, goals, found)
    if {"float32", "bfloat16"} <= set(found.figures):
        same = _same_greedy(options, found)
        found.figures["bfloat16"]["greedy replies equal to float32, %"] = same
    found.facts["seconds"] = round(time.perf_counter() - began, 1)
    table = as_table(found)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "gpu_check.json").write_text(json.dumps(asdict(found) | {"ok": found.ok}, indent=1) + "\n")
    (options.out / "gpu_check.md").write_text(table)
    print(f"\n{table}\nwritten to {options.out}")
    return 0 if found.ok else EXIT_FAILED


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/gpu-check"), help="folder for the table and the JSON")
    parser.add_argument("--model", type=Path, default=None, help="folder of the model (default: the packaged one)")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"], choices=tuple(LIMITS))
    parser.add_argument("--goals", type=int, default=16, help="groups of rollouts")
    parser.add_argument("--rollouts", type=int, default=8, help="rollouts of each group")
    parser.add_argument("--max-reply", type=int, default=128, help="tokens of a reply")
    return parser.parse_args(argv)


def _facts(device: str, model: Path) -> dict[str, Any]:
    import torch
    import transformers

    facts: dict[str, Any] = {
        "device": device,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
        "model": model.name,
    }
    if device == "cuda":
        facts |= {
            "gpu": torch.cuda.get_device_name(),
            "cuda": torch.version.cuda,
            "capability": ".".join(map(str, torch.cuda.get_device_capability())),
            "memory_gb": round(torch.cuda.get_device_properties(0).total_memory / 1e9, 1),
        }
    return facts


def _goals(folder: Path, count: int) -> Sequence[Trajectory]:
    """The first tasks of the training split, rendered."""
    from emulator.pocket.export import export
    from emulator.pocket.tasks import load_split
    from sopbench.trajectory import load_trajectories, screens_in

    export(load_split("train", 1, "large")[:count], "train", folder / "goals")
    return load_trajectories(folder / "goals" / "trajectories.jsonl", screens_in(folder / "goals" / "screens"))


class Bench:
    """One model in one arithmetic, with who plays and who learns."""

    def __init__(self, options: argparse.Namespace, dtype: str) -> None:
        from uis1_train.embedded.config import LearnerSettings
        from uis1_train.embedded.decoding import Decoder
        from uis1_train.embedded.featurize import Featurizer
        from uis1_train.embedded.learner import Learner
        from uis1_train.embedded.model import load_model
        from uis1_train.policies.local import LocalPolicy

        self.model: LocalModel = load_model(options.model, device=options.device, dtype=dtype)
        featurizer = Featurizer(self.model, max_prompt=self.model.context, max_images=2)
        self.decoder = Decoder(self.model, featurizer)
        batch = options.goals * options.rollouts
        self.policy = LocalPolicy(self.decoder, temperature=1.0, max_tokens=options.max_reply, max_batch=batch)
        settings = LearnerSettings(lr=LR, kl_coefficient=0.0)
        self.learner = Learner(self.model, featurizer, settings)


def _examine(options: argparse.Namespace, dtype: str, goals: Sequence[Trajectory], found: Found) -> None:
    """Rollouts, agreement, one optimiser step, each with its time and its peak of memory."""
    import torch

    figures = found.figures.setdefault(dtype, {})
    bench = Bench(options, dtype)
    try:
        meter = _Meter(options.device)
        groups = asyncio.run(_play(bench, goals, options.rollouts))
        samples = [s for group in groups for rollout in group for s in rollout.samples]
        figures["parameters, M"] = sum(p.numel() for p in bench.model.module.parameters()) / 1e6
        figures["rollouts"] = sum(map(len, groups))
        figures["steps"] = len(samples)
        figures["rollout, s"], figures["rollout, peak GB"] = meter.read()
        figures["tokens/s generated"] = bench.policy.counts.tokens / max(bench.policy.counts.seconds, 1e-9)
        figures["reward"] = sum(s.reward.total for s in samples) / max(1, len(samples))
        rows, made_up = _rows(groups)
        found.check(f"{dtype}: rollouts", len(samples) > 0, f"{figures['rollouts']:.0f} rollouts, {len(samples)} steps")

        meter = _Meter(options.device)
        trained = torch.cat(bench.learner.log_probs(bench.model, [row.row for row in rows])).float().cpu()
        figures["log-probs, s"], _ = meter.read()
        drawn = torch.tensor([p for row in rows for p in row.old])
        _agreement(dtype, drawn, trained, figures, found)

        before = [p.detach().clone() for p in bench.learner.parameters]
        meter = _Meter(options.device)
        measures = bench.learner.improve(rows)
        figures["optimiser step, s"], figures["optimiser step, peak GB"] = meter.read()
        _stepped(dtype, bench, rows, trained, before, measures, figures, found, made_up=made_up)
    finally:
        asyncio.run(bench.policy.close())


def _agreement(dtype: str, drawn: torch.Tensor, trained: torch.Tensor, figures: dict[str, float], found: Found) -> None:
    """Of every generated token: its log-probability when it was drawn against that of the training pass."""
    gap = (drawn - trained).abs()
    ratio = (trained - drawn).exp()
    figures["log-prob gap, mean"], figures["log-prob gap, largest"] = gap.mean().item(), gap.max().item()
    figures["importance ratio, min"], figures["importance ratio, max"] = ratio.min().item(), ratio.max().item()
    mean, most = LIMITS[dtype]
    detail = f"mean {gap.mean():.2e} (at most {mean:g}), largest {gap.max():.2e} (at most {most:g}), {len(gap)} tokens"
    ok = bool(gap.isfinite().all()) and gap.mean().item() <= mean and gap.max().item() <= most
    found.check(f"{dtype}: generation and training agree", ok, detail)


def _stepped(
    dtype: str,
    bench: Bench,
    rows: Sequence[PolicyRow],
    trained: torch.Tensor,
    before: Sequence[torch.Tensor],
    measures: dict[str, float],
    figures: dict[str, float],
    found: Found,
    *,
    made_up: bool,
) -> None:
    """The weights moved, by finite gradients, and what was better than its group became likelier."""
    import torch

    moved = sum(not torch.equal(a, b.detach()) for a, b in zip(before, bench.learner.parameters, strict=True))
    norm = measures["actor/grad_norm"]
    figures["gradient norm"] = norm
    found.check(
        f"{dtype}: optimiser step",
        moved == len(before) and measures["actor/skipped"] == 0 and norm > 0,
        f"{moved} of {len(before)} tensors moved, gradient norm {norm:.3g}",
    )
    after = torch.cat(bench.learner.log_probs(bench.model, [row.row for row in rows])).float().cpu()
    weight = torch.cat([torch.full((len(row.row.taught),), row.advantage) for row in rows])
    gain = (weight * (after - trained)).mean().item()
    figures["advantage x change of log-prob"] = gain
    how = "advantages made up: no two rollouts differed in reward" if made_up else "advantages of the method"
    found.check(f"{dtype}: the step goes where the advantages point", gain > 0, f"{gain:.3g} ({how})")


async def _play(bench: Bench, goals: Sequence[Trajectory], rollouts: int) -> list[list[Rollout]]:
    from uis1_train.session import GroupItem, play_groups
    from uis1_train.verl_ext.settings import MethodSettings, rollout_config

    config = rollout_config(MethodSettings(adapter="tiny", profile="strict", images=1))
    items = [GroupItem(t.id, t) for t in goals]
    playing = play_groups(items, bench.policy, config, rollouts, concurrency=rollouts * len(items))
    async with aclosing(playing) as groups:
        return [group async for group in groups]


def _rows(groups: Sequence[Sequence[Rollout]]) -> tuple[list[PolicyRow], bool]:
    """Steps with the method's advantages; where these are all nothing (a model that knows nothing), made-up ones, and True."""
    from uis1_train.embedded.rl import policy_row, row_facts
    from uis1_train.verl_ext.settings import MethodSettings
    from uis1_train.verl_ext.signal import Rows, advantages

    samples = [(rollout, sample) for group in groups for rollout in group for sample in rollout.samples]
    rows = Rows.of([row_facts(rollout, sample) for rollout, sample in samples], [False] * len(samples))
    weights = advantages(rows, MethodSettings()).tolist()
    made_up = not any(weights)
    if made_up:
        weights = [1.0 if rollout.rollout % 2 else -1.0 for rollout, _ in samples]
    return [policy_row(sample, weight) for (_, sample), weight in zip(samples, weights, strict=True)], made_up


def _same_greedy(options: argparse.Namespace, found: Found) -> float:
    """Percent of first steps that are answered alike, greedily, in both arithmetics, by the weights as they were before any step."""
    from sopbench.adapters import get_adapter
    from sopbench.adapters.base import Turn
    from uis1_train.embedded.decoding import Draw

    replies = []
    with tempfile.TemporaryDirectory() as folder:
        goals = _goals(Path(folder), options.goals)
        messages = [get_adapter("tiny").render(t.goal, [Turn(t.steps[0].screen)], 1) for t in goals]
        for dtype in ("float32", "bfloat16"):
            bench = Bench(options, dtype)
            prompts = [bench.decoder.featurizer.prompt(m) for m in messages]
            draws = [Draw(0.0, options.max_reply)] * len(prompts)
            replies.append([d.text for d in bench.decoder.decode(prompts, draws)])
            asyncio.run(bench.policy.close())
    return 100.0 * sum(a == b for a, b in zip(*replies, strict=True)) / len(goals)


class _Meter:
    """Seconds since it was made, and the peak of the GPU's memory in GB (0 on a CPU)."""

    def __init__(self, device: str) -> None:
        import torch

        self.cuda = torch.cuda if device == "cuda" else None
        if self.cuda is not None:
            self.cuda.synchronize()
            self.cuda.reset_peak_memory_stats()
        self.began = time.perf_counter()

    def read(self) -> tuple[float, float]:
        if self.cuda is None:
            return time.perf_counter() - self.began, 0.0
        self.cuda.synchronize()
        return time.perf_counter() - self.began, self.cuda.max_memory_allocated() / 1e9


def as_table(found: Found) -> str:
    """The figures as a Markdown table, one column an arithmetic, with the machine above and the checks below."""
    kinds = list(found.figures)
    names = list(dict.fromkeys(name for kind in kinds for name in found.figures[kind]))
    facts = ", ".join(f"{name} {value}" for name, value in found.facts.items())
    lines = [facts, "", f"| figure | {' | '.join(kinds)} |", f"|---|{'---|' * len(kinds)}"]
    for name in names:
        cells = [f"{found.figures[k][name]:.4g}" if name in found.figures[k] else "" for k in kinds]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", *(f"- {'passed' if c.ok else 'FAILED'}: {c.name} ({c.detail})" for c in found.checks)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
