"""What several profiles say of the same recorded replies, and what evaluators would that do something else with a reply which they cannot parse: read it as `wait`, or
let it erase what came before.

Nothing of it is a result of the run: it measures rules, with the run's replies as the probe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sopbench import stats
from sopbench.actions import Wait
from sopbench.adapters.base import Adapter, ParseFailure
from sopbench.errors import DataError
from sopbench.geometry import Size
from sopbench.runs.fingerprint import require_same
from sopbench.runs.folder import EpisodeKey, EpisodeLog, RunFolder, RunInfo, require_own
from sopbench.scoring.base import Profile
from sopbench.suites.base import Loaded
from sopbench.trajectory import Trajectory

Logs = Mapping[EpisodeKey, EpisodeLog]


@dataclass(frozen=True, slots=True)
class Judged:
    """One recorded step: what each profile says of it, and whether its reply was no action; `waits[k]`: the k-th profile's verdict were it `wait`."""

    episode: EpisodeKey
    step: int
    gold: str
    unparsed: bool
    matches: tuple[bool, ...]
    types: tuple[bool, ...]
    waits: tuple[bool, ...]


def verdicts(
    folder: RunFolder, info: RunInfo, loaded: Loaded, adapter: Adapter, profiles: Sequence[Profile]
) -> dict[str, Any]:
    """Counts of steps by profile, of steps on which profiles disagree (by the expert's action), and of replies that are no action.

    PG and TSR (semi-online) stand there where every step of every trajectory has a recorded reply: a run with `--after-mismatch continue`. Then they are what the
    replies of that run are worth under each profile. Raises `DataError` where journal and data do not fit.
    """
    data = {"data_sha256": loaded.sha256, "ids_sha256": loaded.ids_sha256}
    require_same(
        {key: info.facts[key] for key in data}, data, what=f"cannot judge the replies of {folder.path} on this data"
    )
    logs = folder.episodes()
    require_own(logs, loaded.ids, info.facts["repeats"], folder)
    trajectories = {t.id: t for t in loaded.trajectories}
    steps = [s for key, log in logs.items() for s in _judged(key, log, trajectories[key[0]], adapter, profiles)]
    whole = len(steps) == sum(map(len, loaded.trajectories)) * info.facts["repeats"]
    unparsed = [s for s in steps if s.unparsed]
    return {
        "run": str(folder.path),
        "steps": len(steps),
        "of": sum(map(len, loaded.trajectories)) * info.facts["repeats"],
        "profiles": {
            p.id: _counts(steps, k, whole=whole, semi_online=info.facts["protocol"] == "semi_online")
            for k, p in enumerate(profiles)
        },
        "changes": [_changes(steps, profiles, k, j) for k, j in combinations(range(len(profiles)), 2)],
        "unparsed": {"steps": len(unparsed), "on_wait": sum(s.gold == "wait" for s in unparsed)},
    }


def _judged(
    key: EpisodeKey, log: EpisodeLog, trajectory: Trajectory, adapter: Adapter, profiles: Sequence[Profile]
) -> Iterator[Judged]:
    for record in log.ordered():
        if record.outcome != "scored":
            continue
        if record.step >= len(trajectory) or record.reply is None or record.screen is None:
            raise DataError(f"episode {key[0]} step {record.step}: not a record of this data's step")
        step, size = trajectory.steps[record.step], Size(*record.screen)
        parsed = adapter.parse(record.reply, size)
        unparsed = isinstance(parsed, ParseFailure)
        action = Wait() if isinstance(parsed, ParseFailure) else parsed.action
        found = [profile.judge(action, step, size) for profile in profiles]
        waits = tuple(v.match for v in found)
        types = tuple(v.type_match for v in found)
        nothing = (False,) * len(found)
        yield Judged(
            key, record.step, step.kind, unparsed, nothing if unparsed else waits, nothing if unparsed else types, waits
        )


def _counts(steps: Sequence[Judged], profile: int, *, whole: bool, semi_online: bool) -> dict[str, Any]:
    counts: dict[str, Any] = {
        "match": sum(s.matches[profile] for s in steps),
        "type_match": sum(s.types[profile] for s in steps),
        "match_if_wait": sum(s.waits[profile] for s in steps),
    }
    if whole and semi_online:
        for name, matches in (
            ("", [s.matches[profile] for s in steps]),
            ("_if_wait", [s.waits[profile] for s in steps]),
        ):
            pg, tsr = _pg_tsr(steps, matches)
            counts |= {f"pg{name}": pg, f"tsr{name}": tsr}
        counts["pg_if_erased"] = _pg_tsr(steps, [s.matches[profile] for s in steps], erased=True)[0]
    return counts


def _pg_tsr(steps: Sequence[Judged], matches: Sequence[bool], *, erased: bool = False) -> tuple[float, float]:
    """In percent. Steps are whole trajectories, in order. `erased`: an episode that ends at an unreadable reply has come nowhere."""
    episodes: dict[EpisodeKey, list[tuple[bool, bool]]] = {}
    for step, match in zip(steps, matches, strict=True):
        episodes.setdefault(step.episode, []).append((match, step.unparsed))
    shares = []
    for found in episodes.values():
        stop = next((index for index, (match, _) in enumerate(found) if not match), len(found))
        nothing = erased and stop < len(found) and found[stop][1]
        shares.append(0.0 if nothing else stop / len(found))
    return stats.percent(sum(shares) / len(shares)), stats.percent(sum(s == 1 for s in shares) / len(shares))


def _changes(steps: Sequence[Judged], profiles: Sequence[Profile], k: int, j: int) -> dict[str, Any]:
    only = [Counter(s.gold for s in steps if s.matches[a] and not s.matches[b]) for a, b in ((k, j), (j, k))]
    return {
        "a": profiles[k].id,
        "b": profiles[j].id,
        "only_a": only[0].total(),
        "only_b": only[1].total(),
        "by_action": {
            kind: {"only_a": only[0][kind], "only_b": only[1][kind]} for kind in sorted({*only[0], *only[1]})
        },
    }
