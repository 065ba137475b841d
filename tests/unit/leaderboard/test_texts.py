"""Small readers and writers: JSON and YAML of strangers, plain text, HTML, the comment of CI, what is scrubbed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.errors import DataError
from sopbench.leaderboard.boards import load_boards
from sopbench.leaderboard.comment import code, comment
from sopbench.leaderboard.metadata import check_field, metadata_of, read_metadata, write_metadata
from sopbench.leaderboard.page.html import Html, document, el
from sopbench.leaderboard.replaying import wilson
from sopbench.leaderboard.scrub import private_parts, short_model
from sopbench.leaderboard.strict_json import json_object
from sopbench.leaderboard.verifying import Result, Verification
from sopbench.leaderboard.yaml_text import read_yaml

ABOUT = {
    "board": "b",
    "model": "m",
    "organisation": "o",
    "date": "2026-01-31",
    "contact": "@c",
    "weights_open": "true",
    "training_data": "none",
    "trained_on_benchmark": "no",
}


class TestMetadata:
    @given(
        text=st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=60),
        notes=st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=60),
    )
    def test_what_is_written_is_read_back(self, text: str, notes: str) -> None:
        made = metadata_of(ABOUT | {"model": text, "notes": notes.replace("\xa0", " ") if notes.isascii() else "ok", "links": {"code": "https://example.org/a"}}, "here")  # fmt: skip
        assert read_metadata(write_metadata(made)) == made

    @pytest.mark.parametrize("date", ["1700000000", "2026-1-1", "2026-02-30", "31.01.2026", ""])
    def test_a_date_is_a_day(self, date: str) -> None:
        with pytest.raises(DataError, match="date"):
            metadata_of(ABOUT | {"date": date}, "here")

    def test_one_field_can_be_checked_by_itself(self) -> None:
        check_field("weights_open", "yes")
        with pytest.raises(DataError, match="contact"):
            check_field("contact", "me")


class TestJson:
    def test_depth_is_counted_outside_of_texts_only(self) -> None:
        assert json_object(b'{"a": "' + b"[" * 100 + b'\\""}', "x") == {"a": "[" * 100 + '"'}
        with pytest.raises(DataError, match="deeper"):
            json_object(b'{"a": ' + b"[" * 30 + b"]" * 30 + b"}", "x")

    @pytest.mark.parametrize("text", ['{"a":1,"a":2}', '{"a":{"b":1,"b":1}}', '{"a":NaN}', '{"a":1e999}', '{"a":-Infinity}', '{"a":' + "9" * 30 + "}", "[]", "", "{"])  # fmt: skip
    def test_what_two_readers_might_read_differently_is_refused(self, text: str) -> None:
        with pytest.raises(DataError):
            json_object(text.encode(), "x")

    @given(st.binary(max_size=200))
    def test_any_bytes_are_read_or_refused(self, data: bytes) -> None:
        try:
            json_object(data, "x")
        except DataError as error:
            refusal = str(error)
        else:
            return
        assert refusal.isprintable()


@given(st.text(max_size=200))
def test_any_yaml_is_read_or_refused(text: str) -> None:
    try:
        found = read_yaml(text.encode("utf-8", "surrogatepass"), "x")
    except DataError:
        return
    assert all(isinstance(value, str | list | dict) for value in found.values())


class TestHtml:
    @given(st.text(max_size=80))
    def test_text_and_attributes_never_become_markup(self, text: str) -> None:
        made = el("a", text, href=text, data_x=text)
        assert len(re.findall("<", made)) == 2
        assert made.count('"') == 4
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\u200b]", made)

    def test_only_elements_are_taken_as_they_are(self) -> None:
        assert el("p", "<b>", el("b", "x"), None, False, 3) == "<p>&lt;b&gt;<b>x</b>3</p>"

    def test_a_page_forbids_everything_but_its_own_script_and_style(self) -> None:
        page = document("t</title><script>", Html("<p>x</p>"), style="p{}", script="1")
        assert "default-src &#x27;none&#x27;" in page
        assert "unsafe" not in page
        assert "<title>t&lt;/title&gt;&lt;script&gt;</title>" in page


class TestComment:
    @given(st.text(max_size=300))
    def test_foreign_text_stays_inline_code(self, text: str) -> None:
        made = code(text)
        assert made[0] == made[-1] == "`"
        assert "`" not in made[1:-1]
        assert "\n" not in made
        assert "|" not in made

    def test_says_what_to_fix(self) -> None:
        results = (
            Result("sums", "every file is what it was", "refused", "run.json changed | <b>@everyone</b> ```"),
            Result("run", "", "not reached", ""),
        )
        text = comment(Verification("a/2026-01-01_x_y", results, None), load_boards())
        assert "### `2026-01-01_x_y` is not ready yet" in text
        assert "Rule **sums**" in text
        assert "> `run.json changed ¦ <b>@everyone</b> '''`" in text


class TestScrub:
    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("sk-abcdefghijklmnopqrstuv", "a key"),
            ("hf_abcdefghijklmnopqrstuvwx", "a key"),
            ("Authorization: Bearer abcdefghijklmnop", "a bearer token"),
            ("/home/me/models", "a home folder"),
            ("C:\\Users\\me", "a home folder"),
            ("http://gpu-7:8000/v1", "an address"),
            ("10.1.2.3:8000", "an address"),
            ("localhost", "an address"),
        ],
    )
    def test_finds_what_tells_of_a_machine(self, text: str, what: str) -> None:
        assert [found for _, found in private_parts({"a": [{"b": f"x {text} y"}]})] == [what]
        assert [found for _, found in private_parts({text: 1})] == [what]

    @pytest.mark.parametrize(
        "text",
        [
            "organisation/data/model",
            "UI-S1-7B",
            "0.1.0",
            "task-force of scores",
            "risky business in homes",
            "2026-01-01T10:00:00+00:00",
        ],
    )
    def test_leaves_ordinary_words_alone(self, text: str) -> None:
        assert list(private_parts({"a": text})) == []

    @pytest.mark.parametrize(
        ("name", "short"),
        [
            ("/srv/models/ui-s1", "ui-s1"),
            ("~/m/", "m"),
            ("C:\\models\\x", "x"),
            ("Qwen/Qwen2.5-VL-7B", "Qwen/Qwen2.5-VL-7B"),
            ("./a", "a"),
            ("builtin:tiny:model=/srv/runs/best", "builtin:tiny:model=best"),
            ("builtin:tiny", "builtin:tiny"),
        ],
    )
    def test_a_path_keeps_its_last_part(self, name: str, short: str) -> None:
        assert short_model(name) == short
        assert short_model(short) == short


def test_the_interval_of_a_share() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(95, 100) == pytest.approx((0.8882, 0.9785), abs=1e-4)  # the score interval, computed by hand
    assert wilson(10, 10)[1] == 1.0
