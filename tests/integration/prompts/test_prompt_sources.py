"""Prompt sources as a user meets them: the verbs, what a run says and records, and that a run keeps its words."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from fault_server import answer, status
from recordings import SWIPE, Recording, make_recording, says

import sopbench
from sopbench import api
from sopbench.cli import main
from sopbench.errors import FingerprintMismatch, PromptError, UsageError
from sopbench.prompts import builtin, choosing, pulling
from sopbench.prompts.choosing import PromptFallback
from sopbench.prompts.texts import hash_of
from tests.unit.prompts.publisher import UIS1_FILES, UIS1_TEXTS, uis1_source, write_tree


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of a publisher of our own making, who is the publisher of uis1; nothing is pulled yet."""
    monkeypatch.setenv("SOPBENCH_CACHE", str(tmp_path / "cache"))
    for module in (choosing, pulling):
        monkeypatch.setattr(module, "OFFICIAL", {"uis1": (uis1_source(),)})
    monkeypatch.setattr("sopbench.prompts.catalogue.OFFICIAL", {"uis1": (uis1_source(),)})
    return write_tree(tmp_path / "clone", UIS1_FILES)


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return make_recording(tmp_path / "data", n=2, length=2)


def run_verb(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    """The command line in this process; its exit status."""
    monkeypatch.setattr(sys, "argv", ["sopbench", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def served(server: Any, **more: Any) -> dict[str, Any]:
    return {"model": "tiny", "base_urls": (server.base_url,), "concurrency": 1, **more}


def prompt_of(run: api.Run) -> dict[str, Any]:
    prompt: dict[str, Any] = run.info.facts["adapter"]["prompt"]
    return prompt


# -- runs --------------------------------------------------------------------------------------------------------------


def test_a_run_uses_and_records_what_was_pulled(
    recording: Recording, tmp_path: Path, clone: Path, fault_server: Any, recwarn: pytest.WarningsRecorder
) -> None:
    pulling.pull(uis1_source(), [clone])
    server = fault_server(answer(says(SWIPE)))
    run = sopbench.run(**recording.options, **served(server), out=tmp_path / "run")
    assert prompt_of(run) == {
        "kind": "pulled",
        "sha256": hash_of(UIS1_TEXTS),
        "note": "a publisher's (pub/agent cccccccc)",
    }
    assert run.info.settings["prompt_origin"].startswith(str(tmp_path / "cache"))
    assert server.requests[0].body["messages"][0]["content"] == UIS1_TEXTS["system"]
    assert not [w for w in recwarn if w.category is PromptFallback]


def test_a_run_without_official_words_warns_and_records_ours(
    recording: Recording, tmp_path: Path, clone: Path, fault_server: Any
) -> None:
    server = fault_server(answer(says(SWIPE)))
    with pytest.warns(PromptFallback, match="in our words and not in its publisher's"):
        run = sopbench.run(**recording.options, **served(server), out=tmp_path / "run")
    assert prompt_of(run) == {"kind": "builtin", "sha256": builtin("uis1").sha256, "note": "our words"}
    assert run.info.settings["prompt_origin"] is None


def test_who_asks_for_official_words_gets_no_run_in_others(
    recording: Recording, tmp_path: Path, clone: Path, fault_server: Any
) -> None:
    server = fault_server(answer(says(SWIPE)))
    with pytest.raises(PromptError, match="not to be had"):
        sopbench.run(**recording.options, **served(server), prompts="official", out=tmp_path / "run")
    assert server.count == 0
    assert not (tmp_path / "run").exists()


def test_a_built_in_policy_needs_no_official_words(
    recording: Recording, tmp_path: Path, clone: Path, recwarn: pytest.WarningsRecorder
) -> None:
    run = sopbench.run(**recording.options, model="builtin:oracle", out=tmp_path / "run")
    assert prompt_of(run)["kind"] == "builtin"
    assert not [w for w in recwarn if w.category is PromptFallback]


def test_other_names_of_sources_are_refused() -> None:
    with pytest.raises(UsageError, match="not 'theirs'"):
        api.RunConfig(prompts="theirs")  # type: ignore[arg-type]


def half_a_run(recording: Recording, out: Path, fault_server: Any, **more: Any) -> None:
    """A run of which the first request only was answered."""
    server = fault_server(answer(says(SWIPE)), status(400))
    assert not sopbench.run(**recording.options, **served(server, **more), out=out).summary["complete"]


def test_a_run_is_resumed_in_the_words_that_it_began_with(
    recording: Recording, tmp_path: Path, clone: Path, fault_server: Any, recwarn: pytest.WarningsRecorder
) -> None:
    """Ours first; the official text comes later and must not change the run."""
    half_a_run(recording, tmp_path / "run", fault_server, prompts="builtin")
    pulling.pull(uis1_source(), [clone])
    server = fault_server(answer(says(SWIPE)))
    run = api.resume(tmp_path / "run", base_urls=(server.base_url,))
    assert run.summary["complete"]
    assert server.requests[0].body["messages"][0]["content"] == builtin("uis1").templates["system"]
    assert not [w for w in recwarn if w.category is PromptFallback]


def test_so_is_a_run_that_is_continued(recording: Recording, tmp_path: Path, clone: Path, fault_server: Any) -> None:
    half_a_run(recording, tmp_path / "run", fault_server, prompts="builtin")
    pulling.pull(uis1_source(), [clone])
    server = fault_server(answer(says(SWIPE)))
    assert sopbench.run(**recording.options, **served(server), out=tmp_path / "run").summary["complete"]


def test_other_words_of_the_same_source_are_refused_by_name(
    recording: Recording, tmp_path: Path, clone: Path, fault_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulling.pull(uis1_source(), [clone])
    half_a_run(recording, tmp_path / "run", fault_server)
    newer = {
        **UIS1_FILES,
        "UI-S1/x/data/agent/json.py": UIS1_FILES["UI-S1/x/data/agent/json.py"].replace("Go on.", "Next."),
    }
    source = uis1_source(newer, texts_sha256=hash_of({**UIS1_TEXTS, "next_turn": "Next."}))
    monkeypatch.setattr(choosing, "OFFICIAL", {"uis1": (source,)})
    pulling.pull(source, [write_tree(tmp_path / "newer", newer)])
    with pytest.raises(FingerprintMismatch, match=r"adapter\.prompt\.sha256"):
        api.resume(tmp_path / "run", base_urls=(fault_server(answer(says(SWIPE))).base_url,))


def test_a_source_that_is_gone_is_an_error_and_not_another_source(
    recording: Recording, tmp_path: Path, clone: Path, fault_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulling.pull(uis1_source(), [clone])
    half_a_run(recording, tmp_path / "run", fault_server)
    monkeypatch.setenv("SOPBENCH_CACHE", str(tmp_path / "empty"))
    with pytest.raises(PromptError, match=r"\(pulled\) is not to be had"):
        api.resume(tmp_path / "run", base_urls=(fault_server(answer(says(SWIPE))).base_url,))


# -- the command line --------------------------------------------------------------------------------------------------


def test_run_says_loudly_whose_words_it_uses(
    recording: Recording,
    tmp_path: Path,
    clone: Path,
    fault_server: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = fault_server(answer(says(SWIPE)))
    options = ["--suite", "sop", "--data", recording.file, "--images", recording.images, "--model", "tiny"]
    options += ["--base-url", server.base_url, "--out", tmp_path / "run", "--json", "--quiet"]
    assert run_verb(monkeypatch, "run", *options) == 0
    said = capsys.readouterr()
    assert said.err.startswith("warning: uis1 is asked in our words")
    assert said.err.count("warning") == 2  # that one, and how to choose ours "without this warning"
    assert json.loads(said.out)["complete"]


def test_pull_show_diff_list(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_verb(monkeypatch, "prompts", "pull", "uis1", "--from", clone, "--json") == 0
    pulled = json.loads(capsys.readouterr().out)
    assert pulled["texts_sha256"] == hash_of(UIS1_TEXTS)
    assert Path(pulled["path"]).is_relative_to(tmp_path / "cache")

    assert run_verb(monkeypatch, "prompts", "show", "uis1", "--template", "first_turn_hint") == 0
    assert capsys.readouterr().out == UIS1_TEXTS["first_turn_hint"]
    assert run_verb(monkeypatch, "prompts", "show", "uis1", "--source", "builtin", "--json") == 0
    assert json.loads(capsys.readouterr().out)["templates"] == dict(builtin("uis1").templates)

    assert run_verb(monkeypatch, "prompts", "diff", "uis1") == 1
    lines = capsys.readouterr().out.splitlines()
    assert {"--- builtin/next_turn", "+++ pulled/next_turn", "+Go on."} <= set(lines)
    assert run_verb(monkeypatch, "prompts", "diff", "uis1", "--source", "builtin") == 0
    assert capsys.readouterr().out == ""

    assert run_verb(monkeypatch, "prompts", "list", "--json") == 0
    [official, ours] = json.loads(capsys.readouterr().out)["uis1"]
    assert (official["kind"], official["here"], official["sha256"]) == ("pulled", True, hash_of(UIS1_TEXTS))
    assert [f["path"] for f in official["files"]] == list(UIS1_FILES)
    assert ours == {"kind": "builtin", "here": True}


def test_pull_names_what_is_wrong(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (clone / "UI-S1/x/data/agent/base.py").write_text("pass\n")
    assert run_verb(monkeypatch, "prompts", "pull", "uis1", "--from", clone) == 2
    assert "this is not UI-S1/x/data/agent/base.py of pub/agent" in capsys.readouterr().err


def test_pull_without_a_network_says_that_a_clone_will_do(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_verb(monkeypatch, "prompts", "pull", "uis1") == 2
    said = capsys.readouterr().err
    assert "SOPBENCH_OFFLINE is set" in said
    assert "sopbench prompts pull uis1 --from CLONE" in said


def test_show_of_an_unknown_template(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_verb(monkeypatch, "prompts", "show", "uis1", "--source", "builtin", "--template", "nope") == 2
    assert "it has system, first_turn" in capsys.readouterr().err


def test_adapters_and_render_tell_which_words_they_are(
    recording: Recording, clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_verb(monkeypatch, "adapters", "uis1") == 0
    assert "not pulled yet" in capsys.readouterr().out
    ask = [
        "render",
        "--adapter",
        "uis1",
        "--data",
        recording.file,
        "--images",
        recording.images,
        "--episode",
        "0",
        "--step",
        "0",
    ]
    assert run_verb(monkeypatch, *ask) == 0
    said = capsys.readouterr()
    assert said.err.startswith("warning: uis1 is asked in our words")
    assert json.loads(said.out)[0]["content"][0]["text"] == builtin("uis1").templates["system"]

    pulling.pull(uis1_source(), [clone])
    assert run_verb(monkeypatch, "adapters", "uis1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["prompt"]["sha256"] == hash_of(UIS1_TEXTS)
    assert run_verb(monkeypatch, *ask, "--prompts", "official") == 0
    said = capsys.readouterr()
    assert said.err == ""
    [system, user] = json.loads(said.out)
    assert system["content"] == [{"type": "text", "text": UIS1_TEXTS["system"]}]
    assert [part.get("text") for part in user["content"]] == ["Goal: goal 0!", "Hint.\n", None]
    assert run_verb(monkeypatch, *ask, "--prompts", "builtin") == 0
    assert capsys.readouterr().err == ""


def test_doctor_tells_which_words_a_run_would_use(
    clone: Path, fault_server: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = fault_server(answer(says(SWIPE)))
    run_verb(monkeypatch, "doctor", "--base-url", server.base_url, "--screen", "56x56", "--json")
    assert json.loads(capsys.readouterr().out)["prompt"]["kind"] == "builtin"
    pulling.pull(uis1_source(), [clone])
    run_verb(monkeypatch, "doctor", "--base-url", server.base_url, "--screen", "56x56")
    assert f"prompt: pulled {hash_of(UIS1_TEXTS)[:12]}" in capsys.readouterr().out
