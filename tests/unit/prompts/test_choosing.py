"""Which words a run uses: official where they are to be had, ours with the reasons otherwise, and never another kind than was asked for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sopbench.adapters import ADAPTERS, get_adapter
from sopbench.errors import PromptError, UsageError
from sopbench.prompts import builtin, choosing, pulling, recipes
from sopbench.prompts.catalogue import Official, PackageFile
from sopbench.prompts.choosing import checked_wanted, choose
from sopbench.prompts.texts import hash_of
from tests.unit.prompts.publisher import UIS1_FILES, UIS1_TEXTS, uis1_source, write_tree

PACKAGED = Official(
    "ui_tars15", "package", "a package's", recipes.ui_tars15, package=PackageFile("ui-tars", "ui_tars/prompt.py")
)


@pytest.fixture(autouse=True)
def own_publishers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Families with sources of our own making, an empty cache, and no package."""
    monkeypatch.setenv("SOPBENCH_CACHE", str(tmp_path / "cache"))
    sources = {"uis1": (uis1_source(),), "ui_tars15": (PACKAGED,)}
    monkeypatch.setattr(choosing, "OFFICIAL", sources)
    monkeypatch.setattr(pulling, "OFFICIAL", sources)


def pull_uis1(tmp_path: Path) -> None:
    pulling.pull(uis1_source(), [write_tree(tmp_path / "clone", UIS1_FILES)])


def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prompt: str | None, version: str = "1.2") -> None:
    """A distribution `ui-tars` whose import would fail."""
    site = tmp_path / "site"
    files = {"ui_tars/__init__.py": "raise ImportError('nothing of it is to be imported')\n"}
    if prompt is not None:
        files["ui_tars/prompt.py"] = prompt
    write_tree(site, files)
    record = "".join(f"{path},,\n" for path in files)
    info = {"METADATA": f"Metadata-Version: 2.1\nName: ui-tars\nVersion: {version}\n", "RECORD": record}
    write_tree(site / f"ui_tars-{version}.dist-info", info)
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])


def test_what_was_pulled_is_used(tmp_path: Path) -> None:
    pull_uis1(tmp_path)
    choice = choose("uis1")
    assert (choice.texts.kind, dict(choice.texts.templates), choice.missed) == ("pulled", UIS1_TEXTS, ())
    assert choice.texts.sha256 == hash_of(UIS1_TEXTS)
    assert choice.texts.note == "a publisher's (pub/agent cccccccc)"
    assert choice.texts.origin.startswith(str(tmp_path / "cache"))
    assert choice.warning() is None


def test_what_can_be_pulled_is_pulled_on_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def download(url: str, size: int) -> bytes:
        asked.append(url)
        return UIS1_FILES[url.partition("c" * 40 + "/")[2]].encode()

    monkeypatch.setattr(pulling, "download", download)
    assert choose("uis1").texts.kind == "pulled"
    assert len(asked) == 3
    assert choose("uis1").texts.kind == "pulled"
    assert len(asked) == 3


def test_without_it_ours_stand_in_and_say_why() -> None:
    choice = choose("uis1")
    assert choice.texts == builtin("uis1")
    [reason] = choice.missed
    assert "SOPBENCH_OFFLINE is set" in reason
    warning = choice.warning()
    assert warning is not None
    for part in ("in our words and not in its publisher's", reason, "sopbench prompts pull uis1", "--prompts builtin"):
        assert part in warning


def test_without_pulling_the_network_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulling, "download", lambda *a: pytest.fail("the network was asked"))
    [reason] = choose("uis1", pulling=False).missed
    assert "not pulled yet" in reason


def test_builtin_is_a_choice_without_a_warning(tmp_path: Path) -> None:
    pull_uis1(tmp_path)
    choice = choose("uis1", "builtin")
    assert (choice.texts, choice.warning()) == (builtin("uis1"), None)


def test_a_damaged_cache_is_a_reason(tmp_path: Path) -> None:
    pull_uis1(tmp_path)
    [file] = (tmp_path / "cache" / "prompts").iterdir()
    file.write_text("{}")
    [reason] = choose("uis1").missed
    assert "delete it, or pull again" in reason


@pytest.mark.parametrize("wanted", ["official", "pulled"])
def test_who_asks_for_official_words_gets_no_others(wanted: str) -> None:
    with pytest.raises(PromptError, match=rf"\({wanted}\) is not to be had(.|\n)*--from CLONE"):
        choose("uis1", checked_wanted(wanted))


@pytest.mark.parametrize("wanted", ["official", "package", "pulled"])
def test_a_family_without_official_words(wanted: str) -> None:
    assert choose("json_action").warning() is None
    with pytest.raises(UsageError, match="json_action has no"):
        choose("json_action", checked_wanted(wanted))


def test_a_kind_that_the_family_does_not_have() -> None:
    with pytest.raises(UsageError, match="uis1 has no 'package' prompt text"):
        choose("uis1", "package")


def test_other_kinds_are_refused() -> None:
    with pytest.raises(UsageError, match="auto, official, builtin, package, pulled, not 'theirs'"):
        checked_wanted("theirs")


def test_a_package_s_text_is_read_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, 'MOBILE_USE_DOUBAO = """Think in {language}: {instruction}"""\n')
    choice = choose("ui_tars15")
    assert choice.texts.templates["task"] == "Think in English: {goal}"
    assert (choice.texts.kind, choice.texts.origin) == ("package", "ui-tars 1.2")
    assert choice.texts.note == "a package's; ours: no_screen"
    assert "ui_tars" not in sys.modules


def test_the_same_words_in_another_version_are_the_same_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'MOBILE_USE_DOUBAO = """{language}{instruction}"""\n'
    with monkeypatch.context() as patch:
        install(tmp_path / "a", patch, text, "1.0")
        first = choose("ui_tars15").texts
    install(tmp_path / "b", monkeypatch, text, "2.0")
    second = choose("ui_tars15").texts
    assert (first.kind, first.sha256, first.note) == (second.kind, second.sha256, second.note)
    assert first.origin != second.origin


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        (None, "has no ui_tars/prompt.py to read"),
        ("MOBILE_USE_DOUBAO = make()\n", "is not a literal text"),
        ("OTHER = 'x'\n", "there is no MOBILE_USE_DOUBAO"),
        ("MOBILE_USE_DOUBAO = '{instruction} {secret}'\n", "was not expected in the text"),
        ("MOBILE_USE_DOUBAO = \n", "cannot be read as Python"),
    ],
)
def test_a_package_that_is_made_differently_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prompt: str | None, reason: str
) -> None:
    install(tmp_path, monkeypatch, prompt)
    choice = choose("ui_tars15")
    assert choice.texts.kind == "builtin"
    assert reason in choice.missed[0]


def test_a_package_that_is_not_installed_is_a_reason() -> None:
    choice = choose("ui_tars15")
    assert choice.missed == ("package ui-tars is not installed",)
    assert "pip install ui-tars" in str(choice.warning())


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_asks_in_the_words_that_it_is_given(name: str) -> None:
    from sopbench.prompts.texts import PromptTexts

    theirs = PromptTexts(name, "pulled", dict.fromkeys(builtin(name).templates, "W"), "n", "somewhere")
    assert get_adapter(name, theirs).prompt_source() == theirs.source()
    assert get_adapter(name).prompt_source() == builtin(name).source()
