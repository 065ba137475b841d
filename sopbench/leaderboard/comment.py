"""The comment that CI puts under a pull request: what passed, what to fix, and the row as it would appear. Nothing in it that a submission wrote is markup."""

from __future__ import annotations

import re
from pathlib import PurePath

from sopbench.leaderboard.boards import Boards
from sopbench.leaderboard.row import Row
from sopbench.leaderboard.verifying import Verification

SIGNS = {"passed": "✅", "refused": "❌", "skipped": "➖", "not reached": "·"}
WORDS = {"passed": "passed", "refused": "**to fix**", "skipped": "not checked here", "not reached": "not reached"}


def comment(verification: Verification, boards: Boards) -> str:
    """Markdown."""
    name = code(PurePath(verification.where).name)
    refused = verification.refused
    if verification.unjudged:
        head = (
            f"### {name} could not be judged here\n\nIts files are in order; {code(refused.detail) if refused else ''}"
        )
    elif refused is not None:
        head = f"### {name} is not ready yet\n\nRule **{refused.rule}** ({refused.title}):\n\n> {code(refused.detail)}\n\nFix that, then try again here or with `sopbench verify DIR`. Rules after it were not reached."
    else:
        head = (
            f"### {name} is verified\n\nIts replies, parsed and scored again by this code, give exactly these numbers."
        )
    parts = [head]
    if verification.row is not None:
        parts.append(_row(verification.row, boards))
    parts.append(_checks(verification))
    parts.append(
        "_A verified row says what its replies are worth, not who wrote them: raw replies can be fabricated. A maintainer may run the model again._"
    )
    return "\n\n".join(parts) + "\n"


def _row(row: Row, boards: Boards) -> str:
    board = boards.get(row.board)
    names = [
        "Model",
        "Organisation",
        *(name.upper() if len(name) < 4 else name.capitalize() for name in board.columns),
        "n",
        "Adapter",
        "Tier",
    ]
    cells = [code(row.model), code(row.organisation), *(number(row, name) for name in board.columns), f"{row.n:,}"]
    cells += [code(str(row.facts.get("adapter", ""))), row.tier]
    table = [f"| {' | '.join(line)} |" for line in (names, ["---"] * len(names), cells)]
    simulated = " PocketPhone is a simulated phone." if board.simulated else ""
    return f"The row on **{board.title}**, with 95 % intervals.{simulated}\n\n" + "\n".join(table)


def number(row: Row, name: str) -> str:
    """A metric with its interval; its bounds where not everything has a verdict."""
    if name in row.values:
        span = row.ranges.get(name)
        return f"{row.values[name]:.1f}" + (f" ({span[0]:.1f} to {span[1]:.1f})" if span else "")
    span = row.bounds.get(name)
    return f"between {span[0]:.1f} and {span[1]:.1f}" if span else "–"


def _checks(verification: Verification) -> str:
    lines = [
        f"| {SIGNS[r.outcome]} {WORDS[r.outcome]} | {r.rule} | {code(r.detail) if r.detail else r.title} |"
        for r in verification.results
    ]
    table = "\n".join(["| | rule | found |", "|---|---|---|", *lines])
    return f"<details><summary>All {len(lines)} rules</summary>\n\n{table}\n\n</details>"


def code(text: str) -> str:
    """Foreign text as inline code, in which no markdown or mention means anything; it cannot end the code, the line or the table's cell."""
    plain = re.sub(r"[^\x20-\x7e\u00a1-\uffff]", "?", text).replace("`", "'").replace("|", "¦")
    return f"`{plain[:400].strip() or ' '}`"
