"""Boards on a handful of made-up recordings, runs on them by a model that errs, and submissions to be tampered with."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import yaml
import zstandard
from PIL import Image

import sopbench
from sopbench.actions import Click, Wait
from sopbench.adapters import get_adapter
from sopbench.clients.base import Ask, Attempt, Policy, Reply
from sopbench.geometry import Point
from sopbench.leaderboard import submit, verify
from sopbench.leaderboard.boards import Boards, load_boards
from sopbench.leaderboard.reading import METADATA, RUN, STEPS, SUMMARY, SUMS
from sopbench.leaderboard.rules_files import sums_of
from sopbench.leaderboard.verifying import Verification
from sopbench.runs.fingerprint import fingerprint
from sopbench.scoring import get_profile
from sopbench.suites import get_suite
from sopbench.suites.base import DataSource

SIZE = (1080, 2400)
EPISODES = 6
ABOUT: dict[str, Any] = {
    "model": "Tiny-GUI 0.1B",
    "organisation": "Made-up Lab",
    "date": "2026-01-31",
    "contact": "@made-up",
    "weights_open": True,
    "training_data": "Nothing: it was made up for a test.",
    "trained_on_benchmark": "no",
}
Step = dict[str, Any]


class Learner(Policy):
    """The expert's action, and at every `errs`-th question another one, in a prose of its own: what a model's run looks like."""

    name: ClassVar[str] = "endpoint"

    def __init__(self, errs: int = 7, name: str = "made-up/tiny-gui") -> None:
        self.errs, self.model = errs, name

    async def ask(self, ask: Ask) -> Reply:
        action = ask.expert() if ask.expert else None
        if action is None or int(hashlib.sha256(repr(ask.key).encode()).hexdigest(), 16) % self.errs == 0:
            action = Wait(1) if action is None or isinstance(action, Click) else Click(Point(0.1, 0.1))
        text = ask.adapter.format(action, ask.size, f"thinking about {ask.key[2]}")
        tries = (
            Attempt("http://10.0.0.7:8000/v1", 0.2, "http_503", "busy at 10.0.0.7"),
            Attempt("http://10.0.0.7:8000/v1", 0.1),
        )
        return Reply(text, self.model, "http://10.0.0.7:8000/v1", "stop", 900, 40, 0.1, 0.0, tries)

    def describe(self) -> dict[str, Any]:
        sampling = {"temperature": 0.0, "top_p": None, "top_k": None, "max_tokens": 512, "seed": None, "extra_body": {}}
        return {"model": self.model, "sampling": sampling, "policy": {"kind": "endpoint"}}

    def settings(self) -> dict[str, Any]:
        return {"base_urls": ["http://10.0.0.7:8000/v1"]}


def recordings(folder: Path, episodes: int = EPISODES) -> DataSource:
    """A trajectory file in the released form, with screens."""
    images = folder / "images"
    images.mkdir(parents=True)
    lines = []
    for e in range(episodes):
        steps: list[Step] = []
        for k in range(3 + e % 3):
            name = f"{100 + e}_{k}.png"
            Image.new("RGB", SIZE, (40 * e % 256, 60 * k % 256, 120)).save(images / name)
            actions = ({"action": "click", "coordinate": [200 + 100 * k, 400 + 150 * e]}, {"action": "type", "text": f"word {k}"}, {"action": "swipe", "coordinate": [540, 1800], "coordinate2": [540, 700]})  # fmt: skip
            content = {"action": "open", "text": "Clock"} if k == 0 and e % 2 else actions[k % 3]
            steps.append(
                {
                    "action_content": content,
                    "screenshot": f"/somewhere/{name}",
                    "step_instruction": f"do {k}",
                    "check_options": content,
                }
            )
        lines.append(json.dumps({"goal": f"Reach goal {e}", "is_successful": True, "steps": steps}))
    file = folder / "data.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return DataSource(file, images)


def define_board(root: Path, source: DataSource, *, board: str = "tiny-sop", suite: str = "sop", **more: Any) -> None:
    """A board that pins the data of `source` (for suites that bring their own: None)."""
    played = get_suite(suite)
    loaded = played.load(source)
    profile = get_profile(played.default_profile) if played.default_profile else None
    columns = {"semi_online": ["score", "pg", "tsr"], "static": ["sr", "tm", "gr"], "online": ["success"]}[
        played.protocol
    ]
    definition: dict[str, Any] = {
        "v": 1,
        "id": board,
        "title": f"A tiny board, {suite}",
        "about": "For tests.",
        "suite": suite,
        "protocol": played.protocol,
        "simulated": played.protocol == "online",
        "data": {
            "data_sha256": loaded.sha256,
            "ids_sha256": loaded.ids_sha256,
            "n": len(loaded.ids),
            "source": "made up",
        },
        "limits": {"images": 4, "max_tokens": 1024, "repeats": 3},
        "headline": columns[0],
        "columns": columns,
    }
    if profile is not None:
        definition["profile"] = {"id": profile.id, "hash": profile.hash}
    (root / board).mkdir(parents=True, exist_ok=True)
    told = {key: value for key, value in (definition | more).items() if value is not None}
    (root / board / "board.yaml").write_text(yaml.safe_dump(told), encoding="utf-8")


@dataclass
class Workshop:
    """`folder` is a verified submission of the board `tiny-sop`; `tampered` copies it and changes what a test wants changed."""

    root: Path
    source: DataSource
    folder: Path

    @cached_property
    def boards(self) -> Boards:
        return load_boards(self.root)

    def verify(self, path: Path, **more: Any) -> Verification:
        return verify(path, boards=self.boards, **({"source": self.source} | more))

    def tampered(self, out: Path, change: Callable[[Opened], None], *, sums: bool = True) -> Path:
        """A copy in which `change` was made; its sums are renewed, as a forger would."""
        target = out / self.folder.name
        shutil.copytree(self.folder, target)
        opened = Opened(target)
        change(opened)
        opened.write(sums=sums)
        return target

    def run(self, out: Path, suite: str = "sop", policy: Policy | None = None, **more: Any) -> Path:
        options: dict[str, Any] = {"suite": suite, "adapter": "uis1", "prompts": "builtin", "out": out}
        options |= {"data": self.source.file, "images": self.source.images}
        if "model" not in more:
            more["policy"] = policy or Learner()
        return sopbench.run(**(options | more)).path

    def submit(self, run: Path, out: Path, **about: Any) -> Path:
        return submit(run, out, ABOUT | about, boards=self.boards).path


class Opened:
    """A submission's parts as values that a test may change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.metadata = (folder / METADATA).read_text(encoding="utf-8")
        self.run: dict[str, Any] = json.loads((folder / RUN).read_text())
        self.summary: dict[str, Any] = json.loads((folder / SUMMARY).read_text())
        journal = zstandard.ZstdDecompressor().decompress((folder / STEPS).read_bytes())
        self.lines: list[Step] = [json.loads(line) for line in journal.splitlines()]
        self.raw: list[bytes] | None = None
        self.fingerprinted = True

    def first(self, **like: Any) -> Step:
        return next(line for line in self.lines if all(line.get(key) == value for key, value in like.items()))

    def write(self, *, sums: bool) -> None:
        if self.fingerprinted:
            self.run["fingerprint"] = fingerprint(self.run["facts"])
            self.summary["fingerprint"] = self.run["fingerprint"]
        lines = self.raw if self.raw is not None else [json.dumps(line).encode() for line in self.lines]
        contents = {
            METADATA: self.metadata.encode("utf-8", "surrogatepass"),
            RUN: json.dumps(self.run).encode(),
            SUMMARY: json.dumps(self.summary).encode(),
            STEPS: zstandard.ZstdCompressor().compress(b"\n".join(lines) + b"\n"),
        }
        for name, content in contents.items():
            (self.folder / name).write_bytes(content)
        if sums:
            renew_sums(self.folder)


def renew_sums(folder: Path) -> None:
    contents = {name: (folder / name).read_bytes() for name in (METADATA, RUN, STEPS, SUMMARY)}
    (folder / SUMS).write_bytes(sums_of(contents))


def make_workshop(place: Path) -> Workshop:
    source = recordings(place / "data")
    define_board(place / "boards", source)
    shop = Workshop(place / "boards", source, place)
    shop.folder = shop.submit(shop.run(place / "run"), place / "out")
    return shop


def say(line: Step, action: Any, thought: str = "") -> str:
    """Another reply for `line`, in its adapter's words."""
    from sopbench.geometry import Size

    return get_adapter("uis1").format(action, Size(*line["screen"]), thought)
