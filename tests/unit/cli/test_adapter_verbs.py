"""`sopbench parse`, `render` and `adapters`: what a machine and a person get from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from PIL import Image
from typer.testing import CliRunner, Result

from sopbench.actions import ACTION_KINDS
from sopbench.adapters import ADAPTERS
from sopbench.cli import adapters, parse, render
from sopbench.errors import SopbenchError

CLICK = '<think>x</think><action>{"action": "click", "coordinate": [546, 1204]}</action>'
GOAL = "Turn on the torch"


def sopbench(*args: str, stdin: bytes = b"") -> Result:
    app = typer.Typer()
    app.callback()(lambda: None)
    for verb in (parse, render, adapters):
        verb.register(app)
    return CliRunner().invoke(app, list(args), input=stdin)


def parsed(*replies: Any, options: tuple[str, ...] = (), adapter: str = "uis1") -> list[Any]:
    stdin = "\n".join(json.dumps(reply) for reply in replies).encode()
    result = sopbench("parse", "--adapter", adapter, "--screen", "1080x2400", *options, stdin=stdin)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_parse_answers_each_reply_with_the_released_form_in_original_pixels() -> None:
    swipe = '<action>{"action": "swipe", "coordinate": [547, 1806], "coordinate2": [546, 602]}</action>'
    back = '<action>{"action": "system_button", "button": "Back"}</action>'
    assert parsed(CLICK, swipe, back) == [
        {"action": "click", "coordinate": [540, 1200]},
        {"action": "swipe", "coordinate": [540.989, 1800], "coordinate2": [540, 600]},
        {"action": "system_button", "button": "Back"},
    ]


def test_parse_writes_whole_pixels_without_a_point() -> None:
    result = sopbench("parse", "--adapter", "uis1", "--screen", "1080x2400", stdin=json.dumps(CLICK).encode())
    assert result.stdout == '{"action": "click", "coordinate": [540, 1200]}\n'


def test_parse_names_what_is_no_action() -> None:
    refusal, cut, unknown = parsed(
        "Sorry, I can't help with that", '{"action":', '<action>{"action": "left_double"}</action>'
    )
    assert refusal["parse_failure"] == "no_action"
    assert cut["parse_failure"] == "truncated"
    assert unknown["parse_failure"] == "unknown_action"
    assert "left_double" in unknown["detail"]


def test_parse_takes_the_size_that_was_really_sent() -> None:
    (action,) = parsed(CLICK, options=("--sent", "2184x4816"))
    assert action == {"action": "click", "coordinate": [270, 600]}


def test_parse_shows_thought_and_repairs_when_asked() -> None:
    (line,) = parsed("<think>why</think><action>{'action': 'wait'}</action>", options=("--verbose",))
    assert line == {"action": {"action": "wait", "time": 2}, "thought": "why", "notes": ["single_quotes"]}


def test_parse_output_is_ascii_whatever_the_reply_holds() -> None:
    stdin = json.dumps('<action>{"action": "type", "text": "打开 \\u202e \\u009b"}</action>').encode()
    result = sopbench("parse", "--adapter", "uis1", "--screen", "1080x2400", stdin=stdin)
    assert result.stdout.isascii()
    assert json.loads(result.stdout)["text"] == "打开 \u202e \u009b"


def test_blank_lines_are_skipped() -> None:
    stdin = b"\n" + json.dumps(CLICK).encode() + b"\n\n"
    assert len(sopbench("parse", "--adapter", "uis1", "--screen", "1080x2400", stdin=stdin).stdout.splitlines()) == 1


@pytest.mark.parametrize("line", [b"click", b"5", b'{"action": "wait"}', b'"open', b'"\xff"', b"[" * 5000, b"null"])
def test_a_line_that_is_no_json_string_is_named_and_the_answers_before_it_stand(line: bytes) -> None:
    stdin = json.dumps(CLICK).encode() + b"\n\n" + line + b"\n" + json.dumps(CLICK).encode()
    result = sopbench("parse", "--adapter", "uis1", "--screen", "1080x2400", stdin=stdin)
    assert len(result.stdout.splitlines()) == 1
    assert isinstance(result.exception, SopbenchError)
    assert result.exception.exit_code == 2
    assert "line 3" in str(result.exception)
    assert "not a JSON string" in str(result.exception)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--adapter", "uis2", "--screen", "1080x2400"), "uis2"),
        (("--adapter", "uis1", "--screen", "big"), "big"),
        (("--adapter", "uis1", "--screen", "0x5"), "0x5"),
        (("--adapter", "uis1", "--screen", "1080x2400", "--sent", "1092"), "1092"),
    ],
)
def test_wrong_options_are_named(options: tuple[str, ...], named: str) -> None:
    error = sopbench("parse", *options).exception
    assert isinstance(error, SopbenchError)
    assert named in str(error)


@pytest.fixture
def recording(tmp_path: Path) -> tuple[Path, Path]:
    """A file of one episode of three steps, and its screens. Only goal and screens may be told."""
    screens = tmp_path / "screens"
    screens.mkdir()
    steps = []
    for k in range(3):
        Image.new("RGB", (540, 1200), (k, k, k)).save(screens / f"7_{k}.png")
        steps.append(
            {
                "action_content": {"action": "click", "coordinate": [270, 600 + k]},
                "screenshot": f"/somewhere/7_{k}.png",
                "step_instruction": "SENTINEL",
                "thought": "SENTINEL",
                "check_options": {"action": "click", "coordinate": [270, 600], "candidate_bbox": [[0, 0, 9, 9]]},
            }
        )
    data = tmp_path / "sop.jsonl"
    data.write_text(json.dumps({"goal": GOAL, "is_successful": True, "steps": steps, "episode_id": 7}) + "\n")
    return data, screens


def rendering(recording: tuple[Path, Path], *options: str, step: int = 2, episode: str = "7") -> Result:
    data, screens = map(str, recording)
    return sopbench(
        "render", "--data", data, "--images", screens, "--episode", episode, "--step", str(step), *options, "--prompts", "builtin"
    )  # fmt: skip


def test_render_prints_tools_and_the_calls_of_the_history(recording: tuple[Path, Path], tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    call = '<tool_call>\n{"name": "wait", "arguments": {"time": 2}}\n</tool_call>'
    replies.write_text(json.dumps(call) + "\n" + json.dumps("no call") + "\n")
    request = json.loads(rendering(recording, "--adapter", "tools", "--replies", str(replies)).stdout)
    assert list(request) == ["messages", "tools", "tool_choice"]
    assert [tool["function"]["name"] for tool in request["tools"]] == list(ACTION_KINDS)
    roles = ["system", "user", "assistant", "tool", "user", "assistant", "user"]
    assert [message["role"] for message in request["messages"]] == roles
    said, result = request["messages"][2:4]
    assert said["content"] == []
    assert [c["function"] for c in said["tool_calls"]] == [{"name": "wait", "arguments": '{"time": 2}'}]
    assert result["tool_call_id"] == said["tool_calls"][0]["id"]
    in_text = json.loads(rendering(recording, "--adapter", "tools_text", "--replies", str(replies)).stdout)
    assert [message["role"] for message in in_text] == [role for role in roles if role != "tool"]


def test_parse_reads_tool_calls_as_the_journal_keeps_them() -> None:
    call = '<tool_call>\n{"name": "click", "arguments": {"coordinate": [500, 500]}}\n</tool_call>'
    middle, unknown = parsed(call, call.replace("click", "left_double"), adapter="tools")
    assert middle == {"action": "click", "coordinate": [540, 1200]}
    assert unknown["parse_failure"] == "unknown_action"
    assert "left_double" in unknown["detail"]


def test_render_prints_the_messages_with_images_by_hash_and_size(recording: tuple[Path, Path], tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    replies.write_text("".join(json.dumps(f"my reply {k}") + "\n" for k in range(5)))
    result = rendering(recording, "--adapter", "uis1", "--replies", str(replies))
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    messages = json.loads(result.stdout)
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [m["content"][0]["text"] for m in messages if m["role"] == "assistant"] == ["my reply 0", "my reply 1"]
    images = [part for m in messages for part in m["content"] if part["type"] == "image"]
    assert [image["size"] for image in images] == [[540, 1200], [540, 1200]]
    assert len({image["sha256"] for image in images}) == 2
    assert GOAL in messages[1]["content"][0]["text"]
    assert "SENTINEL" not in result.stdout


@pytest.mark.parametrize("adapter", ["uis1", "qwen25vl"])
def test_without_replies_the_expert_s_actions_stand_in_and_it_says_so(
    recording: tuple[Path, Path], adapter: str
) -> None:
    result = rendering(recording, "--adapter", adapter)
    assert '\\"action\\": \\"click\\"' in result.stdout
    assert "SENTINEL" not in result.stdout
    assert "the expert's actions stand in" in result.stderr
    assert "note:" not in rendering(recording, "--adapter", adapter, step=0).stderr


@pytest.mark.parametrize("adapter", ["uis1", "os_atlas"])
def test_the_instruction_is_told_when_asked_for_as_androidcontrol_low_tells_it(
    recording: tuple[Path, Path], adapter: str, tmp_path: Path
) -> None:
    told = rendering(recording, "--adapter", adapter, "--instruction")
    assert told.stdout.count("SENTINEL") == 1
    replies = tmp_path / "replies.jsonl"
    replies.write_text('"one"\n"two"\n')
    assert (
        rendering(recording, "--adapter", adapter, "--instruction", "--replies", str(replies)).stdout.count("SENTINEL")
        == 1
    )


@pytest.mark.parametrize(("kept", "sent"), [("0", 0), ("1", 1), ("9", 3)])
def test_images_kept_bounds_the_screens(recording: tuple[Path, Path], kept: str, sent: int) -> None:
    result = rendering(recording, "--adapter", "qwen25vl", "--images-kept", kept)
    assert result.stdout.count('"sha256"') == sent


def test_render_refuses_what_is_not_there(recording: tuple[Path, Path], tmp_path: Path) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text('"one"\n')
    for options, named in [
        ({"step": 3}, "steps 0 to 2"),
        ({"episode": "8"}, "--episode 8"),
    ]:
        error = rendering(recording, "--adapter", "uis1", **options).exception  # type: ignore[arg-type]  # named by the table
        assert isinstance(error, SopbenchError)
        assert named in str(error)
    for file, named in [(few, "has 1 replies"), (tmp_path / "none.jsonl", "cannot be read")]:
        error = rendering(recording, "--adapter", "uis1", "--replies", str(file)).exception
        assert isinstance(error, SopbenchError)
        assert named in str(error)


def test_adapters_lists_facts_for_people_and_machines() -> None:
    listed = sopbench("adapters").stdout
    assert "uis1" in listed
    assert "qwen25vl" in listed
    shown = sopbench("adapters", "uis1").stdout
    assert "--limit-mm-per-prompt" in shown
    assert "builtin" in shown
    facts = json.loads(sopbench("adapters", "--json").stdout)
    assert tuple(facts) == ADAPTERS
    assert facts["uis1"]["default_images"] == 2
    assert json.loads(sopbench("adapters", "uis1", "--json").stdout) == facts["uis1"]
    assert facts["ui_tars15"]["leaves_out"] == ["long_press.seconds", "wait.seconds"]
    assert facts["ui_tars15"]["default_sampling"] == {"temperature": 0.0, "max_tokens": 400}
    one = " ".join(sopbench("adapters", "ui_tars15").stdout.split())
    assert "max_tokens 400 (advice" in one
    assert "(without long_press.seconds, wait.seconds)" in one


def test_parse_shows_what_the_user_is_told_at_the_end() -> None:
    (line,) = parsed("Action: finished(content='42')", options=("--verbose",), adapter="ui_tars")
    assert line == {
        "action": {"action": "terminate", "status": "success"},
        "thought": None,
        "notes": [],
        "answer": "42",
    }


def test_adapters_works_out_the_ceiling_on_a_file(recording: tuple[Path, Path]) -> None:
    result = sopbench("adapters", "uis1", "--ceiling", "--data", str(recording[0]), "--json")
    assert json.loads(result.stdout)["ceiling"] == {"n": 1, "pg": 100.0, "tsr": 100.0, "missing": {}}
    assert "PG 100.0, TSR 100.0 (n = 1)" in sopbench("adapters", "--ceiling", "--data", str(recording[0])).stdout
    assert isinstance(sopbench("adapters", "--ceiling").exception, SopbenchError)
