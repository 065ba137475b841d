"""`sopbench verdicts`: one set of replies under several profiles, and what reading the unreadable as `wait` is worth."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fault_server import answer
from recordings import CLICK, SWIPE, Recording, make_recording, says

import sopbench
from sopbench import api
from sopbench.adapters import ADAPTERS
from sopbench.errors import DataError, FingerprintMismatch, UsageError

WAIT = {"action": "wait", "time": 2}
DOWN = {"action": "swipe", "coordinate": [266, 301], "coordinate2": [266, 903]}
IN_THE_BOX = {"action": "click", "coordinate": [60, 160]}
ALL = ("uis1-released", "uis1-boxes", "strict")


def gold(episode: int, step: int) -> dict[str, Any]:
    return (SWIPE, CLICK, WAIT)[step % 3]


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return make_recording(tmp_path / "data", n=2, length=3, content=gold)


def played(recording: Recording, out: Path, server: Any, **more: Any) -> sopbench.Run:
    options = recording.options | {"model": "tiny", "base_urls": (server.base_url,), "prompts": "builtin"} | more
    return sopbench.run(**options, concurrency=1, out=out)


def test_steps_on_which_profiles_disagree_are_counted_by_the_experts_action(
    recording: Recording, tmp_path: Path, fault_server: Any
) -> None:
    """A swipe the wrong way, a click in the box but far from the point, and prose where the expert waits; twice."""
    replies = [answer(says(DOWN)), answer(says(IN_THE_BOX)), answer("Let me think.")]
    run = played(recording, tmp_path / "run", fault_server(*replies, *replies), after_mismatch="continue")
    found = api.verdicts(run.path, ALL)
    assert (found["steps"], found["of"]) == (6, 6)
    counts = {name: (row["match"], row["match_if_wait"]) for name, row in found["profiles"].items()}
    assert counts == {"uis1-released@1": (2, 4), "uis1-boxes@1": (4, 6), "strict@1": (2, 4)}
    by_pair = {(c["a"], c["b"]): c for c in found["changes"]}
    assert len(by_pair) == 3
    boxes = by_pair["uis1-released@1", "uis1-boxes@1"]
    assert (boxes["only_a"], boxes["only_b"]) == (0, 2)
    assert boxes["by_action"] == {"click": {"only_a": 0, "only_b": 2}}
    assert by_pair["uis1-released@1", "strict@1"]["by_action"] == {
        "click": {"only_a": 0, "only_b": 2},
        "swipe": {"only_a": 2, "only_b": 0},
    }
    assert found["unparsed"] == {"steps": 2, "on_wait": 2}
    boxed = found["profiles"]["uis1-boxes@1"]
    assert (boxed["pg"], boxed["tsr"], boxed["pg_if_wait"], boxed["tsr_if_wait"]) == (66.7, 0.0, 100.0, 100.0)
    assert boxed["pg_if_erased"] == 0.0  # both trajectories stop at prose
    released = found["profiles"]["uis1-released@1"]
    assert (released["pg"], released["pg_if_erased"]) == (33.3, 33.3)  # both stop at the click, before the prose


def test_pg_and_tsr_are_those_of_a_rescoring(tmp_path: Path) -> None:
    recording = make_recording(tmp_path / "data", n=12, length=4, content=gold)
    run = sopbench.run(
        **recording.options, model="builtin:noisy:p=0.4", after_mismatch="continue", out=tmp_path / "run"
    )
    found = api.verdicts(run.path, ALL)
    for name in ALL:
        again = api.rescore(run.path, name).summary
        row = found["profiles"][again["profile"]]
        assert (row["pg"], row["tsr"]) == (again["pg"], again["tsr"])


def test_without_a_reply_to_every_step_there_is_no_pg(recording: Recording, tmp_path: Path) -> None:
    run = sopbench.run(**recording.options, model="builtin:null", out=tmp_path / "run")
    found = api.verdicts(run.path, ["strict"])
    assert (found["steps"], found["of"]) == (2, 6)
    assert "pg" not in found["profiles"]["strict@1"]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_prose_is_nobodys_step_and_never_a_wait(recording: Recording, tmp_path: Path, adapter: str) -> None:
    """Field case 4, for every family."""
    run = sopbench.run(
        **recording.options, model="builtin:prose", adapter=adapter, after_mismatch="continue", out=tmp_path / "run"
    )
    assert (run.summary["pg"], run.summary["parse_failed_steps"]) == (0.0, 6)
    found = api.verdicts(run.path, ["uis1-released"])
    assert found["profiles"]["uis1-released@1"]["match"] == 0
    assert found["profiles"]["uis1-released@1"]["match_if_wait"] == 2
    assert found["unparsed"] == {"steps": 6, "on_wait": 2}


def test_other_data_and_online_runs_are_refused(recording: Recording, tmp_path: Path) -> None:
    run = sopbench.run(**recording.options, model="builtin:null", out=tmp_path / "run")
    recording.file.write_text(recording.file.read_text().replace("goal 0", "goal x"))
    with pytest.raises(FingerprintMismatch, match="data_sha256"):
        api.verdicts(run.path, ALL)
    online = sopbench.run(suite="pocket-online", model="builtin:null", limit=1, out=tmp_path / "online")
    with pytest.raises(UsageError, match="online"):
        api.verdicts(online.path, ALL)


def test_a_journal_of_another_length_is_refused(recording: Recording, tmp_path: Path) -> None:
    run = sopbench.run(**recording.options, model="builtin:oracle", out=tmp_path / "run")
    journal = run.path / "steps.jsonl"
    journal.write_text(journal.read_text().replace('"step":2', '"step":7'))
    with pytest.raises(DataError, match="step 7"):
        api.verdicts(run.path, ALL)


def test_the_command_prints_a_table_and_as_json_the_counts(recording: Recording, tmp_path: Path) -> None:
    run = sopbench.run(**recording.options, model="builtin:prose", after_mismatch="continue", out=tmp_path / "run")
    line = [str(Path(sys.executable).with_name("sopbench")), "verdicts", str(run.path)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert "6 recorded steps of 6" in done.stdout
    assert "as wait" in done.stdout
    assert "matched by uis1-released@1 only: 0; by uis1-boxes@1 only: 0" in done.stdout
    found = json.loads(subprocess.run([*line, "--profile", "strict", "--json"], capture_output=True, check=True).stdout)
    assert list(found["profiles"]) == ["strict@1"]
    assert found["changes"] == []
