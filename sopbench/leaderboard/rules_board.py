"""Rules that compare a run's facts with its board's definition."""

from __future__ import annotations

from typing import Any

from sopbench.adapters import ADAPTERS, get_adapter
from sopbench.clients import BUILTIN_PREFIX
from sopbench.errors import PromptError, SopbenchError, UsageError
from sopbench.leaderboard.case import Case, NoData, Refused
from sopbench.leaderboard.reading import METADATA
from sopbench.prompts.choosing import checked_wanted, choose
from sopbench.scoring import get_profile
from sopbench.suites import get_suite


def board(case: Case) -> str:
    try:
        case._board = case.boards.get(case.metadata.board)
    except UsageError as error:
        raise Refused(f"{METADATA}: {error}") from error
    if case.board.closed is not None:
        raise Refused(f"the board {case.board.id} takes no submissions yet: {case.board.closed}")
    return case.board.title


def protocol(case: Case) -> str:
    facts, board = case.facts, case.board
    wanted = {"suite": board.suite, "protocol": board.protocol, "after_mismatch": "stop"}
    _same({key: facts[key] for key in wanted}, wanted, "protocol")
    return f"{board.suite}, {board.protocol}"


def profile(case: Case) -> str:
    pinned = case.board.profile
    wanted = None if pinned is None else {"id": pinned.id, "hash": pinned.hash}
    _same({"profile": case.facts["profile"]}, {"profile": wanted}, "profile")
    if pinned is None:
        return "scored by its environment"
    case.profile = get_profile(pinned.id.partition("@")[0])
    if (case.profile.id, case.profile.hash) != (pinned.id, pinned.hash):
        raise Refused(
            f"this version of sopbench has {case.profile.id} with hash {case.profile.hash[:12]}, the board pins {pinned.id} with {pinned.hash[:12]}: "
            "install the version that the board names"
        )
    return pinned.id


def data(case: Case) -> str:
    pinned, facts = case.board.data, case.facts
    assert pinned is not None, "an open board pins its data"
    wanted = {"data_sha256": pinned.data_sha256, "ids_sha256": pinned.ids_sha256, "n_trajectories": pinned.n}
    _same({key: facts[key] for key in wanted}, wanted, "data")
    case._suite = get_suite(case.board.suite)
    if case.suite.needs_data and case.source.file is None:
        raise NoData(
            f"the board's data is needed to judge replies again: --data FILE ({pinned.source}), and --images DIR where its screens are here"
        )
    try:
        loaded = case.known.get(case.board.id) or case.suite.load(case.source)
    except SopbenchError as error:
        raise Refused(f"the board's data cannot be read ({pinned.source}): {error}") from error
    _same(
        {"data_sha256": loaded.sha256, "ids_sha256": loaded.ids_sha256},
        {"data_sha256": pinned.data_sha256, "ids_sha256": pinned.ids_sha256},
        "data on this machine",
    )
    case._loaded = case.known[case.board.id] = loaded
    return f"{pinned.n:,} episodes, data {pinned.data_sha256[:12]}"


def limits(case: Case) -> str:
    facts, most = case.facts, case.board.limits
    sampling = facts.get("sampling") or {}
    kind = facts.get("policy", {}).get("kind")
    builtin = kind == "builtin"
    if builtin != facts["model"].startswith(BUILTIN_PREFIX) and kind != "tiny":
        raise Refused("a built-in policy's name and its kind do not fit together")
    if not sampling and not builtin:
        raise Refused("the run does not tell how replies were sampled; only a built-in policy has nothing to tell")
    tokens = sampling.get("max_tokens")
    if facts["images"] > most.images:
        raise Refused(
            f"requests carried up to {facts['images']} screens, the board allows {most.images}: run with --history-images {most.images}"
        )
    if facts["repeats"] > most.repeats:
        raise Refused(
            f"the data was played {facts['repeats']} times, the board allows {most.repeats}: run with --repeats {most.repeats}"
        )
    if sampling and tokens is None:
        raise Refused(
            f"the run set no limit on a reply's tokens, the board wants one of at most {most.max_tokens}: --max-tokens"
        )
    if tokens is not None and tokens > most.max_tokens:
        raise Refused(
            f"replies could have {tokens} tokens, the board allows {most.max_tokens}: run with --max-tokens {most.max_tokens}"
        )
    return f"{facts['images']} screens a request, {facts['repeats']} repeats, " + (
        f"{tokens} tokens a reply" if tokens else "a built-in policy"
    )


def adapter(case: Case) -> str:
    """The adapter is known, and its texts are those whose hash the run recorded, where they are to be had here."""
    recorded = case.facts["adapter"]
    name, prompt = recorded["name"], recorded["prompt"]
    if name not in ADAPTERS:
        raise Refused(f"there is no adapter {name[:60]!r} in this version; known: {', '.join(ADAPTERS)}")
    try:
        texts = choose(name, checked_wanted(prompt["kind"]), pulling=False).texts
    except PromptError:
        case._adapter = get_adapter(name)
        return f"{name}; its {prompt['kind']} texts are not on this machine"
    except UsageError as error:
        raise Refused(f"facts.adapter.prompt: {error}") from error
    case._adapter = get_adapter(name, texts)
    found = case.adapter.prompt_source()
    if found.kind != prompt["kind"] or found.sha256 != prompt["sha256"]:
        raise Refused(
            f"{name} was asked in {prompt['kind'][:20]} texts with hash {prompt['sha256'][:12]}, this version's have {found.sha256[:12]}: "
            "run again with this version, or with the texts that it pins"
        )
    return f"{name}, {found.kind} texts {found.sha256[:12]}"


def has_texts(case: Case) -> bool:
    """Whether requests can be written again as they were sent."""
    return bool(case.adapter.prompt_source().sha256 == case.facts["adapter"]["prompt"]["sha256"])


def _same(found: dict[str, Any], wanted: dict[str, Any], what: str) -> None:
    for key, value in wanted.items():
        if found[key] != value:
            raise Refused(
                f"{what}: {key} is {_short(found[key])}, the board's is {_short(value)}; rows with another {key} cannot be compared"
            )


def _short(value: object) -> str:
    return ascii(value) if len(ascii(value)) <= 90 else ascii(value)[:87] + "..."
