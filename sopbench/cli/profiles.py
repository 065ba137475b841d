"""`sopbench profiles`: the ways of counting, and what exactly each one does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sopbench.scoring.base import Profile

HELP = """List the scoring profiles, or show one with its constants, mismatch reasons and table of cases.

Example: sopbench profiles strict
"""


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def profiles(
        name: Annotated[str | None, typer.Argument(help="Profile to show.", show_default=False)] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print it as one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json
        from sopbench.scoring import PROFILES, get_profile

        if name is None:
            if as_json:
                print_json({key: _facts(profile) for key, profile in PROFILES.items()})
            else:
                _print_list(list(PROFILES.values()))
            return
        profile = get_profile(name)
        if as_json:
            from sopbench.scoring.base import load_cases

            print_json(_facts(profile) | {"cases": load_cases(profile.name)})
        else:
            _print_one(profile)


def _facts(profile: Profile) -> dict[str, Any]:
    return {
        "id": profile.id,
        "hash": profile.hash,
        "summary": profile.summary,
        "constants": dict(profile.constants),
        "tables": dict(profile.tables),
        "reasons": list(profile.reasons),
    }


def _print_list(profiles: list[Profile]) -> None:
    from sopbench.cli.show import table
    from sopbench.cli.terminal import console

    rows = [(p.id, p.hash[:12], p.summary) for p in profiles]
    listed = table("", ("profile", "hash", "what"), rows)
    for column in listed.columns:
        column.justify = "left"
    console().print(listed)


def _print_one(profile: Profile) -> None:
    from sopbench.cli.show import table
    from sopbench.cli.terminal import console
    from sopbench.scoring.base import load_cases

    out = console()
    out.print(f"{profile.id}  {profile.summary}", style="bold")
    out.print(f"hash       {profile.hash}")
    out.print("constants  " + ", ".join(f"{key} {value:g}" for key, value in profile.constants.items()))
    out.print("reasons    " + ", ".join(profile.reasons))
    for key, value in profile.tables.items():
        out.print(f"{key}  {len(value)} entries (--json prints them)")
    rows = [(case["name"], _verdict(case["expect"]), case["why"]) for case in load_cases(profile.name)]
    cases = table(f"{len(rows)} cases", ("case", "verdict", "why"), rows)
    for column in cases.columns:
        column.justify = "left"
    out.print(cases)


def _verdict(expect: dict[str, Any]) -> str:
    return "match" if expect["match"] else str(expect["reason"])
