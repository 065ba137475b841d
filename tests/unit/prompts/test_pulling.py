"""Pulling: the right bytes from a clone or from the web, or an error that says which file, where, and what to do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sopbench.errors import PromptError, UsageError
from sopbench.prompts import cache, pulling
from sopbench.prompts.catalogue import OFFICIAL, PinnedFile
from sopbench.prompts.pulling import address, obtain, pull, pulled_source
from tests.unit.prompts.publisher import UIS1_FILES, UIS1_TEXTS, commit_tree, pins, uis1_source, write_tree

PIN = pins({"a/words.py": "W = 'w'\n"})[0]
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOPBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "prompts"


# -- from a clone ------------------------------------------------------------------------------------------------------


def test_a_work_tree_gives_texts_that_are_kept(tmp_path: Path, own_cache: Path) -> None:
    clone = write_tree(tmp_path / "clone", UIS1_FILES)
    source = uis1_source()
    stored = pull(source, [clone])
    assert stored.templates == UIS1_TEXTS
    assert stored.origins["UI-S1/x/data/agent/json.py"] == str(clone / "UI-S1/x/data/agent/json.py")
    assert stored.path.parent == own_cache
    again = cache.load(source)
    assert again is not None
    assert again == stored


def test_a_folder_of_the_repository_will_do(tmp_path: Path) -> None:
    clone = write_tree(tmp_path / "clone", UIS1_FILES)
    assert pull(uis1_source(), [clone / "UI-S1"]).templates == UIS1_TEXTS


@needs_git
def test_a_work_tree_at_another_commit_has_the_pinned_one_in_git(tmp_path: Path) -> None:
    commit = commit_tree(tmp_path / "clone", UIS1_FILES)
    commit_tree(tmp_path / "clone", dict.fromkeys(UIS1_FILES, "changed"))
    stored = pull(uis1_source(commit=commit), [tmp_path / "clone"])
    assert stored.templates == UIS1_TEXTS
    assert stored.origins["UI-S1/x/data/agent/json.py"] == f"{tmp_path / 'clone'} at {commit[:8]}"


@needs_git
def test_a_bare_git_directory_will_do(tmp_path: Path) -> None:
    commit = commit_tree(tmp_path / "clone", UIS1_FILES)
    bare = tmp_path / "bare"
    subprocess.run(["git", "clone", "-q", "--bare", str(tmp_path / "clone"), str(bare)], check=True)
    assert pull(uis1_source(commit=commit), [bare]).templates == UIS1_TEXTS


@needs_git
def test_a_linked_work_tree_will_do(tmp_path: Path) -> None:
    commit = commit_tree(tmp_path / "clone", UIS1_FILES)
    commit_tree(tmp_path / "clone", dict.fromkeys(UIS1_FILES, "changed"))
    linked = tmp_path / "linked"
    subprocess.run(["git", "-C", str(tmp_path / "clone"), "worktree", "add", "-q", "--detach", str(linked)], check=True)
    assert pull(uis1_source(commit=commit), [linked]).templates == UIS1_TEXTS


@needs_git
def test_the_clone_s_own_configuration_runs_nothing(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    commit = commit_tree(clone, {"a/words.py": "W = 'w'\n", ".gitattributes": "*.py diff=evil filter=evil\n"})
    (clone / "a/words.py").unlink()
    mark = tmp_path / "mark"
    for key in ("diff.evil.textconv", "filter.evil.smudge", "core.pager", "core.fsmonitor", "core.sshCommand"):
        subprocess.run(["git", "-C", str(clone), "config", key, f"touch {mark}; cat"], check=True)
    pin = pins({"a/words.py": "W = 'w'\n"}, commit)[0]
    assert obtain(pin, [clone]).data == b"W = 'w'\n"
    assert not mark.exists()


def test_another_text_is_refused_by_name_and_nothing_is_kept(tmp_path: Path, own_cache: Path) -> None:
    changed = {**UIS1_FILES, "UI-S1/x/data/agent/base.py": "print('mine now')\n"}
    clone = write_tree(tmp_path / "clone", changed)
    with pytest.raises(
        PromptError, match=r"base\.py: this is not UI-S1/x/data/agent/base\.py of pub/agent at commit cccccccc"
    ):
        pull(uis1_source(), [clone])
    assert not own_cache.exists()


def test_a_file_that_is_larger_is_read_no_further(tmp_path: Path) -> None:
    clone = write_tree(tmp_path / "clone", {PIN.path: "W = 'w'\n" + "x" * 10_000_000})
    with pytest.raises(PromptError, match="its sha256 is"):
        obtain(PIN, [clone])


def test_a_missing_file_is_named_with_every_place(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    first.mkdir()
    second.mkdir()
    with pytest.raises(PromptError) as caught:
        obtain(PIN, [first, second])
    for part in ("a/words.py of pub/agent", f"{first}: it has no file", f"{second}: it has no file"):
        assert part in str(caught.value)


@needs_git
def test_a_clone_without_the_commit_says_so(tmp_path: Path) -> None:
    commit_tree(tmp_path / "clone", {"other": "x"})
    with pytest.raises(PromptError, match="fetch that commit into the clone"):
        obtain(PIN, [tmp_path / "clone"])


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such folder"):
        obtain(PIN, [tmp_path / "nowhere"])


@pytest.mark.parametrize("kind", ["pipe", "folder", "endless"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    place = tmp_path / PIN.path
    place.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("/dev/zero")
    with pytest.raises(PromptError, match="it has no file"):
        obtain(PIN, [tmp_path])


def test_each_file_may_come_from_a_clone_of_its_own(tmp_path: Path) -> None:
    (one, two, three) = UIS1_FILES.items()
    first = write_tree(tmp_path / "one", dict([one, two]))
    second = write_tree(tmp_path / "two", dict([three]))
    assert pull(uis1_source(), [first, second]).templates == UIS1_TEXTS


def test_a_text_that_is_not_the_expected_one_is_not_kept(tmp_path: Path, own_cache: Path) -> None:
    clone = write_tree(tmp_path / "clone", UIS1_FILES)
    with pytest.raises(PromptError, match="please report this"):
        pull(uis1_source(texts_sha256="0" * 64), [clone])
    assert not own_cache.exists()


def test_a_text_that_cannot_be_sent_is_not_kept(tmp_path: Path) -> None:
    clone = write_tree(tmp_path / "clone", UIS1_FILES)
    with pytest.raises(PromptError, match="not valid Unicode"):
        pull(uis1_source(recipe=lambda files: {"system": "\ud800"}), [clone])


def test_hostile_code_in_a_pinned_file_gives_an_error(tmp_path: Path, own_cache: Path) -> None:
    files = {**UIS1_FILES, "UI-S1/x/data/agent/base.py": "import os; os.system('touch stolen')\n"}
    clone = write_tree(tmp_path / "clone", files)
    with pytest.raises(PromptError, match=r"os\.system is not allowed here"):
        pull(uis1_source(files), [clone])
    assert not own_cache.exists()


# -- from the web ------------------------------------------------------------------------------------------------------


class Forge(BaseHTTPRequestHandler):
    pages: dict[str, bytes]

    def do_GET(self) -> None:
        page = self.pages.get(self.path)
        if page is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def forge(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Forge]]:
    """A mirror on loopback that has the pages it is given."""
    handler = type("OwnForge", (Forge,), {"pages": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    monkeypatch.setenv("SOPBENCH_MIRROR", f"http://127.0.0.1:{server.server_port}/forge/")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("SOPBENCH_OFFLINE")
    yield handler
    server.shutdown()
    server.server_close()


def page(path: str) -> str:
    return f"/forge/pub/agent/raw/{'c' * 40}/{path}"


def test_files_come_from_the_mirror(forge: type[Forge]) -> None:
    forge.pages |= {page(path): text.encode() for path, text in UIS1_FILES.items()}
    stored = pull(uis1_source())
    assert stored.templates == UIS1_TEXTS
    assert stored.origins["UI-S1/x/data/agent/json.py"].endswith(page("UI-S1/x/data/agent/json.py"))


def test_a_mirror_with_another_text_is_refused(forge: type[Forge]) -> None:
    forge.pages[page(PIN.path)] = b"W = 'v'\n"
    with pytest.raises(PromptError, match=r"this is not a/words\.py of pub/agent"):
        obtain(PIN)


def test_a_mirror_that_does_not_stop_is_read_no_further(forge: type[Forge]) -> None:
    forge.pages[page(PIN.path)] = b"W = 'w'\n" + bytes(5_000_000)
    with pytest.raises(PromptError, match="its sha256 is"):
        obtain(PIN)


def test_what_the_server_says_is_told(forge: type[Forge]) -> None:
    with pytest.raises(PromptError, match="the server answers 404"):
        obtain(PIN)


def test_a_server_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOPBENCH_MIRROR", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("SOPBENCH_OFFLINE")
    with pytest.raises(PromptError, match="cannot be reached"):
        obtain(PIN)


def test_nothing_is_asked_when_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    with pytest.raises(PromptError, match="SOPBENCH_OFFLINE is set"):
        obtain(PIN)


def test_without_a_mirror_the_publisher_s_own_repository_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOPBENCH_MIRROR", raising=False)
    assert address(PIN) == f"https://forge.invalid/pub/agent/raw/{'c' * 40}/a/words.py"


@pytest.mark.parametrize("mirror", ["mirror.example", "file:///etc", "ftp://mirror.example/x", "https://"])
def test_a_mirror_is_a_web_address(monkeypatch: pytest.MonkeyPatch, mirror: str) -> None:
    monkeypatch.setenv("SOPBENCH_MIRROR", mirror)
    with pytest.raises(UsageError, match="SOPBENCH_MIRROR"):
        address(PIN)


# -- what is kept ------------------------------------------------------------------------------------------------------


def stored_file(tmp_path: Path) -> Path:
    return pull(uis1_source(), [write_tree(tmp_path / "clone", UIS1_FILES)]).path


def test_what_was_never_pulled_is_none() -> None:
    assert cache.load(uis1_source()) is None


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"templates": 5}', '{"templates": {}}', "[" * 9999])
def test_a_damaged_cache_says_so(tmp_path: Path, damage: str) -> None:
    stored_file(tmp_path).write_text(damage)
    with pytest.raises(PromptError, match="delete it, or pull again"):
        cache.load(uis1_source())


@pytest.mark.parametrize("also_the_hash", [False, True])
def test_a_changed_text_is_not_taken_for_the_publisher_s(tmp_path: Path, also_the_hash: bool) -> None:
    from sopbench.prompts.texts import hash_of

    file = stored_file(tmp_path)
    kept = json.loads(file.read_text())
    kept["templates"]["system"] += " Be lenient."
    if also_the_hash:
        kept["sha256"] = hash_of(kept["templates"])
    file.write_text(json.dumps(kept))
    with pytest.raises(PromptError, match="its text is not what was pulled"):
        cache.load(uis1_source())


def test_another_pin_has_a_file_of_its_own(tmp_path: Path) -> None:
    stored_file(tmp_path)
    assert cache.load(uis1_source(commit="d" * 40)) is None


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SOPBENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(PromptError, match="SOPBENCH_CACHE names another folder"):
        stored_file(tmp_path)


def test_a_family_without_a_text_to_pull() -> None:
    with pytest.raises(UsageError, match=r"nothing to pull for 'json_action'.*uis1"):
        pulled_source("json_action")


# -- the real publishers -----------------------------------------------------------------------------------------------

CLONES = [Path(part) for part in os.environ.get("SOPBENCH_CLONES", "").split(os.pathsep) if part]


@pytest.mark.skipif(
    not CLONES, reason="set SOPBENCH_CLONES to clones of the publishers' repositories, separated by ':'"
)
@pytest.mark.parametrize(
    "source", [s for sources in OFFICIAL.values() for s in sources if s.kind == "pulled"], ids=lambda s: s.family
)
def test_the_pins_hold(source: object) -> None:
    from sopbench.prompts import builtin
    from sopbench.prompts.catalogue import Official

    assert isinstance(source, Official)
    stored = pull(source, CLONES)
    assert set(stored.templates) <= set(builtin(source.family).templates)
    assert pulling.templates_of(source, {p.path: obtain(p, CLONES).data for p in source.files}) == stored.templates


def test_a_pin_shows_what_it_is() -> None:
    pin = PinnedFile("https://forge.invalid/pub/agent", "d" * 40, "p.py", "0" * 64, 5)
    assert pin.shown == "pub/agent dddddddd p.py"
