"""`python -m uis1_train.launch.nodes --wait-for N`: until N machines have joined the Ray cluster at RAY_ADDRESS."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence

from sopbench.errors import SopbenchError


class NotAllJoined(SopbenchError):
    """Machines are missing after the time that they had."""


def wait_for(wanted: int, timeout: float, alive: Callable[[], Sequence[str]], *, pause: float = 2.0) -> Sequence[str]:
    """The addresses of the machines, as soon as there are `wanted`. Raises `NotAllJoined` that tells which have come."""
    deadline = time.monotonic() + timeout
    while len(found := alive()) < wanted:
        if time.monotonic() >= deadline:
            raise NotAllJoined(
                f"{len(found)} of {wanted} machines have joined after {timeout:g} s ({', '.join(found) or 'none'}): "
                "look at what ray_node.sh says on the others"
            )
        time.sleep(pause)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--wait-for", type=int, required=True, metavar="N")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS")
    options = parser.parse_args(arguments)
    import ray

    ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
    try:
        found = wait_for(
            options.wait_for, options.timeout, lambda: [n["NodeManagerAddress"] for n in ray.nodes() if n["Alive"]]
        )
    except NotAllJoined as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    finally:
        ray.shutdown()
    print(f"{len(found)} machines: {', '.join(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
