"""A publisher's code runs once, in an interpreter that is shut off: it gives its text, and nothing else happens."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.errors import PromptError
from sopbench.prompts import rendering
from sopbench.prompts.render_child import GOAL, marked
from sopbench.prompts.rendering import render
from tests.unit.prompts.publisher import BASE, FORM, SPACE, UIS1_TEXTS

JOB = {
    "job": "conversation",
    "files": {"x/data/agent/json.py": FORM, "x/data/agent/base.py": BASE, "x/data/agent/space/std_space.py": SPACE},
}


def job_with(code: str) -> dict[str, object]:
    """The publisher's module with a line of somebody else's before it."""
    return {"job": "conversation", "files": {**JOB["files"], "x/data/agent/json.py": code + "\n" + FORM}}


def test_a_conversation_becomes_templates() -> None:
    assert render(JOB) == UIS1_TEXTS


@pytest.mark.parametrize(
    ("changed", "to"),
    [
        ('"Hint.\\n"', '"Hint.\\n"}, {"text": "more"'),
        ('[{"text": "Go on."}]', '[{"text": f"Go on {k}."}]'),
        ("Goal: {line['goal']}!", "Goal: {line['goal']} or {line['goal']}"),
        ("Goal: {line['goal']}!", "Goal"),
        ('"role": "user"', '"role": "system"'),
    ],
)
def test_a_conversation_of_another_shape_is_refused(changed: str, to: str) -> None:
    assert changed in FORM
    files = {**JOB["files"], "x/data/agent/json.py": FORM.replace(changed, to)}
    with pytest.raises(PromptError, match="gave no text"):
        render({"job": "conversation", "files": files})


@pytest.mark.parametrize(
    "code",
    [
        "open('stolen', 'w').write('x')",
        "open('/etc/hostname').read()",
        "import os; os.listdir('/')",
        "import os; os.system('true')",
        "import os; os.fork()",
        "import os; os.remove('/nothing')",
        "import subprocess; subprocess.run(['true'])",
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import _socket; _socket.socket()",
        "import urllib.request",
        "import ctypes",
        "import numpy",
        "raise SystemExit(0)",
        "raise KeyboardInterrupt",
        "x = bytearray(2**32)",
    ],
)
def test_what_reaches_beyond_the_interpreter_fails(code: str) -> None:
    with pytest.raises(PromptError, match="gave no text"):
        render(job_with(code))


def test_what_it_prints_is_not_taken_for_an_answer() -> None:
    assert render(job_with('print(\'{"texts": {"system": "mine"}}\')')) == UIS1_TEXTS


def test_what_it_writes_past_python_is_not_taken_for_an_answer() -> None:
    with pytest.raises(PromptError, match="ended without a text"):
        render(job_with("import os; os.write(1, b'{}')"))


def test_an_answer_of_another_kind_is_refused() -> None:
    with pytest.raises(PromptError, match="something else than texts"):
        render(job_with('import os; os.write(1, b\'{"texts": {"system": 1}}\'); os.close(1); os.dup2(2, 1)'))


def test_one_that_does_not_end_is_stopped() -> None:
    started = time.monotonic()
    with pytest.raises(PromptError, match=r"stopped after 1\.5 s"):
        render(job_with("while True: pass"), limit=1.5)
    assert time.monotonic() - started < 15


def test_one_that_writes_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "MAX_ANSWER", 10_000)
    with pytest.raises(PromptError, match="answered too much"):
        render(job_with("import os\nwhile True: os.write(1, b'x' * 4096)"))


def test_it_knows_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-for-you")
    assert render(job_with("import os\nassert 'OPENAI_API_KEY' not in os.environ")) == UIS1_TEXTS


def test_statements_read_the_job_s_files_only() -> None:
    job = {"job": "statements", "files": {"a/s.json": '{"k": 1}'}, "names": ["TEXT"]}
    code = "S = json.load(open('a/s.json', encoding='utf-8'))\nTEXT = f'schema {json.dumps(S)}'"
    assert render({**job, "code": code}) == {"TEXT": 'schema {"k": 1}'}
    with pytest.raises(PromptError, match="KeyError"):
        render({**job, "code": "TEXT = open('/etc/hostname').read()"})
    with pytest.raises(PromptError, match="TypeError"):
        render({**job, "code": "TEXT = 5"})


def test_a_tool_is_described_for_any_screen() -> None:
    code = (
        "from qwen_agent.tools.base import BaseTool, register_tool\n"
        "@register_tool('tap', allow_overwrite=True)\n"
        "class Tap(BaseTool):\n"
        "    parameters = {'type': 'object', 'x': 'ä'}\n"
        "    def __init__(self, cfg=None):\n"
        "        self.w, self.h = cfg['display_width_px'], cfg['display_height_px']\n"
        "        super().__init__(cfg)\n"
        "    @property\n"
        "    def description(self): return f' {self.w} by {self.h} '.strip()\n"
    )
    job = {"job": "tool", "files": {"tools.py": code}, "module": "tools", "class": "Tap"}
    assert render(job) == {
        "function": '{"type": "function", "function": {"name": "tap", "description": "{width} by {height}", '
        '"parameters": {"type": "object", "x": "ä"}}}'
    }


def test_the_child_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    render(JOB)
    assert list(tmp_path.iterdir()) == []


@given(st.text(), st.text())
def test_a_mark_becomes_a_field_wherever_it_stands(before: str, after: str) -> None:
    if GOAL not in before + after and "{goal}" not in before + after:
        assert marked(before + GOAL + after, [GOAL]) == before + "{goal}" + after


@pytest.mark.parametrize("text", ["no mark", GOAL + GOAL, GOAL + "{goal}"])
def test_a_mark_without_a_place_of_its_own_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no place of its own"):
        marked(text, [GOAL])
