"""The README and the guides stay true: links lead somewhere, commands exist with their options, code runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from sopbench.cli import build
from uis1_train.cli import build as build_trainer

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("emulator/**/*.md")])


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands() -> list[tuple[str, str]]:
    """Every line of a code block that calls sopbench or uis1-train, its continuation lines joined."""
    found = []
    for page in PAGES:
        for language in ("", "sh", "bash", "console"):
            for block in blocks(page, language):
                lines = [line.removeprefix("$ ") for line in block.replace("\\\n", " ").splitlines()]
                found += [(page.name, line) for line in lines if line.startswith(("sopbench ", "uis1-train "))]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [t for t in targets if "://" not in t and not t.startswith("mailto:")]
    assert [t for t in local if not (page.parent / t).exists()] == []


@pytest.mark.parametrize(("page", "line"), commands())
def test_commands_in_the_docs_exist_with_their_options(page: str, line: str) -> None:
    program, *words = shlex.split(line.split(" | ")[0].split(" > ")[0], comments=True)
    command: Any = typer.main.get_command({"sopbench": build, "uis1-train": build_trainer}[program]())
    while words and hasattr(command, "commands"):
        if words[0] in command.commands:
            command = command.commands[words.pop(0)]
        else:
            assert words[0].startswith("-"), f"{page}: no verb {words[0]!r}"
            break
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    asked = [word.split("=")[0] for word in words if word.startswith("-") and not re.fullmatch(r"-\d.*", word)]
    assert [option for option in asked if option not in known | {"--help", "-h", "--debug"}] == []


def test_the_python_of_the_running_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [code] = blocks(ROOT / "docs" / "running.md", "python")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(code, "running.md", "exec"), names)  # noqa: S102  # our own documentation
    assert names["run"].summary["n"] == 20
    assert names["run"].summary["suite"] == "pocket"


def test_there_are_commands_to_check() -> None:
    assert len(commands()) > 15
