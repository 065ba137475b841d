"""`docs/study.md` and its plots, from the study's own results: no figure is typed by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from uis1_train.tiny.measuring import mean_interval
from uis1_train.tiny.rl import METHODS

if TYPE_CHECKING:
    from uis1_train.tiny.study import Plan

NAMES: Final = {
    "start": "start (under-trained SFT)",
    "offline": "offline RL",
    "semi0": "semi-online RL, epsilon 0",
    "semi1": "semi-online RL, epsilon 1",
    "sft": "SFT to its end",
    "whole-offline": "SFT to its end, then offline RL (one seed)",
    "whole-semi1": "SFT to its end, then semi-online RL, epsilon 1 (one seed)",
}
COLOURS: Final = {"offline": "#8a8a8a", "semi0": "#2b6cb0", "semi1": "#c05621"}
SPLITS: Final = {"test": "held-out parameters", "heldout": "held-out templates"}
MEASURES: Final = {"progress": "PG", "success": "TSR", "static": "static", "online": "live phone"}


def tell(out: Path, plan: Plan, docs: Path = Path("docs")) -> None:
    """Write `docs/study.md` and `docs/images/study-*.svg`."""
    from uis1_train.tiny.study import AFTERWARDS, SEEDS

    runs = {m: [f"{m}-{s}" for s in SEEDS] for m in METHODS} | {"start": ["start"], "sft": ["sft"]}
    runs |= {f"whole-{m}": [f"whole-{m}"] for m in AFTERWARDS}
    measured = {
        name: json.loads((out / f"{name}.measured.json").read_text()) for names in runs.values() for name in names
    }
    curves = {name: _lines(out / "rl" / name / "curve.jsonl") for m in METHODS for name in runs[m]}
    checks = {name: _lines(out / "rl" / name / "checks.jsonl") for m in METHODS for name in runs[m]}
    images = docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    _plots(images, {m: runs[m] for m in METHODS}, curves, checks, out)
    (docs / "study.md").write_text(_page(out, plan, runs, measured, curves, checks))


CARD: Final = """# sopbench's tiny model

A Qwen2.5-VL of {parameters:.1f}M parameters (weights in float16) with a tokenizer of its own. It operates PocketPhone, sopbench's simulated phone, on the display `large` (504x1092), from pixels, in the
language of adapter `tiny`. It knows nothing else: it is there to try the harness, its servers and the trainer with something real that fits on any machine.

Trained from random weights on two CPU cores, on expert recordings of PocketPhone's training split only (119 templates, 40 seeds each, 12 of them once more with detours): {eyes:g} minutes for the
vision tower, {hands:g} minutes for the rest, with dense losses from the UI tree that exist in training only{more}. No other data, no other model.

```
python -m uis1_train.tiny study --out DIR       # the study makes these weights; docs/study.md
```

Greedy, profile `strict`, 95% intervals (bootstrap over tasks), measured by the same command:

| | tasks | PG | TSR | static | live phone |
|---|---|---|---|---|---|
{rows}

Recordings of training seeds are no part of these. Licence: as sopbench's.
"""


def best(out: Path) -> str:
    """What ships: `sft`, or RL from its end where that is better on validation (TSR, then PG)."""
    found: dict[str, tuple[float, float]] = {}
    for folder in sorted((out / "rl").glob("whole-*")):
        lines = _lines(folder / "checks.jsonl")
        found.setdefault("sft", (lines[0]["tsr"], lines[0]["pg"]))
        found[folder.name] = (lines[-1]["tsr"], lines[-1]["pg"])
    return max(found, key=lambda name: found[name]) if found else "sft"


def ship(out: Path, where: Path) -> None:
    """Put the best model with its card where the package has it."""
    import shutil

    from uis1_train.tiny.folder import load_folder, parameters

    name = best(out)
    source, more = out / "sft" / "final", ""
    if name != "sft":
        source = out / "rl" / name / "final"
        done = json.loads((out / "rl" / name / "done.json").read_text())
        more = f"; then {done['sampled']:,} sampled replies of {NAMES[done['method']]} on training goals"
    measured = json.loads((out / f"{name}.measured.json").read_text())
    recipe = json.loads((out / "sft" / "recipe.json").read_text())
    rows = []
    for split, words in SPLITS.items():
        cells = []
        for what in MEASURES:
            mean, low, high = mean_interval([measured[split][what]])
            cells.append(f"{mean:.1f} [{low:.1f}, {high:.1f}]")
        rows.append(f"| {words} | {len(measured[split]['ids'])} | " + " | ".join(cells) + " |")
    where.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        shutil.copyfile(file, where / file.name)
    count = parameters(load_folder(where)[0]) / 1e6
    card = CARD.format(
        parameters=count,
        eyes=recipe["eye_minutes"],
        hands=recipe["hand_minutes"],
        more=more,
        rows="\n".join(rows),
    )
    (where / "README.md").write_text(card)


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def _rows(measured: Mapping[str, Any], names: Sequence[str], split: str, what: str) -> list[list[float]]:
    return [measured[name][split][what] for name in names]


def difference(
    a: Sequence[Sequence[float]], b: Sequence[Sequence[float]], resamples: int = 2000
) -> tuple[float, float, float]:
    """Mean of a minus b on the same tasks, in percent, with a 95% interval that resamples tasks once for both, and runs on each side."""
    first, second = np.array(a, dtype=np.float64), np.array(b, dtype=np.float64)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(resamples):
        tasks = rng.integers(0, first.shape[1], first.shape[1])
        left = first[rng.integers(0, len(first), len(first))][:, tasks].mean()
        found.append(left - second[rng.integers(0, len(second), len(second))][:, tasks].mean())
    low, high = np.quantile(found, (0.025, 0.975))
    return 100 * float(first.mean() - second.mean()), 100 * float(low), 100 * float(high)


def _page(
    out: Path,
    plan: Plan,
    runs: Mapping[str, Sequence[str]],
    measured: Mapping[str, Any],
    curves: Mapping[str, Any],
    checks: Mapping[str, Any],
) -> str:
    from uis1_train.tiny.study import described

    start = json.loads((out / "start.json").read_text())
    recipe = json.loads((out / "sft" / "recipe.json").read_text())
    settings = described(plan)["rl"]
    train = start["train_sop"][start["chosen"]]
    text = [
        "# The tiny study",
        "",
        "Does semi-online RL teach a model more than offline RL at equal experience? Asked of a Qwen2.5-VL of a few million parameters that operates PocketPhone (a simulation)",
        "from pixels, trained on two CPU cores. This page and its plots are written by the command below from its own results, whatever comes out.",
        "",
        "```",
        "python -m uis1_train.tiny study --out DIR        # make study; resumable, what is done is not done again",
        "```",
        "",
        "## What was done",
        "",
        f"1. SFT from random weights: {recipe['eye_minutes']:g} minutes for the vision tower, {recipe['hand_minutes']:g} minutes for the rest, {recipe['processes']} processes of one thread, on expert",
        "   recordings of PocketPhone's training split (display `large`), with dense losses from the UI tree that exist in training only. It ends as the model that ships with sopbench.",
        f"2. RL starts from a checkpoint on the way, `{start['chosen']}`: the kept one whose SOP TSR on training goals is nearest 30 (it has TSR {train['tsr']:.1f}, PG {train['pg']:.1f} there), so that there is headroom.",
        f"3. Three methods, three seeds each, {plan.rl_steps:,} sampled replies a run, no dense loss and no expert token: offline (single steps, expert's history), semi-online with no patch, semi-online",
        f"   with one thought-free patch a rollout. {settings['rollouts']} rollouts a goal, gamma {settings['gamma']:g}, eta {settings['eta']:g}, reward `paper`, `mean_std_norm`, clip {settings['clip_low']:g}/{settings['clip_high']:g}, no KL term, AdamW {settings['rate']:g}, mini-batches of",
        f"   {settings['mini']} replies, temperature {settings['temperature']:g}; of each of the training templates {plan.per_template} goal(s). The vision tower stays as SFT left it.",
        "4. For comparison, SFT to its end and RL from there with one seed; what is best on validation ships with sopbench.",
        "5. Measured greedily with profile `strict`: semi-online protocol (PG, TSR), static accuracy (each step with the expert's history, mean over recordings), and success on the live phone.",
        "",
        "## Results",
        "",
        "Percent, with 95% intervals over seeds and tasks (bootstrap).",
        "",
    ]
    clear: list[str] = []
    for split, words in SPLITS.items():
        count = len(measured["start"][split]["ids"])
        text += [
            f"### {words.capitalize()} ({count} tasks)",
            "",
            "| | PG | TSR | static | live phone |",
            "|---|---|---|---|---|",
        ]
        for kind in ("start", *METHODS, "sft", *(name for name in runs if name.startswith("whole-"))):
            cells = []
            for what in MEASURES:
                mean, low, high = mean_interval(_rows(measured, runs[kind], split, what))
                cells.append(f"{mean:.1f} [{low:.1f}, {high:.1f}]")
            text.append(f"| {NAMES[kind]} | " + " | ".join(cells) + " |")
        text += [
            "",
            "Differences on the same tasks, 95% intervals:",
            "",
            "| | PG | TSR | static | live phone |",
            "|---|---|---|---|---|",
        ]
        for a, b in (
            ("offline", "start"),
            ("semi0", "start"),
            ("semi1", "start"),
            ("semi0", "offline"),
            ("semi1", "offline"),
            ("semi1", "semi0"),
        ):
            cells = []
            for what in MEASURES:
                mean, low, high = difference(
                    _rows(measured, runs[a], split, what), _rows(measured, runs[b], split, what)
                )
                cells.append(f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]")
                if low > 0 or high < 0:
                    clear.append(f"- {words}, {MEASURES[what]}: {NAMES[a]} minus {NAMES[b]} {cells[-1]}")
            text.append(f"| {NAMES[a]} minus {NAMES[b]} | " + " | ".join(cells) + " |")
        text.append("")
    text += [f"The model that ships is: {NAMES[best(out)]}.", ""]
    text += ["Differences between methods, or to the start, whose interval leaves out 0:", ""]
    text += clear or ["- none"]
    text.append("")
    text += [
        "### Each run",
        "",
        "| run | replies | updates | minutes | reward, first and last tenth | entropy, first and last tenth | TSR on validation, start and end |",
        "|---|---|---|---|---|---|---|",
    ]
    for method in METHODS:
        for name in runs[method]:
            done = json.loads((out / "rl" / name / "done.json").read_text())
            tenth = max(1, len(curves[name]) // 10)
            rewards = [line["reward"] for line in curves[name]]
            disorder = [line["entropy"] for line in curves[name] if "entropy" in line]
            side = max(1, len(disorder) // 10)
            text.append(
                f"| {name} | {done['sampled']:,} | {done['updates']} | {done['minutes']:.1f} | {np.mean(rewards[:tenth]):.3f}, {np.mean(rewards[-tenth:]):.3f} | "
                f"{np.mean(disorder[:side]):.3f}, {np.mean(disorder[-side:]):.3f} | {checks[name][0]['tsr']:.1f}, {checks[name][-1]['tsr']:.1f} |"
            )
    text += [
        "",
        "Budgets are equal in replies, not in updates: equal replies to equal prompts are learnt from once, and groups that agree are dropped. Rewards of different methods are not",
        "comparable: offline RL sees every step of a recording alike, semi-online RL mostly those before the first mistake.",
        "",
        "![Reward on training goals](images/study-reward.svg)",
        "![SOP TSR on validation](images/study-tsr.svg)",
        "![Entropy](images/study-entropy.svg)",
        "![SFT](images/study-sft.svg)",
        "",
    ]
    notes = out / "notes.md"
    if notes.exists():
        text += ["## Notes on this run", "", notes.read_text().strip(), ""]
    return "\n".join(text)


def _plots(
    images: Path, runs: Mapping[str, Sequence[str]], curves: Mapping[str, Any], checks: Mapping[str, Any], out: Path
) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "study"
    from matplotlib import pyplot

    for key, title, source, smooth in (
        ("reward", "reward of sampled steps on training goals, mean of 15 batches", curves, 15),
        ("entropy", "entropy of a token (nats), mean of 5 batches", curves, 5),
        ("tsr", "SOP TSR on validation (119 tasks)", checks, 1),
    ):
        figure, axes = pyplot.subplots(figsize=(6.4, 3.6))
        for method, names in runs.items():
            for number, name in enumerate(names):
                points = [(line["steps"], line[key]) for line in source[name] if key in line]
                x, y = (np.array(column, dtype=float) for column in zip(*points, strict=True))
                width = min(smooth, len(y))
                y = np.convolve(y, np.ones(width) / width, "valid")
                axes.plot(
                    x[width - 1 :],
                    y,
                    color=COLOURS[method],
                    lw=1.2,
                    alpha=0.8,
                    label=NAMES[method] if number == 0 else None,
                )
        axes.set(xlabel="sampled replies", title=title)
        axes.legend(frameon=False, fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        figure.tight_layout()
        figure.savefig(images / f"study-{key}.svg", metadata={"Date": None})
        pyplot.close(figure)
    figure, axes = pyplot.subplots(figsize=(6.4, 3.6))
    lines = _lines(out / "sft" / "checks.jsonl")
    shares = [100.0 if line["at"] == "final" else 100 * float(line["at"]) for line in lines]
    axes.plot(shares, [line["sop"]["tsr"] for line in lines], color="#2b6cb0", marker="o", ms=3, label="SOP TSR")
    axes.plot(shares, [line["sop"]["pg"] for line in lines], color="#2b6cb0", ls="--", marker="o", ms=3, label="SOP PG")
    axes.plot(
        shares,
        [line["static"]["all"] for line in lines],
        color="#8a8a8a",
        marker="o",
        ms=3,
        label="static accuracy of steps",
    )
    axes.set(xlabel="percent of the second stage's time", title="SFT, on validation (119 tasks)", ylim=(0, 100))
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(images / "study-sft.svg", metadata={"Date": None})
    pyplot.close(figure)
