"""Shards in, screens and trajectories out: in several processes, and so that a conversion that was stopped goes on where it was.

Every shard that has been converted leaves two files in `.parts`: its lines, and a marker that says from which bytes, by which rules, and which screens belong to it. A later
run takes a shard for done only if all of that is still so. The file of trajectories is put together from the parts, in the order of the shards: it does not depend on
how many processes there were.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from hashlib import sha256
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from sopbench.datasets.output import (
    IMAGES,
    DiskFull,
    Episode,
    Skipped,
    as_line,
    prepare,
    write_lines,
    write_manifest,
    write_whole,
)
from sopbench.errors import DataError
from sopbench.files import file_sha256, read_json
from sopbench.runs.fingerprint import fingerprint

PARTS: Final = ".parts"
MAX_MARKER: Final = 256 * 1024 * 1024
_TOLD_EVERY: Final = 0.2


@dataclass(frozen=True, slots=True)
class Faulty:
    """A record that is not what it should be; what stands behind it in the shard can still be read."""

    where: str
    id: str
    reason: str

    def __str__(self) -> str:
        episode = "" if self.id == "?" else f" (episode {self.id})"
        return f"{self.where}{episode}: {self.reason}"


Found: TypeAlias = Episode | Skipped | Faulty | None
"""What a record is: None for one that nobody asked for."""


class Source(Protocol):
    """A published format of shards. Goes to other processes, so it can be pickled."""

    @property
    def name(self) -> str: ...

    def facts(self) -> Mapping[str, Any]:
        """What changes the outcome; as JSON."""

    def episodes(self, shard: Path, consumed: Callable[[int], None]) -> Iterator[Found]:
        """Everything in the shard. Raises `DataError` that names shard and record where it cannot be read on."""


@dataclass(frozen=True, slots=True)
class Told:
    """How far a conversion is. Bytes are read from shards (as stored) and written as screens; `before` of those read belong to `skipped_shards`, which were converted already."""

    read: int = 0
    written: int = 0
    episodes: int = 0
    skipped_shards: int = 0
    before: int = 0

    def __add__(self, other: Told) -> Told:
        return Told(
            self.read + other.read,
            self.written + other.written,
            self.episodes + other.episodes,
            self.skipped_shards + other.skipped_shards,
            self.before + other.before,
        )


@dataclass(frozen=True, slots=True)
class Part:
    """A converted shard: what its marker says."""

    shard: str
    ids: Sequence[str]
    steps: int
    screens: Mapping[str, int]
    skipped: Sequence[Mapping[str, str]] = ()
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One shard's conversion. `take` ends it after so many episodes."""

    source: Source
    shard: Path
    out: Path
    take: int | None
    skip_faulty: bool
    key: str

    @property
    def lines(self) -> Path:
        return self.out / PARTS / f"{self.shard.name}.jsonl"

    @property
    def marker(self) -> Path:
        return self.out / PARTS / f"{self.shard.name}.json"


@dataclass
class Worker:
    """What a process of the pool was given when it started."""

    stop: Callable[[], bool] = lambda: False
    tell: Callable[[Told], None] = field(default=lambda told: None)


class Stopped(DataError):
    """Another shard's fault, or the user, ended this one's conversion early."""


def convert_shards(
    source: Source,
    shards: Sequence[Path],
    out: Path,
    *,
    jobs: int = 1,
    limit: int | None = None,
    skip_faulty: bool = False,
    watch: Callable[[Told], None] = lambda told: None,
) -> list[Part]:
    """Convert what has not been converted yet; the parts of all shards, in their order (with `limit` of the first that have so many episodes).

    `watch` is told the sums, several times a second. Raises `DataError` with every shard's fault, after the others have been converted; at once where the disk is full.
    A Ctrl-C ends all processes after their present episode.
    """
    images = prepare(out)
    (out / PARTS).mkdir(exist_ok=True)
    for left in (out / PARTS).glob(".*.tmp"):
        left.unlink(missing_ok=True)
    common = {"source": dict(source.facts()), "skip_faulty": skip_faulty}

    def job(shard: Path, take: int | None) -> Job:
        key = fingerprint(common | {"take": take, "shard": shard.name, "bytes": shard.stat().st_size})
        return Job(source, shard, out, take, skip_faulty, key)

    if limit is not None:
        return _first(limit, shards, job, images, watch)
    todo = [job(shard, None) for shard in shards]
    parts = {item.shard: part for item in todo if (part := finished(item, images)) is not None}
    known = sum(shard.stat().st_size for shard in parts)
    total = Told(read=known, skipped_shards=len(parts), before=known)
    todo = [item for item in todo if item.shard not in parts]
    watch(total)
    if jobs == 1 or len(todo) <= 1:
        parts |= _one_by_one(todo, total, watch)
    else:
        parts |= _in_processes(todo, min(jobs, len(todo)), total, watch)
    return [parts[shard] for shard in shards]


def finished(job: Job, images: Path) -> Part | None:
    """The part that an earlier run left, if it was made of the same bytes by the same rules and is still whole."""
    try:
        marker = read_json(job.marker, MAX_MARKER)
        part = Part(**marker["part"])
        if marker["key"] != job.key or part.sha256 != file_sha256(job.lines):
            return None
        whole = all((images / name).stat().st_size == count for name, count in part.screens.items())
    except (DataError, OSError, KeyError, TypeError, ValueError):  # missing, or not ours: converted again
        return None
    return part if whole else None


def convert_shard(job: Job, worker: Worker) -> Part:
    """All of one shard. Nothing but whole screens is left behind where this raises."""
    images = job.out / IMAGES
    lines: list[bytes] = []
    ids: list[str] = []
    screens: dict[str, int] = {}
    skipped: list[Mapping[str, str]] = []
    steps = 0
    for found in job.source.episodes(job.shard, lambda count: worker.tell(Told(read=count))):
        if worker.stop():
            raise Stopped(f"{job.shard.name}: stopped")
        if isinstance(found, Faulty):
            if not job.skip_faulty:
                raise DataError(f"{found} (--skip-faulty leaves such episodes out)")
            found = Skipped(found.where, found.id, found.reason)
        if isinstance(found, Skipped):
            skipped.append(found.as_dict())
        elif found is not None:
            written = 0
            for name, data in found.screens.items():
                write_whole(images / name, data)
                screens[name] = len(data)
                written += len(data)
            lines.append(as_line(found.object))
            ids.append(found.id)
            steps += len(found.object["steps"])
            worker.tell(Told(written=written, episodes=1))
            if job.take is not None and len(ids) >= job.take:
                break
    write_lines(job.lines, lines)
    part = Part(job.shard.name, ids, steps, screens, skipped, sha256(b"".join(lines)).hexdigest())
    fields = {name: getattr(part, name) for name in Part.__slots__}
    write_manifest(job.marker, {"key": job.key, "part": fields})
    return part


# -- here, one after the other -----------------------------------------------------------------------------------------


def _one_by_one(todo: Sequence[Job], total: Told, watch: Callable[[Told], None]) -> dict[Path, Part]:
    parts: dict[Path, Part] = {}
    faults: list[str] = []

    def tell(told: Told) -> None:
        nonlocal total
        total += told
        watch(total)

    for job in todo:
        try:
            parts[job.shard] = convert_shard(job, Worker(tell=tell))
        except DiskFull:
            raise
        except DataError as error:
            faults.append(str(error))
    _raise(faults)
    return parts


def _first(
    limit: int,
    shards: Sequence[Path],
    job: Callable[[Path, int | None], Job],
    images: Path,
    watch: Callable[[Told], None],
) -> list[Part]:
    """Shard after shard until there are `limit` episodes: which they are does not depend on how fast a process is."""
    parts: list[Part] = []
    total = Told()
    for shard in shards:
        rest = limit - sum(len(part.ids) for part in parts)
        if rest < 1:
            break
        item = job(shard, rest)
        part = finished(item, images)
        if part is None:
            part = _one_by_one([item], total, watch)[shard]
        total += Told(read=shard.stat().st_size, written=sum(part.screens.values()), episodes=len(part.ids))
        parts.append(part)
    return parts


# -- in several processes ----------------------------------------------------------------------------------------------


def _in_processes(todo: Sequence[Job], jobs: int, total: Told, watch: Callable[[Told], None]) -> dict[Path, Part]:
    context = get_context("spawn")  # a fork would copy the threads' locks of whoever shows the progress
    stop, told = context.Event(), context.SimpleQueue()
    parts: dict[Path, Part] = {}
    faults: dict[Path, str] = {}
    with ProcessPoolExecutor(jobs, context, _begin, (stop, told)) as pool:
        try:
            running: dict[Future[Part], Path] = {pool.submit(_work, job): job.shard for job in todo}
            while running:
                done, _ = wait(running, timeout=_TOLD_EVERY, return_when=FIRST_COMPLETED)
                while not told.empty():
                    total += told.get()
                watch(total)
                for future in done:
                    shard = running.pop(future)
                    try:
                        parts[shard] = future.result()
                    except DiskFull:
                        raise
                    except DataError as error:
                        faults[shard] = str(error)
                    except BrokenProcessPool as error:
                        raise DataError(
                            "a process of the conversion was killed, most likely for want of memory: give fewer with --jobs. "
                            "The same command goes on where this one stopped"
                        ) from error
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            while any(
                future.running() for future in running
            ):  # a process that waits for somebody to read the queue never ends
                while not told.empty():
                    told.get()
                wait(running, timeout=_TOLD_EVERY)
            raise
    while not told.empty():
        total += told.get()
    watch(total)
    _raise([faults[job.shard] for job in todo if job.shard in faults])
    return parts


_worker = Worker()
"""In a process of the pool: what `_begin` put there."""


def _begin(stop: Any, told: Any) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when
    _worker = Worker(stop.is_set, told.put)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed parent cannot say that it is gone."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(job: Job) -> Part:
    return convert_shard(job, _worker)


def _raise(faults: Sequence[str]) -> None:
    if faults:
        more = f"\nand {len(faults) - 20} more" if len(faults) > 20 else ""
        raise DataError("\n".join(faults[:20]) + more)
