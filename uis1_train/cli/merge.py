"""`uis1-train merge`: from a sharded checkpoint to a folder that is served, checked."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from sopbench.errors import UsageError

HELP = """Merge a checkpoint into one folder that transformers loads and `vllm serve` serves, and check that it is the same model.

CHECKPOINT is a global_step_N folder (of RL or SFT; fsdp or megatron), its actor folder, a transformers folder, or the trainer's folder (then its latest).

The checks: every tokenizer and processor file is there (what verl's merger leaves out is copied from the checkpoint, or from --base), transformers loads all
weights and no others, a prompt with a screen can be made, images are resized as in training, and the logits equal those of the sharded weights, read without the
merger, bit by bit. Exit status 1 where one fails.

Examples:

  uis1-train merge checkpoints/uis1/uis1_7b --out ui-s1-7b

  uis1-train merge checkpoints/uis1/uis1_7b/global_step_40 --out step-40 --base Qwen2.5-VL-7B-Instruct --adapter uis1
"""
FAILED = 1
MARKS = {"ok": "ok  ", "note": "note", "problem": "FAIL"}


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def merge(
        checkpoint: Annotated[Path, typer.Argument(help="The checkpoint, or the folder that the trainer writes to.")],
        out: Annotated[Path, typer.Option(help="The new folder.")],
        base: Annotated[
            Path | None,
            typer.Option(
                help="The model that training started from, for files that the checkpoint lacks.", show_default=False
            ),
        ] = None,
        precision: Annotated[
            str, typer.Option(help="bfloat16 (verl's merger), or float32 (fsdp only, by ourselves).")
        ] = "bfloat16",
        check: Annotated[str, typer.Option(help="full, files (no logits: needs less memory), or none.")] = "full",
        adapter: Annotated[str, typer.Option(help="For the serve command; `sopbench adapters` lists them.")] = "uis1",
        images: Annotated[
            int | None,
            typer.Option(
                help="Screens a request carries, for the serve command (default: the adapter's).", show_default=False
            ),
        ] = None,
        name: Annotated[
            str | None, typer.Option(help="The name to serve it under (default: the folder's).", show_default=False)
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    ) -> None:
        from sopbench.adapters import get_adapter
        from sopbench.cli.terminal import print_json, safe
        from uis1_train.merge.serving import serve_command

        if precision not in ("bfloat16", "float32"):
            raise UsageError(f"--precision is bfloat16 or float32, not {precision!r}")
        if check not in ("full", "files", "none"):
            raise UsageError(f"--check is full, files or none, not {check!r}")
        family = get_adapter(adapter)
        if find_spec("torch") is None:
            raise UsageError(
                "merging needs torch and verl: `python scripts/setup_train.py` makes an environment with both (.venv-train)"
            )
        from transformers.utils.logging import disable_progress_bar

        from uis1_train.merge import merging
        from uis1_train.merge.checks import check_merged

        disable_progress_bar()
        merged = merging.merge(
            checkpoint, out, base=base, precision="float32" if precision == "float32" else "bfloat16"
        )
        if not as_json:
            print(safe(f"merged  {merged.checkpoint.kind} checkpoint {merged.checkpoint.path} -> {out}"), flush=True)
        checks = []
        for one in check_merged(merged, base=base, logits=check == "full") if check != "none" else ():
            checks.append(one)
            if not as_json:
                print(safe(f"{MARKS[one.status]}  {one.name}: {one.detail}", 1500), flush=True)
                if one.fix is not None:
                    print(safe(f"      -> {one.fix}", 1500), flush=True)
        sound = all(one.status != "problem" for one in checks)
        command = serve_command(out, family, images=images, name=name)
        if as_json:
            facts = {
                "kind": merged.checkpoint.kind,
                "step": merged.checkpoint.step,
                "out": str(out),
                "precision": precision,
            }
            print_json(
                facts
                | {
                    "copied": list(merged.copied),
                    "checks": [c.as_dict() for c in checks],
                    "ok": sound,
                    "serve": command,
                }
            )
        elif sound:
            print(f"\nserve it with:\n  {command}")
        if not sound:
            print(f"error: {out} is not the model that was trained: do not use it", file=sys.stderr)
            raise typer.Exit(FAILED)
