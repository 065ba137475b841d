"""Where numbers go: the console, `metrics.jsonl`, and tensorboard where it is installed."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

log = logging.getLogger("uis1_train.embedded")


class Tracker:
    """One stage's numbers. `shown`: which of them stand in the console's line. A resumed stage forgets what was written after `step`."""

    def __init__(self, folder: Path, *, step: int = 0, tensorboard: bool = True, shown: tuple[str, ...] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.shown = folder / "metrics.jsonl", shown
        _cut(self.path, step)
        self._lines = self.path.open("a", encoding="utf-8")
        self._board: Any = None
        if tensorboard and find_spec("tensorboard") is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)  # type: ignore[no-untyped-call, unused-ignore]

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        """Numbers of one step; those that are not finite are written as null, and not drawn."""
        kept = {name: float(value) if math.isfinite(value) else None for name, value in sorted(numbers.items())}
        self._lines.write(json.dumps({"step": step, **kept}) + "\n")
        self._lines.flush()
        if self._board is not None:
            for name, value in kept.items():
                if value is not None:
                    self._board.add_scalar(name, value, step)
        told = [f"{name} {kept[name]:.4g}" for name in self.shown if kept.get(name) is not None]
        log.info("step %d: %s", step, ", ".join(told))

    def close(self) -> None:
        self._lines.close()
        if self._board is not None:
            self._board.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a `metrics.jsonl`, oldest first; a last line that a crash cut short is left out."""
    if not path.exists():
        return []
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return lines


def _cut(path: Path, step: int) -> None:
    """Forget the lines after `step`: the run goes on from there and writes them again."""
    kept = [line for line in read_metrics(path) if int(line["step"]) <= step]
    if path.exists():
        path.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
