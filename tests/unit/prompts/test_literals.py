"""Texts are read out of source code; what would have to be computed is refused, and so is a text that looks filled in already."""

from __future__ import annotations

import ast
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.errors import PromptError
from sopbench.prompts.literals import (
    as_text,
    assigned,
    code_blocks,
    code_cells,
    find_template,
    formatted,
    literal,
    literal_of,
    parsed,
    the_only,
    without_fields,
)


def value(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('"plain"', "plain"),
        ('"a" "b"', "ab"),
        ('"a" + "b" + NAME', "abnamed"),
        ('"""\n  a \n""".strip()', "a"),
        ('f"a{NAME}b"', "anamedb"),
        ('r"\\n"', "\\n"),
        ('"{goal}"', "{goal}"),
    ],
)
def test_literals(source: str, text: str) -> None:
    assert literal(value(source), {"NAME": value('"named"')}) == text


@pytest.mark.parametrize(
    "source", ["f(1)", '"%s" % x', '"a".join(x)', '"a" * 3', "x", "5", '"a".strip("b")', 'f"{x!r}"', 'f"{x:>9}"']
)
def test_what_must_be_computed_is_no_literal(source: str) -> None:
    with pytest.raises(PromptError, match="is not a literal text"):
        literal(value(source))


def test_a_name_that_stands_for_itself_ends() -> None:
    with pytest.raises(PromptError, match="too deeply"):
        literal(value("A"), {"A": value('A + "x"')})


def test_a_module_s_text_is_found_by_name() -> None:
    assert literal_of("A = 'a'\nB = A + 'b'\n", "B", "m.py") == "ab"
    with pytest.raises(PromptError, match="there is no C in it"):
        literal_of("A = 'a'\n", "C", "m.py")


def test_holes_become_fields() -> None:
    tree = parsed("def f(task):\n  return g('not this', f'Do {task.strip()} at once')\n", "m.py")
    assert find_template(tree, {"task.strip()": "goal"}, "m.py") == "Do {goal} at once"


def test_a_step_that_is_put_together_becomes_a_template() -> None:
    tree = parsed(
        "h = ['S' + str(i + 1) + ': ' + s['t'] + (' a: ' + s['a'] if 'a' in s else '') for i, s in x]", "m.py"
    )
    holes = {"str(i + 1)": "number", "s['t']": "thought", "s['a']": "action"}
    assert find_template(tree, holes, "m.py") == "S{number}: {thought} a: {action}"


@pytest.mark.parametrize(
    "source", ["x = f'Do {other}'", "x = f'Do {task}'; y = f'Please do {task}'", "x = f'Do {task} with {other}'"]
)
def test_a_template_that_is_not_there_once_is_refused(source: str) -> None:
    with pytest.raises(PromptError, match="expected once"):
        find_template(parsed(source, "m.py"), {"task": "goal"}, "m.py")


def test_the_same_text_twice_is_one() -> None:
    assert find_template(parsed("x = f'Do {t}'; y = f'Do {t}'", "m.py"), {"t": "goal"}, "m.py") == "Do {goal}"


def test_a_text_that_has_a_field_of_ours_is_refused() -> None:
    with pytest.raises(PromptError, match=r"\{goal\}, which would be filled in"):
        without_fields("Say {goal}")
    assert without_fields('{"action": {other}}') == '{"action": {other}}'


def test_templates_of_str_format() -> None:
    assert formatted('{{"a": 1}} {task} {tree}.', {"task": "{goal}", "tree": ""}) == '{"a": 1} {goal} .'


@pytest.mark.parametrize("text", ["{unknown}", "{task!r}", "{task:>3}", "{", "{}", "{task.secret}", "{{goal}} {task}"])
def test_other_templates_of_str_format_are_refused(text: str) -> None:
    with pytest.raises(PromptError):
        formatted(text, {"task": "{goal}"})


@given(st.text(alphabet=string.printable))
def test_formatted_text_without_fields_is_the_text(text: str) -> None:
    escaped = text.replace("{", "{{").replace("}", "}}")
    assert formatted(escaped, {}) == text


def test_code_blocks_of_markdown_end_at_a_bare_fence() -> None:
    assert code_blocks("x\n```python\na = r'''\n```\\nb\n'''\n```\ny\n```python\nc\n```\n") == [
        "a = r'''\n```\\nb\n'''\n",
        "c\n",
    ]


def test_code_cells_of_a_notebook() -> None:
    notebook = '{"cells": [{"cell_type": "markdown", "source": ["m"]}, {"cell_type": "code", "source": ["a\\n", "b"]}]}'
    assert code_cells(notebook, "n.ipynb") == ["a\nb"]


@pytest.mark.parametrize("notebook", ["", "[]", "{}", '{"cells": 5}', '{"cells": [{}]}', "[" * 100_000])
def test_what_is_no_notebook_is_refused(notebook: str) -> None:
    with pytest.raises(PromptError, match="cannot be read as a notebook"):
        code_cells(notebook, "n.ipynb")


@pytest.mark.parametrize("source", ["def", "a = '\0'", "(" * 5000, "-" * 100_000 + "1"])
def test_what_is_no_python_is_refused(source: str) -> None:
    with pytest.raises(PromptError, match="cannot be read as Python"):
        parsed(source, "m.py")


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(PromptError, match="not UTF-8"):
        as_text(b"\xff", "m.py")
    with pytest.raises(PromptError, match="too many"):
        as_text(bytes(2**23 + 1), "m.py")


def test_the_first_assignment_counts() -> None:
    assert literal(assigned(parsed("a = 'x'\na = 'y'\n", "m.py"))["a"]) == "x"


def test_the_only() -> None:
    assert the_only(["a", "a"], "w") == "a"
    with pytest.raises(PromptError, match="0 times"):
        the_only([], "w")
