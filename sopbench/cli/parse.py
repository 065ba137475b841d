"""`sopbench parse`: what does an adapter read in a reply? JSON strings in, JSON objects out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

if TYPE_CHECKING:
    from sopbench.adapters.base import Adapter
    from sopbench.geometry import Size

MAX_LINE_BYTES = 8 * 1024 * 1024
DECIMALS = 4

HELP = """Read replies as an adapter does, one JSON string a line, from standard input to standard output.

Out: the action in the released form, coordinates in pixels of the original screen, or {"parse_failure": reason, "detail": ..}. Each line is answered before the next is read. The first line that is no JSON string stops the command with exit status 2; the answers before it stand.

Example: echo '"<action>{\\"action\\": \\"wait\\"}</action>"' | sopbench parse --adapter uis1 --screen 1080x2400
"""


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def parse(
        adapter: Annotated[str, typer.Option(help="Whose language the replies are in (see `sopbench adapters`).")],
        screen: Annotated[str, typer.Option(help="Size of the original screen, such as 1080x2400.")],
        sent: Annotated[
            str | None,
            typer.Option(
                help="Size in which the image really reached the model, where it is not what the adapter works out. Families that count in per-mille ignore it."
            ),
        ] = None,
        verbose: Annotated[
            bool,
            typer.Option("--verbose", "-v", help='Print {"action": .., "thought": .., "notes": [..]} instead.'),
        ] = False,
    ) -> None:
        from sopbench.adapters import get_adapter
        from sopbench.cli.terminal import print_json
        from sopbench.geometry import Size

        family, size = get_adapter(adapter), Size.parse(screen)
        sent_size = None if sent is None else Size.parse(sent)
        for reply in read_replies(sys.stdin.buffer, "standard input"):
            print_json(answer(family, reply, size, sent_size, verbose=verbose))
            sys.stdout.flush()


def answer(adapter: Adapter, reply: str, size: Size, sent: Size | None, *, verbose: bool) -> dict[str, Any]:
    """The line for one reply."""
    from sopbench.actions import to_released
    from sopbench.adapters.base import ParseFailure

    parsed = adapter.parse(reply, size, sent)
    if isinstance(parsed, ParseFailure):
        return {"parse_failure": parsed.reason, "detail": parsed.detail}
    released = {name: _rounded(value) for name, value in to_released(parsed.action, size).items()}
    if verbose:
        told = {} if parsed.answer is None else {"answer": parsed.answer}
        return {"action": released, "thought": parsed.thought, "notes": list(parsed.notes)} | told
    return released


def read_replies(stream: BinaryIO, where: str) -> Iterator[str]:
    """JSON strings, one a line; blank lines are skipped. Raises `DataError` that names the first line that is none."""
    from sopbench.errors import DataError

    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise DataError(f"{where}, line {number}: longer than {MAX_LINE_BYTES} bytes")
        if not line.strip():
            continue
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"{where}, line {number}: not a JSON string ({error}). Each line is one reply in JSON quotes, as json.dumps writes it"
            ) from error
        if not isinstance(reply, str):
            raise DataError(
                f"{where}, line {number}: a JSON {type(reply).__name__}, not a JSON string. Each line is one whole reply in JSON quotes"
            )
        yield reply


def _rounded(value: Any) -> Any:
    """Coordinates as people can read them: to a ten-thousandth of a pixel, whole ones without a point."""
    if isinstance(value, list):
        rounded = [round(number, DECIMALS) for number in value]
        return [int(number) if number == int(number) else number for number in rounded]
    return value
