"""The page of one submission: who says what of it, what it was run with, what its numbers are made of, and which rules it passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sopbench.leaderboard.boards import Board
from sopbench.leaderboard.page.html import Html, asset, document, el, join
from sopbench.leaderboard.page.rows import METRICS, TIERS, interval_bar
from sopbench.leaderboard.row import Row
from sopbench.leaderboard.verifying import Result

MAX_LINES: Final = 40
SIGNS: Final = {"passed": ("✓ passed", "ok"), "skipped": ("– not checked", "no")}


def submission_page(
    board: Board, row: Row, summary: Mapping[str, Any], results: Sequence[Result], *, trajectories: bool
) -> str:
    body = join(
        [
            _bar_of(board),
            el(
                "main",
                _head(board, row),
                _cards(board, row),
                _actions(trajectories),
                el("div", _told(row), _settings(row), _parts(summary), class_="columns"),
                _rules(results),
                class_="page",
            ),
            el("footer", "Every number here was computed from the submission's replies.", class_="page"),
        ]
    )
    return document(f"{row.model} on {board.title}", body, style=asset("board.css"))


def _bar_of(board: Board) -> Html:
    home = "../../index.html"
    return el(
        "header",
        el("a", el("span", class_="logo", aria_hidden="true"), "sopbench", class_="brand", href=home),
        el("nav", el("a", "All boards", href=f"{home}#{board.id}", class_="call"), aria_label="Site"),
        class_="topbar",
    )


def _head(board: Board, row: Row) -> Html:
    word, title = TIERS[row.tier]
    notes = [
        row.organisation,
        *([row.parameters] if row.parameters else []),
        "open weights" if row.weights_open else "closed weights",
        row.date or "",
    ]
    return el(
        "div",
        el("p", el("a", board.title, href=f"../../index.html#{board.id}"), class_="crumbs"),
        el("h1", row.model),
        el("p", " · ".join(note for note in notes if note), class_="under"),
        el("p", el("span", word, class_=f"tier {row.tier}"), " ", el("small", title)),
        class_="subhead",
    )


def _cards(board: Board, row: Row) -> Html:
    cards = []
    for name in board.columns:
        label, meaning = METRICS[name]
        first = "card first" if name == board.headline else "card"
        if name in row.values:
            value, span = row.values[name], row.ranges.get(name)
            under = f"95 % interval {span[0]:.1f} to {span[1]:.1f}" if span else ""
            cards.append(
                el(
                    "section",
                    el("h2", label),
                    el("p", f"{value:.1f}", el("small", " %"), class_="big"),
                    interval_bar(value, span),
                    el("p", el("small", under)),
                    el("p", el("small", meaning)),
                    class_=first,
                )
            )
        elif name in row.bounds:
            low, high = row.bounds[name]
            cards.append(
                el(
                    "section",
                    el("h2", label),
                    el("p", f"{low:.1f} to {high:.1f}", class_="big"),
                    el("p", el("small", "bounds: not everything has a verdict")),
                    class_=first,
                )
            )
    return el("div", cards, class_="cards")


def _actions(trajectories: bool) -> Html:
    words = (
        "Raw replies can be fabricated. Read them: "
        if trajectories
        else "Raw replies can be fabricated; they are in the submission's folder of the repository."
    )
    link = (
        el("a", "Every step of every trajectory", href="trajectories.html", class_="button") if trajectories else None
    )
    return el("div", el("p", words, class_="about"), link, class_="actions")


def _told(row: Row) -> Html:
    told = dict(row.told)
    links = told.pop("links", {}) or {}
    trained = {"no": "no", "yes": "yes", "unknown": "not known"}.get(str(told.get("trained_on_benchmark")), "?")
    pairs: list[tuple[str, Html | str | None]] = [
        ("Organisation", row.organisation),
        ("Contact", told.get("contact")),
        ("Base model", told.get("base_model")),
        ("Parameters", row.parameters),
        ("Weights", "open" if row.weights_open else "closed"),
        ("Trained on", told.get("training_data")),
        ("Trained on this board's test data", trained),
        ("Notes", told.get("notes")),
        *(
            (name.capitalize(), el("a", address, href=address, rel="nofollow noopener noreferrer ugc"))
            for name, address in links.items()
            if str(address).startswith("https://")
        ),
    ]
    return _section("What its submitter says", pairs)


def _settings(row: Row) -> Html:
    pairs: list[tuple[str, Html | str | None]] = [
        (
            name[0].upper() + name[1:],
            f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value),
        )
        for name, value in row.facts.items()
    ]
    pairs.append(("Fingerprint", el("code", row.fingerprint or "")))
    pairs.append(("Folder", el("code", row.folder or "")))
    return _section("What it was run with", pairs)


def _section(title: str, pairs: Sequence[tuple[str, Html | str | None]]) -> Html:
    shown = [el("div", el("dt", name), el("dd", value)) for name, value in pairs if value]
    return el("section", el("h2", title), el("dl", shown, class_="pairs"))


def _parts(summary: Mapping[str, Any]) -> list[Html]:
    """The breakdowns of the summary that has them."""
    found = []
    if actions := summary.get("by_action"):
        rows = [
            (kind, f"{n['n']:,}", _share(n["type_match"], n["n"]), _share(n["match"], n["n"]))
            for kind, n in actions.items()
        ]
        found.append(_table("By the expert's action", ("Action", "Steps", "Type match", "Match"), rows))
    if lengths := summary.get("by_length"):
        rows = [(g["length"], f"{g['n']:,}", f"{g['pg']:.1f}", f"{g['tsr']:.1f}") for g in lengths]
        found.append(_table("By length of the trajectory", ("Steps", "Trajectories", "PG", "TSR"), rows))
    if reasons := summary.get("reasons"):
        found.append(_table("Why it failed", ("Reason", "Times"), [(name, f"{n:,}") for name, n in reasons.items()]))
    if said := summary.get("said"):
        found.append(_table("How it ended tasks", ("Said", "Tasks"), [(name, f"{n:,}") for name, n in said.items()]))
    return found


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[object]]) -> Html:
    head = el("tr", [el("th", name, scope="col", class_="number" if k else None) for k, name in enumerate(names)])
    lines = [
        el(
            "tr",
            [
                el("td" if k else "th", str(cell), class_="number" if k else None, scope=None if k else "row")
                for k, cell in enumerate(cells)
            ],
        )
        for cells in rows[:MAX_LINES]
    ]
    return el("section", el("h2", title), el("table", el("thead", head), el("tbody", lines), class_="simple"))


def _rules(results: Sequence[Result]) -> Html:
    lines = []
    for result in results:
        word, kind = SIGNS.get(result.outcome, (result.outcome, "no"))
        lines.append(
            el("tr", el("td", word, class_=kind), el("th", result.title, scope="row"), el("td", result.detail))
        )
    head = el("tr", [el("th", name, scope="col") for name in ("", "Rule", "Found")])
    return el(
        "details",
        el("summary", f"The {len(results)} rules it was checked by"),
        el("div", el("table", el("thead", head), el("tbody", lines), class_="simple rules"), class_="tablebox"),
    )
