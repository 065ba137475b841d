"""Getting one file of a publisher's whole, or not at all.

Bytes arrive in `.NAME.part` beside the target. What is there already is asked for no second time (HTTP Range with If-Range, so that a file that has changed meanwhile begins anew); a
server that ignores Range is listened to from the start. Only a file of the right length and hash gets its name. The hash is the registry's, the listing's, or what the
publisher's server itself says of the file: `x-goog-hash` of Google Cloud Storage (MD5), `x-linked-etag` of the Hugging Face hub (SHA-256, or a git object id).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import http.client
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import urlsplit

from sopbench.datasets.output import room_in
from sopbench.datasets.registry import Remote
from sopbench.errors import DataError, UsageError
from sopbench.files import open_regular, read_json, write_json

MIRROR: Final = "SOPBENCH_MIRROR"
OFFLINE: Final = "SOPBENCH_OFFLINE"
PATIENCE: Final = 60.0
"""Seconds without a byte after which an attempt is given up."""
ATTEMPTS: Final = 6
"""In a row that bring nothing new."""
CHUNK: Final = 1024 * 1024
MAX_JSON: Final = 64 * 1024 * 1024
_HEX64: Final = re.compile(r'"?([0-9a-f]{64})"?')
_HEX40: Final = re.compile(r'"?([0-9a-f]{40})"?')
_RANGE: Final = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class FetchError(DataError):
    """A file that is not to be had, or is not what it should be. Nothing stands under its name."""


class NeedsAccount(FetchError):
    """The server wants to know who asks."""


class _Cut(Exception):
    """The connection ended too early, or a server is busy: worth another attempt."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that is whole. `verified` says by what: `sha256`, `md5` or `git` where a hash was known, else `length`."""

    path: Path
    bytes: int
    sha256: str
    verified: str


@dataclass(slots=True)
class Expected:
    """What is known of the file, from the registry, a listing and the server's answers."""

    size: int | None
    sha256: str | None
    md5: str | None
    blob: str | None
    validator: str | None = None

    def learn(self, headers: Message) -> None:
        """What this answer's headers say about the file; what was known before stays."""
        for pair in ",".join(headers.get_all("x-goog-hash") or ()).split(","):
            name, _, value = pair.strip().partition("=")
            if name == "md5" and self.md5 is None:
                try:
                    self.md5 = base64.b64decode(value, validate=True).hex()
                except (binascii.Error, ValueError):
                    continue  # the server's own mistake: one check less
        linked = headers.get("x-linked-etag", "")
        if (found := _HEX64.fullmatch(linked)) and self.sha256 is None:
            self.sha256 = found[1]
        elif (found := _HEX40.fullmatch(linked)) and self.blob is None:
            self.blob = found[1]
        size = headers.get("x-linked-size", "")
        if self.size is None and size.isascii() and size.isdigit():
            self.size = int(size)


def fetch(
    remote: Remote,
    target: Path,
    arrived: Callable[[int], None] = lambda count: None,
    *,
    attempts: int = ATTEMPTS,
    patience: float = PATIENCE,
    pause: Callable[[float], None] = time.sleep,
) -> Fetched:
    """`remote` under the name `target`. `arrived` is told of bytes as they come: not of those that an earlier call has
    left, and negative where some have to come again.

    Raises `FetchError` that says what is wrong and what to do. A Ctrl-C leaves what has arrived for the next attempt.
    """
    url = address(remote.url)
    part = target.with_name(f".{target.name}.part")
    target.parent.mkdir(parents=True, exist_ok=True)
    expected = Expected(remote.size, remote.sha256, remote.md5, remote.blob)
    state = part.with_name(part.name + ".json")
    expected.validator = _known_validator(state, url)
    fruitless = 0
    have = _size(part)
    while True:
        before = have
        try:
            have = _attempt(url, part, state, expected, have, arrived, patience)
            break
        except _Cut as error:
            have = _size(part)
            fruitless = 0 if have > before else fruitless + 1
            if fruitless >= attempts:
                raise FetchError(
                    f"{url}: {error} ({fruitless} attempts in a row). {have:,} bytes are kept: the same command goes on from there"
                ) from error
            pause(min(60.0, 2.0**fruitless))
    try:
        return _verify(part, target, expected, url)
    finally:
        state.unlink(missing_ok=True)


def address(url: str) -> str:
    """`url`, or its path at the mirror that SOPBENCH_MIRROR names."""
    if os.environ.get(OFFLINE, "") not in ("", "0"):
        raise FetchError(f"{url}: not asked for, since {OFFLINE} is set")
    mirror = os.environ.get(MIRROR, "").strip()
    if not mirror:
        return url
    parts = urlsplit(mirror)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"{MIRROR}={mirror[:100]}: give an address that begins with https:// (or http://)")
    ours = urlsplit(url)
    return mirror.rstrip("/") + ours.path + (f"?{ours.query}" if ours.query else "")


def fetch_json(url: str, *, patience: float = PATIENCE) -> tuple[Any, str | None]:
    """A listing, and the address of its next page where the server names one (`Link: <...>; rel="next"`)."""
    import json

    expected = Expected(None, None, None, None)
    try:
        with _opened(address(url), {}, expected, patience) as response:
            data = response.read(MAX_JSON + 1)
            link = response.headers.get("Link", "")
    except _Cut as error:
        raise FetchError(f"{url}: {error}") from error
    if len(data) > MAX_JSON:
        raise FetchError(f"{url}: a listing of more than {MAX_JSON} bytes")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FetchError(f"{url}: the listing is not JSON ({error})") from error
    follows = re.search(r'<([^<>]+)>\s*;\s*rel="next"', link)
    return value, follows[1] if follows else None


# -- one attempt -------------------------------------------------------------------------------------------------------


def _attempt(
    url: str,
    part: Path,
    state: Path,
    expected: Expected,
    have: int,
    arrived: Callable[[int], None],
    patience: float,
) -> int:
    """Read what is missing; the number of bytes there are now, which are all. Raises `_Cut` where it ends early."""
    if expected.size is not None and have == expected.size:
        return have
    if expected.size is not None and have > expected.size:
        have = _anew(part, have, arrived)
    headers = {}
    if have and expected.validator:
        headers = {"Range": f"bytes={have}-", "If-Range": expected.validator}
    elif have:  # nobody knows whether the server still has the same file
        have = _anew(part, have, arrived)
    try:
        with _opened(url, headers, expected, patience) as response:
            begin, total = _extent(response, have, url)
            if begin != have:
                have = _anew(part, have, arrived)
            _agree(expected, total, url)
            etag = response.headers.get("ETag", "")  # a weak one does not say that the bytes are the same
            expected.validator = etag if etag.startswith('"') else response.headers.get("Last-Modified")
            write_json(state, {"url": url, "validator": expected.validator})
            have = _pour(response, part, have, arrived, total)
    except _Unsatisfiable:
        _anew(part, have, arrived)
        raise _Cut("the server has no bytes behind those that are here") from None
    if total is not None and have != total:
        raise _Cut(f"the connection ended after {have:,} of {total:,} bytes")
    return have


class _Unsatisfiable(Exception):
    """Status 416."""


def _extent(response: http.client.HTTPResponse, have: int, url: str) -> tuple[int, int | None]:
    """Where the answer's bytes begin, and how many the whole file has."""
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        raise FetchError(f"{url}: the server sends it as {encoding[:40]}, which was not asked for")
    length = response.headers.get("Content-Length", "")
    count = int(length) if length.isascii() and length.isdigit() else None
    if response.status != 206:
        return 0, count
    found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if found is None or int(found[1]) != have:
        raise FetchError(
            f"{url}: asked for bytes from {have}, the server answers {response.headers.get('Content-Range')!r}"
        )
    return have, None if found[3] == "*" else int(found[3])


def _agree(expected: Expected, total: int | None, url: str) -> None:
    if total is None:
        return
    if expected.size is not None and expected.size != total:
        raise FetchError(
            f"{url}: the server's file has {total:,} bytes, the published one {expected.size:,}: it is another file (unset {MIRROR}, or update sopbench)"
        )
    expected.size = total


def _pour(
    response: http.client.HTTPResponse, part: Path, have: int, arrived: Callable[[int], None], total: int | None
) -> int:
    """Append what comes to the part file."""
    with room_in(part.parent), part.open("ab") as out:
        while True:
            try:
                some = response.read1(CHUNK)
            except (OSError, http.client.HTTPException) as error:
                raise _Cut(f"the connection broke ({error or type(error).__name__})") from error
            if not some:
                return have
            out.write(some)
            have += len(some)
            arrived(len(some))
            if total is not None and have > total:
                raise FetchError(f"{part}: the server sends more than the {total:,} bytes that it announced")


def _anew(part: Path, have: int, arrived: Callable[[int], None]) -> int:
    part.unlink(missing_ok=True)
    arrived(-have)
    return 0


# -- asking ------------------------------------------------------------------------------------------------------------


class _Listening(urllib.request.HTTPRedirectHandler):
    """Follows redirects within HTTP, and hears what is said of the file on the way."""

    def __init__(self, expected: Expected) -> None:
        self._expected = expected

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme not in ("http", "https"):
            raise FetchError(f"{req.full_url}: leads to {newurl[:100]!r}")
        if urlsplit(req.full_url).scheme == "https" and urlsplit(newurl).scheme == "http":
            raise FetchError(f"{req.full_url}: leads away from https, to {newurl[:100]!r}")
        self._expected.learn(headers)
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]  # typeshed says HTTPMessage


@contextmanager
def _opened(
    url: str, headers: dict[str, str], expected: Expected, patience: float
) -> Iterator[http.client.HTTPResponse]:
    from sopbench import __version__

    fixed = {"User-Agent": f"sopbench/{__version__}", "Accept-Encoding": "identity"}
    request = urllib.request.Request(url, headers=fixed | headers)
    opener = urllib.request.build_opener(_Listening(expected))
    try:
        response = opener.open(request, timeout=patience)
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(url, error) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise _Cut(f"cannot be reached ({reason or type(error).__name__})") from error
    except ValueError as error:
        raise FetchError(f"{url}: is no address ({error})") from error
    with response:
        expected.learn(response.headers)
        yield response


def _refusal(url: str, error: urllib.error.HTTPError) -> Exception:
    if error.code == 416:
        return _Unsatisfiable()
    if error.code in (401, 403):
        return NeedsAccount(
            f"{url}: the server answers {error.code}: it gives this file only to those who have signed in"
        )
    if error.code in (408, 425, 429) or error.code >= 500:
        return _Cut(f"the server answers {error.code} {error.reason}")
    return FetchError(f"{url}: the server answers {error.code} {error.reason}")


# -- afterwards --------------------------------------------------------------------------------------------------------


def _verify(part: Path, target: Path, expected: Expected, url: str) -> Fetched:
    """Give the file its name if it is the right one; else take it away."""
    part.touch()  # an empty file never got its first byte
    size = _size(part)
    sha256, md5, blob = digests(part, size)
    checks = (
        ("sha256", sha256, expected.sha256),
        ("md5", md5, expected.md5),
        ("git", blob, expected.blob),
    )
    for name, found, due in checks:
        if due is not None and found != due:
            part.unlink()
            raise FetchError(
                f"{url}: what arrived is not the published file: its {name} is {found[:16]}..., expected was {due[:16]}.... "
                "It was deleted; try again, or another mirror"
            )
    if expected.size is not None and size != expected.size:
        part.unlink()
        raise FetchError(
            f"{url}: {size:,} bytes arrived, expected were {expected.size:,}. They were deleted; try again"
        )
    part.replace(target)
    return Fetched(target, size, sha256, next((name for name, _, due in checks if due is not None), "length"))


def digests(path: Path, size: int) -> tuple[str, str, str]:
    """SHA-256, MD5 and git's object id of a file."""
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    blob = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    with open_regular(path) as handle:
        while chunk := handle.read(CHUNK):
            for digest in (sha256, md5, blob):
                digest.update(chunk)
    return sha256.hexdigest(), md5.hexdigest(), blob.hexdigest()


def _known_validator(state: Path, url: str) -> str | None:
    """The ETag or date under which the part file began, if it is of the same address."""
    if not state.is_file():
        return None
    try:
        kept = read_json(state, CHUNK)
    except DataError:
        return None  # damaged: begin anew
    value = kept.get("validator") if isinstance(kept, dict) and kept.get("url") == url else None
    return value if isinstance(value, str) and "\n" not in value and "\r" not in value else None


def _size(part: Path) -> int:
    try:
        return part.stat().st_size
    except FileNotFoundError:
        return 0
