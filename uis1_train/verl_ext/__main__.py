"""`python -m uis1_train.verl_ext CONFIG [OVERRIDE ...]`: what `uis1-train run` starts, without its checks and its help."""

from __future__ import annotations

import sys

from sopbench.errors import SopbenchError, UsageError


def main(arguments: list[str]) -> int:
    from uis1_train.verl_ext.compose import compose_config
    from uis1_train.verl_ext.task_runner import run

    try:
        if not arguments:
            raise UsageError("which configuration? python -m uis1_train.verl_ext CONFIG [OVERRIDE ...]")
        run(compose_config(arguments[0], arguments[1:]))
    except SopbenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
