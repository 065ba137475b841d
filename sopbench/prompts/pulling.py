"""A publisher's own files at their pinned commit: from a clone on this machine, or from the publisher's repository on the web. Each is compared with its sha256."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from sopbench.errors import PromptError, UsageError
from sopbench.files import open_regular
from sopbench.prompts.cache import Stored, save
from sopbench.prompts.catalogue import OFFICIAL, Official, PinnedFile
from sopbench.prompts.texts import hash_of

MIRROR: Final = "SOPBENCH_MIRROR"
OFFLINE: Final = "SOPBENCH_OFFLINE"
PATIENCE: Final = 10.0
"""Seconds without a byte after which a download is given up."""
DEADLINE: Final = 120.0
"""Seconds that one file may take altogether."""


@dataclass(frozen=True, slots=True)
class Obtained:
    """A file's bytes, which are the pinned ones, and where they are from."""

    data: bytes
    origin: str


def pull(source: Official, clones: Sequence[Path] = ()) -> Stored:
    """Get the source's files, make its templates, and keep them in the cache. Raises `PromptError` that names the file and what to do."""
    files = {pin.path: obtain(pin, clones) for pin in source.files}
    templates = templates_of(source, {path: file.data for path, file in files.items()})
    return save(source, templates, {path: file.origin for path, file in files.items()})


def templates_of(source: Official, files: Mapping[str, bytes]) -> dict[str, str]:
    """What the recipe makes of the files; for a pulled source it must be what the pin says."""
    templates = source.recipe(files)
    for name, text in templates.items():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise PromptError(
                f"{source.family}: the publisher's {name} is not valid Unicode and cannot be sent"
            ) from error
    if source.texts_sha256 and hash_of(templates) != source.texts_sha256:
        raise PromptError(
            f"{source.family}: the text made of the publisher's files has sha256 {hash_of(templates)[:12]}, expected was {source.texts_sha256[:12]}. "
            "The files are the right ones, so please report this together with your Python version"
        )
    return templates


def pulled_source(family: str) -> Official:
    """The source of `family` that can be pulled; raises `UsageError` where there is none."""
    for source in OFFICIAL.get(family, ()):
        if source.kind == "pulled":
            return source
    able = sorted(name for name, sources in OFFICIAL.items() if any(s.kind == "pulled" for s in sources))
    raise UsageError(
        f"there is nothing to pull for {family[:60]!r}; families with a publisher's text: {', '.join(able)}"
    )


def obtain(pin: PinnedFile, clones: Sequence[Path] = ()) -> Obtained:
    """The pinned file from the first of `clones` that has it; without clones from the web."""
    if not clones:
        url = address(pin)
        return Obtained(checked(pin, download(url, pin.size), url), url)
    seen: list[str] = []
    for clone in clones:
        for origin, data in _in_clone(clone, pin, seen):
            try:
                return Obtained(checked(pin, data, origin), origin)
            except PromptError as error:
                seen.append(str(error))
    raise PromptError("\n  ".join([f"{pin.path} of {pin.owner_and_name} is not to be had as pinned:", *seen]))


def checked(pin: PinnedFile, data: bytes, origin: str) -> bytes:
    """`data` if its sha256 is the pinned one."""
    found = hashlib.sha256(data).hexdigest()
    if found != pin.sha256:
        raise PromptError(
            f"{origin}: this is not {pin.path} of {pin.owner_and_name} at commit {pin.commit[:8]}: its sha256 is {found[:12]}, expected was {pin.sha256[:12]}"
        )
    return data


# -- a clone on this machine -------------------------------------------------------------------------------------------


def _in_clone(clone: Path, pin: PinnedFile, seen: list[str]) -> list[tuple[str, bytes]]:
    """Candidates in one clone: the file in the work tree, then the one that git has at the pinned commit. What was not there goes to `seen`."""
    if not clone.is_dir():
        raise UsageError(f"--from {clone}: there is no such folder")
    found = []
    for path in _places(clone, pin.path):
        data = _read(path, pin.size)
        if data is not None:
            found.append((str(path), data))
    if not found:
        seen.append(f"{clone}: it has no file {pin.path}")
    if _is_git(clone):
        try:
            found.append((f"{clone} at {pin.commit[:8]}", _from_git(clone, pin)))
        except PromptError as error:
            seen.append(str(error))
    return found


def _places(clone: Path, path: str) -> list[Path]:
    """Where the file may lie: below the folder, or below it as one of the repository's own folders (`--from .../UI-S1`)."""
    parts = Path(path).parts
    inner = [clone.joinpath(*parts[k + 1 :]) for k, part in enumerate(parts[:-1]) if part == clone.resolve().name]
    return [clone.joinpath(*parts), *inner]


def _read(path: Path, size: int) -> bytes | None:
    """A regular file's bytes, at most one more than `size`; None where there is none."""
    try:
        with open_regular(path) as handle:
            return handle.read(size + 1)
    except (
        OSError,
        ValueError,
    ):  # missing, no regular file, not to be read: the same to the caller, who goes on looking
        return None


def _is_git(clone: Path) -> bool:
    return (clone / ".git").exists() or ((clone / "HEAD").is_file() and (clone / "objects").is_dir())


def _from_git(clone: Path, pin: PinnedFile) -> bytes:
    """`git cat-file` at the pinned commit. The clone's own configuration gets no say: nothing of it is run, nothing is fetched."""
    directory = clone / ".git" if (clone / ".git").exists() else clone
    where = f"{clone} at commit {pin.commit[:8]}"
    command = ["git", "--no-pager", "--no-replace-objects", "-c", "safe.directory=*", "-c", "protocol.allow=never"]
    if directory.is_dir():
        command += ["--git-dir", str(directory)]
    else:  # a linked work tree or a submodule: its .git is a file that says where the directory is
        command += ["-C", str(clone)]
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
    }

    def ask(*arguments: str) -> bytes:
        try:
            return subprocess.run(
                [*command, "cat-file", *arguments, f"{pin.commit}:{pin.path}"],
                env=environment,
                capture_output=True,
                check=True,
                timeout=60,
            ).stdout
        except FileNotFoundError as error:
            raise PromptError(f"{where}: git is not installed, so the clone cannot be read") from error
        except subprocess.TimeoutExpired as error:
            raise PromptError(f"{where}: git did not answer") from error
        except subprocess.CalledProcessError as error:
            raise PromptError(f"{where}: git has no {pin.path} there; fetch that commit into the clone") from error

    size = int(ask("-s") or 0)
    if size != pin.size:
        raise PromptError(f"{where}: {pin.path} has {size} bytes, expected were {pin.size}")
    return ask("blob")


# -- the web -----------------------------------------------------------------------------------------------------------


def address(pin: PinnedFile) -> str:
    """Where the file is on the web: the publisher's repository, or the same path at the mirror that SOPBENCH_MIRROR names."""
    mirror = os.environ.get(MIRROR, "").strip()
    path = f"{urlsplit(pin.repository).path}/raw/{pin.commit}/{pin.path}"
    if not mirror:
        return pin.repository.removesuffix(urlsplit(pin.repository).path) + path
    if urlsplit(mirror).scheme not in ("http", "https") or not urlsplit(mirror).netloc:
        raise UsageError(f"{MIRROR}={mirror[:100]}: give an address that begins with https:// (or http://)")
    return mirror.rstrip("/") + path


def download(url: str, size: int) -> bytes:
    """At most one byte more than `size`."""
    from sopbench import __version__

    if os.environ.get(OFFLINE, "") not in ("", "0"):
        raise PromptError(f"{url}: not asked for, since {OFFLINE} is set")
    request = urllib.request.Request(url, headers={"User-Agent": f"sopbench/{__version__}"})
    end = time.monotonic() + DEADLINE
    data = bytearray()
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            while len(data) <= size and (some := response.read1(size + 1 - len(data))):
                data += some
                if time.monotonic() > end:
                    raise PromptError(f"{url}: given up after {DEADLINE:g} s")
    except urllib.error.HTTPError as error:
        error.close()
        raise PromptError(f"{url}: the server answers {error.code} {error.reason}") from error
    except (
        OSError,
        ValueError,
    ) as error:  # no network, a name that is not known, a broken line; an address that is none
        reason = getattr(error, "reason", None) or error
        raise PromptError(f"{url}: cannot be reached ({reason})") from error
    return bytes(data)
