"""Every rule of a submission, broken by itself: the refusal names the rule."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from board_workshop import Learner, Opened, Workshop, define_board, renew_sums, say

from sopbench.actions import Click
from sopbench.errors import UsageError
from sopbench.geometry import Point
from sopbench.leaderboard.reading import METADATA, STEPS, SUMMARY, SUMS
from sopbench.leaderboard.verifying import RULES
from sopbench.suites.base import DataSource

Change = Callable[[Opened], None]


def test_the_submission_that_is_tampered_with_below_is_verified(shop: Workshop) -> None:
    found = shop.verify(shop.folder)
    assert found.refused is None
    assert {r.rule: r.outcome for r in found.results} == {r.name: "passed" for r in RULES} | {"environment": "skipped"}
    assert found.row is not None
    assert found.row.tier == "self-reported"
    assert 0 < found.row.values["score"] < 100
    assert found.row.values == {name: Opened(shop.folder).summary[name] for name in ("score", "pg", "tsr")}


def matched(o: Opened) -> dict[str, Any]:
    return next(line for line in o.lines if line["verdict"]["match"] and line["step"] == 0)


def missed(o: Opened) -> dict[str, Any]:
    return next(line for line in o.lines if not line["verdict"]["match"])


def edited_headline(o: Opened) -> None:
    o.summary["score"] = 99.9


def edited_interval(o: Opened) -> None:
    o.summary["ci95"]["score"] = [99.0, 100.0]


def missing_headline(o: Opened) -> None:
    del o.summary["tsr"]


def invented_number(o: Opened) -> None:
    o.summary["state_of_the_art"] = True


def dropped_trajectory(o: Opened) -> None:
    o.lines = [line for line in o.lines if line["episode"] != o.lines[0]["episode"]]


def dropped_last_step(o: Opened) -> None:
    o.lines.remove(next(line for line in reversed(o.lines) if line["step"] > 0))


def dropped_first_step(o: Opened) -> None:
    del o.lines[0]


def swapped_reply(o: Opened) -> None:
    line = missed(o)
    line["reply"] = matched(o)["reply"]


def verdict_turned(o: Opened) -> None:
    missed(o)["verdict"] = {"type_match": True, "match": True, "reason": None}


def thought_changed(o: Opened) -> None:
    matched(o)["thought"] = "I am very clever"


def gold_changed(o: Opened) -> None:
    line = missed(o)
    line["gold"] = line["action"]


def reply_and_all_that_follows_from_it(o: Opened) -> None:
    """A reply with its action, thought and verdict as they would be: only the next request's hash gives it away."""
    line = next(n for n in o.lines if n["verdict"]["match"] and n["gold"]["action"] == "click" and n["step"] == 0)
    x, y = line["gold"]["coordinate"]
    line["reply"] = say(line, Click(Point(x / line["screen"][0], y / line["screen"][1])), "another thought")
    line["thought"] = "another thought"


def request_changed(o: Opened) -> None:
    matched(o)["prompt_sha256"] = "0" * 64


def screen_hash_changed(o: Opened) -> None:
    matched(o)["images"] = ["0" * 64]


def screen_size_changed(o: Opened) -> None:
    for line in o.lines:
        line["screen"] = [2160, 4800]


def other_profile(o: Opened) -> None:
    o.run["facts"]["profile"] = {"id": "strict@1", "hash": "1" * 64}


def other_profile_hash(o: Opened) -> None:
    o.run["facts"]["profile"]["hash"] = "1" * 64


def other_data(o: Opened) -> None:
    o.run["facts"]["data_sha256"] = "1" * 64


def other_ids(o: Opened) -> None:
    o.run["facts"]["ids_sha256"] = "1" * 64


def fewer_episodes(o: Opened) -> None:
    o.run["facts"]["n_trajectories"] -= 1


def other_suite(o: Opened) -> None:
    o.run["facts"]["suite"] = "pocket"


def went_on_after_mismatches(o: Opened) -> None:
    o.run["facts"]["after_mismatch"] = "continue"


def too_many_screens(o: Opened) -> None:
    o.run["facts"]["images"] = 5


def too_many_tokens(o: Opened) -> None:
    o.run["facts"]["sampling"]["max_tokens"] = 1025


def tokens_without_limit(o: Opened) -> None:
    o.run["facts"]["sampling"]["max_tokens"] = None


def too_many_repeats(o: Opened) -> None:
    o.run["facts"]["repeats"] = 4


def sampling_not_told(o: Opened) -> None:
    del o.run["facts"]["sampling"]


def called_a_builtin(o: Opened) -> None:
    o.run["facts"]["policy"] = {"kind": "builtin"}


def unknown_adapter(o: Opened) -> None:
    o.run["facts"]["adapter"]["name"] = "telepathy"


def other_texts(o: Opened) -> None:
    o.run["facts"]["adapter"]["prompt"]["sha256"] = "1" * 64


def doubled_line(o: Opened) -> None:
    o.lines.insert(1, o.lines[0])


def doubled_line_later(o: Opened) -> None:
    o.lines.append(o.lines[0])


def other_order(o: Opened) -> None:
    o.lines.reverse()


def foreign_episode(o: Opened) -> None:
    o.lines[0]["episode"] = "999"


def foreign_repeat(o: Opened) -> None:
    o.lines[-1]["repeat"] = 1


def step_beyond(o: Opened) -> None:
    o.lines[-1]["step"] = 50


def mixed_attempts(o: Opened) -> None:
    matched(o)["attempt"] = 1


def diagnostic_step(o: Opened) -> None:
    o.lines[-1]["diagnostic"] = True


def acted_in_a_recording(o: Opened) -> None:
    o.lines[0]["outcome"] = "acted"


def an_end_in_a_recording(o: Opened) -> None:
    o.lines.append({"end": True, "episode": o.lines[-1]["episode"], "outcome": "scored", "score": 1.0, "steps": 3})


def address_in_a_line(o: Opened) -> None:
    o.lines[0]["endpoint"] = "http://10.0.0.7:8000/v1"


def words_of_an_error(o: Opened) -> None:
    o.lines[0]["attempts"][0]["detail"] = "busy at 10.0.0.7"


def key_in_a_reply(o: Opened) -> None:
    o.lines[-1]["reply"] += " sk-abcdefghijklmnopqrstuvwxyz012345"


def no_verdict(o: Opened) -> None:
    line = missed(o)
    for name in ("reply", "thought", "action", "verdict", "gold", "parse_failure"):
        line.pop(name, None)
    line |= {"outcome": "not_scored", "error": {"reason": "timeout", "detail": ""}}


def settings_of_the_machine(o: Opened) -> None:
    o.run["settings"]["base_urls"] = ["http://10.0.0.7:8000/v1"]


def home_folder_in_the_facts(o: Opened) -> None:
    o.run["facts"]["sampling"]["extra_body"] = {"adapter": "/home/somebody/lora"}


def path_as_a_model(o: Opened) -> None:
    o.run["facts"]["model"] = "/srv/models/tiny"


def key_in_the_facts(o: Opened) -> None:
    o.run["facts"]["sampling"]["extra_body"] = {"token": "hf_abcdefghijklmnopqrstuvwx"}


def facts_changed_by_hand(o: Opened) -> None:
    o.fingerprinted = False
    o.run["facts"]["model"] = "another"


def run_of_another_shape(o: Opened) -> None:
    o.run["surplus"] = 1


def no_version(o: Opened) -> None:
    o.run["version"] = ""


def bidi_in_the_model(o: Opened) -> None:
    o.run["facts"]["model"] = "made-up\u202egpj"


def escape_in_a_fact(o: Opened) -> None:
    o.run["facts"]["sampling"]["extra_body"] = {"x": "\x1b[2J"}


def not_a_time(o: Opened) -> None:
    o.run["created"] = "yesterday"


def other_board(o: Opened) -> None:
    o.metadata = o.metadata.replace('"tiny-sop"', '"nowhere"')


def other_name(o: Opened) -> None:
    o.metadata = o.metadata.replace("Tiny-GUI 0.1B", "Huge-GUI 1B")


BROKEN: list[tuple[str, Change]] = [
    ("headline", edited_headline),
    ("headline", edited_interval),
    ("headline", missing_headline),
    ("headline", invented_number),
    ("complete", dropped_trajectory),
    ("replies", dropped_last_step),
    ("replies", dropped_first_step),
    ("replies", swapped_reply),
    ("replies", verdict_turned),
    ("replies", thought_changed),
    ("replies", gold_changed),
    ("replies", reply_and_all_that_follows_from_it),
    ("replies", request_changed),
    ("replies", screen_hash_changed),
    ("replies", screen_size_changed),
    ("profile", other_profile),
    ("profile", other_profile_hash),
    ("data", other_data),
    ("data", other_ids),
    ("data", fewer_episodes),
    ("protocol", other_suite),
    ("protocol", went_on_after_mismatches),
    ("limits", too_many_screens),
    ("limits", too_many_tokens),
    ("limits", tokens_without_limit),
    ("limits", too_many_repeats),
    ("limits", sampling_not_told),
    ("limits", called_a_builtin),
    ("adapter", unknown_adapter),
    ("adapter", other_texts),
    ("records", doubled_line),
    ("records", doubled_line_later),
    ("records", other_order),
    ("records", foreign_episode),
    ("records", foreign_repeat),
    ("records", step_beyond),
    ("records", mixed_attempts),
    ("records", diagnostic_step),
    ("records", acted_in_a_recording),
    ("records", an_end_in_a_recording),
    ("records", address_in_a_line),
    ("records", words_of_an_error),
    ("keys", key_in_a_reply),
    ("not-scored", no_verdict),
    ("scrubbed", settings_of_the_machine),
    ("scrubbed", home_folder_in_the_facts),
    ("scrubbed", path_as_a_model),
    ("scrubbed", key_in_the_facts),
    ("run", facts_changed_by_hand),
    ("run", run_of_another_shape),
    ("version", no_version),
    ("text", bidi_in_the_model),
    ("text", escape_in_a_fact),
    ("text", not_a_time),
    ("board", other_board),
    ("folder", other_name),
]


@pytest.mark.parametrize(("rule", "change"), BROKEN, ids=[change.__name__ for _, change in BROKEN])
def test_what_is_broken_is_refused_by_its_rule(shop: Workshop, tmp_path: Path, rule: str, change: Change) -> None:
    found = shop.verify(shop.tampered(tmp_path, change))
    assert found.row is None
    assert found.refused is not None
    assert (found.refused.rule, len(found.refused.detail) > 20) == (rule, True), found.refused.detail


def test_the_same_changes_without_new_sums_are_refused_by_the_sums(shop: Workshop, tmp_path: Path) -> None:
    path = shop.tampered(tmp_path, edited_headline, sums=False)
    refused = shop.verify(path).refused
    assert refused is not None
    assert refused.rule == "sums"
    assert "sha256sum" in refused.detail


def test_a_forged_sum_is_refused(shop: Workshop, tmp_path: Path) -> None:
    shutil.copytree(shop.folder, tmp_path / "copy")
    text = (tmp_path / "copy" / SUMS).read_text()
    (tmp_path / "copy" / SUMS).write_text(text.replace(text[:8], "00000000"))
    refused = shop.verify(tmp_path / "copy").refused
    assert refused is not None
    assert refused.rule == "sums"


@pytest.mark.parametrize("name", [METADATA, STEPS, SUMMARY, SUMS])
def test_a_missing_file_is_refused_by_name(shop: Workshop, tmp_path: Path, name: str) -> None:
    shutil.copytree(shop.folder, tmp_path / "copy")
    (tmp_path / "copy" / name).unlink()
    refused = shop.verify(tmp_path / "copy").refused
    assert refused is not None
    assert refused.rule == "files"
    assert name in refused.detail


def test_metadata_that_are_not_as_they_must_be_are_refused(shop: Workshop, tmp_path: Path) -> None:
    def change(o: Opened) -> None:
        o.metadata = o.metadata.replace('contact: "@made-up"', 'contact: "nobody"')

    refused = shop.verify(shop.tampered(tmp_path, change)).refused
    assert refused is not None
    assert (refused.rule, "contact" in refused.detail) == ("metadata", True)


def test_screens_that_are_not_the_datas_are_refused(shop: Workshop, tmp_path: Path) -> None:
    """The run carried other screens and says so truthfully: only who has the data's can tell."""
    others = tmp_path / "images"
    shutil.copytree(shop.source.images or tmp_path, others)
    some = sorted(others.glob("*.png"))
    for one in some:
        one.write_bytes(some[0].read_bytes() + b"\0")
    path = shop.run(tmp_path / "run", images=others)
    submission = shop.submit(path, tmp_path / "out")
    found = shop.verify(submission)
    assert found.refused is not None
    assert found.refused.rule == "screens"
    blind = shop.verify(submission, source=DataSource(shop.source.file))
    assert blind.ok
    assert {r.rule for r in blind.results if r.outcome == "skipped"} == {"screens", "environment"}


@pytest.mark.parametrize(
    "size", [(2000, 4400), (90, 90)], ids=["larger than any phone", "too small for the expert's point"]
)
def test_made_up_sizes_are_refused_even_where_the_screens_are_not_here(
    shop: Workshop, tmp_path: Path, size: tuple[int, int]
) -> None:
    """In unit coordinates of a huge screen every click would be near every other one."""
    from PIL import Image

    others = tmp_path / "images"
    others.mkdir()
    for one in (shop.source.images or tmp_path).glob("*.png"):
        Image.new("P", size).save(others / one.name)
    run = shop.run(tmp_path / "run", images=others)
    from sopbench.leaderboard import submit

    with pytest.raises(UsageError, match=r"rule screens|rule replies"):
        submit(run, tmp_path / "out", {"model": "x", "organisation": "y", "contact": "@z", "weights_open": True, "training_data": "none", "trained_on_benchmark": "no"}, boards=shop.boards, source=DataSource(shop.source.file))  # fmt: skip


def test_without_the_boards_data_nothing_is_judged(shop: Workshop) -> None:
    found = shop.verify(shop.folder, source=None)
    assert found.unjudged
    assert found.refused is not None
    assert found.refused.rule == "data"
    assert "--data" in found.refused.detail


def test_a_builtin_policy_that_did_not_say_that_is_refused(shop: Workshop, tmp_path: Path) -> None:
    """Replies of another model, under the name of a built-in policy with everything else as it should be."""

    class Pretender(Learner):
        def describe(self) -> dict[str, Any]:
            return {"model": "builtin:oracle", "sampling": None, "policy": {"kind": "builtin"}}

    run = shop.run(tmp_path / "run", policy=Pretender(name="builtin:oracle"))
    with pytest.raises(UsageError, match=r"rule replies.*builtin:oracle answers"):
        shop.submit(run, tmp_path / "out")


def test_a_builtin_policy_is_asked_again_and_stands_among_the_rerun(shop: Workshop, tmp_path: Path) -> None:
    path = shop.submit(shop.run(tmp_path / "run", model="builtin:noisy", seed=3), tmp_path / "out")
    row = shop.verify(path).row
    assert row is not None
    assert row.tier == "re-run"


def test_a_closed_board_takes_nothing(shop: Workshop, tmp_path: Path) -> None:
    shutil.copytree(shop.root, tmp_path / "boards")
    define_board(tmp_path / "boards", shop.source, data=None, profile=None, closed="it is being made")
    shop = Workshop(tmp_path / "boards", shop.source, shop.folder)
    refused = shop.verify(shop.folder).refused
    assert refused is not None
    assert (refused.rule, "it is being made" in refused.detail) == ("board", True)


def test_a_line_may_not_hold_a_name_twice(shop: Workshop, tmp_path: Path) -> None:
    """Of two values another reader might take the other one."""
    import json

    def change(o: Opened) -> None:
        o.raw = [json.dumps(line).encode() for line in o.lines]
        o.raw[0] = o.raw[0].replace(b'"reply":', b'"reply": "nothing", "reply":')

    refused = shop.verify(shop.tampered(tmp_path, change)).refused
    assert refused is not None
    assert (refused.rule, "twice" in refused.detail) == ("records", True)


@pytest.mark.parametrize(
    "junk", [b'{"a":' * 200_000, b'{"a":[' + b"[" * 30, b"[]", b"\xff\xfe", b'{"v":1e999}', b"{" + b'"x":1,' * 9]
)
def test_lines_that_are_no_json_are_refused(shop: Workshop, tmp_path: Path, junk: bytes) -> None:
    def change(o: Opened) -> None:
        o.raw = [junk]

    refused = shop.verify(shop.tampered(tmp_path, change)).refused
    assert refused is not None
    assert refused.rule == "records"


@pytest.mark.parametrize(
    "junk",
    [
        b'{"facts":' * 60_000 + b"1" + b"}" * 60_000,
        b'{"v":1,"v":1}',
        b'{"v":NaN}',
        b"[1]",
        b"\x00" * 100,
        b"9" * 300_000,
    ],
)
@pytest.mark.parametrize(("name", "rule"), [("run.json", "run"), ("summary.json", "scrubbed")])
def test_json_files_that_are_none_are_refused(
    shop: Workshop, tmp_path: Path, junk: bytes, name: str, rule: str
) -> None:
    target = shop.tampered(tmp_path, lambda o: None)
    (target / name).write_bytes(junk)
    renew_sums(target)
    refused = shop.verify(target).refused
    assert refused is not None
    assert refused.rule == rule
