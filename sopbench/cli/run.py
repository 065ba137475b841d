"""`sopbench run`: play a suite with a model."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sopbench.errors import EXIT_COMPLETE, EXIT_INTERRUPTED, EXIT_UNSCORED, UsageError

if TYPE_CHECKING:
    from sopbench.api import Run
    from sopbench.runs.config import Prices
    from sopbench.runs.progress import Listener

LIVE = "Live environments"
HELP = """Play a suite with a model and print its scores.

With no options: suite `pocket` with `builtin:noisy`, no server needed.

Examples:

  sopbench run --model http://localhost:8000/v1

  sopbench run --suite sop --data android_control_evaluation_std.jsonl --images images/ --model UI-S1-7B --base-url http://localhost:8000/v1

  sopbench run --suite androidcontrol-high --data android_control_evaluation_std.jsonl --images images/ --model http://localhost:8000/v1

  sopbench run --suite pocket-online --model builtin:oracle --json

  sopbench run --suite pocket-online --through adb --tasks 'notes.*,clock.*' --model builtin:oracle

  sopbench run --suite miniwob --tasks click-button,use-slider --instances 3 --model http://localhost:8000/v1

  sopbench run --suite pocket-large --model builtin:tiny

The API key is read from SOPBENCH_API_KEY or OPENAI_API_KEY, never from an option, and is stored nowhere.
"""


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def run(
        model: Annotated[
            str,
            typer.Option(
                help="A model's name (with --base-url), an endpoint's address (then the model that it serves), or builtin:oracle|noisy|null|random|swipe|prose|tiny."
            ),
        ] = "builtin:noisy",
        base_url: Annotated[
            list[str] | None,
            typer.Option(help="Address of an OpenAI-compatible endpoint that serves the model; repeat it for several."),
        ] = None,
        suite: Annotated[str, typer.Option(help="The benchmark; `sopbench suites` lists them.")] = "pocket",
        adapter: Annotated[
            str,
            typer.Option(
                help="The model family's language; `sopbench adapters` lists them. auto is uis1, and of builtin:tiny its own."
            ),
        ] = "auto",
        prompts: Annotated[
            str,
            typer.Option(
                help="Whose words the model is asked in: official (its publisher's) or builtin (ours); auto is official where that is to be had. See `sopbench prompts`."
            ),
        ] = "auto",
        profile: Annotated[
            str | None, typer.Option(help="The scoring profile (default: the suite's); `sopbench profiles` lists them.")
        ] = None,
        data: Annotated[Path | None, typer.Option(help="Trajectory file (JSONL), for suites that need one.")] = None,
        images: Annotated[Path | None, typer.Option(help="Folder of the screens of --data.")] = None,
        image_pattern: Annotated[
            str, typer.Option(help="How screens are named there, from {name}, {episode}, {step}.")
        ] = "{name}",
        out: Annotated[
            Path | None,
            typer.Option(
                help="Folder of the run (default: a new one below runs/). An unfinished run there is continued."
            ),
        ] = None,
        limit: Annotated[int | None, typer.Option(help="Only the first N trajectories.")] = None,
        tasks: Annotated[
            list[str] | None,
            typer.Option(
                help="Only these: globs of episodes' ids, online also of templates; separate by commas, or repeat."
            ),
        ] = None,
        through: Annotated[
            str | None,
            typer.Option(
                help="How a simulated phone is reached: process or adb (suites pocket-...online).", rich_help_panel=LIVE
            ),
        ] = None,
        instances: Annotated[
            int | None,
            typer.Option(help="Instances of each task, with parameters of their own.", rich_help_panel=LIVE),
        ] = None,
        task_seed: Annotated[
            int | None, typer.Option(help="Seed that the instances' parameters come from.", rich_help_panel=LIVE)
        ] = None,
        family: Annotated[
            str | None, typer.Option(help="Which of a suite's task lists (androidworld).", rich_help_panel=LIVE)
        ] = None,
        actuation: Annotated[
            str | None,
            typer.Option(
                help="How actions become input: upstream or mobile-agent (androidworld).", rich_help_panel=LIVE
            ),
        ] = None,
        devices: Annotated[
            str | None,
            typer.Option(
                help="Where it is played: sim:N, avd:N, docker:N, attach:HOST:PORT (androidworld, aitw).",
                rich_help_panel=LIVE,
            ),
        ] = None,
        judge_model: Annotated[
            str | None, typer.Option(help="The VLM that decides success (aitw).", rich_help_panel=LIVE)
        ] = None,
        judge_base_url: Annotated[
            str | None, typer.Option(help="The endpoint that serves it.", rich_help_panel=LIVE)
        ] = None,
        environment_attempts: Annotated[
            int, typer.Option(help="How often an episode is begun whose environment breaks.", rich_help_panel=LIVE)
        ] = 3,
        seed: Annotated[
            int | None,
            typer.Option(help="Seeds built-in policies; sent to the endpoint (plus the repeat) where given."),
        ] = None,
        repeats: Annotated[
            int, typer.Option(help="Play everything N times; means are taken per trajectory first.")
        ] = 1,
        concurrency: Annotated[int, typer.Option(help="Most trajectories (of static suites: steps) in flight.")] = 16,
        adaptive: Annotated[
            bool, typer.Option("--adaptive", help="Start slowly and find the concurrency that the endpoint takes.")
        ] = False,
        executor: Annotated[
            str, typer.Option(help="Who plays: local (this process) or ray (a Ray cluster; the extra `ray`).")
        ] = "local",
        ray_address: Annotated[
            str | None,
            typer.Option(help="Of the cluster, as ray.init takes it (auto, HOST:PORT); left out: one of this machine."),
        ] = None,
        history_images: Annotated[
            int | None, typer.Option(help="How many of the last screens a request carries (default: the adapter's).")
        ] = None,
        after_mismatch: Annotated[
            str, typer.Option(help="stop (the protocol) or continue (diagnostic: also reports step accuracy).")
        ] = "stop",
        temperature: Annotated[float, typer.Option(help="Sampling temperature.")] = 0.0,
        top_p: Annotated[float | None, typer.Option(help="Nucleus sampling.")] = None,
        top_k: Annotated[
            int | None, typer.Option(help="Top-k sampling (vLLM, SGLang). The paper's runs used 1.")
        ] = None,
        max_tokens: Annotated[int, typer.Option(help="Most tokens of one reply.")] = 2048,
        server_defaults: Annotated[
            bool, typer.Option("--server-defaults", help="Send neither temperature nor max_tokens: the server decides.")
        ] = False,
        extra_body: Annotated[str | None, typer.Option(help="JSON object merged into every request body.")] = None,
        timeout: Annotated[float, typer.Option(help="Seconds that one attempt may take.")] = 120.0,
        deadline: Annotated[
            float, typer.Option(help="Seconds that one request may take with all its attempts.")
        ] = 600.0,
        max_attempts: Annotated[int, typer.Option(help="Attempts at one request.")] = 8,
        price: Annotated[
            str | None,
            typer.Option(help="Prices of a million prompt and completion tokens, as P/C (for example 0.15/0.60)."),
        ] = None,
        report: Annotated[
            bool | None,
            typer.Option(
                "--report/--no-report",
                help="Write report.html at the end (default: unless --json).",
                show_default=False,
            ),
        ] = None,
        as_json: Annotated[
            bool,
            typer.Option("--json", help="Print the summary as one JSON object, and nothing else, on standard output."),
        ] = False,
        quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    ) -> None:
        from sopbench import api
        from sopbench.clients.base import Sampling
        from sopbench.prompts.choosing import checked_wanted
        from sopbench.runs.config import RunConfig
        from sopbench.suites.base import SuiteOptions

        extra = read_object(extra_body, "--extra-body")
        sampling = Sampling(
            temperature=None if server_defaults else temperature,
            top_p=top_p,
            top_k=top_k,
            max_tokens=None if server_defaults else max_tokens,
            extra_body=extra,
        )
        config = RunConfig(
            suite=suite,
            model=model,
            adapter=adapter,
            prompts=checked_wanted(prompts),
            profile=profile,
            base_urls=tuple(base_url or ()),
            data=data,
            images=images,
            image_pattern=image_pattern,
            out=out,
            limit=limit,
            tasks=tuple(pattern for text in tasks or () for pattern in text.split(",") if pattern),
            options=SuiteOptions(
                through=through,
                instances=instances,
                task_seed=task_seed,
                family=family,
                actuation=actuation,
                devices=devices,
                judge_model=judge_model,
                judge_base_url=judge_base_url,
            ),
            environment_attempts=environment_attempts,
            seed=seed,
            repeats=repeats,
            history_images=history_images,
            after_mismatch=after_mismatch,  # type: ignore[arg-type]  # RunConfig checks it
            sampling=sampling,
            concurrency=concurrency,
            adaptive=adaptive,
            attempt_timeout=timeout,
            deadline=deadline,
            max_attempts=max_attempts,
            prices=read_price(price),
            executor=executor,  # type: ignore[arg-type]  # RunConfig checks it
            ray_address=ray_address,
        )
        play(lambda listener: api.run(config, listener=listener), as_json=as_json, quiet=quiet, report=report)


def play(start: Callable[[Listener], Run], *, as_json: bool, quiet: bool, report: bool | None) -> None:
    """Run `start` under a progress line, print what came of it, and leave with the exit status that it deserves."""
    from sopbench.api import Interrupted
    from sopbench.cli.prompts import tell_fallback
    from sopbench.cli.report import screens_counted
    from sopbench.cli.show import print_summary
    from sopbench.cli.terminal import Watch, print_json, safe
    from sopbench.errors import command

    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        with tell_fallback(), Watch(quiet=quiet) as watch:
            run = start(watch)
    except Interrupted as stop:
        told = "nothing was started"
        if stop.path is not None:
            told = f"the run is kept; go on with: {command('sopbench', 'resume', stop.path)}"
        print(f"interrupted: {told}", file=sys.stderr)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    summary = run.summary
    if as_json:
        print_json(summary)
    page = None
    if report if report is not None else not as_json:
        try:
            with screens_counted(quiet=quiet) as progress:
                page = run.report(progress=progress)
        except KeyboardInterrupt:
            again = command("sopbench", "report", run.path)
            print(f"interrupted: the run itself is done; write its report with: {again}", file=sys.stderr)
            raise typer.Exit(EXIT_INTERRUPTED) from None
    if not as_json:
        print_summary(summary)
        print(f"\nrun     {run.path}")
        if page is not None:
            print(f"report  {page}")
    if summary["stopped"]:
        detail = safe(summary["stopped"]["detail"], 1000)
        print(f"stopped early, since every request would meet this: {detail}", file=sys.stderr)
    if not summary["complete"]:
        again = command("sopbench", "resume", run.path)
        print(f"some episodes are not scored; try them again with: {again}", file=sys.stderr)
    raise typer.Exit(EXIT_COMPLETE if summary["complete"] else EXIT_UNSCORED)


def read_object(text: str | None, option: str) -> dict[str, Any]:
    """A JSON object given as an option."""
    import json

    if text is None:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{option} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f"{option} must be a JSON object, such as '{{\"top_k\": 1}}'")
    return value


def read_price(text: str | None) -> Prices | None:
    from sopbench.runs.config import Prices

    if text is None:
        return None
    try:
        prompt, completion = (float(part) for part in text.split("/"))
        return Prices(prompt, completion)
    except ValueError as error:
        raise UsageError(
            f"--price {text!r}: write PROMPT/COMPLETION per million tokens, for example 0.15/0.60"
        ) from error
