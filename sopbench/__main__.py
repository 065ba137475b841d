"""Entry point of `sopbench` and `python -m sopbench`: a Ctrl-C that meets the imports ends as quietly as any later one."""

from __future__ import annotations

import sys

EXIT_INTERRUPTED = 130


def main() -> None:
    try:
        from sopbench.cli import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
