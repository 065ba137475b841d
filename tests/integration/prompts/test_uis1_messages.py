"""With its official text, `uis1` sends exactly what the released evaluator sends: roles, texts, their order, and where the screens stand.

UPSTREAM_UIS1=<checkout of X-PLUG/MobileAgent>/UI-S1 pytest tests/integration/prompts/test_uis1_messages.py
"""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fault_server import answer
from PIL import Image

UPSTREAM = os.environ.get("UPSTREAM_UIS1", "")
DRIVER = Path(__file__).with_name("upstream_messages.py")

pytestmark = pytest.mark.skipif(
    not (Path(UPSTREAM) / "x" / "data" / "agent" / "json.py").is_file(),
    reason="set UPSTREAM_UIS1 to the folder UI-S1 of a checkout of X-PLUG/MobileAgent",
)

GOALS = [
    "Turn the alarm off",
    'Send {goal} and {"a": 1} to "Ann"',
    "What's the price? ¿Cuánto?\n买 牛奶 🥛 {0} %s \\n",
    "  two  spaces, a tab\t and a line end\n",
]
REPLIES = [
    '<think>\nThe list is open.\n</think>\n<action>\n{"action": "swipe", "coordinate": [270, 900], "coordinate2": [270, 300]}\n</action>',
    ' <think>{goal} 思考 🙂</think><action>{"action": "wait", "time": 2}</action>\n\n',
    "no action at all, </action> and <think>",
    '<action>{"action": "type", "text": "\\u00e9\\n{\\"x\\": 1}"}</action>',
    '<action>{"action": "click", "coordinate": [1, 2]}</action>',
]
SIZES = [(540, 1200), (1080, 2400), (320, 640), (1200, 540), (540, 1200)]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache into which the publisher's text was pulled by the command line, from the checkout."""
    folder = tmp_path_factory.mktemp("cache")
    done = sopbench("prompts", "pull", "uis1", "--from", UPSTREAM, SOPBENCH_CACHE=str(folder))
    assert done.returncode == 0, done.stderr
    assert "kept in" in done.stdout
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One trajectory a goal, five steps each, whose screens differ in size."""
    folder = tmp_path_factory.mktemp("data")
    lines = []
    for episode, goal in enumerate(GOALS):
        steps = []
        for k, size in enumerate(SIZES):
            name = f"{episode}_{k}.png"
            Image.new("RGB", size, (episode * 40, k * 40, 99)).save(folder / name)
            action = {"action": "click", "coordinate": [size[0] // 2, size[1] // 2]}
            steps.append(
                {
                    "action_content": action,
                    "screenshot": str(folder / name),
                    "step_instruction": "NOT TO BE SENT",
                    "check_options": {**action, "candidate_bbox": []},
                }
            )
        lines.append(json.dumps({"goal": goal, "is_successful": True, "episode_id": episode, "steps": steps}))
    (folder / "data.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def sopbench(*args: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("sopbench")), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | env, check=False)


def upstream(data: Path, episode: int, replies: list[str], images: int) -> list[list[dict[str, Any]]]:
    """What the released evaluator sends at each step of an episode in which the model says `replies`."""
    line = json.loads((data / "data.jsonl").read_text().splitlines()[episode])
    job = {"line": line, "replies": replies, "images": images}
    done = subprocess.run(
        [sys.executable, str(DRIVER), UPSTREAM], input=json.dumps(job), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def with_hashes(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The evaluator's messages as `sopbench render` prints them: an image by the sha256 and the size of its file."""
    from sopbench.screen import Screen

    def part(item: dict[str, Any]) -> dict[str, Any]:
        if item["type"] == "text":
            return item
        screen = Screen.from_file(Path(item["image_url"]["url"]))
        return {"type": "image", "sha256": screen.sha256, "size": screen.size.as_list()}

    return [{"role": m["role"], "content": [part(item) for item in m["content"]]} for m in messages]


@pytest.mark.parametrize("images", [1, 2, 5])
@pytest.mark.parametrize("episode", range(len(GOALS)))
def test_render_prints_the_released_messages(
    cache: Path, data: Path, tmp_path: Path, episode: int, images: int
) -> None:
    replies = REPLIES[episode % 2 :] + REPLIES[: episode % 2]
    file = tmp_path / "replies.jsonl"
    file.write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    expected = upstream(data, episode, replies, images)
    assert len(expected) == len(SIZES)
    steps = range(len(SIZES)) if images == 2 else (len(SIZES) - 1,)
    for step in steps:
        done = sopbench(
            *("render", "--adapter", "uis1", "--prompts", "official", "--data", data / "data.jsonl"),
            *("--episode", str(episode), "--step", str(step), "--replies", file, "--images-kept", str(images)),
            SOPBENCH_CACHE=str(cache),
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout) == with_hashes(expected[step])


def test_a_run_sends_the_released_messages(cache: Path, data: Path, tmp_path: Path, fault_server: Any) -> None:
    """What arrives at the endpoint, turn by turn, with the pixels of the screens; and the run records whose words they were."""
    right = [f'<action>{{"action": "click", "coordinate": {point}}}</action>' for point in _centres()]
    server = fault_server(*[answer(reply) for reply in right])
    options = [
        "--suite",
        "sop",
        "--data",
        data / "data.jsonl",
        "--limit",
        "1",
        "--out",
        tmp_path / "run",
        "--no-report",
    ]
    done = sopbench(
        *("run", *options, "--model", "tiny", "--base-url", server.base_url, "--quiet"), SOPBENCH_CACHE=str(cache)
    )
    assert (done.returncode, done.stderr) == (0, "")
    expected = upstream(data, 0, right, 2)
    assert len(server.requests) == len(SIZES)
    for got, wanted in zip(server.requests, expected, strict=True):
        sent = json.loads(got.raw)["messages"]
        assert [_with_pixels(m) for m in sent] == [_with_pixels(m) for m in wanted]
    prompt = json.loads((tmp_path / "run" / "run.json").read_text())["facts"]["adapter"]["prompt"]
    shown = json.loads(sopbench("prompts", "show", "uis1", "--json", SOPBENCH_CACHE=str(cache)).stdout)
    assert prompt == {key: shown[key] for key in ("kind", "sha256", "note")}
    assert prompt["kind"] == "pulled"
    assert "X-PLUG/MobileAgent 11cea575" in prompt["note"]


def test_none_of_the_publisher_s_text_is_in_the_package(cache: Path) -> None:
    """Sentences of the pulled text are looked for in every source file."""
    from sopbench import __file__ as package

    [file] = (cache / "prompts").glob("uis1-*.json")
    texts = json.loads(file.read_text())["templates"].values()
    sentences = {line.strip() for text in texts for line in text.splitlines() if len(line.split()) >= 5}
    assert len(sentences) > 20
    for source in Path(package).parent.rglob("*.py"):
        content = source.read_text(encoding="utf-8")
        assert not [sentence for sentence in sentences if sentence in content], source


def _centres() -> list[list[int]]:
    from sopbench.adapters import get_adapter
    from sopbench.geometry import Size

    sent = [get_adapter("uis1").sent_size(Size(*size)) for size in SIZES]
    return [[size.width // 2, size.height // 2] for size in sent]


def _with_pixels(message: dict[str, Any]) -> tuple[str, list[object]]:
    """Role and items; a bare text, as sopbench sends one text alone, is a list of one for every server."""
    content = message["content"]
    items = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return message["role"], [_pixels(item["image_url"]["url"]) if "image_url" in item else item for item in items]


def _pixels(url: str) -> tuple[tuple[int, int], bytes]:
    """Size and pixels of an image given as a data URL, or as a path (which the evaluator turns into one)."""
    source = io.BytesIO(base64.b64decode(url.partition(",")[2])) if url.startswith("data:") else Path(url)
    with Image.open(source) as image:
        return image.size, image.convert("RGB").tobytes()
