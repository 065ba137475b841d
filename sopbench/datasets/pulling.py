"""Getting a data set: which files it has, which are here already, whether there is room, and then one after the other."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from sopbench.datasets.fetching import FetchError, NeedsAccount, digests, fetch, fetch_json
from sopbench.datasets.output import alone_in, require_room, room_in
from sopbench.datasets.registry import Bucket, DataSet, Hub, Remote
from sopbench.errors import DataError, command
from sopbench.files import read_json, write_json

FOLDER: Final = "SOPBENCH_DATA"
RECORD: Final = "pull.json"
MAX_PAGES: Final = 1_000
MAX_RECORD: Final = 256 * 1024 * 1024
_SAVE_EVERY: Final = 50


def home() -> Path:
    """Where data sets are kept: the folder that SOPBENCH_DATA names, else the user's data folder."""
    chosen = os.environ.get(FOLDER, "").strip()
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return platformdirs.user_data_path("sopbench", appauthor=False) / "data"


def folder_of(data_set: DataSet) -> Path:
    return home() / data_set.name


@dataclass(frozen=True, slots=True)
class Transfer:
    """How far a pull is. `total` is None while sizes are not known; `resumed` of the bytes were here before."""

    file: str
    files: int
    of_files: int
    bytes: int
    total: int | None
    resumed: int


@dataclass(frozen=True, slots=True)
class Pulled:
    """What a pull ended with. `verified` counts files by what they were compared with."""

    folder: Path
    files: int
    fetched: int
    bytes: int
    verified: Mapping[str, int]


def pull(
    data_set: DataSet,
    to: Path | None = None,
    *,
    only: Sequence[str] = (),
    verify: bool = False,
    space_check: bool = True,
    watch: Callable[[Transfer], None] = lambda transfer: None,
    **patience: Any,
) -> Pulled:
    """Get what is missing. `only` are patterns of file names; `verify` reads files that are here already and compares them again.

    Raises `DataError` that says what to do; what has arrived stays.
    """
    folder = to if to is not None else folder_of(data_set)
    remotes = [remote for remote in files_of(data_set) if _chosen(remote.path, only)]
    if not remotes:
        raise DataError(f"{data_set.name} has no file that fits {', '.join(only)}")
    with alone_in(folder, "--to"):
        return _pull(data_set, folder, remotes, only, verify=verify, space_check=space_check, watch=watch, **patience)


def _pull(
    data_set: DataSet,
    folder: Path,
    remotes: Sequence[Remote],
    only: Sequence[str],
    *,
    verify: bool,
    space_check: bool,
    watch: Callable[[Transfer], None],
    **patience: Any,
) -> Pulled:
    record = _Record(folder / RECORD, data_set.name)
    here = {remote.path: kept for remote in remotes if (kept := record.kept(folder, remote, verify)) is not None}
    missing = [remote for remote in remotes if remote.path not in here]
    sizes = [remote.size for remote in missing]
    if space_check:
        known = sum(size or 0 for size in sizes)
        left = sum(_begun(folder, remote) for remote in missing)
        require_room(folder, max(known, _rest(data_set, only, here)) - left, f"The rest of {data_set.name}")
    done = sum(here.values())
    total = None if None in sizes else done + sum(size or 0 for size in sizes)
    state = Transfer("", len(here), len(remotes), done, total, done)
    watch(state)

    def arrived(count: int) -> None:
        nonlocal state
        state = replace(state, bytes=state.bytes + count)
        watch(state)

    with room_in(folder):
        try:
            for index, remote in enumerate(missing, 1):
                begun = _begun(folder, remote)
                state = replace(state, file=remote.path, bytes=state.bytes + begun, resumed=state.resumed + begun)
                fetched = fetch(remote, folder / remote.path, arrived, **patience)
                record.add(remote, fetched.bytes, fetched.sha256, fetched.verified)
                if index % _SAVE_EVERY == 0:
                    record.save()
                state = replace(state, files=state.files + 1)
                watch(state)
        except NeedsAccount as error:
            raise FetchError(f"{error}\n{by_hand(data_set, folder, missing)}") from error
        finally:
            record.save()
    return Pulled(folder, len(remotes), len(missing), sum(map(record.bytes_of, remotes)), record.counts(remotes))


def by_hand(data_set: DataSet, folder: Path, missing: Sequence[Remote]) -> str:
    """What to do where a program may not."""
    names = ", ".join(remote.path for remote in missing[:5]) + (", ..." if len(missing) > 5 else "")
    return (
        f"By hand: sign in and accept the terms at {data_set.page}, download {names} in a browser, put them into {folder} under these names, then give "
        f"{command('sopbench', 'data', 'pull', data_set.name, '--to', folder)} again: it takes what is there"
    )


def _chosen(path: str, only: Sequence[str]) -> bool:
    return not only or any(
        fnmatch.fnmatchcase(path, p) or fnmatch.fnmatchcase(PurePosixPath(path).name, p) for p in only
    )


def _begun(folder: Path, remote: Remote) -> int:
    """Bytes of the file that an earlier pull has left."""
    target = folder / remote.path
    part = target.with_name(f".{target.name}.part")
    return part.stat().st_size if part.is_file() else 0


def _rest(data_set: DataSet, only: Sequence[str], here: Mapping[str, int]) -> int:
    """What the registry says is still to come, where all files are asked for."""
    return 0 if only or data_set.size is None else data_set.size - sum(here.values())


# -- what there is -----------------------------------------------------------------------------------------------------


def files_of(data_set: DataSet) -> list[Remote]:
    """All files of the data set; those that are only listed by their publisher are asked for. Raises `FetchError`."""
    found = list(data_set.files)
    for place in data_set.listed:
        listed = list(_in_bucket(place) if isinstance(place, Bucket) else _in_hub(place))
        if not listed:
            raise FetchError(f"{place.listing}: the publisher's list is empty")
        found += listed
    for remote in found:
        path = PurePosixPath(remote.path)
        if path.is_absolute() or ".." in path.parts or "\0" in remote.path or "\\" in remote.path or not path.parts:
            raise FetchError(f"the publisher's list has a file named {remote.path[:80]!r}, which would lie elsewhere")
    return found


def _pages(url: str) -> Iterator[Any]:
    address: str | None = url
    for _ in range(MAX_PAGES):
        if address is None:
            return
        value, follows = fetch_json(address)
        token = value.get("nextPageToken") if isinstance(value, dict) else None
        address = f"{url}&pageToken={token}" if isinstance(token, str) and token else follows
        yield value
    raise FetchError(f"{url}: a list of more than {MAX_PAGES} pages")


def _in_bucket(place: Bucket) -> Iterator[Remote]:
    """Objects of the folder. `md5Hash` is base64."""
    import base64
    import binascii

    parent = place.prefix.rstrip("/").rpartition("/")[0]
    for page in _pages(place.listing):
        for item in _dicts(page.get("items", []) if isinstance(page, dict) else None, place.listing):
            name, size = item.get("name"), item.get("size")
            if not isinstance(name, str) or not name.startswith(place.prefix) or name.endswith("/"):
                continue
            try:
                md5 = base64.b64decode(str(item["md5Hash"]), validate=True).hex() if "md5Hash" in item else None
            except (binascii.Error, ValueError):
                md5 = None
            yield Remote(name.removeprefix(parent).lstrip("/"), place.address(name), _count(size), md5=md5)


def _in_hub(place: Hub) -> Iterator[Remote]:
    """Files of the repository: large ones have a SHA-256, others git's object id."""
    for page in _pages(place.listing):
        for item in _dicts(page, place.listing):
            path = item.get("path")
            if item.get("type") != "file" or not isinstance(path, str):
                continue
            if not any(fnmatch.fnmatchcase(path, pattern) for pattern in place.only):
                continue
            large = item.get("lfs")
            if isinstance(large, dict):
                yield Remote(path, place.address(path), _count(large.get("size")), _text(large.get("oid")))
            else:
                yield Remote(path, place.address(path), _count(item.get("size")), blob=_text(item.get("oid")))


def _dicts(value: Any, url: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise FetchError(f"{url}: the answer is not a list of files")
    return value


def _count(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return value if type(value) is int and value >= 0 else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


# -- what is here ------------------------------------------------------------------------------------------------------


class _Record:
    """`pull.json`: what was fetched, from where, and its hash, so that nothing is read or fetched twice."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._value: dict[str, Any] = {"v": 1, "name": name, "files": {}}
        if path.is_file():
            kept = read_json(path, MAX_RECORD)
            if isinstance(kept, dict) and isinstance(kept.get("files"), dict):
                if kept.get("name") != name:
                    raise DataError(
                        f"{path.parent} holds {kept.get('name')!r}: give {name} a folder of its own with --to"
                    )
                self._value["files"] = {k: v for k, v in kept["files"].items() if isinstance(v, dict)}

    def kept(self, folder: Path, remote: Remote, verify: bool) -> int | None:
        """The size of a file that is here and right; None where it has to be fetched. One that is here and wrong is an error."""
        path = folder / remote.path
        try:
            stat = path.stat()
        except FileNotFoundError:
            return None
        entry = self._value["files"].get(remote.path, {})
        if not verify and (entry.get("bytes"), entry.get("mtime_ns")) == (stat.st_size, stat.st_mtime_ns):
            return stat.st_size
        sha256, md5, blob = digests(path, stat.st_size)
        due = {"sha256": remote.sha256, "md5": remote.md5, "git": remote.blob}
        found = {"sha256": sha256, "md5": md5, "git": blob}
        wrong = [name for name, value in due.items() if value is not None and value != found[name]]
        if remote.size is not None and remote.size != stat.st_size:
            wrong.append("length")
        if not wrong and entry.get("sha256") not in (None, sha256):
            wrong.append("sha256 since it was pulled")
        if wrong:
            raise DataError(f"{path} is not the published file (another {wrong[0]}). Delete it, then pull again")
        verified = next((name for name, value in due.items() if value is not None), entry.get("verified", "length"))
        self.add(remote, stat.st_size, sha256, verified, stat.st_mtime_ns)
        return stat.st_size

    def add(self, remote: Remote, count: int, sha256: str, verified: str, mtime_ns: int | None = None) -> None:
        mtime = mtime_ns if mtime_ns is not None else (self._path.parent / remote.path).stat().st_mtime_ns
        self._value["files"][remote.path] = {
            "url": remote.url,
            "bytes": count,
            "sha256": sha256,
            "verified": verified,
            "mtime_ns": mtime,
        }

    def save(self) -> None:
        write_json(self._path, self._value)

    def bytes_of(self, remote: Remote) -> int:
        return int(self._value["files"][remote.path]["bytes"])

    def counts(self, remotes: Sequence[Remote]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for remote in remotes:
            name = str(self._value["files"][remote.path]["verified"])
            counts[name] = counts.get(name, 0) + 1
        return counts


@dataclass(frozen=True, slots=True)
class Held:
    """What of a data set is on this machine."""

    folder: Path
    files: int
    bytes: int


def held(data_set: DataSet, folder: Path | None = None) -> Held:
    """From the record of earlier pulls; files that have gone since do not count."""
    where = folder if folder is not None else folder_of(data_set)
    if not (where / RECORD).is_file():
        return Held(where, 0, 0)
    record = read_json(where / RECORD, MAX_RECORD)
    files = record.get("files") if isinstance(record, dict) else None
    sizes = [(where / name).stat().st_size for name in files or {} if (where / name).is_file()]
    return Held(where, len(sizes), sum(sizes))
