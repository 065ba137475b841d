"""The launch script against a Ray that only writes down how it was called; the examples as far as they can be read here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import uis1_train.launch
from uis1_train.launch.nodes import NotAllJoined, wait_for

LAUNCH = Path(uis1_train.launch.__file__).parent
SCRIPTS = sorted(LAUNCH.glob("*.sh"))


@pytest.fixture
def node(tmp_path: Path) -> Any:
    """Runs ray_node.sh with stand-ins for `ray` and `python`; gives back how it ended, what it said, and the calls."""
    calls = tmp_path / "calls"
    calls.touch()
    stand_ins = tmp_path / "bin"
    stand_ins.mkdir()
    for name in ("ray", "python"):
        script = stand_ins / name
        script.write_text(
            f'#!/bin/sh\necho "{name} $* [RAY_ADDRESS=$RAY_ADDRESS]" >> {calls}\nexit "${{{name.upper()}_EXIT:-0}}"\n'
        )
        script.chmod(0o755)

    def run(*command: str, **variables: str) -> tuple[int, str, list[str]]:
        path = f"{stand_ins}{os.pathsep}{os.environ['PATH']}"
        base = {"PATH": path, "NODE_RANK": "0", "NNODES": "2", "HEAD_ADDRESS": "10.0.0.1", "RETRY_SECONDS": "0.1"}
        done = subprocess.run(
            [str(LAUNCH / "ray_node.sh"), *command],
            env=base | variables,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stderr, calls.read_text().splitlines()

    return run


def test_the_head_waits_for_all_runs_the_command_and_stops_ray(node: Any) -> None:
    code, _, calls = node("sh", "-c", "exit 7", GPUS="8")
    assert code == 7
    assert calls == [
        "ray start --head --node-ip-address 10.0.0.1 --port 6379 --include-dashboard false --num-gpus 8 [RAY_ADDRESS=]",
        "python -m uis1_train.launch.nodes --wait-for 2 --timeout 600 [RAY_ADDRESS=10.0.0.1:6379]",
        "ray stop [RAY_ADDRESS=10.0.0.1:6379]",
    ]


def test_the_command_is_given_its_arguments_as_they_are(node: Any, tmp_path: Path) -> None:
    out = tmp_path / "said"
    code, _, _ = node("sh", "-c", f'printf "%s|" "$@" "$RAY_ADDRESS" > {out}', "name", "a b", "c=${x}")
    assert code == 0
    assert out.read_text() == "a b|c=${x}|10.0.0.1:6379|"


def test_without_all_machines_nothing_is_run(node: Any, tmp_path: Path) -> None:
    code, _, calls = node("touch", str(tmp_path / "ran"), PYTHON_EXIT="2")
    assert code == 2
    assert not (tmp_path / "ran").exists()
    assert calls[-1].startswith("ray stop")


def test_a_worker_joins_and_ends_with_the_head(node: Any, tmp_path: Path) -> None:
    code, _, calls = node("touch", str(tmp_path / "ran"), NODE_RANK="1", RAY_PORT="7000")
    assert code == 0
    assert calls == ["ray start --address 10.0.0.1:7000 --block [RAY_ADDRESS=10.0.0.1:7000]"]
    assert not (tmp_path / "ran").exists()


def test_a_worker_tries_again_and_then_says_what_is_wrong(node: Any) -> None:
    code, said, calls = node("true", NODE_RANK="1", RAY_EXIT="1", JOIN_TIMEOUT="1")
    assert code == 2
    assert "no Ray head at 10.0.0.1:6379 after 1 s" in said
    assert len(calls) >= 2


@pytest.mark.parametrize(
    ("variables", "command", "told"),
    [
        ({"NODE_RANK": "2"}, ["true"], "does not exist among NNODES=2"),
        ({"NNODES": "many"}, ["true"], "are numbers"),
        ({}, [], "no command given"),
        ({"HEAD_ADDRESS": ""}, ["true"], "address of the machine of rank 0"),
    ],
)
def test_what_is_missing_is_told(node: Any, variables: dict[str, str], command: list[str], told: str) -> None:
    code, said, calls = node(*command, **variables)
    assert code != 0
    assert told in said
    assert calls == []


def test_the_environment_leaves_what_is_set() -> None:
    script = f". {LAUNCH / 'environment.sh'}; echo $NCCL_DEBUG $NCCL_SOCKET_IFNAME $GLOO_SOCKET_IFNAME $HF_HUB_OFFLINE"
    variables = {"PATH": os.environ["PATH"], "NCCL_DEBUG": "INFO", "NETWORK_INTERFACE": "ib0"}
    done = subprocess.run(["bash", "-c", script], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["INFO", "ib0", "ib0", "1"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.name)
def test_bash_can_read_it(script: Path) -> None:
    subprocess.run(["bash", "-n", str(script)], check=True, timeout=20)


def test_options_of_ray_start_exist() -> None:
    """Those that the script and the KubeRay example use, against the Ray that is installed."""
    from ray.scripts.scripts import start

    known = {option for parameter in start.params for option in parameter.opts}
    used = {"--head", "--node-ip-address", "--port", "--include-dashboard", "--num-gpus", "--address", "--block"}
    groups = kuberay()["spec"]["rayClusterSpec"]
    for group in (groups["headGroupSpec"], *groups["workerGroupSpecs"]):
        used |= {f"--{name}" for name in group["rayStartParams"]}
    assert used <= known


def kuberay() -> Any:
    return yaml.safe_load((LAUNCH / "kuberay.yaml").read_text())


# ray-project/kuberay, ray-operator/apis/ray/v1 (RayJobSpec, RayClusterSpec, HeadGroupSpec, WorkerGroupSpec)
JOB = {"entrypoint", "shutdownAfterJobFinishes", "ttlSecondsAfterFinished", "backoffLimit", "rayClusterSpec"}
CLUSTER = {"rayVersion", "headGroupSpec", "workerGroupSpecs"}
HEAD = {"rayStartParams", "template"}
WORKERS = HEAD | {"groupName", "replicas", "minReplicas", "maxReplicas"}


def test_the_kuberay_example_has_fields_that_kuberay_knows() -> None:
    job = kuberay()
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert set(job["spec"]) <= JOB
    cluster = job["spec"]["rayClusterSpec"]
    assert set(cluster) == CLUSTER
    assert set(cluster["headGroupSpec"]) == HEAD
    for group in cluster["workerGroupSpecs"]:
        assert set(group) == WORKERS
        for container in group["template"]["spec"]["containers"]:
            assert container["resources"]["requests"] == container["resources"]["limits"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        pod = group["template"]["spec"]
        mounted = {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}


def test_the_examples_overrides_compose_and_agree_with_their_machines() -> None:
    from uis1_train.verl_ext.compose import compose_config

    words = kuberay()["spec"]["entrypoint"].split()
    config = compose_config(words[words.index("--config") + 1], [word for word in words if "=" in word])
    group = kuberay()["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]
    assert config.trainer.nnodes == group["replicas"]
    gpus = group["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]
    assert config.trainer.n_gpus_per_node == int(gpus)


def test_waiting_for_machines() -> None:
    joined = [["a"], ["a"], ["a", "b"]]
    assert wait_for(2, 60, lambda: joined.pop(0), pause=0) == ["a", "b"]
    with pytest.raises(NotAllJoined, match=r"1 of 3 machines have joined after 0 s \(a\)"):
        wait_for(3, 0, lambda: ["a"], pause=0)
