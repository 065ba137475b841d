"""`sopbench doctor` and the adapter `tools` against a real vLLM server, started with tool calling and without.

The tiny model speaks the colour language; a plugin (`colour_tools`) makes tool calls of what it says, by the road that vLLM's own parsers take, and a chat
template names the tools in the prompt and tells the calls of earlier turns. Forced calls need neither: guided decoding writes them by the schema that `tools` sends.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sopbench
from sopbench import api
from sopbench.actions import from_released
from sopbench.clients.base import Sampling
from sopbench.geometry import PER_MILLE, Size

from .colours import ACTIONS, SCREEN, Colour, png, reply
from .conftest import CACHE, HERE
from .serve import MODEL_NAME, VllmServer
from .tiny_vlm import TEMPLATE

pytestmark = pytest.mark.e2e

NAMES = "{% if tools %}<|im_start|>system\n{% for tool in tools %}{{ tool['function']['name'] }} {% endfor %}<|im_end|>\n{% endif %}"
"""The tools' names alone: a prompt as long as their whole schema is more than the tiny model stands."""
CALLS = (
    "{% for call in message['tool_calls'] or [] %}"
    "<action>{{ dict([('action', call['function']['name'])], **call['function']['arguments']) | tojson }}</action>{% endfor %}"
)
END = "<|im_end|>\n{% endfor %}"

COLOURS: tuple[Colour, ...] = ("red", "green", "blue", "plain", "red")
WRONG = 3
"""The step of the recording whose gold action is another than the colour asks for."""
SAMPLING = Sampling(temperature=0.0, max_tokens=96)


@pytest.fixture(scope="module")
def tool_server(vllm_python: Path, tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    assert TEMPLATE.count(END) == 1
    template = tmp_path_factory.mktemp("template") / "tools.jinja"
    template.write_text(NAMES + TEMPLATE.replace(END, CALLS + END))
    flags = ["--enable-auto-tool-choice", "--tool-call-parser", "colours"]
    flags += ["--tool-parser-plugin", str(HERE / "colour_tools.py"), "--chat-template", str(template)]
    # Guided decoding may put white space anywhere, and a model of half a million parameters then never comes to an end.
    flags += ["--structured-outputs-config", json.dumps({"backend": "xgrammar", "disable_any_whitespace": True})]
    with VllmServer(vllm_python, tiny_model, CACHE / "tool_server.log", flags=flags) as running:
        yield running


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One episode in a trajectory file: what each colour asks for, its coordinates taken for thousandths as the adapter does; one step is planted to go wrong."""
    folder = tmp_path_factory.mktemp("recording")
    (folder / "images").mkdir()
    steps = []
    for index, colour in enumerate(COLOURS):
        (folder / "images" / f"0_{index}.png").write_bytes(png(colour, 8000 + index))
        gold = {"action": "system_button", "button": "Home"} if index == WRONG else in_original_pixels(ACTIONS[colour])
        steps.append({"action_content": gold, "check_options": gold, "screenshot": f"images/0_{index}.png"})
    line = {"goal": "Follow the colours", "episode_id": 0, "steps": steps}
    (folder / "data.jsonl").write_text(json.dumps(line) + "\n")
    return folder


def in_original_pixels(action: dict[str, Any]) -> dict[str, Any]:
    def scaled(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [v * side / per for v, side, per in zip(value, SCREEN, (1000, 1000), strict=True)]

    return {name: scaled(value) for name, value in action.items()}


def play(server: VllmServer, recording: Path, out: Path, adapter: str = "tools", **more: Any) -> sopbench.Run:
    asked: dict[str, Any] = {
        "suite": "sop",
        "data": recording / "data.jsonl",
        "images": recording / "images",
        "prompts": "builtin",
    }
    asked |= {"model": MODEL_NAME, "base_urls": (server.base_url,), "adapter": adapter, "sampling": SAMPLING}
    return sopbench.run(**asked | {"after_mismatch": "continue"} | more, out=out)


def records(run: sopbench.Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run.path / "steps.jsonl").read_text().splitlines()]


def doctor(server: VllmServer, *more: str) -> tuple[int, dict[str, dict[str, Any]]]:
    words = ["doctor", "--base-url", server.base_url, "--screen", "540x1200", "--prompts", "builtin", "--json", *more]
    done = subprocess.run([sys.executable, "-m", "sopbench", *words], capture_output=True, text=True)
    assert done.stdout, done.stderr
    return done.returncode, {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def call_of(colour: Colour) -> str:
    """The block that the journal holds of the call which `colour` asks for."""
    arguments = dict(ACTIONS[colour])
    return f'<tool_call>\n{{"name": "{arguments.pop("action")}", "arguments": {json.dumps(arguments)}}}\n</tool_call>'


def test_calls_of_the_server_s_parser_are_read_recorded_and_told_back(
    tool_server: VllmServer, recording: Path, tmp_path: Path
) -> None:
    run = play(tool_server, recording, tmp_path / "run")
    assert run.summary["complete"] is True
    found = records(run)
    for index, (record, colour) in enumerate(zip(found, COLOURS, strict=True)):
        before = COLOURS[max(0, index - 1)]
        thought = reply(before, colour).partition("\n")[0]
        assert record["reply"] == f"{thought}\n{call_of(colour)}", index
        assert record["thought"] == thought.removeprefix("<think>").removesuffix("</think>")
        assert (record["notes"], record["finish_reason"]) == (["tool_calls"], "tool_calls")
        assert record["verdict"]["match"] is (index != WRONG)
    assert run.summary["pg"] == round(100 * WRONG / len(COLOURS), 1)
    again = api.rescore(run.path, "strict").summary
    assert again["pg"] == run.summary["pg"]


def test_a_forced_call_is_written_by_the_schema(tool_server: VllmServer, recording: Path, tmp_path: Path) -> None:
    """Guided decoding holds the model to the schema that the adapter sends: its bounds and its number of coordinates."""
    choice = {"type": "function", "function": {"name": "swipe"}}
    forced = Sampling(temperature=0.0, max_tokens=96, extra_body={"tool_choice": choice})
    run = play(tool_server, recording, tmp_path / "run", sampling=forced)
    for record in records(run):
        assert record["reply"].startswith('<tool_call>\n{"name": "swipe", "arguments": {"coordinate":[')
        assert record["action"]["action"] == "swipe"
        action = from_released(record["action"], Size(*SCREEN))
        numbers = [v * 1000 for point in (action.start, action.end) for v in (point.x, point.y)]  # type: ignore[union-attr]
        assert all(-1e-6 <= number <= 1000 + 1e-6 for number in numbers)
        assert record["sent"] == list(PER_MILLE.as_list())


def test_in_text_no_tool_calling_is_needed(server: VllmServer, recording: Path, tmp_path: Path) -> None:
    run = play(server, recording, tmp_path / "run", adapter="tools_text", limit=1)
    assert run.summary["complete"] is True
    assert all(record["prompt_tokens"] > 500 for record in records(run))


def test_a_server_without_tool_calling_ends_the_run_with_the_flags(
    server: VllmServer, recording: Path, tmp_path: Path
) -> None:
    run = play(server, recording, tmp_path / "run")
    assert run.summary["not_scored_reasons"] == {"no_tools": 1}
    (record,) = records(run)
    assert "--enable-auto-tool-choice --tool-call-parser" in record["error"]["detail"]


def test_doctor_names_the_flags_of_tool_calling(server: VllmServer) -> None:
    status, checks = doctor(server, "--adapter", "tools")
    assert status == 2
    assert checks["tool calling"]["status"] == "problem"
    assert '"auto" tool choice requires' in checks["tool calling"]["detail"]
    assert "--enable-auto-tool-choice --tool-call-parser" in checks["tool calling"]["fix"]


def test_doctor_finds_a_server_fit_that_calls_tools(tool_server: VllmServer) -> None:
    status, checks = doctor(tool_server, "--adapter", "tools", "--suite", "pocket")
    assert status == 0, checks
    assert "when asked to" in checks["tool calling"]["detail"]
    assert checks["2 screens of 540x1200"]["status"] == "ok"
    (episode,) = [check for name, check in checks.items() if name.startswith("step ")]
    assert f"tokens of {tool_server.context}" in episode["detail"]
    assert "another reply under the same seed" not in checks["seed"]["detail"]
    assert checks["logprobs"]["status"] == "ok"
    assert "6 tokens a screen" in checks["image size"]["detail"]


def test_doctor_names_the_flag_for_a_prompt_that_does_not_fit(narrow_server: VllmServer) -> None:
    status, checks = doctor(narrow_server, "--adapter", "agentcpm", "--history-images", "1")
    assert status == 2
    (found,) = [check for check in checks.values() if check["status"] == "problem"]
    assert f"maximum context length is {narrow_server.context} tokens" in found["detail"]
    assert "--max-model-len" in found["fix"]
