"""Environments with torch are made once, from pins: what makes one current, what makes it stale, what is patched in it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"


@pytest.fixture
def heavy(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import heavy_env

    return heavy_env


@pytest.fixture
def pins(tmp_path: Path) -> Path:
    file = tmp_path / "requirements.txt"
    file.write_text("one==1\n")
    return file


def an_env(heavy: Any, pins: Path, **options: object) -> Any:
    asked = {"tool": "t", "venv": ".venv-t", "torch": "2.13.0", "what": "pins", "own": (), "imports": ""} | options
    return heavy.HeavyEnv(requirements=pins, **asked)


def a_venv(folder: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").write_text("")
    return folder


def test_an_environment_is_current_until_its_pins_change(heavy: Any, pins: Path, tmp_path: Path) -> None:
    env, venv = an_env(heavy, pins), a_venv(tmp_path / "venv")
    assert not env.current(venv)  # never stamped: cut short
    env.stamp(venv, "2.13.0+cpu", 1)
    assert env.current(venv)
    pins.write_text("one==2\n")
    assert not env.current(venv)


def test_a_damaged_stamp_or_a_missing_python_is_no_environment(heavy: Any, pins: Path, tmp_path: Path) -> None:
    env, venv = an_env(heavy, pins), a_venv(tmp_path / "venv")
    env.stamp(venv, "2.13.0+cpu", 1)
    (venv / "bin" / "python").unlink()
    assert not env.current(venv)
    (venv / "stamp.json").write_text("{half")
    assert not env.current(venv)


def test_what_is_current_is_left_alone(heavy: Any, pins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heavy, "ROOT", tmp_path)
    env, venv = an_env(heavy, pins), a_venv(tmp_path / "venv")
    env.stamp(venv, "2.13.0+cpu", 1)
    monkeypatch.setattr(heavy, "pip", lambda *a: pytest.fail("nothing is to be installed"))
    assert env.make(venv) is False


def test_too_little_disk_is_told_before_anything_is_made(
    heavy: Any, pins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heavy, "ROOT", tmp_path)
    monkeypatch.setattr(heavy, "DISK_GB", {"cpu": 10**9, "any": 10**9})
    with pytest.raises(heavy.SetupError, match="GB free, 1000000000 GB are needed"):
        an_env(heavy, pins).make(tmp_path / "venv")
    assert not (tmp_path / "venv").exists()


def test_torchvision_is_patched_once(heavy: Any, tmp_path: Path) -> None:
    target = tmp_path / "torchvision" / "_meta_registrations.py"
    target.parent.mkdir()
    target.write_text("import torch\n" + heavy.TORCHVISION_ANCHOR + "rest = 1\n")
    heavy.patch_torchvision(tmp_path)
    once = target.read_text()
    assert once.count('define(_name + "') == 1
    heavy.patch_torchvision(tmp_path)
    assert target.read_text() == once
    target.write_text("another release\n")
    with pytest.raises(heavy.SetupError, match="was torchvision's pin changed"):
        heavy.patch_torchvision(tmp_path)


def test_both_scripts_answer_check_without_doing_anything(tmp_path: Path) -> None:
    for script in (SCRIPTS / "setup_train.py", ROOT / "tests" / "e2e" / "setup_vllm.py"):
        done = subprocess.run([sys.executable, script, "--check", "--venv", tmp_path / "none"], capture_output=True)
        assert done.returncode == 1, done.stderr
    assert not list(tmp_path.iterdir())


def test_the_pins_of_the_trainer_fit_the_extra_that_users_install() -> None:
    """What the tests run with is what `sopbench[train]` would allow."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    lines = (SCRIPTS / "requirements-train.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    versions = {canonicalize_name(name): version for name, version in pinned.items()} | {"torch": "2.13.0"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra in ("tiny", "train"):
        for text in [*project["optional-dependencies"][extra], *project["dependencies"]]:
            requirement = Requirement(text)
            name = canonicalize_name(requirement.name)
            assert name in versions, f"{text}: not pinned"
            assert requirement.specifier.contains(versions[name]), f"{text}: pinned {versions[name]}"
