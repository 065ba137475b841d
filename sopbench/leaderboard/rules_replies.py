"""Rules about the journal: every line is a record of this data, and every reply, read and judged again, is worth what its line says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sopbench.actions import to_released
from sopbench.adapters.base import ParsedReply, ParseFailure
from sopbench.clients.prompt_hash import image_hashes, prompt_sha256
from sopbench.errors import DataError, SopbenchError
from sopbench.leaderboard.case import Case, Refused, Skipped
from sopbench.leaderboard.reading import STEPS, journal_lines
from sopbench.leaderboard.recorded import as_recorded, screen_of
from sopbench.leaderboard.rules_board import has_texts
from sopbench.leaderboard.scrub import PRIVATE, scrubbed_record
from sopbench.protocols.online import OnlineEpisode
from sopbench.protocols.semi_online import Pending, SemiOnlineEpisode, StepResult
from sopbench.protocols.static import StaticEpisode
from sopbench.runs.folder import EpisodeLog, read_record
from sopbench.runs.records import EpisodeEnd, FailureRecord, StepRecord
from sopbench.scoring.base import Verdict

KEYS = ("a key", "a bearer token")


def records(case: Case) -> str:
    """One line a step (online: and one an episode), only of this data's episodes, nothing superseded, nothing after an end."""
    lengths = {t.id: len(t) for t in case.loaded.trajectories} | {t.id: t.budget for t in case.loaded.tasks}
    repeats = case.facts["repeats"]
    most = sum(lengths.values()) * repeats + len(lengths) * repeats
    found: list[StepRecord | EpisodeEnd] = []
    seen: set[tuple[str, int, int]] = set()
    for number, line in enumerate(journal_lines(case.submission.file(STEPS)), start=1):
        where = f"{STEPS} line {number}"
        if number > most:
            raise Refused(f"{where}: more lines than this data has steps")
        record = read_record(line, where)
        if record.episode not in lengths or record.repeat >= repeats:
            raise Refused(
                f"{where}: episode {ascii(record.episode)[:80]}, repeat {record.repeat}, is not of this run's data"
            )
        step = -1 if isinstance(record, EpisodeEnd) else record.step
        if step >= lengths[record.episode]:
            raise Refused(f"{where}: episode {record.episode} has no step {step}")
        key = (record.episode, record.repeat, step)
        if key in seen:
            raise Refused(
                f"{where}: episode {record.episode} repeat {record.repeat} step {step} stands there twice; a submission has one line a step"
            )
        seen.add(key)
        if scrubbed_record(record) != record:
            raise Refused(
                f"{where}: tells an endpoint's address or the words of an error; `sopbench submit` leaves them out"
            )
        found.append(record)
        case.logs.setdefault((record.episode, record.repeat), EpisodeLog()).add(record)
    if sum(len(log.steps) + (log.end is not None) for log in case.logs.values()) != len(found):
        raise Refused(f"{STEPS} mixes several attempts at an episode; a submission has the one that counts")
    case.records = found
    return f"{len(found):,} lines"


def keys(case: Case) -> str:
    """No reply, thought or note holds what looks like a key: the file will be public."""
    for record in case.records:
        texts = (record.reply or "", *record.notes) if isinstance(record, StepRecord) else record.answers
        for text in texts:
            for what in KEYS:
                if PRIVATE[what].search(text):
                    step = record.step if isinstance(record, StepRecord) else "its end"
                    raise Refused(
                        f"episode {record.episode} step {step}: a text looks as if it held {what}; the file will be public"
                    )
    return "no reply looks as if it held a key"


def complete(case: Case) -> str:
    """Every episode of the board's data was played, to its end, as often as the run says."""
    ids, repeats = case.loaded.ids, case.facts["repeats"]
    missing = [(i, r) for r in range(repeats) for i in ids if (i, r) not in case.logs]
    if missing:
        episode, repeat = missing[0]
        raise Refused(
            f"{len(missing)} of {len(ids) * repeats} episodes are missing, the first is {episode} (repeat {repeat}); finish the run with `sopbench resume`"
        )
    return f"{len(ids):,} episodes x {repeats}"


def not_scored(case: Case) -> str:
    """How much may be without a verdict, by the board's cap."""
    if case.board.protocol == "static":
        steps = [r for log in case.logs.values() for r in log.ordered()]
        whole = sum(map(len, case.loaded.trajectories)) * case.facts["repeats"]
        without, unit = whole - sum(r.outcome == "scored" for r in steps), "steps"
    else:
        whole, unit = len(case.logs), "episodes"
        without = sum(not _scored(log, online=case.board.protocol == "online") for log in case.logs.values())
    cap = case.board.limits.not_scored
    if 100 * without > cap * whole:
        raise Refused(
            f"{without} of {whole} {unit} have no verdict, the board allows {cap:g} %; `sopbench resume` plays them again"
        )
    return f"{without} of {whole} {unit} without a verdict"


def _scored(log: EpisodeLog, *, online: bool) -> bool:
    if online:
        return log.end is not None and log.end.outcome == "scored"
    return all(r.outcome == "scored" for r in log.steps.values())


def replies(case: Case) -> str:
    """Every raw reply, parsed and judged by this code, gives the line that was submitted; episodes end where their protocol ends them."""
    counts: Counter[str] = Counter()
    for record, pending, parsed, verdict in replayed(case):
        _compare(case, record, parsed, verdict)
        counts["steps"] += 1
        counts["unparsed"] += isinstance(parsed, ParseFailure)
        if pending is not None and has_texts(case):
            _compare_request(case, record, pending)
            counts["requests"] += 1
    return f"{counts['steps']:,} replies judged again, {counts['unparsed']:,} of them no action"


def requests(case: Case) -> str:
    """Every request, written again from the submitted replies and the data, has the hash that its line tells. Checked along with `replies`."""
    if not has_texts(case):
        kind = case.facts["adapter"]["prompt"]["kind"]
        raise Skipped(
            f"the {kind} texts of {case.adapter.name} are not on this machine: sopbench prompts pull {case.adapter.name}"
        )
    return "every request is the one that its line's hash tells"


def replayed(case: Case) -> Iterator[tuple[StepRecord, Pending | None, ParsedReply | ParseFailure, Verdict | None]]:
    """Every scored line with its request and what its reply is worth, as the protocol's own state machine says."""
    trajectories = case.trajectories
    tasks = {t.id: t for t in case.loaded.tasks}
    images = case.facts["images"]
    for (episode, repeat), log in case.logs.items():
        try:
            if case.board.protocol == "semi_online":
                assert case.profile is not None
                yield from _semi_online(
                    SemiOnlineEpisode(
                        as_recorded(trajectories[episode], log), case.adapter, case.profile, images=images
                    ),
                    log,
                )
            elif case.board.protocol == "static":
                assert case.profile is not None
                played = StaticEpisode(
                    as_recorded(trajectories[episode], log),
                    case.adapter,
                    case.profile,
                    images=images,
                    instruct=case.suite.instructs,
                )
                yield from _static(played, log)
            else:
                yield from _online(case, tasks[episode].goal, tasks[episode].budget, log)
        except DataError as error:
            raise Refused(f"episode {episode} repeat {repeat}: {error}") from error


def _semi_online(
    episode: SemiOnlineEpisode, log: EpisodeLog
) -> Iterator[tuple[StepRecord, Pending | None, ParsedReply | ParseFailure, Verdict]]:
    for index, record in enumerate(log.ordered()):
        if record.step != index or episode.over:
            raise Refused(
                f"episode {record.episode} step {record.step}: the episode was over before, or a step is missing; a line was added or dropped"
            )
        if record.outcome != "scored":
            return
        pending = episode.pending()
        result = episode.advance(_reply(record))
        yield record, pending, result.parsed, result.verdict
    if not episode.over:
        raise Refused(
            f"episode {episode.trajectory.id} stops after {len(episode.results)} matching steps of {len(episode.trajectory)}; lines were dropped"
        )


def _static(
    episode: StaticEpisode, log: EpisodeLog
) -> Iterator[tuple[StepRecord, Pending | None, ParsedReply | ParseFailure, Verdict]]:
    for record in log.ordered():
        if record.outcome == "scored":
            pending = episode.pending(record.step)
            told = episode.told(record.step)
            result: StepResult = episode.advance(record.step, _reply(record))
            if record.told is not None and tuple(record.told) != told:
                raise Refused(
                    f"episode {record.episode} step {record.step}: the line says that the request told {list(record.told)}, it told {list(told)}"
                )
            yield record, pending, result.parsed, result.verdict


def _online(
    case: Case, goal: str, budget: int, log: EpisodeLog
) -> Iterator[tuple[StepRecord, Pending | None, ParsedReply | ParseFailure, None]]:
    steps = log.ordered()
    if not steps:
        if log.end is not None and log.end.outcome == "scored":
            raise Refused(f"episode {log.end.episode} has a verdict and no step")
        return
    screens = [screen_of(record) for record in steps if record.outcome == "acted"]
    if not screens:
        return
    episode = OnlineEpisode(goal, case.adapter, screens[0], budget=budget, images=case.facts["images"])
    for index, record in enumerate(steps):
        if record.outcome != "acted":
            return
        if record.step != index or episode.over:
            raise Refused(
                f"episode {record.episode} step {record.step}: the episode was over before, or a step is missing"
            )
        if index:
            episode.observe(screens[index])
        pending = episode.pending()
        result = episode.advance(_reply(record))
        yield record, pending, result.parsed, None
    if log.end is not None and log.end.outcome == "scored":
        _compare_end(log.end, episode)


def _compare_end(end: EpisodeEnd, episode: OnlineEpisode) -> None:
    over = episode.said_done or len(episode.results) >= episode.budget
    said = [r.action for r in episode.results if r.action is not None and r.action.kind == "terminate"]
    status = getattr(said[-1], "status", None) if said else None
    answers = tuple(r.answer for r in episode.results if r.answer is not None)
    if not over or end.steps != len(episode.results) or end.said != status or end.answers != answers:
        raise Refused(
            f"episode {end.episode}: its end does not fit its {len(episode.results)} steps; lines were dropped or changed"
        )


def _reply(record: StepRecord) -> str:
    if record.reply is None:
        raise Refused(f"episode {record.episode} step {record.step}: a line with a verdict and without a reply")
    return record.reply


def _compare(case: Case, record: StepRecord, parsed: ParsedReply | ParseFailure, verdict: Verdict | None) -> None:
    """The line says of its reply what this code says."""
    assert record.screen is not None
    size = screen_of(record).size
    failure, action, thought = None, None, None
    if isinstance(parsed, ParseFailure):
        failure = FailureRecord(reason=parsed.reason, detail=parsed.detail[:500])
    else:
        action, thought = to_released(parsed.action, size), parsed.thought
    said: dict[str, tuple[object, object]] = {
        "parse_failure": (record.parse_failure, failure),
        "action": (record.action, action),
        "thought": (record.thought, thought),
        "verdict": (record.verdict.model_dump() if record.verdict else None, verdict.as_dict() if verdict else None),
    }
    if verdict is not None:
        said["gold"] = (record.gold, dict(case.trajectories[record.episode].steps[record.step].content))
    sent = case.adapter.sent_size(size)
    said["sent"] = (record.sent, (sent.width, sent.height))
    for name, (claimed, found) in said.items():
        if claimed != found:
            raise Refused(
                f"episode {record.episode} repeat {record.repeat} step {record.step}: the line's {name} is {_short(claimed)}, its reply and the data give {_short(found)}"
            )


def _compare_request(case: Case, record: StepRecord, pending: Pending) -> None:
    if image_hashes(pending.messages) != record.images:
        raise Refused(
            f"episode {record.episode} step {record.step}: the line names other screens than its request would carry"
        )
    if prompt_sha256(pending.messages, case.adapter.request_fields()) != record.prompt_sha256:
        raise Refused(
            f"episode {record.episode} repeat {record.repeat} step {record.step}: the request, written again from goal, screens and earlier replies, has another hash; "
            "a reply, a screen or the texts were changed"
        )


def screens(case: Case) -> str:
    """The screens that requests carried are the data's, where those are here."""
    if not case.loaded.trajectories:
        raise Skipped("an online run's screens come from its environment")
    hashes: dict[tuple[str, int], str] = {}
    missing = compared = 0
    for (episode, _), log in case.logs.items():
        trajectory = case.trajectories[episode]
        for record in log.ordered():
            if record.outcome != "scored" or not record.images:
                continue
            key = (episode, record.step)
            if key not in hashes:
                try:
                    hashes[key] = trajectory.steps[record.step].screen.sha256
                except SopbenchError:
                    missing += 1
                    continue
            compared += 1
            if hashes[key] != record.images[-1]:
                raise Refused(
                    f"episode {episode} step {record.step}: the request carried another screen than the data's"
                )
    if not compared:
        raise Skipped("the data's screens are not on this machine; give their folder with --images")
    return f"{compared:,} screens are the data's" + (f"; {missing:,} are not on this machine" if missing else "")


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 120 else text[:117] + "..."
