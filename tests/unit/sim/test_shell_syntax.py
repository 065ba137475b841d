"""The phone's shell reads the part of sh that it says it reads, and refuses the rest before running anything."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.adb import quoted
from emulator.sim.shell.syntax import For, If, Literally, ShellSyntaxError, Simple, Unsupported, parse


def words(line: str) -> list[str]:
    """The words of a line that is one simple command without variables."""
    ((_, (command,)),) = parse(line).items
    assert isinstance(command, Simple)
    return ["".join(part.text for part in word.parts if isinstance(part, Literally)) for word in command.words]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls -l /sdcard", ["ls", "-l", "/sdcard"]),
        ("echo 'a b'  \"c d\"e", ["echo", "a b", "c de"]),
        ("echo it\\'s \\$5 a\\ b", ["echo", "it's", "$5", "a b"]),
        ("echo 'it'\"'\"'s'", ["echo", "it's"]),
        ('echo "a\\"b\\\\c\\n"', ["echo", 'a"b\\c\\n']),
        ("echo a#b # a comment", ["echo", "a#b"]),
        ("echo '' \"\"", ["echo", "", ""]),
        ("echo 5$", ["echo", "5$"]),
        ("echo '$(reboot) `id` ; | &'", ["echo", "$(reboot) `id` ; | &"]),
    ],
)
def test_quoting(line: str, expected: list[str]) -> None:
    assert words(line) == expected


@pytest.mark.parametrize(
    ("line", "joined"),
    [
        ("a; b", [";", ";"]),
        ("a && b || c", [";", "&&", "||"]),
        ("a\nb\n\nc\n", [";", ";", ";"]),
        ("a &&\nb", [";", "&&"]),
    ],
)
def test_lists(line: str, joined: list[str]) -> None:
    assert [how for how, _ in parse(line).items] == joined


def test_pipes_and_redirections() -> None:
    ((_, (first, second)),) = parse("cat < in 2>/dev/null | grep x >> out 2>&1").items
    assert [(r.fd, r.mode) for r in first.redirects] == [(0, "<"), (2, ">")]
    assert [(r.fd, r.mode, r.to) for r in second.redirects] == [(1, ">>", None), (2, ">", 1)]


def test_compound_commands() -> None:
    ((_, (choice,)), (_, (loop,))) = parse("if a; then b; elif c; then d; else e; fi; for f in x y; do g; done").items
    assert isinstance(choice, If)
    assert len(choice.branches) == 2
    assert choice.otherwise is not None
    assert isinstance(loop, For)
    assert loop.name == "f"


@pytest.mark.parametrize(
    "line",
    [
        "echo $(id)", "echo `id`", 'echo "$(id)"', 'echo "`id`"', "(ls)", "sleep 9 &", "cat <<EOF", "f() { ls; }", "while true; do ls; done",
        "case x in x) ;; esac", "echo ${a:-b}", "echo $$", "echo $1", "diff <(a) <(b)", "echo $((1+1))", "{ ls; }", "ls >&3", "echo $'a'",
    ],
)  # fmt: skip
def test_what_is_not_simulated_is_refused(line: str) -> None:
    with pytest.raises(Unsupported, match="not simulated"):
        parse(line)


@pytest.mark.parametrize(
    "line",
    [
        "echo 'a",
        'echo "a',
        "a |",
        "| a",
        "a && ",
        ";;a"[1:],
        "if a; fi",
        "if a; then b",
        "fi",
        "ls >",
        "for in x; do y; done",
        "a ; ; b",
    ],
)
def test_what_sh_would_refuse(line: str) -> None:
    with pytest.raises(ShellSyntaxError):
        parse(line)


@pytest.mark.parametrize("line", ["if a; then " * 40, "x" * 300_000])
def test_size_and_depth_are_bounded(line: str) -> None:
    with pytest.raises(ShellSyntaxError):
        parse(line)


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=6
    )
)
def test_quoted_words_come_back_as_they_were(given_words: list[str]) -> None:
    assert words(quoted("echo", *given_words)) == ["echo", *given_words]


@given(st.text(max_size=200))
def test_any_text_is_parsed_or_refused(line: str) -> None:
    with contextlib.suppress(ShellSyntaxError):
        assert parse(line).items is not None


@given(
    st.lists(
        st.sampled_from(
            [
                "if",
                "then",
                "fi",
                "else",
                "elif",
                "for",
                "in",
                "do",
                "done",
                "a",
                ";",
                "|",
                "&&",
                "'",
                '"',
                "$",
                ">",
                "\n",
                "x=1",
            ]
        ),
        max_size=30,
    )
)
def test_any_order_of_tokens_is_parsed_or_refused(tokens: list[str]) -> None:
    with contextlib.suppress(ShellSyntaxError):
        assert parse(" ".join(tokens)).items is not None
