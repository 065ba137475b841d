"""sopbench: semi-online (SOP), static and online benchmarks for mobile GUI agents behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sopbench.api import Run, arun, load_run, run

__all__ = ["Run", "__version__", "arun", "load_run", "run"]


def __getattr__(name: str) -> Any:
    """Load the API on first use, so that `import sopbench` costs nothing."""
    if name in {"Run", "arun", "load_run", "run"}:
        from sopbench import api

        return getattr(api, name)
    raise AttributeError(f"module 'sopbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What is loaded on first use is offered by completion, too."""
    return sorted({*globals(), *__all__})
