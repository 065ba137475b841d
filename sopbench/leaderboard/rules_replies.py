"""Rules about the journal: every line is a record of this data, and every reply, read and judged again, is worth what its line says."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from functools import partial

from sopbench.actions import to_released
from sopbench.adapters.base import ParsedReply, ParseFailure
from sopbench.clients.prompt_hash import image_hashes, prompt_sha256
from sopbench.errors import DataError, SopbenchError
from sopbench.leaderboard import journal
from sopbench.leaderboard.case import Case, Refused, Skipped
from sopbench.leaderboard.journal import Kept
from sopbench.leaderboard.reading import STEPS
from sopbench.leaderboard.recorded import as_recorded, screen_of
from sopbench.leaderboard.reproducing import check_reply, policy_of
from sopbench.leaderboard.rules_board import has_texts
from sopbench.leaderboard.scrub import KEYS, PRIVATE, scrubbed_record
from sopbench.protocols.online import OnlineEpisode
from sopbench.protocols.semi_online import Pending, SemiOnlineEpisode, StepResult
from sopbench.protocols.static import StaticEpisode
from sopbench.runs.folder import EpisodeLog
from sopbench.runs.records import EpisodeEnd, FailureRecord, StepRecord
from sopbench.scoring.base import Verdict
from sopbench.trajectory import Step

MOST_TRIES = 200_000


def records(case: Case) -> str:
    """One line a step (online: and one an episode), only of this data's episodes, in the data's order, nothing superseded, nothing after an end."""
    lengths = {t.id: len(t) for t in case.loaded.trajectories} | {t.id: t.budget for t in case.loaded.tasks}
    places = {episode: place for place, episode in enumerate(case.loaded.ids)}
    online, repeats = case.board.protocol == "online", case.facts["repeats"]
    most = sum(lengths.values()) * repeats + (len(lengths) * repeats if online else 0)
    kept, digest, lines, tries = Kept(), hashlib.sha256(), 0, 0
    before: tuple[int, int, float] = (-1, -1, -1)
    for where, record in journal.records(case.submission.file(STEPS)):
        lines += 1
        if lines > most:
            raise Refused(f"{where}: more lines than this data has steps")
        if record.episode not in lengths or record.repeat >= repeats:
            raise Refused(
                f"{where}: episode {ascii(record.episode)[:80]}, repeat {record.repeat}, is not of this run's data"
            )
        if isinstance(record, StepRecord) and record.step >= lengths[record.episode]:
            raise Refused(f"{where}: episode {record.episode} has no step {record.step}")
        place = (record.repeat, places[record.episode], record.step if isinstance(record, StepRecord) else math.inf)
        if place == before:
            raise Refused(f"{where} stands there twice; a submission has one line a step")
        if place < before:
            raise Refused(f"{where}: not in the data's order, or a line stands there twice; one line a step, in order")
        before = place
        if fault := journal.fault_of(record, online=online):
            raise Refused(f"{where}: {fault}")
        if scrubbed_record(record) != record:
            raise Refused(
                f"{where}: tells an endpoint's address or the words of an error; `sopbench submit` leaves them out"
            )
        tries += len(record.attempts) if isinstance(record, StepRecord) else 0
        if tries > MOST_TRIES:
            raise Refused(f"{where}: more than {MOST_TRIES} attempts in all")
        _look_for_keys(case, record)
        digest.update(repr((record.episode, record.repeat, place[2], getattr(record, "reply", None))).encode())
        _add(case, kept.of(record), where)
    case.replies_sha256 = digest.hexdigest()
    return f"{lines:,} lines"


def _add(case: Case, record: StepRecord | EpisodeEnd, where: str) -> None:
    log = case.logs.setdefault((record.episode, record.repeat), EpisodeLog())
    if log.steps and record.attempt != log.attempt:
        raise Refused(f"{where}: another attempt at the episode; a submission has the one that counts")
    log.add(record)


def _look_for_keys(case: Case, record: StepRecord | EpisodeEnd) -> None:
    """Remember the first text that looks as if it held a key, for the rule `keys`."""
    if case.key_found is not None:
        return
    texts = (record.reply or "", *record.notes) if isinstance(record, StepRecord) else record.answers
    for text in texts:
        for what in KEYS:
            if PRIVATE[what].search(text):
                step = f"step {record.step}" if isinstance(record, StepRecord) else "its end"
                case.key_found = f"episode {record.episode} {step}: a text looks as if it held {what}"
                return


def keys(case: Case) -> str:
    """No reply, thought or note holds what looks like a key."""
    if case.key_found is not None:
        raise Refused(f"{case.key_found}; the file will be public")
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
    policy = policy_of(case)
    for record, pending, parsed, verdict in replayed(case):
        _compare(case, record, parsed, verdict)
        if policy is not None and pending is not None and case.board.protocol != "online":
            step = case.trajectories[record.episode].steps[record.step]
            check_reply(case, policy, record, pending, partial(step.action, pending.size))
        counts["steps"] += 1
        counts["unparsed"] += isinstance(parsed, ParseFailure)
        if pending is not None and has_texts(case):
            _compare_request(case, record, pending)
            counts["requests"] += 1
    case.reproduced = policy is not None and case.board.protocol != "online"
    again = f"; {policy.model} asked again says the same" if policy is not None and case.reproduced else ""
    return f"{counts['steps']:,} replies judged again, {counts['unparsed']:,} of them no action{again}"


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
    for (episode, repeat), log in journal.episodes(case.submission.file(STEPS)):
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
            if len(log.steps) > index + 1:
                raise Refused(f"episode {record.episode} step {record.step} has no verdict, and steps after it have")
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
            if record.told != told:
                raise Refused(
                    f"episode {record.episode} step {record.step}: the line says that the request told {_short(record.told)}, it told {list(told)}"
                )
            yield record, pending, result.parsed, result.verdict


def _online(
    case: Case, goal: str, budget: int, log: EpisodeLog
) -> Iterator[tuple[StepRecord, Pending | None, ParsedReply | ParseFailure, None]]:
    steps = log.ordered()
    scored = log.end is not None and log.end.outcome == "scored"
    if scored and not (steps and all(record.outcome == "acted" for record in steps)):
        raise Refused(f"episode {steps[0].episode if steps else '?'}: a verdict, and a step without a reply, or none")
    if not steps or steps[0].outcome != "acted":
        return
    screens = [screen_of(record) for record in steps if record.outcome == "acted"]
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
    if scored and log.end is not None:
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
        said["of"] = (record.of, len(case.trajectories[record.episode]))
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
    """The screens that requests carried are the data's, where those are here; where they are not, sizes are at least such as one phone may have.

    A size is what turns pixels into the unit coordinates that are judged: one that is made up would make misses hits.
    """
    if not case.loaded.trajectories:
        raise Skipped("an online run's screens come from its environment")
    sizes: Counter[str] = Counter()
    compared = missing = 0
    for (episode, _), log in case.logs.items():
        trajectory, seen = case.trajectories[episode], set()
        for record in log.ordered():
            if record.outcome != "scored" or record.screen is None:
                continue
            seen.add(tuple(sorted(record.screen)))
            here = _compare_with_data(record, trajectory.steps[record.step], case.board.limits.side)
            compared += here
            missing += not here
        if len(seen) > 1:
            raise Refused(
                f"episode {episode}: its screens have different sizes, {_short(sorted(seen))}: one phone has one"
            )
        sizes.update(f"{short}x{long}" for short, long in seen)
    case.screen_sizes = dict(sizes.most_common())
    if not compared:
        raise Skipped(
            f"the data's screens are not on this machine (their folder is given with --images); sizes told: {', '.join(sizes)[:200]}"
        )
    return f"{compared:,} screens are the data's" + (f"; {missing:,} are not on this machine" if missing else "")


def _compare_with_data(record: StepRecord, step: Step, most: int) -> bool:
    """Whether the data's own screen is here, and then the same as the line's in size and content."""
    assert record.screen is not None
    where = f"episode {record.episode} step {record.step}"
    try:
        digest, size = step.screen.sha256, step.screen.size
    except SopbenchError:
        points = [step.content[key] for key in ("coordinate", "coordinate2") if key in step.content]
        if max(record.screen) > most or any(
            x > side for point in points for x, side in zip(point, record.screen, strict=True)
        ):
            raise Refused(
                f"{where}: a screen of {_short(record.screen)} is larger than {most}, or does not hold the expert's point"
            ) from None
        return False
    if (size.width, size.height) != record.screen:
        raise Refused(f"{where}: the line says that the screen has {_short(record.screen)}, the data's has {size}")
    if record.images and digest != record.images[-1]:
        raise Refused(f"{where}: the request carried another screen than the data's")
    return True


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 120 else text[:117] + "..."
