"""One board as a section: its facts, its filters and its table. It can be read without a script; the script sorts and filters what stands there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sopbench.leaderboard.boards import Board
from sopbench.leaderboard.page.html import Html, el, join
from sopbench.leaderboard.ranking import Place, order, places
from sopbench.leaderboard.row import Row

METRICS: Final[Mapping[str, tuple[str, str]]] = {
    "score": ("Score", "the mean of PG and TSR"),
    "pg": ("PG", "progress: steps matched before the first mismatch"),
    "tsr": ("TSR", "task success: trajectories matched to the end"),
    "success": ("Success", "tasks that the environment itself found solved"),
    "sr": ("SR", "step success: steps that match, of all steps"),
    "tm": ("TM", "type match: steps whose action type is the expert's"),
    "gr": ("GR", "grounding: of the steps where expert and model click, those that match"),
}
PROTOCOLS: Final = {"semi_online": "Semi-online", "online": "Online", "static": "Offline"}
TIERS: Final = {
    "re-run": (
        "Re-run",
        "A maintainer ran it again or replayed a sample; a built-in policy was asked again for every reply.",
    ),
    "self-reported": (
        "Self-reported",
        "Its replies were scored again here and give exactly these numbers. Who wrote the replies is the submitter's word.",
    ),
    "published": ("Published", "From a paper. Not scored here, and not ranked."),
}
Address = Callable[[Row], str | None]


def board_section(board: Board, rows: Sequence[Row], address: Address) -> Html:
    own = [row for row in rows if row.tier != "published"]
    papers = [row for row in rows if row.tier == "published"]
    found = places(own)
    ranked = order(own, board.headline)
    lines = [_line(board, own, k, found[k], place, address) for place, k in enumerate(ranked)]
    parts = [
        el("div", el("h2", board.title, id=f"{board.id}-title", tabindex="-1"), _badges(board), class_="boardhead"),
        el("p", board.about, class_="about"),
        _facts(board),
        _notices(board, bool(own)),
    ]
    if rows:
        parts += [_tools(board, own, papers), _table(board, lines, papers), _foot(board, own, papers, found)]
    return el(
        "section",
        *parts,
        class_="board",
        id=board.id,
        aria_labelledby=f"{board.id}-title",
        data_headline=board.headline,
    )


def _badges(board: Board) -> Html:
    names = [PROTOCOLS[board.protocol]]
    names += ["Simulated phone"] if board.simulated else []
    names += ["Takes no submissions yet"] if board.closed else []
    return el("span", [el("span", name, class_="tag") for name in names], class_="tags")


def _facts(board: Board) -> Html | None:
    data = board.data
    if data is None:
        return None
    pairs: list[tuple[str, Html | str]] = [
        ("Episodes", f"{data.n:,}"),
        ("Data", join([el("code", data.data_sha256[:12], title=data.data_sha256), f" {data.source}"])),
        ("Scored by", f"{board.profile.id}" if board.profile else "its environment"),
        ("Limits", f"{board.limits.images} screens a request, {board.limits.max_tokens:,} tokens a reply"),
        ("Run it", el("code", f"sopbench run --suite {board.suite}")),
    ]
    return el("dl", [el("div", el("dt", name), el("dd", value)) for name, value in pairs], class_="boardfacts")


def _notices(board: Board, submitted: bool) -> Html | None:
    words = []
    if board.simulated:
        words.append(
            "PocketPhone is simulated: small made-up apps, drawn by this repository. A number here says how a model does there, and nothing about real phones."
        )
    if board.closed:
        words.append(f"No submissions yet: {board.closed}")
    elif not submitted:
        words.append("Nobody has submitted to this board yet. Yours would be the first row.")
    return el("div", [el("p", text) for text in words], class_="notice") if words else None


def _tools(board: Board, own: Sequence[Row], papers: Sequence[Row]) -> Html:
    counts = {tier: sum(row.tier == tier for row in [*own, *papers]) for tier in TIERS}
    tiers = [
        el(
            "button",
            TIERS[tier][0],
            el("b", f"{n:,}"),
            type="button",
            data_tier=tier,
            aria_pressed="true",
            title=TIERS[tier][1],
        )
        for tier, n in counts.items()
        if n
    ]
    adapters = sorted({str(row.facts["adapter"]) for row in own if "adapter" in row.facts})
    return el(
        "div",
        el(
            "label",
            el("span", "Search models", class_="offscreen"),
            el(
                "input",
                type="search",
                placeholder="Search models and organisations",
                autocomplete="off",
                spellcheck="false",
                class_="search",
            ),
            class_="searchbox",
        ),
        el("div", tiers, class_="segments tiers", role="group", aria_label="Show tiers"),
        _select("Weights", "weights", [("open", "open weights"), ("closed", "closed weights")]),
        _select("Adapter", "adapter", [(name, name) for name in adapters]) if len(adapters) > 1 else None,
        el("p", class_="count", role="status", aria_live="polite"),
        class_="tools",
        hidden=True,
    )


def _select(word: str, name: str, values: Sequence[tuple[str, str]]) -> Html:
    options = [el("option", f"{word}: any", value="")] + [el("option", text, value=value) for value, text in values]
    return el("select", options, aria_label=word, data_filter=name)


def _table(board: Board, lines: Sequence[Html], papers: Sequence[Row]) -> Html:
    heads = [
        _head("Rank", "rank", "number"),
        _head("Model", "model", ""),
        *(
            _head(METRICS[name][0], name, "number", METRICS[name][1], lead=name == board.headline)
            for name in board.columns
        ),
        _head("Setting", "setting", "wide"),
        _head("Date", "date", "wide"),
        _head("Tier", "tier", ""),
    ]
    bodies = []
    if lines:
        bodies.append(el("tbody", lines, class_="own"))
    if papers:
        words = f"Published · {papers[0].citation} · not scored here, not ranked"
        title = el("tr", el("th", words, colspan=len(heads), scope="colgroup"), class_="divider")
        bodies.append(el("tbody", title, [_paper(board, row, k) for k, row in enumerate(papers)], class_="papers"))
    caption = el("caption", f"{board.title}: models with their numbers and 95 % intervals", class_="offscreen")
    table = el("table", caption, el("thead", el("tr", heads)), bodies, class_=f"rows of{len(board.columns)}")
    return el("div", table, el("p", "No row fits these filters.", class_="nothing", hidden=True), class_="tablebox")


def _head(word: str, key: str, kind: str, title: str | None = None, *, lead: bool = False) -> Html:
    button = el("button", word, type="button", data_sort=key, title=title)
    return el("th", button, scope="col", class_=f"{kind}{' lead' if lead else ''}".strip() or None, aria_sort="none")


def _line(board: Board, own: Sequence[Row], index: int, place: Place | None, position: int, address: Address) -> Html:
    row = own[index]
    link = address(row)
    name = el("a", row.model, href=link) if link else el("span", row.model)
    return el(
        "tr",
        _rank(own, place),
        _model(row, name),
        *(_number(row, metric, lead=metric == board.headline) for metric in board.columns),
        el("td", _setting(row), class_="wide setting"),
        el("td", row.date or "", class_="wide date"),
        el("td", _tier(row.tier), class_="tiercell"),
        data_place=position,
        data_tier=row.tier,
        data_weights="open" if row.weights_open else "closed",
        data_adapter=row.facts.get("adapter"),
        data_rank=place.rank if place else "",
        data_model=f"{row.model} {row.organisation}".casefold(),
        data_date=row.date,
        data_setting=row.facts.get("adapter"),
        **{f"data_{name}": _sortable(row, name) for name in board.columns},
    )


def _paper(board: Board, row: Row, position: int) -> Html:
    weights = "" if row.weights_open is None else "open" if row.weights_open else "closed"
    return el(
        "tr",
        el(
            "td",
            el("span", "–", aria_hidden="true"),
            el("span", "not ranked", class_="offscreen"),
            class_="number rank",
        ),
        _model(row, el("span", row.model)),
        *(_number(row, metric, lead=metric == board.headline) for metric in board.columns),
        el("td", class_="wide setting"),
        el("td", class_="wide date"),
        el("td", _tier("published"), class_="tiercell"),
        data_place=position,
        data_tier="published",
        data_weights=weights,
        data_adapter="",
        data_rank="",
        data_model=row.model.casefold(),
        **{f"data_{name}": _sortable(row, name) for name in board.columns},
    )


def _sortable(row: Row, name: str) -> str:
    return f"{row.values[name]}" if name in row.values else ""


def _rank(own: Sequence[Row], place: Place | None) -> Html:
    if place is None:
        return el(
            "td",
            el("span", "–", aria_hidden="true"),
            el("span", "not ranked", class_="offscreen"),
            class_="number rank",
        )
    if not place.tied:
        return el("td", el("b", place.rank), class_="number rank")
    names = ", ".join(own[k].model for k in place.ties)
    more = f" and {place.tied - len(place.ties):,} more" if place.tied > len(place.ties) else ""
    words = f"Tied with {names}{more}: chance alone may explain the difference."
    to = f"to {place.worst}" if place.worst > place.rank else ""
    return el(
        "td",
        el("b", place.rank),
        el("small", el("span", "≈ ", aria_hidden="true"), to or "tie", title=words),
        el("span", words, class_="offscreen"),
        class_="number rank tie",
    )


def _model(row: Row, name: Html) -> Html:
    notes = [row.organisation] if row.organisation else []
    notes += [row.parameters] if row.parameters else []
    if row.weights_open is not None:
        notes.append("open weights" if row.weights_open else "closed weights")
    flags = []
    if row.trained_on_benchmark == "yes":
        flags.append(
            el(
                "span",
                "trained on test data",
                class_="flag",
                title="Its makers say that it was trained on this board's test data.",
            )
        )
    if row.trained_on_benchmark == "unknown":
        flags.append(
            el(
                "span",
                "training unknown",
                class_="flag soft",
                title="Whether it was trained on this board's test data is not known.",
            )
        )
    return el(
        "th",
        el("span", name, class_="name"),
        el("span", " · ".join(notes), class_="under"),
        el("span", flags, class_="flags") if flags else None,
        scope="row",
        class_="model",
    )


def _number(row: Row, metric: str, *, lead: bool) -> Html:
    label = METRICS[metric][0]
    kind = "number metric lead" if lead else "number metric"
    if metric in row.values:
        value, span = row.values[metric], row.ranges.get(metric)
        under = el("small", f"{span[0]:.1f}–{span[1]:.1f}") if span else None
        return el(
            "td",
            el("span", f"{value:.1f}", class_="value"),
            under,
            interval_bar(value, span) if lead else None,
            class_=kind,
            data_label=label,
        )
    if metric in row.bounds:
        low, high = row.bounds[metric]
        title = "Not everything has a verdict: these are bounds, not a mean."
        return el(
            "td",
            el("span", f"{low:.1f}–{high:.1f}", class_="value open"),
            el("small", "bounds"),
            class_=kind,
            data_label=label,
            title=title,
        )
    return el(
        "td",
        el("span", "–", aria_hidden="true"),
        el("span", "not reported", class_="offscreen"),
        class_=kind,
        data_label=label,
    )


def interval_bar(value: float, span: tuple[float, float] | None) -> Html:
    """The interval on a scale from 0 to 100. Drawn by attributes: the page allows no style of elements."""
    shapes = [el("rect", x=0, y=4, width=100, height=2, rx=1, class_="scale")]
    if span is not None:
        shapes.append(
            el(
                "rect",
                x=round(span[0], 1),
                y=2,
                width=round(max(span[1] - span[0], 0.8), 1),
                height=6,
                rx=2,
                class_="band",
            )
        )
    shapes.append(el("rect", x=round(min(max(value - 0.7, 0), 98.6), 1), y=0, width=1.4, height=10, class_="mark"))
    return el("svg", shapes, viewBox="0 0 100 10", preserveAspectRatio="none", class_="bar", aria_hidden="true")


def _setting(row: Row) -> Html:
    facts = row.facts
    words = [f"{facts.get('prompts', '?')} prompts", f"{facts.get('screens a request', '?')} screens"]
    words += [f"{facts['repeats']} repeats"] if facts.get("repeats", 1) != 1 else []
    return join([el("code", facts.get("adapter", "")), el("small", ", ".join(words))])


def _tier(tier: str) -> Html:
    word, title = TIERS[tier]
    return el("span", word, class_=f"tier {tier}", title=title)


def _foot(board: Board, own: Sequence[Row], papers: Sequence[Row], found: Sequence[Place | None]) -> Html:
    words = []
    if own:
        words.append("Small numbers and bars: 95 % intervals, by resampling trajectories.")
    if any(place is not None and place.tied for place in found):
        words.append(
            "A rank counts the rows that are better by more than chance explains: the 95 % interval of the paired difference, trajectory by trajectory, leaves out zero. "
            "“≈ to n” means a tie with others: chance alone could put the row as far down as place n."
        )
    if papers and own:
        words.append("Published rows have no replies to score again; they are shown for orientation.")
    return el("div", [el("p", text) for text in words], class_="foot")
