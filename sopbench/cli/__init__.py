"""The command line: one file a verb. `main` turns errors into one line and an exit status."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from sopbench.errors import EXIT_BAD_INPUT, EXIT_INTERRUPTED, SopbenchError

EPILOG = "Exit status: 0 complete; 2 bad arguments or input; 3 complete but with unscored steps; 130 interrupted (the run can be resumed)."


def build() -> typer.Typer:
    """The whole command line as a typer application."""
    from sopbench.cli import (
        adapters,
        androidworld,
        board,
        compare,
        data,
        devices,
        doctor,
        judge,
        judge_agreement,
        link,
        parse,
        profiles,
        prompts,
        render,
        report,
        resume,
        run,
        score,
        serve,
        show,
        submit,
        suites,
        verdicts,
        verify,
    )

    app = typer.Typer(
        name="sopbench",
        help="Measure mobile GUI agents: semi-online (SOP), static and online benchmarks for any OpenAI-compatible endpoint.",
        epilog=EPILOG,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def options(
        debug: Annotated[
            bool, typer.Option("--debug", help="Show the traceback of an error (works after the verb too).")
        ] = False,
        version: Annotated[
            bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_version)
        ] = False,
    ) -> None:
        pass

    for verb in (
        run,
        resume,
        show,
        report,
        compare,
        link,
        score,
        verdicts,
        submit,
        verify,
        board,
        doctor,
        serve,
        devices,
        suites,
        androidworld,
        adapters,
        prompts,
        profiles,
        data,
        parse,
        judge,
        judge_agreement,
        render,
    ):
        verb.register(app)
    return app


def main() -> None:
    """Entry point of the `sopbench` command."""
    run_command_line(build)


def run_command_line(build: Callable[[], typer.Typer], interrupted: str | None = None) -> None:
    """Run what `build` makes on this process's arguments: an error becomes one line and an exit status, with `--debug` a traceback.

    interrupted: what a Ctrl-C that no verb has dealt with is answered with.
    """
    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    mend_streams()
    try:
        build()(arguments)
    except SopbenchError as error:
        if debug:
            raise
        from sopbench.cli.terminal import complain

        complain(str(error))
        sys.exit(error.exit_code)
    except OSError as error:  # a full disk, a folder without permission: the user's to mend, not a fault of the program
        if debug:
            raise
        from sopbench.cli.terminal import complain

        complain(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
        sys.exit(EXIT_BAD_INPUT)
    except KeyboardInterrupt:
        if interrupted is not None:
            print(interrupted, file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)


def mend_streams() -> None:
    """Make the three standard streams usable as they are: one may be closed, and a terminal may know fewer characters than models and users write."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # as long-lived as the process
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _version(asked: bool) -> None:
    if asked:
        from sopbench import __version__

        typer.echo(__version__)
        raise typer.Exit
