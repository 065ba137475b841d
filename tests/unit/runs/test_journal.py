"""The journal survives its writer: torn lines, repeated lines, two writers."""

from __future__ import annotations

import errno
import json
import math
import os
from pathlib import Path

import pytest

from sopbench.clients.answers import MAX_RESPONSE
from sopbench.errors import DataError, FingerprintMismatch, RunBusy
from sopbench.runs.fingerprint import differences, fingerprint, require_same
from sopbench.runs.folder import EpisodeLog, RunFolder, RunInfo, require_own
from sopbench.runs.journal import Journal
from sopbench.runs.records import EpisodeEnd, FailureRecord, StepRecord, VerdictRecord


def scored(step: int, reply: str = "r", *, match: bool = True, episode: str = "e") -> StepRecord:
    verdict = VerdictRecord(type_match=True, match=match, reason=None if match else "outside_target")
    return StepRecord(episode=episode, step=step, outcome="scored", reply=reply, verdict=verdict)


def failed(step: int, reason: str = "timeout") -> StepRecord:
    return StepRecord(episode="e", step=step, outcome="not_scored", error=FailureRecord(reason=reason, detail="d"))


def write(folder: RunFolder, *records: StepRecord | EpisodeEnd) -> None:
    with Journal(folder.journal_path) as journal:
        for record in records:
            journal.append(record)


def test_what_was_appended_is_read_back(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    write(folder, scored(0, 'é "quoted" 中\n\x00'), EpisodeEnd(episode="e", outcome="scored", score=1.0, steps=3))
    first, second = folder.records()
    assert isinstance(first, StepRecord)
    assert first.reply == 'é "quoted" 中\n\x00'
    assert first.at is not None
    assert isinstance(second, EpisodeEnd)
    assert second.score == 1.0


@pytest.mark.parametrize(
    "torn", [b'{"v":1,"episode":"e","st', b"{", b'{"v":1,"episode":"e","step":1,"outcome":"scored"}']
)
def test_a_torn_last_line_is_not_read_and_is_cut_before_the_next_append(tmp_path: Path, torn: bytes) -> None:
    folder = RunFolder(tmp_path)
    write(folder, scored(0))
    with folder.journal_path.open("ab") as handle:
        handle.write(torn)
    assert len(list(folder.records())) == 1
    write(folder, scored(1))
    assert [r.step for r in folder.records() if isinstance(r, StepRecord)] == [0, 1]


def test_a_journal_that_is_one_torn_line_starts_anew(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.journal_path.write_bytes(b"x" * 200_000)
    write(folder, scored(0))
    assert len(list(folder.records())) == 1


def test_a_damaged_line_in_the_middle_is_an_error_that_names_it(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    write(folder, scored(0))
    with folder.journal_path.open("ab") as handle:
        handle.write(b'{"v":1,"nonsense":true}\n')
    with pytest.raises(DataError, match=r"steps\.jsonl line 2"):
        list(folder.records())


@pytest.mark.parametrize("line", [b"[]\n", b"null\n", b"[" * 100_000 + b"\n", b"\xff\n"])
def test_lines_that_are_no_records_are_errors_not_crashes(tmp_path: Path, line: bytes) -> None:
    folder = RunFolder(tmp_path)
    folder.journal_path.write_bytes(line)
    with pytest.raises(DataError, match="line 1"):
        list(folder.records())


def test_a_second_writer_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "steps.jsonl"),
        pytest.raises(RunBusy, match="another process"),
        Journal(tmp_path / "steps.jsonl"),
    ):
        pass
    with Journal(tmp_path / "steps.jsonl") as again:
        again.append(scored(0))


def test_the_first_scored_line_of_a_step_counts_and_later_ones_never_do() -> None:
    log = EpisodeLog()
    for record in (failed(0), scored(0, "first"), scored(0, "late"), failed(0)):
        log.add(record)
    assert [r.reply for r in log.ordered()] == ["first"]


def test_a_failure_counts_only_where_nothing_was_scored() -> None:
    log = EpisodeLog()
    log.add(failed(0, "timeout"))
    log.add(failed(0, "connection"))
    assert [r.error.reason for r in log.ordered() if r.error] == ["connection"]


def test_a_new_start_of_an_online_episode_replaces_the_unfinished_one() -> None:
    log = EpisodeLog()
    log.add(StepRecord(episode="e", step=0, outcome="acted", reply="old"))
    log.add(StepRecord(episode="e", step=0, outcome="acted", reply="new", attempt=1))
    log.add(EpisodeEnd(episode="e", attempt=1, outcome="scored", score=1.0, steps=1))
    log.add(StepRecord(episode="e", step=0, outcome="acted", reply="after the end", attempt=2))
    assert [r.reply for r in log.ordered()] == ["new"]
    assert log.end is not None
    assert log.end.score == 1.0


FACTS = {
    "suite": "sop",
    "protocol": "semi_online",
    "data_sha256": "d",
    "ids_sha256": "i",
    "n_trajectories": 1,
    "repeats": 1,
    "seed": None,
    "profile": {"id": "strict@1", "hash": "h"},
    "adapter": {"name": "uis1", "prompt": {"kind": "builtin", "sha256": "p", "note": ""}},
    "images": 2,
    "after_mismatch": "stop",
    "model": "a",
}


def info(**facts: object) -> RunInfo:
    return RunInfo(id="i", created="now", version="0", fingerprint=fingerprint(facts), facts=facts, settings={})


def test_a_run_json_edited_by_hand_is_noticed(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.create(info(**FACTS))
    assert folder.info().facts == FACTS
    obj = json.loads((tmp_path / "run.json").read_text())
    obj["facts"]["model"] = "b"
    (tmp_path / "run.json").write_text(json.dumps(obj))
    with pytest.raises(DataError, match="changed by hand"):
        folder.info()


@pytest.mark.parametrize("content", ["", "[]", '{"v":1}', "{" * 5000])
def test_a_run_json_that_is_none_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(DataError, match=r"run\.json"):
        RunFolder(tmp_path).info()


def test_a_folder_without_run_json_is_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a run"):
        RunFolder(tmp_path).info()


def test_differing_facts_are_named_with_both_values() -> None:
    mine = {"suite": "sop", "profile": {"id": "strict@1", "hash": "a"}, "seed": None}
    theirs = {"suite": "sop", "profile": {"id": "strict@1", "hash": "b"}, "seed": 1}
    assert list(differences(mine, theirs)) == ['profile.hash: "a" / "b"', "seed: null / 1"]
    with pytest.raises(FingerprintMismatch, match=r"profile\.hash") as raised:
        require_same(mine, theirs, what="cannot resume")
    assert raised.value.exit_code == 2


def test_the_fingerprint_ignores_the_order_of_facts_and_nothing_else() -> None:
    assert fingerprint({"a": 1, "b": [1, 2]}) == fingerprint({"b": [1, 2], "a": 1})
    assert fingerprint({"a": 1, "b": [1, 2]}) != fingerprint({"a": 1, "b": [2, 1]})


def test_a_line_that_a_full_disk_cuts_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system writes what fits and reports that; only the next write fails. Half a line would spoil the one behind it."""
    folder = RunFolder(tmp_path)
    with Journal(folder.journal_path) as journal:
        journal.append(scored(0))
        whole = journal._file
        assert whole is not None
        room = 30

        class Full:
            def write(self, data: memoryview) -> int:
                nonlocal room
                if not room:
                    raise OSError(errno.ENOSPC, "No space left on device")
                written = whole.write(data[:room])
                room = 0
                return written

            def __getattr__(self, name: str) -> object:
                return getattr(whole, name)

        monkeypatch.setattr(journal, "_file", Full())
        with pytest.raises(DataError, match=r"No space left.*sopbench resume"):
            journal.append(scored(1))
        monkeypatch.setattr(journal, "_file", whole)
        journal.append(scored(2))
    assert [r.step for r in folder.records() if isinstance(r, StepRecord)] == [0, 2]


def test_a_line_that_is_written_in_pieces_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path)
    with Journal(folder.journal_path) as journal:
        whole = journal._file
        assert whole is not None

        class Slow:
            def write(self, data: memoryview) -> int:
                return whole.write(data[:7])

            def __getattr__(self, name: str) -> object:
                return getattr(whole, name)

        monkeypatch.setattr(journal, "_file", Slow())
        journal.append(scored(0))
    assert [r.step for r in folder.records() if isinstance(r, StepRecord)] == [0]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """A run folder from elsewhere could name any file of ours as its journal; opening it would cut off its last line."""
    victim = tmp_path / "notes.txt"
    victim.write_text("first\nsecond, without an end")
    (tmp_path / "steps.jsonl").symlink_to(victim)
    with pytest.raises(DataError, match="no journal"), Journal(tmp_path / "steps.jsonl"):
        pass
    assert victim.read_text() == "first\nsecond, without an end"


def test_a_pipe_or_folder_is_no_journal(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(DataError, match="no journal"), Journal(tmp_path / name):
            pass
    folder = RunFolder(tmp_path)
    os.mkfifo(folder.journal_path)
    with pytest.raises(DataError, match="not a regular file"):
        list(folder.records())


def test_the_longest_answer_that_a_client_takes_can_be_read_back(tmp_path: Path) -> None:
    """As ASCII JSON a text takes up to three times its bytes."""
    folder = RunFolder(tmp_path)
    reply = "é" * (MAX_RESPONSE // 2)
    write(folder, scored(0, reply))
    (record,) = folder.records()
    assert isinstance(record, StepRecord)
    assert record.reply == reply


@pytest.mark.parametrize(
    "change",
    [
        {"step": -1},
        {"step": 2**60},
        {"repeat": -1},
        {"of": 0},
        {"screen": [0, 5]},
        {"screen": [1]},
        {"action": {}},
        {"gold": {"action": ["click"]}},
        {"latency": math.nan},
        {"latency": -1},
        {"queued": math.inf},
        {"prompt_tokens": -5},
        {"completion_tokens": 2**60},
        {"attempts": [{"endpoint": "e", "seconds": math.nan}]},
        {"outcome": "won"},
        {"unknown": 1},
    ],
)
def test_a_line_that_nobody_wrote_is_named(tmp_path: Path, change: dict[str, object]) -> None:
    folder = RunFolder(tmp_path)
    line = scored(0).model_dump(mode="json", exclude_none=True) | change
    folder.journal_path.write_text(json.dumps(line) + "\n")
    with pytest.raises(DataError, match=r"steps\.jsonl line 1"):
        list(folder.records())


@pytest.mark.parametrize("score", [math.nan, -0.1, 1.5])
def test_an_environments_word_lies_between_0_and_1(tmp_path: Path, score: float) -> None:
    folder = RunFolder(tmp_path)
    end = {"end": True, "episode": "e", "outcome": "scored", "score": score, "steps": 1}
    folder.journal_path.write_text(json.dumps(end) + "\n")
    with pytest.raises(DataError, match="score"):
        list(folder.records())


@pytest.mark.parametrize("name", sorted(FACTS))
@pytest.mark.parametrize("value", ["missing", [1], {"x": []}, -1.5])
def test_a_fact_that_is_not_what_code_relies_on_is_named(tmp_path: Path, name: str, value: object) -> None:
    """The fingerprint protects against mistakes, not against people: it is right here."""
    facts = {key: fact for key, fact in FACTS.items() if key != name} if value == "missing" else FACTS | {name: value}
    folder = RunFolder(tmp_path)
    folder.create(info(**facts))
    with pytest.raises(DataError, match=rf"run\.json: facts.*{name}"):
        folder.info()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data", ["x"]),
        ("images_dir", 5),
        ("image_pattern", None),
        ("limit", "3"),
        ("base_urls", "http://a"),
        ("concurrency", 0),
        ("attempt_timeout", "long"),
        ("prices", {"prompt": -1, "completion": 1}),
    ],
)
def test_a_setting_that_is_none_is_named(tmp_path: Path, name: str, value: object) -> None:
    folder = RunFolder(tmp_path)
    folder.create(info(**FACTS).model_copy(update={"settings": {name: value}}))
    with pytest.raises(DataError, match=rf"run\.json: settings: {name}"):
        folder.info()


def test_lines_of_another_runs_episode_are_refused(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    write(folder, scored(0), scored(0, episode="foreign"))
    require_own(folder.episodes(), ["e", "foreign"], 1, folder)
    with pytest.raises(DataError, match="'foreign'"):
        require_own(folder.episodes(), ["e"], 1, folder)
    folder.journal_path.unlink()
    write(folder, scored(0).model_copy(update={"repeat": 1}))
    with pytest.raises(DataError, match="repeat 1"):
        require_own(folder.episodes(), ["e"], 1, folder)
