"""`sopbench render`: the messages that would be sent at one step of one episode."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sopbench.adapters.base import Adapter, Message
    from sopbench.screen import Screen
    from sopbench.trajectory import Trajectory

HELP = """Print the messages that a model would be sent at step K of an episode, as a JSON list. An image is an object of type "image" with the sha256 of its file and its original size, and with the size in which it is sent where the family takes smaller ones. For a family whose requests carry more (the tools of `tools`), an object with `messages` and the rest.

A request tells what the model itself replied before. Give those replies with --replies; without it the expert's own actions, in the adapter's words and without a thought, stand in for them (and a line on standard error says so), as only the static suites do. With --instruction the request also tells the step's instruction: what `androidcontrol-low` sends.

Example: sopbench render --adapter uis1 --data android_control_evaluation_std.jsonl --images screens --episode 8193 --step 2 --replies replies.jsonl
"""


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def render(
        adapter: Annotated[str, typer.Option(help="Whose language to render in (see `sopbench adapters`).")],
        data: Annotated[Path, typer.Option(help="The file of trajectories (JSONL).")],
        episode: Annotated[str, typer.Option(help="The episode's id.")],
        step: Annotated[int, typer.Option(help="The step to answer, counted from 0.", min=0)],
        images: Annotated[
            Path | None, typer.Option(help="Folder of the screens; by default the data's own paths are used.")
        ] = None,
        image_pattern: Annotated[
            str, typer.Option(help="How screens in that folder are called: {name}, {episode}, {step}.")
        ] = "{name}",
        replies: Annotated[
            Path | None,
            typer.Option(
                help="The model's own replies to the steps before, JSON strings, one a line; the first K are used."
            ),
        ] = None,
        images_kept: Annotated[
            int | None,
            typer.Option(help="How many of the last screens to send; 0 sends none. Default: the adapter's.", min=0),
        ] = None,
        instruction: Annotated[
            bool, typer.Option("--instruction", help="Tell the recording's instruction for the step too.")
        ] = False,
        prompts: Annotated[
            str, typer.Option(help="Whose words: official, builtin, or auto, as in `sopbench run`.")
        ] = "auto",
    ) -> None:
        from sopbench.cli.prompts import worded
        from sopbench.trajectory import load_trajectories, screens_in

        family = worded(adapter, prompts)
        resolver = None if images is None else screens_in(images, image_pattern)
        trajectory = _episode(load_trajectories(data, resolver), episode, data, step)
        kept = family.default_images if images_kept is None else images_kept
        if replies is None:
            messages, left_out = expert_rendered(family, trajectory, step, kept, instruction=instruction)
            if step:
                print(
                    f"note: no --replies, so the expert's actions stand in for the model's {step} earlier replies"
                    + (f" ({left_out} of them, for which the family has no words, are left out)" if left_out else ""),
                    file=sys.stderr,
                )
        else:
            told = trajectory.steps[step].instruction if instruction else None
            messages = rendered(family, trajectory, _own_replies(replies, step), kept, told)
        print(json.dumps(request_as_json(family, messages), indent=2, ensure_ascii=True))


def rendered(
    adapter: Adapter, trajectory: Trajectory, replies: Sequence[str], images: int, instruction: str | None = None
) -> tuple[Message, ...]:
    """The request after `replies`: it asks about the step with that number."""
    from sopbench.adapters.base import Turn

    turns = [Turn(step.screen, reply) for step, reply in zip(trajectory.steps, replies, strict=False)]
    turns.append(Turn(trajectory.steps[len(replies)].screen))
    return adapter.render_instructed(trajectory.goal, turns, images, instruction or None)


def expert_rendered(
    adapter: Adapter, trajectory: Trajectory, step: int, images: int, *, instruction: bool
) -> tuple[tuple[Message, ...], int]:
    """The request of a static suite about `step`, and how many of the expert's actions its history leaves out."""
    from sopbench.protocols.static import StaticEpisode
    from sopbench.scoring import get_profile

    episode = StaticEpisode(trajectory, adapter, get_profile("strict"), images=images, instruct=instruction)
    pending = episode.pending(step)
    assert pending is not None
    return pending.messages, episode.left_out(step)


def request_as_json(adapter: Adapter, messages: Sequence[Message]) -> list[dict[str, Any]] | dict[str, Any]:
    """The messages, and where the family's requests carry more than those (its tools), an object with them and the rest."""
    listed = [as_json(message) for message in messages]
    fields = adapter.request_fields()
    return {"messages": listed, **fields} if fields else listed


def as_json(message: Message) -> dict[str, Any]:
    """A message with its images named by hash and original size instead of carried along."""
    from sopbench.adapters.base import Text
    from sopbench.adapters.tool_calls import call_object

    parts = [
        {"type": "text", "text": part.text} if isinstance(part, Text) else _image_as_json(part.screen)
        for part in message.parts
    ]
    told: dict[str, Any] = {"role": message.role, "content": parts}
    if message.calls:
        told["tool_calls"] = [call_object(call) for call in message.calls]
    if message.answers is not None:
        told["tool_call_id"] = message.answers
    return told


def _image_as_json(screen: Screen) -> dict[str, Any]:
    original = screen.original
    named = {"type": "image", "sha256": original.sha256, "size": original.size.as_list()}
    return named if screen is original else {**named, "sent": screen.size.as_list()}


def _episode(trajectories: Sequence[Trajectory], episode: str, data: Path, step: int) -> Trajectory:
    from sopbench.errors import UsageError

    for trajectory in trajectories:
        if trajectory.id == episode:
            if step >= len(trajectory):
                raise UsageError(f"--step {step}: episode {episode} has the steps 0 to {len(trajectory) - 1}")
            return trajectory
    some = ", ".join(trajectory.id for trajectory in trajectories[:5])
    raise UsageError(f"--episode {episode}: not in {data.name}, which has {len(trajectories)} episodes ({some}, ...)")


def _own_replies(file: Path, step: int) -> list[str]:
    from itertools import islice

    from sopbench.cli.parse import read_replies
    from sopbench.errors import UsageError

    try:
        with file.open("rb") as handle:
            replies = list(islice(read_replies(handle, file.name), step))
    except OSError as error:
        raise UsageError(f"--replies {file}: cannot be read ({error.strerror})") from error
    if len(replies) < step:
        raise UsageError(f"--replies {file}: has {len(replies)} replies, but step {step} has {step} before it")
    return replies
