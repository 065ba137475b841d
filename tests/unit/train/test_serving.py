"""A server of its own for a checkpoint: it comes up, it is stopped with its children, and what goes wrong is told with its own words."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import psutil
import pytest

from sopbench.adapters import get_adapter
from sopbench.clients.served import served_models
from sopbench.errors import UsageError
from sopbench.waiting import wait_for
from uis1_train.merge.serving import serve_command
from uis1_train.validation.serving import ServerFailed, served

PYTHON = shlex.quote(sys.executable)
SERVER = shlex.quote(str(Path(__file__).with_name("skilled_server.py")))


def model(folder: Path) -> Path:
    (folder / "skill").write_text("1")
    return folder


def test_it_answers_within_the_block_and_is_gone_after_it(tmp_path: Path) -> None:
    before = set(psutil.Process().children())
    command = f"{PYTHON} {SERVER} {{model}} {{name}} {{port}}"

    with served(model(tmp_path), "mine", command, images=2, log=tmp_path / "log", timeout=60) as url:
        [found] = wait_for(served_models(url))
        running = set(psutil.Process().children()) - before
        assert len(running) == 1

    assert found.name == "mine"
    assert not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in running)


def test_children_that_ignore_the_end_are_ended_too(tmp_path: Path) -> None:
    script = tmp_path / "stubborn.py"
    script.write_text(
        "import os, signal, subprocess, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)'])\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n"
        f"sys.argv = ['x', {str(model(tmp_path))!r}, 'mine', sys.argv[1]]\n"
        f"exec(open({str(Path(__file__).with_name('skilled_server.py'))!r}).read())\n"
    )

    with served(
        tmp_path, "mine", f"{PYTHON} {shlex.quote(str(script))} {{port}}", images=2, log=tmp_path / "log", timeout=60
    ):
        child = psutil.Process(int((tmp_path / "child").read_text()))
        assert child.is_running()

    child.wait(timeout=10)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (f"{PYTHON} -c \"print('no space left'); raise SystemExit(4)\"", "status 4 before it was up:\nno space left"),
        (f'{PYTHON} -c "import time; time.sleep(60)"', "not up after 1.5 s"),
        ("no-such-program-of-ours {model}", "cannot start 'no-such-program-of-ours'"),
    ],
)
def test_a_server_that_does_not_come_up_is_told_with_its_last_words(tmp_path: Path, command: str, words: str) -> None:
    with (
        pytest.raises(ServerFailed, match=words),
        served(tmp_path, "m", command, images=2, log=tmp_path / "log", timeout=1.5),
    ):
        pytest.fail("it did not come up")


@pytest.mark.parametrize("command", ["serve {modell}", "serve {}", "", "serve {model"])
def test_a_command_that_cannot_be_filled_names_the_fields(tmp_path: Path, command: str) -> None:
    with (
        pytest.raises(UsageError, match=r"validation\.serve_command"),
        served(tmp_path, "m", command, images=2, log=tmp_path / "log", timeout=1),
    ):
        pytest.fail("nothing was started")


def test_the_printed_command_quotes_what_a_shell_would_take_apart() -> None:
    words = shlex.split(serve_command(Path("my models/ui s1"), get_adapter("uis1"), name="ui"))

    assert words == [
        "vllm",
        "serve",
        "my models/ui s1",
        "--served-model-name",
        "ui",
        "--limit-mm-per-prompt",
        '{"image": 2}',
    ]
