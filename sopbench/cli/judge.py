"""`sopbench judge`: does a prediction count as the expert's step? JSON lines in, JSON lines out."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

HELP = """Judge predictions by a scoring profile, one JSON object a line, from standard input to standard output.

In: {"screen":[w,h],"sent":[w,h],"pred":{..},"gold":{..},"check_options":{..}}. `pred` is an action in the released form in pixels of `sent` (left out: of `screen`), `gold` the expert's in pixels of `screen`; `check_options.candidate_bbox` lists the target boxes.

Out: {"type_match":..,"match":..,"reason":..}, `reason` null on a match. A `pred` that is no action is a mismatch with reason not_an_action:CODE. Each line is answered before the next is read. The first line that cannot be judged stops the command with exit status 2; the verdicts before it stand.

Example: echo '{"screen":[1080,2400],"pred":{"action":"wait"},"gold":{"action":"wait","time":2}}' | sopbench judge --profile strict
"""


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def judge(
        profile: Annotated[str, typer.Option(help="The profile to judge by (see `sopbench profiles`).")],
    ) -> None:
        from sopbench.scoring import get_profile
        from sopbench.scoring.stream import judge_stream

        for verdict in judge_stream(get_profile(profile), sys.stdin.buffer):
            sys.stdout.write(json.dumps(verdict) + "\n")
            sys.stdout.flush()
