"""The page of all boards: which there are, their tables, the scatter of metrics, and how all of it is to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sopbench.leaderboard.boards import Board, Boards
from sopbench.leaderboard.page.html import Html, asset, document, el, join
from sopbench.leaderboard.page.rows import PROTOCOLS, TIERS, Address, board_section
from sopbench.leaderboard.row import Row
from sopbench.leaderboard.scatter import Scatter
from sopbench.report.page import json_for_html

TITLE = "Mobile GUI agents: leaderboards"
SCRIPTS = ("board.js", "scatter.js")


def index_page(boards: Boards, rows: Mapping[str, Sequence[Row]], scatter: Scatter, address: Address) -> str:
    ordered = sorted(
        boards.by_id.values(), key=lambda board: (board.closed is not None, not rows[board.id], _rank_of(board))
    )
    body = join(
        [
            el("a", "To the tables", href="#boards", class_="skip"),
            _bar(),
            el(
                "main",
                _hero(boards, rows),
                _picker(ordered, rows),
                el("div", [board_section(board, rows[board.id], address) for board in ordered], id="boards"),
                _scatter(),
                _reading(),
                _submitting(),
                class_="page",
            ),
            el(
                "footer",
                "Made by ",
                el("code", "sopbench board build"),
                " from the submissions in the repository; every number is computed from their replies.",
                class_="page",
            ),
        ]
    )
    script = '"use strict";\n(() => {\n' + "\n".join(asset(name) for name in SCRIPTS) + "\n})();\n"
    return document(TITLE, body, style=asset("board.css"), script=script, data=json_for_html(scatter.as_dict()))


def _rank_of(board: Board) -> tuple[int, str]:
    return ["semi_online", "online", "static"].index(board.protocol), board.id


def _bar() -> Html:
    return el(
        "header",
        el("a", el("span", class_="logo", aria_hidden="true"), "sopbench", class_="brand", href="#top"),
        el(
            "nav",
            el("a", "Boards", href="#boards"),
            el("a", "Offline and online", href="#scatter"),
            el("a", "How to read this", href="#reading"),
            el("a", "Submit", href="#submitting", class_="call"),
            aria_label="This page",
        ),
        class_="topbar",
        id="top",
    )


def _hero(boards: Boards, rows: Mapping[str, Sequence[Row]]) -> Html:
    own = [row for of_one in rows.values() for row in of_one if row.tier != "published"]
    papers = sum(len(of_one) for of_one in rows.values()) - len(own)
    episodes = sum((row.n or 0) for row in own)
    tiles = [
        (f"{len(own):,}", "verified submissions"),
        (f"{episodes:,}", "episodes scored again"),
        (f"{papers:,}", "published rows, for orientation"),
        (f"{len(boards.by_id)}", "boards"),
    ]
    return el(
        "div",
        el("h1", "Numbers that anyone can score again"),
        el(
            "p",
            "A row is a model's raw replies. They were parsed and scored again by the code in this repository, and gave exactly the number that you see.",
            class_="intro",
        ),
        el("ul", [el("li", el("b", n), el("span", word)) for n, word in tiles], class_="tiles"),
        class_="hero",
    )


def _picker(ordered: Sequence[Board], rows: Mapping[str, Sequence[Row]]) -> Html:
    """Links to the sections; the script makes tabs of them."""
    return el("nav", [_card(board, rows[board.id]) for board in ordered], class_="picker", aria_label="Boards")


def _card(board: Board, rows: Sequence[Row]) -> Html:
    own = sum(row.tier != "published" for row in rows)
    papers = len(rows) - own
    counts = [f"{own:,} submitted"] if own or not board.closed else ["closed"]
    counts += [f"{papers} published"] if papers else []
    title = board.title.split(" (")[0].removesuffix(", semi-online").removesuffix(", online")
    kind = PROTOCOLS[board.protocol] + (", simulated" if board.simulated else "")
    return el(
        "a",
        el("span", kind, class_="kind"),
        el("b", title),
        el("span", " · ".join(counts), class_="counts"),
        href=f"#{board.id}",
        data_board=board.id,
    )


def _scatter() -> Html:
    return el(
        "section",
        el("h2", "Does a number without a device tell the number with one?", id="scatter-title"),
        el(
            "p",
            "Each point is a model with both metrics. Published numbers and submitted ones are never in one fit. With so few models an R² alone says little, so it comes with n, a bootstrap interval over the models, and what leaving one model out makes of it.",
            class_="about",
        ),
        el("div", class_="scattertools", id="scatter-tools"),
        el(
            "div",
            el("figure", id="scatter-figure"),
            el("div", id="scatter-facts", role="status", aria_live="polite"),
            class_="scatterbox",
        ),
        el(
            "details",
            el("summary", "The points as a table"),
            el("div", id="scatter-table", class_="tablebox"),
            id="scatter-details",
        ),
        el("noscript", el("p", "The scatter is drawn by the script in this page.", class_="notice")),
        id="scatter",
        class_="scatter",
        aria_labelledby="scatter-title",
    )


def _reading() -> Html:
    tiers = [
        el("div", el("dt", el("span", word, class_=f"tier {name}")), el("dd", text))
        for name, (word, text) in TIERS.items()
    ]
    return el(
        "section",
        el("h2", "How to read this", id="reading-title"),
        el("dl", tiers, class_="tierlist"),
        el(
            "p",
            el("b", "What a verified row does not say. "),
            "Raw replies can be fabricated: whoever knows the data can write replies that score. Verification shows that a number is what its replies are worth, not that a model wrote them. That is why there is a tier for what was run again, and why every row opens its replies for you to read.",
        ),
        el(
            "p",
            el("b", "PocketPhone is simulated. "),
            "Its apps and tasks are made by this repository, so that anybody can run them within minutes. Its numbers are about it, not about Android.",
        ),
        el(
            "p",
            el("b", "Ties. "),
            "Two rows of a board were played on the same trajectories and are compared pairwise on them. Where the 95 % interval of their mean difference holds zero they tie, whatever the digits say. Many pairs are compared; nothing is corrected for that.",
        ),
        el(
            "p",
            el("b", "One board, one measure. "),
            "Data, scoring profile, protocol and limits are pinned by hash. A run with another fingerprint is refused, not ranked.",
        ),
        id="reading",
        class_="reading",
        aria_labelledby="reading-title",
    )


def _submitting() -> Html:
    lines = "sopbench run --suite pocket --model http://localhost:8000/v1\nsopbench submit runs/NAME --out submissions\nsopbench verify submissions/NAME"
    return el(
        "section",
        el("h2", "Three commands to your row", id="submitting-title"),
        el("pre", el("code", lines)),
        el(
            "p",
            "Then put the folder into ",
            el("code", "leaderboards/BOARD/submissions/"),
            " and open a pull request. CI verifies it and comments with the row as it would appear, or with what to fix.",
        ),
        id="submitting",
        class_="reading",
        aria_labelledby="submitting-title",
    )
