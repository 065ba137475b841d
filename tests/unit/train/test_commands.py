"""The command line where there is no torch: help, rollouts, watching, ablations, and errors that say what to do."""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.unit.train.commands import Call
from uis1_train.cli.ablate import VALUES, grid

HERE = Path(__file__).parent
VERBS = ("run", "sft", "rollout", "merge", "watch", "ablate", "doctor")
without_torch = pytest.mark.skipif(find_spec("torch") is not None, reason="says what happens where there is no torch")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return Call(monkeypatch, capsys)


def test_help_imports_nothing_heavy() -> None:
    script = "import sys; from uis1_train.cli import build; build(); print([m for m in ('torch', 'ray', 'verl', 'transformers', 'pandas', 'pydantic', 'numpy') if m in sys.modules])"

    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_teaches_by_example(call: Call, verb: str) -> None:
    done = call(verb, "--help")

    assert done.status == 0
    assert f"uis1-train {verb}" in done.out
    assert "Examples:" in done.out


def test_a_rollout_shows_the_learning_signal_and_keeps_the_samples(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "samples.jsonl"

    done = call(
        "rollout",
        "--model",
        "builtin:noisy:p=0.3",
        "--goals",
        3,
        "-n",
        4,
        "--prompts",
        "builtin",
        "--out",
        out,
        "--json",
    )

    assert done.status == 0
    summary = json.loads(done.out)
    samples = [json.loads(line) for line in out.read_text().splitlines()]
    assert (summary["groups"], summary["rollouts"], summary["samples"]) == (3, 12, len(samples))
    assert summary["reward"]["total"] == pytest.approx(
        math.fsum(s["reward"]["total"] for s in samples) / len(samples), abs=1e-4
    )
    assert summary["patches"] == sum(s["patch"] is not None for s in samples) > 0
    assert summary["samples_kept"] == sum(s["kept"] for s in samples)
    for sample in samples:
        assert sample["match"] is sample["record"]["verdict"]["match"]
        assert sample["patch"] is None or not sample["match"]


def test_an_oracle_earns_everything_and_its_groups_say_nothing(call: Call) -> None:
    summary = json.loads(
        call("rollout", "--model", "builtin:oracle", "--goals", 2, "-n", 3, "--prompts", "builtin", "--json").out
    )

    assert summary["success"] == summary["reward"]["total"] == 1.0
    assert (summary["patches"], summary["groups_kept"], summary["group_spread"]) == (0, 0, 0.0)


def test_without_patches_a_rollout_ends_at_its_mismatch(call: Call) -> None:
    def steps(epsilon: str) -> dict[str, Any]:
        done = call(
            "rollout",
            "--model",
            "builtin:null",
            "--goals",
            2,
            "-n",
            1,
            "--epsilon",
            epsilon,
            "--prompts",
            "builtin",
            "--json",
        )
        return dict(json.loads(done.out))

    assert steps("0")["samples"] == 2
    assert steps("1")["samples"] == 4
    endless = steps("inf")
    assert endless["patches"] > 2
    assert endless["step_match"] < 0.5


def test_offline_groups_are_single_steps(call: Call) -> None:
    summary = json.loads(
        call(
            "rollout",
            "--model",
            "builtin:oracle",
            "--goals",
            1,
            "-n",
            2,
            "--mode",
            "offline",
            "--prompts",
            "builtin",
            "--json",
        ).out
    )

    assert summary["steps_a_rollout"] == 1.0
    assert summary["groups"] * 2 == summary["samples"]


def test_the_table_for_people_has_the_same_numbers(call: Call) -> None:
    done = call("rollout", "--model", "builtin:noisy", "--goals", 2, "-n", 2, "--prompts", "builtin")

    lines = done.out.splitlines()
    assert sum(line.startswith(("kept", "dropped ")) for line in lines) == 2
    assert any(line.startswith("groups      2, of which") for line in lines)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rollout", "--epsilon", "many"), "--epsilon is 0, 1, 2, ... or inf"),
        (("rollout", "--epsilon", "-3"), "epsilon"),
        (("rollout", "--patch", "off_policy"), "--aux-url and --aux-model"),
        (("rollout", "--suite", "pocket-online"), "no recordings"),
        (("rollout", "--reward", "best"), "reward"),
        (("run", "--json"), "--json belongs to --dry-run"),
        (("merge", "nowhere", "--out", "x", "--precision", "int8"), "bfloat16 or float32"),
        (("merge", "nowhere", "--out", "x", "--check", "some"), "full, files or none"),
        (("watch", "nowhere"), "nowhere is no folder"),
        (("watch", ".", "--suite", "sop", "--static", "androidcontrol-high"), "needs --data"),
        (("watch", ".", "--keep-best", "all"), "keep_best"),
        (("ablate", "--only", "colour", "--embedded", "--config", "x.yaml"), "no ablation is called 'colour'"),
        (("doctor", "--adapter", "nobody"), "nobody"),
    ],
)
def test_mistakes_are_one_line_and_status_2(call: Call, arguments: tuple[str, ...], words: str) -> None:
    done = call(*arguments)

    assert done.status == 2
    assert done.err.startswith("error: ")
    assert words in done.err
    assert "Traceback" not in done.err


@without_torch
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--dry-run"),
        ("sft", "--dry-run"),
        ("run", "--embedded", "--config", "recipe.yaml"),
        ("ablate", "--dry-run"),
        ("merge", ".", "--out", "x"),
    ],
)
def test_without_torch_and_verl_it_says_how_to_install_them(call: Call, arguments: tuple[str, ...]) -> None:
    done = call(*arguments)

    assert done.status == 2
    assert "scripts/setup_train.py" in done.err


@without_torch
def test_doctor_names_what_is_missing(call: Call, tmp_path: Path) -> None:
    done = call("doctor", "--out", tmp_path / "checkpoints", "--json")

    facts = json.loads(done.out)
    assert done.status == 2
    assert not facts["ok"]
    assert {c["name"]: c["detail"] for c in facts["checks"] if c["status"] == "problem"}["torch"] == "not installed"
    assert not (tmp_path / "checkpoints").exists()


def test_watch_evaluates_what_is_there(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "rl" / "global_step_10"
    folder.mkdir(parents=True)
    for name, text in (("config.json", "{}"), ("model.safetensors", "weights"), ("skill", "2")):
        (folder / name).write_text(text)
    (folder.parent / "latest_checkpointed_iteration.txt").write_text("10")
    server = f"{shlex.quote(sys.executable)} {shlex.quote(str(HERE / 'skilled_server.py'))} {{model}} {{name}} {{port}}"
    arguments = (
        "watch",
        folder.parent,
        "--limit",
        4,
        "--prompts",
        "builtin",
        "--serve-command",
        server,
        "--once",
        "--static",
        "androidcontrol-high",
    )

    done = call(*arguments)

    assert done.status == 0
    assert done.out.startswith("step 10  sop/pg")
    assert "sop/tsr 50" in done.out
    assert "static/sr" in done.out
    assert "best so far" in done.out
    [line] = (folder.parent / "watched" / "watch.jsonl").read_text().splitlines()
    assert json.loads(line)["scalars"]["val/sop/tsr"] == 50.0
    assert call(*arguments).out == ""


CURRENT = {
    "gamma": 0.5,
    "epsilon": 1.0,
    "step_weight": 1.0,
    "eta": 0.3,
    "patch": "thought_free",
    "images": 2,
    "segment": "paper",
    "train_files": "t.jsonl",
}


def test_ablations_differ_in_one_setting_and_share_one_base() -> None:
    runs = {run.name: run.overrides for run in grid(list(VALUES), [], [1], CURRENT, embedded=False)}

    assert runs["gamma-0.9"] == ("uis1.gamma=0.9", "uis1.seed=1")
    assert runs["epsilon-inf"] == ("uis1.epsilon=inf", "uis1.seed=1")
    assert runs["base"] == ("uis1.seed=1",)
    assert len(runs) == sum(len(values) for values in VALUES.values()) - len(VALUES) + 1


def test_the_data_ablation_takes_parts_of_the_training_file_for_every_epsilon() -> None:
    runs = grid(["data"], [100, 200], [1, 2], CURRENT, embedded=False)

    assert len(runs) == 2 * 4 * 2
    assert runs[0].name == "data100-epsilon0-seed1"
    assert runs[0].overrides == ("data.train_files=t.jsonl@100", "uis1.epsilon=0", "uis1.seed=1")
    embedded = grid(["data"], [100], [1], CURRENT, embedded=True)
    assert embedded[1].overrides == ("data.limit=100", "method.epsilon=1", "seed=1")


def test_what_an_ablation_sets_takes_the_place_of_what_was_chosen() -> None:
    [run] = [r for r in grid(["gamma"], [], [1], CURRENT, embedded=False) if r.name == "gamma-0"]

    assert run.over(["uis1.gamma=0.7", "trainer.nnodes=2"], ["trainer.experiment_name=x"]) == [
        "trainer.nnodes=2",
        "trainer.experiment_name=x",
        "uis1.gamma=0",
        "uis1.seed=1",
    ]
