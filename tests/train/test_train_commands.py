"""The command line where torch and verl are: plans of whole runs, what is refused, what is started, checkpoints played in this process."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sopbench.suites.pocket import pocket_data
from tests.unit.train.commands import Call
from uis1_train.plan.settings import TABLE
from uis1_train.validation.hooks import validate_checkpoint
from uis1_train.validation.settings import ValidationSettings


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return Call(monkeypatch, capsys)


def pocket(model: Path, out: Path) -> list[str]:
    """Overrides with which a configuration has all that it needs on this machine."""
    return [
        f"actor_rollout_ref.model.path={model}",
        f"data.train_files={pocket_data() / 'trajectories.jsonl'}",
        f"uis1.screens={pocket_data() / 'screens'}",
        f"trainer.default_local_dir={out}",
    ]


def test_the_papers_run_resolves_without_a_gpu_and_shows_every_setting(call: Call) -> None:
    done = call("run", "--config", "uis1_7b", "--dry-run")

    assert done.status == 0, done.err
    for known in TABLE:
        assert known.key in done.out
    assert "OTHER than paper" not in done.out
    for words in ("8,292,166,656 parameters", "3,354 tokens", "differ from stock verl", "this plan is sound"):
        assert words in done.out


def test_the_released_run_is_as_the_script(call: Call) -> None:
    done = call("run", "--config", "uis1_7b_released", "--dry-run", "--json")

    plan = json.loads(done.out)
    assert plan["possible"]
    assert {s["key"]: s["verdict"] for s in plan["settings"] if s["verdict"] == "own"} == {}
    assert next(s for s in plan["settings"] if s["key"] == "uis1.epsilon")["value"] == 2
    assert plan["changed"]["actor_rollout_ref.actor.use_kl_loss"] == {"verl": False, "ours": True}


def test_a_plan_with_everything_here_counts_steps_and_tokens_from_the_data(
    call: Call, tiny_vl: Path, tmp_path: Path
) -> None:
    done = call("run", "--config", "tiny_cpu", "--dry-run", "--json", *pocket(tiny_vl, tmp_path))

    plan = json.loads(done.out)
    assert [f["what"] for f in plan["findings"] if f["weight"] != "note"] == []
    assert plan["batches"]["trajectories"] > 20
    assert plan["tokens"]["image_tokens"] <= 2 * 32
    assert not plan["tokens"]["assumed"]
    assert plan["memory"] is None


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["data.train_batch_size=3", "trainer.n_gpus_per_node=7"], "data.train_batch_size=7"),
        (["actor_rollout_ref.rollout.max_model_len=4096"], "longer than the servers' context"),
        (["trainer.n_gpus_per_node=1"], "learning needs about"),
        (["actor_rollout_ref.rollout.log_prob_micro_batch_size=4"], "verl refuses the configuration"),
        (["uis1.validation.sop.suite=pockets"], "no suite 'pockets'"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_starts(call: Call, overrides: list[str], words: str) -> None:
    done = call("run", "--config", "uis1_7b", "--dry-run", *overrides)

    assert done.status == 2
    assert words in done.out
    assert "this plan is impossible" in done.out


def test_a_typo_in_a_file_is_not_ignored(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("defaults: [uis1_7b, _self_]\ntrainer: {total_epoch: 2}\n")

    done = call("run", "--config", file, "--dry-run")

    assert done.status == 2
    assert "trainer.total_epoch; did you mean trainer.total_epochs?" in done.err


def test_a_file_of_ones_own_builds_on_ours(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("defaults: [uis1_7b, _self_]\nuis1: {epsilon: .inf}\n")

    plan = json.loads(call("run", "--config", file, "--dry-run", "--json").out)

    assert next(s for s in plan["settings"] if s["key"] == "uis1.epsilon")["verdict"] == "own"


def test_a_run_without_its_files_starts_nothing(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("something was started"))

    done = call("run", "--config", "uis1_7b")

    assert done.status == 2
    assert "nothing was started" in done.err
    assert "the model checkpoints/Qwen2.5-VL-7B-Instruct is not on this machine" in done.err


def started(call: Call, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> tuple[list[str], dict[str, str]]:
    """What this process would have become."""
    became: list[Any] = []

    def become(path: str, words: list[str], environment: dict[str, str]) -> None:
        became.extend([words, environment])
        raise SystemExit(0)

    monkeypatch.setattr(os, "execve", become)
    done = call(*arguments)
    assert became, done.err
    return became[0], became[1]


def test_a_run_becomes_the_trainer_with_what_a_cpu_needs(
    call: Call, monkeypatch: pytest.MonkeyPatch, tiny_vl: Path, tmp_path: Path
) -> None:
    overrides = pocket(tiny_vl, tmp_path)

    words, environment = started(call, monkeypatch, "run", "--config", "tiny_cpu", *overrides)

    assert words[1:] == ["-m", "uis1_train.verl_ext", "tiny_cpu", *overrides]
    assert environment["VERL_PLATFORM"] == "cpu"
    assert environment["PATH"] == os.environ["PATH"]


def test_sft_becomes_torchrun_with_a_process_for_each_gpu(
    call: Call, monkeypatch: pytest.MonkeyPatch, tiny_vl: Path
) -> None:
    data = [f"data.train_files={pocket_data() / 'trajectories.jsonl'}", f"uis1.screens={pocket_data() / 'screens'}"]

    words, _ = started(call, monkeypatch, "sft", f"model.path={tiny_vl}", "trainer.n_gpus_per_node=4", *data)

    assert words[1:6] == ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4"]
    assert words[6:9] == ["-m", "uis1_train.verl_ext.sft", "sft_7b"]


def test_sft_on_several_nodes_says_what_to_give_on_each(call: Call, tiny_vl: Path) -> None:
    data = [f"data.train_files={pocket_data() / 'trajectories.jsonl'}", f"uis1.screens={pocket_data() / 'screens'}"]

    done = call("sft", f"model.path={tiny_vl}", "trainer.nnodes=2", *data)

    assert done.status == 2
    assert "torchrun --nnodes 2 --nproc-per-node 8" in done.err


def test_the_plan_of_sft_counts_samples_and_memory(call: Call) -> None:
    data = [f"data.train_files={pocket_data() / 'trajectories.jsonl'}", f"uis1.screens={pocket_data() / 'screens'}"]

    plan = json.loads(call("sft", "--dry-run", "--json", "data.train_batch_size=8", *data).out)
    windows = json.loads(call("sft", "--dry-run", "--json", "data.train_batch_size=8", "data.sample=window", *data).out)

    assert plan["possible"]
    assert plan["samples"] > windows["samples"] > 0
    assert plan["memory"]["phases"][0]["name"] == "learning"


def test_configurations_of_one_stage_are_refused_by_the_other(call: Call) -> None:
    assert "uis1-train sft" in call("run", "--config", "sft_7b", "--dry-run").err
    assert "uis1-train run" in call("sft", "--config", "uis1_7b", "--dry-run").err


def test_a_recipe_of_the_one_process_trainer_is_planned_too(call: Call, tiny_vl: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        f"model: {tiny_vl}\noutput: {tmp_path / 'out'}\ndata: {{suite: pocket, limit: 4}}\nmethod: {{prompts: builtin, profile: strict}}\n"
    )

    done = call("run", "--embedded", "--config", recipe, "--dry-run", "method.gamma=0.9")
    wrong = call("run", "--embedded", "--config", recipe, "--dry-run", "method.gama=0.9")
    nowhere = call("run", "--embedded", "--config", recipe, f"model={tmp_path / 'nothing'}")

    assert done.status == 0
    assert "method.gamma" in done.out
    assert "0.9" in done.out
    assert (wrong.status, nowhere.status) == (2, 2)
    assert "gama" in wrong.err
    assert "no whole transformers model" in nowhere.err


def test_a_recipe_runs_from_sft_to_rl_and_its_checkpoints_are_watched(
    call: Call, tiny_vl: Path, tmp_path: Path
) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        f"model: {tiny_vl}\noutput: {tmp_path / 'out'}\ndata: {{suite: pocket, limit: 2}}\nmethod: {{prompts: builtin, profile: strict, eta: null}}\n"
        "max_reply: 4\nsft: {steps: 1, batch: 2}\nrl: {steps: 1, goals: 1, rollouts: 2}\n"
    )

    sft = call("sft", "--embedded", "--config", recipe)
    rl = call("run", "--embedded", "--config", recipe)
    watched = call(
        "watch", tmp_path / "out" / "rl", "--limit", 1, "--max-tokens", 4, "--prompts", "builtin", "--once", "--json"
    )

    assert (sft.status, rl.status) == (0, 0), sft.err + rl.err
    assert (tmp_path / "out" / "sft" / "global_step_1" / "model.safetensors").is_file()
    facts = json.loads(watched.out)
    assert watched.status == 0, watched.err
    assert (facts["step"], facts["best"], facts["scalars"]["val/sop/scored"]) == (1, True, 1)


def test_doctor_examines_machine_and_model(call: Call, tiny_vl: Path, tmp_path: Path) -> None:
    good = call("doctor", "--model", tiny_vl, "--out", tmp_path, "--json")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "config.json").write_text("{}")
    bad = call("doctor", "--model", tmp_path / "half", "--out", tmp_path, "--json")

    checks = {c["name"]: c for c in json.loads(good.out)["checks"]}
    assert good.status == 0, good.out
    assert checks["verl"]["status"] == checks["chat template"]["status"] == "ok"
    assert "25,088" in checks["image size"]["detail"]
    assert bad.status == 2
    assert "no whole transformers model" in bad.out


def test_a_models_folder_plays_rollouts_with_its_own_tokens(call: Call, tiny_vl: Path, tmp_path: Path) -> None:
    out = tmp_path / "samples.jsonl"

    done = call(
        "rollout",
        "--model",
        tiny_vl,
        "--goals",
        1,
        "-n",
        2,
        "--max-tokens",
        6,
        "--prompts",
        "builtin",
        "--out",
        out,
        "--json",
    )

    assert done.status == 0, done.err
    samples = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(samples) == json.loads(done.out)["samples"]
    for sample in samples:
        assert 1 <= sample["response_tokens"] <= 6
        assert sample["mean_log_prob"] < 0


def test_a_checkpoint_is_played_in_this_process(tiny_vl: Path, tmp_path: Path) -> None:
    settings = ValidationSettings.read(
        {"sop": {"suite": "pocket", "limit": 2}, "out": tmp_path / "evaluated", "prompts": "builtin", "max_tokens": 4}
    )

    result = validate_checkpoint(tiny_vl, settings, 3)

    assert result.failures == {}
    assert result.scalars["val/sop/scored"] == 2
    assert result.scalars["val/sop/tsr"] == 0
