"""`python -m uis1_train.embedded sft|rl|all --config RECIPE [NAME=VALUE ...]`"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path

from sopbench.errors import EXIT_COMPLETE, EXIT_INTERRUPTED, SopbenchError
from uis1_train.embedded.config import read_recipe


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m uis1_train.embedded",
        description="Train in one process: supervised fine-tuning, then semi-online reinforcement learning. A run that was interrupted goes on where it was.",
    )
    parser.add_argument("stage", choices=("sft", "rl", "all"))
    parser.add_argument("--config", type=Path, required=True, help="the recipe, a YAML file")
    parser.add_argument(
        "settings", nargs="*", metavar="NAME=VALUE", help="settings instead of the recipe's, such as rl.steps=50"
    )
    options = parser.parse_intermixed_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        recipe = read_recipe(options.config, tuple(options.settings))
        from transformers.utils.logging import disable_progress_bar

        from uis1_train.embedded.rl import run_rl
        from uis1_train.embedded.sft import run_sft

        disable_progress_bar()  # one for every file that is read or written would bury the numbers
        for name, run in (("sft", run_sft), ("rl", run_rl)):
            if options.stage in (name, "all"):
                print(json.dumps(run(recipe)), flush=True)
    except SopbenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted: the same command goes on from the last checkpoint", file=sys.stderr)
        return EXIT_INTERRUPTED
    return EXIT_COMPLETE


if __name__ == "__main__":
    sys.exit(main())
