"""The trainer's command line: one file a verb. Errors become exit statuses as those of `sopbench` do."""

from __future__ import annotations

from typing import Annotated

import typer

from sopbench.cli import run_command_line

HELP = """Train GUI agents by semi-online reinforcement learning (UI-S1), on stock verl or in one process, and judge them with sopbench.

A recipe from nothing (each verb's --help says more):

  uis1-train doctor

  uis1-train run --config uis1_7b --dry-run

  uis1-train sft --config sft_7b

  uis1-train merge checkpoints/uis1/sft_7b --out sft-merged

  uis1-train run --config uis1_7b actor_rollout_ref.model.path=sft-merged

  uis1-train watch checkpoints/uis1/uis1_7b --suite pocket --serve

  uis1-train merge checkpoints/uis1/uis1_7b --out ui-s1
"""
EPILOG = "Exit status: 0 done; 1 training or an evaluation failed; 2 bad arguments, or a plan that cannot work; 130 interrupted (run it again to go on)."


def build() -> typer.Typer:
    """The whole command line as a typer application."""
    from uis1_train.cli import ablate, doctor, merge, rollout, run, sft, watch

    app = typer.Typer(
        name="uis1-train",
        help=HELP,
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

    for verb in (run, sft, rollout, merge, watch, ablate, doctor):
        verb.register(app)
    return app


def main() -> None:
    """Entry point of the `uis1-train` command."""
    run_command_line(build, interrupted="interrupted: the same command goes on from where it was")


def _version(asked: bool) -> None:
    if asked:
        from sopbench import __version__

        typer.echo(__version__)
        raise typer.Exit
