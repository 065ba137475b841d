"""The Python API: run a benchmark, load a run, re-score it. The command line is a thin shell over this module."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sopbench import __version__
from sopbench.adapters import get_adapter
from sopbench.adapters.base import Adapter
from sopbench.clients import make_policy
from sopbench.clients.base import AskFailed, Policy
from sopbench.errors import DataError, UsageError
from sopbench.runs.config import RunConfig, config_of, facts_of, settings_of
from sopbench.runs.engine import Crew, play
from sopbench.runs.fingerprint import fingerprint, require_same
from sopbench.runs.folder import EpisodeLog, RunFolder, RunInfo
from sopbench.runs.player import Play
from sopbench.runs.progress import Listener
from sopbench.runs.summary import online_outcome, semi_online_outcome, summarise
from sopbench.runs.wording import worded_adapter
from sopbench.scoring import get_profile
from sopbench.suites import DataSource, Loaded, Suite, get_suite, loaded_again, trajectories_of
from sopbench.waiting import wait_for

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; `path` is the folder of what was kept (None where nothing had been started)."""

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self.path = path


class Run:
    """A run on disk. `summary` is the content of `summary.json`; `steps` and `trajectories` are pandas frames, one row each."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.folder = RunFolder(self.path)
        self.info: RunInfo = self.folder.info()

    @property
    def summary(self) -> dict[str, Any]:
        return self.folder.summary()

    @cached_property
    def steps(self) -> pd.DataFrame:
        """One row a step that counts: the fields of `StepRecord`, with `match`, `type_match` and `reason` of the verdict."""
        import pandas as pd

        rows = []
        for log in self.folder.episodes().values():
            for record in log.ordered():
                row = record.model_dump(exclude={"v", "verdict", "attempts"})
                verdict = record.verdict
                row |= {
                    "match": verdict.match if verdict else None,
                    "type_match": verdict.type_match if verdict else None,
                    "reason": verdict.reason if verdict else record.error.reason if record.error else None,
                    "tries": max(1, len(record.attempts)),
                }
                rows.append(row)
        return pd.DataFrame(rows)

    @cached_property
    def trajectories(self) -> pd.DataFrame:
        """One row a played episode and repeat: the fields of `stats.Outcome` (`length` is 1 online), `success`, and `pg`, a fraction.

        Of a static run instead: `length`, `scored` (every step is), the numbers of `matched` and `typed` (type-matched) steps, and `sr`, a fraction (None unless scored).
        """
        import pandas as pd

        logs = self.folder.episodes()
        if self.info.facts["protocol"] == "static":
            return pd.DataFrame(_static_rows(logs))
        outcomes = []
        for (episode, repeat), log in logs.items():
            if self.info.facts["protocol"] == "online":
                outcomes.append(online_outcome(episode, repeat, log))
            else:
                length = next((r.of for r in log.ordered() if r.of), 1)
                outcomes.append(semi_online_outcome(episode, repeat, log, length))
        return pd.DataFrame([asdict(o) | {"success": o.success, "pg": o.progress / o.length} for o in outcomes])

    def report(
        self,
        out: Path | None = None,
        source: DataSource | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Path:
        """Write the HTML report and say where it is. `progress(done, total)` is told of each screen."""
        from sopbench.report import write_report

        return write_report(self.path, out, trajectories=trajectories_of(self.info, source), progress=progress)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"


def load_run(path: Path | str) -> Run:
    """A run from its folder; raises `DataError` where there is none."""
    return Run(path)


def run(
    config: RunConfig | None = None,
    *,
    listener: Listener | None = None,
    policy: Policy | None = None,
    **options: Any,
) -> Run:
    """Run a benchmark and wait for it: `sopbench.run(suite="pocket", model="builtin:oracle")`.

    `options` are the fields of `RunConfig`. Works inside notebooks too (an event loop may be running already).
    `policy` answers in place of what `model` names (a trainer's own weights); it is the caller's to close, and the run records what its `describe()` says.
    """
    return _Session(_config(config, options), listener or _nobody, policy).wait(resume=False)


async def arun(
    config: RunConfig | None = None,
    *,
    listener: Listener | None = None,
    policy: Policy | None = None,
    **options: Any,
) -> Run:
    """`run` for callers with an event loop. Cancelling it leaves a run that can be resumed."""
    return await _Session(_config(config, options), listener or _nobody, policy).start(resume=False)


def resume(path: Path | str, *, listener: Listener | None = None, **overrides: Any) -> Run:
    """Play what a run still misses. `overrides` may change settings (base_urls, concurrency, timeouts, data paths);
    anything that would change the fingerprint raises `FingerprintMismatch` that names the field."""
    return _Session(_recorded_config(Path(path), overrides), listener or _nobody).wait(resume=True)


async def aresume(path: Path | str, *, listener: Listener | None = None, **overrides: Any) -> Run:
    """`resume` for callers with an event loop."""
    return await _Session(_recorded_config(Path(path), overrides), listener or _nobody).start(resume=True)


def _config(config: RunConfig | None, options: dict[str, Any]) -> RunConfig:
    known = [field.name for field in fields(RunConfig)]
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            meant = f"; did you mean {near[0]}?" if near else f"; there are: {', '.join(known)}"
            raise UsageError(f"there is no option {name!r}{meant}")
    return replace(config, **options) if config is not None else RunConfig(**options)


def _recorded_config(path: Path, overrides: dict[str, Any]) -> RunConfig:
    recorded = RunFolder(path).info()
    return replace(config_of(recorded.facts, recorded.settings, path), **overrides)


class _Session:
    """One sitting at one run: resolve what was asked, play, summarise."""

    def __init__(self, config: RunConfig, listener: Listener, policy: Policy | None = None) -> None:
        self.config, self.listener, self.policy = config, listener, policy
        self.path: Path | None = None

    def wait(self, *, resume: bool) -> Run:
        """`start` for callers without an event loop. Raises `Interrupted` on Ctrl-C, once the journal is closed."""
        try:
            return wait_for(self.start(resume=resume))
        except KeyboardInterrupt as stop:
            raise Interrupted(self.path) from stop

    async def start(self, *, resume: bool) -> Run:
        config = self.config
        suite = get_suite(config.suite, config.options)
        get_adapter(config.adapter)  # an unknown name is told first
        if suite.protocol == "online" and config.profile is not None:
            raise UsageError(f"suite {suite.name} is scored by its environment: --profile does not apply")
        if suite.protocol == "online" and config.after_mismatch == "continue":
            raise UsageError(f"suite {suite.name} is played live: there is no mismatch to continue after")
        if suite.protocol == "static" and config.after_mismatch == "continue":
            raise UsageError(f"suite {suite.name} asks every step by itself: no mismatch ends anything")
        name = config.profile or suite.default_profile
        profile = get_profile(name) if name else None
        loaded = suite.load(config.source, config.limit, config.tasks)
        _require_some_screens(loaded)
        policy = self.policy or await make_policy(config)
        try:
            adapter = await worded_adapter(config)
            concurrency = min(config.concurrency, suite.at_once() or config.concurrency)
            facts = facts_of(config, suite, loaded, adapter, profile, policy)
            folder = self._folder(
                facts, settings_of(config, adapter) | policy.settings() | suite.settings(), resume=resume
            )
            self.path = folder.path
            plan = Play(
                suite,
                loaded,
                adapter,
                profile,
                policy,
                images=facts["images"],
                after_mismatch=config.after_mismatch,
                repeats=config.repeats,
                seed=config.seed,
                concurrency=concurrency,
                environment_attempts=config.environment_attempts,
            )
            crew = self._crew(adapter, facts["images"], folder)
            async with _opened(suite, 0 if crew else min(concurrency, _live_left(folder, loaded, config.repeats))):
                wall, stopped = await _play(plan, folder, self.listener, crew)
        finally:
            if policy is not self.policy:
                await policy.close()
        logs = folder.episodes()
        summary = summarise(folder.info(), folder.path, loaded, adapter, logs, wall_s=wall, stopped=stopped)
        folder.write_summary(summary)
        return Run(folder.path)

    def _crew(self, adapter: Adapter, images: int, folder: RunFolder) -> Crew | None:
        """None for this process."""
        if self.config.executor == "local":
            return None
        from sopbench.runs.on_ray import RayCrew, Recipe

        return RayCrew(Recipe(self.config, adapter, images, folder.path), self.config.ray_address)

    def _folder(self, facts: dict[str, Any], settings: dict[str, Any], *, resume: bool) -> RunFolder:
        now = datetime.now(UTC)
        if self.config.out is None:
            played, model = _plain(facts["suite"].partition("[")[0]), _plain(facts["model"].rpartition("/")[2])
            name = f"{played}-{model}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
            folder = RunFolder(Path("runs") / name)
        else:
            folder = RunFolder(self.config.out)
        info = RunInfo(
            id=f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
            created=now.isoformat(timespec="seconds"),
            version=__version__,
            fingerprint=fingerprint(facts),
            facts=facts,
            settings=settings,
        )
        info.check("this run")
        if not folder.exists():
            if folder.has_other_files():
                raise UsageError(f"--out {folder.path} exists and is no run; choose a new folder")
            with suppress(FileExistsError):  # another process may start a run there at this very moment
                folder.create(info)
        recorded = folder.info()
        if origin := recorded.settings.get("rescored_from"):
            raise UsageError(f"{folder.path} is a re-scoring of {origin}: resume that run, then score it again")
        if recorded.id != info.id:
            what = f"cannot {'resume' if resume else 'continue'} the run in {folder.path}"
            hint = "" if resume else "For another run choose another --out"
            require_same(recorded.facts, facts, what=what, hint=hint)
        return folder


def _plain(name: str) -> str:
    """`name` as part of a file's name."""
    return "".join(c if c.isalnum() or c in "-._" else "-" for c in name)[:40]


def _live_left(folder: RunFolder, loaded: Loaded, repeats: int) -> int:
    """How many online episodes have no verdict yet."""
    ends = {key: log.end for key, log in folder.episodes().items()} if loaded.tasks else {}
    played = [ends.get((task.id, repeat)) for task in loaded.tasks for repeat in range(repeats)]
    return sum(end is None or end.outcome != "scored" for end in played)


@asynccontextmanager
async def _opened(suite: Suite, slots: int) -> AsyncIterator[None]:
    """`suite` with what its environments need, for `slots` at once (none where others play); ended whatever happens, even where opening it is interrupted."""
    opening = asyncio.ensure_future(asyncio.to_thread(suite.open, slots)) if slots else None
    try:
        if opening is not None:
            await asyncio.shield(opening)
        yield
    finally:
        if opening is not None:
            await asyncio.wait([opening])
            await asyncio.to_thread(suite.close)


async def _play(plan: Play, folder: RunFolder, listener: Listener, crew: Crew | None) -> tuple[float, AskFailed | None]:
    """Seconds that playing took, and what ended it early. The first error of the workers comes out as itself, not wrapped in a group."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    try:
        stopped = await play(plan, folder, listener, crew)
    except BaseExceptionGroup as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from group
    return loop.time() - started, stopped


def rescore(path: Path | str, profile: str, *, source: DataSource | None = None, out: Path | None = None) -> Run:
    """Judge the recorded replies of a run under another profile, without the model. Returns the re-scored run.

    Where `profile` is more lenient, a semi-online trajectory may go on past the last recorded reply: those are not scored, and the summary gives bounds.
    """
    from sopbench.runs.rescore import rescore_run

    folder = RunFolder(Path(path))
    info = folder.info()
    if info.facts["protocol"] == "online":
        raise UsageError(f"{path} was played online: its environment scored it, no profile did")
    new_profile = get_profile(profile)
    adapter, loaded = get_adapter(info.facts["adapter"]["name"]), loaded_again(info, source)
    target = RunFolder(out or folder.path / "rescored" / profile)
    new_info = rescore_run(folder, info, loaded, adapter, new_profile, target)
    target.write_summary(summarise(new_info, target.path, loaded, adapter, target.episodes()))
    return Run(target.path)


def verdicts(path: Path | str, profiles: Sequence[str], *, source: DataSource | None = None) -> dict[str, Any]:
    """What each of `profiles` says of the recorded replies of a run, and where they disagree: see `sopbench.runs.verdicts`. Writes nothing."""
    from sopbench.runs.verdicts import verdicts as count

    folder = RunFolder(Path(path))
    info = folder.info()
    if info.facts["protocol"] == "online":
        raise UsageError(f"{path} was played online: its environment scored it, no profile did")
    adapter, loaded = get_adapter(info.facts["adapter"]["name"]), loaded_again(info, source)
    return count(folder, info, loaded, adapter, [get_profile(name) for name in dict.fromkeys(profiles)])


def _static_rows(logs: Mapping[tuple[str, int], EpisodeLog]) -> list[dict[str, Any]]:
    rows = []
    for (episode, repeat), log in logs.items():
        records = log.ordered()
        length = next((r.of for r in records if r.of), 1)
        verdicts = [r.verdict for r in records if r.outcome == "scored" and r.verdict is not None]
        scored, matched = len(verdicts) == length, sum(v.match for v in verdicts)
        rows.append(
            {
                "episode": episode,
                "repeat": repeat,
                "length": length,
                "scored": scored,
                "matched": matched,
                "typed": sum(v.type_match for v in verdicts),
                "success": scored and matched == length,
                "sr": matched / length if scored else None,
            }
        )
    return rows


def _require_some_screens(loaded: Loaded) -> None:
    """Some missing screens are reported where they are met; none at all is a wrong folder, and nothing is started."""
    screens = [step.screen for t in loaded.trajectories for step in t.steps]
    missing = [s for s in screens if s.path is not None and not os.path.isfile(s.path)]
    if screens and len(missing) == len(screens):
        raise DataError(
            f"none of the {len(screens)} screens is there: the first would be {missing[0].path}. Give their folder with "
            "--images DIR, and where they are named differently --image-pattern (`sopbench data check` proposes one); "
            "`sopbench data pull` fetches the screens of public data sets"
        )


def _nobody(progress: object) -> None:
    """The listener of callers that do not watch."""
