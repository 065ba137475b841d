"""A publisher of our own making: small repositories whose files have the shape of real ones and none of their words."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from sopbench.prompts import recipes
from sopbench.prompts.catalogue import Files, Official, PinnedFile
from sopbench.prompts.texts import hash_of

FORM = '''
from x.data.agent.base import Base
from x.data.text import parse_tags
from x.io import read_json
from x.io.json import read_json
from x.qwen.image import make_qwen_image_item
import copy, json

SYSTEM = """Act. Known: {}
"""

class JsonFormat(Base):
    def gen_next_round(self, line, state, previous_model_response=None):
        if state is None:
            names = json.dumps([a["action"] for a in self.space["action_space"]])
            state = {"k": 0, "messages": [{"role": "system", "content": [{"text": SYSTEM.format(names)}]}]}
        else:
            state = copy.deepcopy(state)
        k = state["k"]
        if previous_model_response:
            state["messages"].append({"role": "assistant", "content": [{"text": previous_model_response}]})
        said = [{"text": f"Goal: {line['goal']}!"}, {"text": "Hint.\\n"}] if k == 0 else [{"text": "Go on."}]
        state["messages"].append({"role": "user", "content": [*said, make_qwen_image_item(line["steps"][k]["screenshot"])]})
        state["k"] = k + 1
        return state
'''
BASE = """
from x.data.text import parse_tags
from x.qwen.data_format import slim_messages
from x.qwen.image import resize_coordinate

class Base:
    def __init__(self, space_file, add_thought, force_add_thought=False):
        self.space = space_file
"""
SPACE = 'RAW_SPACE = {"action_space": [{"action": "click"}, {"action": "wait"}]}\n'

UIS1_FILES = {
    "UI-S1/x/data/agent/json.py": FORM,
    "UI-S1/x/data/agent/base.py": BASE,
    "UI-S1/x/data/agent/space/std_space.py": SPACE,
}
UIS1_TEXTS = {
    "system": 'Act. Known: ["click", "wait"]\n',
    "first_turn": "Goal: {goal}!",
    "first_turn_hint": "Hint.\n",
    "next_turn": "Go on.",
}


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return root


def commit_tree(root: Path, files: Mapping[str, str]) -> str:
    """Make `root` a git repository with `files` in one commit, and return the commit."""
    write_tree(root, files)
    who = ["-c", "user.name=P", "-c", "user.email=p@example.invalid", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "files"]):
        subprocess.run(["git", "-C", str(root), *command], check=True, capture_output=True)
    done = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def pins(files: Mapping[str, str], commit: str = "c" * 40) -> tuple[PinnedFile, ...]:
    return tuple(
        PinnedFile(
            "https://forge.invalid/pub/agent",
            commit,
            path,
            hashlib.sha256(text.encode()).hexdigest(),
            len(text.encode()),
        )
        for path, text in files.items()
    )


def uis1_source(
    files: Mapping[str, str] = UIS1_FILES,
    commit: str = "c" * 40,
    recipe: Callable[[Files], dict[str, str]] = recipes.uis1,
    texts_sha256: str | None = None,
) -> Official:
    expected = hash_of(UIS1_TEXTS) if texts_sha256 is None else texts_sha256
    return Official("uis1", "pulled", "a publisher's", recipe, pins(files, commit), texts_sha256=expected)
