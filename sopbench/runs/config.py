"""What a user asks of a run, and the facts that follow from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from sopbench.adapters.base import Adapter
from sopbench.clients.base import MAX_MODEL_NAME, Policy, Sampling, is_model_name
from sopbench.clients.tiny import is_tiny
from sopbench.errors import UsageError
from sopbench.prompts.choosing import Wanted, checked_wanted
from sopbench.runs.shapes import MAX_REPEATS
from sopbench.scoring.base import Profile
from sopbench.suites.base import DataSource, Loaded, Suite, SuiteOptions

DEFAULT_MODEL = "builtin:noisy"
AUTO = "auto"
DEFAULT_CONCURRENCY = 16
DEFAULT_MAX_TOKENS = 2048
DEFAULT_ENVIRONMENT_ATTEMPTS = 3


LEAST: Mapping[str, int] = {
    "limit": 1,
    "repeats": 1,
    "concurrency": 1,
    "max_attempts": 1,
    "environment_attempts": 1,
    "history_images": 0,
}


@dataclass(frozen=True, slots=True)
class Prices:
    """Price of a million tokens, in whatever currency the user thinks in."""

    prompt: float
    completion: float

    def __post_init__(self) -> None:
        if not all(math.isfinite(price) and price >= 0 for price in (self.prompt, self.completion)):
            raise UsageError(f"prices are numbers from 0, not {self.prompt} and {self.completion}")


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Everything that can be asked of a run. What changes the meaning of the numbers ends up in `facts`, the rest in `settings`.

    model: a name, `builtin:...`, or the address of an endpoint (then the model that it serves). base_urls: the endpoints that serve `model`.
    profile: None means the suite's own. history_images: how many of the last screens a request carries (None: the adapter's choice).
    adapter: `auto` is the model's own where it has one (builtin:tiny), else uis1.
    prompts: whose words the model is asked in: `auto` (the publisher's where they are to be had, else ours with a warning), `official`, `builtin`, `package`, `pulled`.
    seed: seeds built-in policies, and is sent to the endpoint (plus the number of the repeat) where given.
    tasks: globs of the episodes to play (of their ids, online also of their templates); none: all.
    options: what else is asked of the suite. environment_attempts: how often an online episode is begun whose environment breaks.
    executor: who plays: this process, or the nodes of a Ray cluster (`ray_address`; None starts one of this machine). It changes no number, and is no setting of the run.
    """

    suite: str = "pocket"
    model: str = DEFAULT_MODEL
    adapter: str = AUTO
    prompts: Wanted = "auto"
    profile: str | None = None
    base_urls: tuple[str, ...] = ()
    data: Path | None = None
    images: Path | None = None
    image_pattern: str = "{name}"
    out: Path | None = None
    limit: int | None = None
    tasks: tuple[str, ...] = ()
    options: SuiteOptions = field(default_factory=SuiteOptions)
    environment_attempts: int = DEFAULT_ENVIRONMENT_ATTEMPTS
    seed: int | None = None
    repeats: int = 1
    history_images: int | None = None
    after_mismatch: Literal["stop", "continue"] = "stop"
    sampling: Sampling = field(default_factory=lambda: Sampling(temperature=0.0, max_tokens=DEFAULT_MAX_TOKENS))
    concurrency: int = DEFAULT_CONCURRENCY
    adaptive: bool = False
    attempt_timeout: float = 120.0
    deadline: float = 600.0
    max_attempts: int = 8
    prices: Prices | None = None
    executor: Literal["local", "ray"] = "local"
    ray_address: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.base_urls, str):
            object.__setattr__(self, "base_urls", (self.base_urls,))
        if isinstance(self.tasks, str):
            object.__setattr__(self, "tasks", (self.tasks,))
        if isinstance(self.options, Mapping):
            object.__setattr__(self, "options", _options(self.options))
        if self.adapter == AUTO:
            object.__setattr__(self, "adapter", "tiny" if is_tiny(self.model) else "uis1")
        for name in ("data", "images", "out"):
            if isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, Path(value))
        for name, low in LEAST.items():
            value = getattr(self, name)
            if value is not None and not (type(value) is int and value >= low):
                raise UsageError(f"{name} must be a whole number of at least {low}, not {value!r}")
        if self.repeats > MAX_REPEATS:
            raise UsageError(f"repeats must be at most {MAX_REPEATS}, not {self.repeats}")
        if not all(math.isfinite(t) and t > 0 for t in (self.attempt_timeout, self.deadline)):
            raise UsageError("timeouts are positive numbers of seconds")
        if not is_model_name(self.model):
            raise UsageError(
                f"a model's name has 1 to {MAX_MODEL_NAME} characters that can be printed, not {self.model[:60]!r}"
            )
        if self.after_mismatch not in ("stop", "continue"):
            raise UsageError(f"after_mismatch is stop or continue, not {self.after_mismatch!r}")
        if self.executor not in ("local", "ray"):
            raise UsageError(f"executor is local or ray, not {self.executor!r}")
        if self.ray_address is not None and self.executor != "ray":
            raise UsageError("ray_address belongs to executor='ray' (--executor ray)")
        checked_wanted(self.prompts)
        if self.seed is not None and not 0 <= self.seed < 2**31:
            raise UsageError(f"seed must lie in 0..2^31-1, not {self.seed}")

    @property
    def source(self) -> DataSource:
        return DataSource(self.data, self.images, self.image_pattern)


def _options(asked: Mapping[str, Any]) -> SuiteOptions:
    known = [f.name for f in fields(SuiteOptions)]
    for name in asked:
        if name not in known:
            raise UsageError(f"there is no suite option {name!r}; there are: {', '.join(known)}")
    return SuiteOptions(**asked)


def facts_of(
    config: RunConfig, suite: Suite, loaded: Loaded, adapter: Adapter, profile: Profile | None, policy: Policy
) -> dict[str, Any]:
    """Every fact that changes what the numbers mean: two runs with equal facts are repetitions of each other."""
    prompt = adapter.prompt_source()
    return {
        "suite": suite.name,
        "protocol": suite.protocol,
        "data_sha256": loaded.sha256,
        "ids_sha256": loaded.ids_sha256,
        "n_trajectories": len(loaded.ids),
        "repeats": config.repeats,
        "seed": config.seed,
        "profile": {"id": profile.id, "hash": profile.hash} if profile else None,
        "adapter": {
            "name": adapter.name,
            "prompt": {"kind": prompt.kind, "sha256": prompt.sha256, "note": prompt.note},
        },
        "images": adapter.default_images if config.history_images is None else config.history_images,
        "after_mismatch": config.after_mismatch,
        **policy.describe(),
        **_suite_facts(suite),
    }


def _suite_facts(suite: Suite) -> dict[str, Any]:
    """What the suite adds: of an online one, what defines its environment."""
    own = suite.facts()
    return ({"environment": own} if own else {}) if suite.protocol == "online" else own


def settings_of(config: RunConfig, adapter: Adapter) -> dict[str, Any]:
    """What was asked and changes no meaning. Holds no secret: the API key is never part of a configuration."""
    return {
        "data": str(config.data.absolute()) if config.data else None,
        "images_dir": str(config.images.absolute()) if config.images else None,
        "image_pattern": config.image_pattern,
        "limit": config.limit,
        "tasks": list(config.tasks) or None,
        "options": config.options.asked() or None,
        "environment_attempts": config.environment_attempts,
        "base_urls": list(config.base_urls),
        "concurrency": config.concurrency,
        "adaptive": config.adaptive,
        "attempt_timeout": config.attempt_timeout,
        "deadline": config.deadline,
        "max_attempts": config.max_attempts,
        "prompt_origin": adapter.prompt_source().origin or None,
        "prices": {"prompt": config.prices.prompt, "completion": config.prices.completion} if config.prices else None,
    }


def config_of(facts: Mapping[str, Any], settings: Mapping[str, Any], out: Path) -> RunConfig:
    """The configuration that a recorded run was made with: what `resume` starts from."""
    prices, sampling = settings.get("prices"), facts.get("sampling")
    profile = facts.get("profile")
    return RunConfig(
        suite=facts["suite"],
        model=facts["model"],
        adapter=facts["adapter"]["name"],
        prompts=checked_wanted(str(facts["adapter"]["prompt"]["kind"])),
        profile=str(profile["id"]).partition("@")[0] if profile else None,
        base_urls=tuple(settings.get("base_urls") or ()),
        data=Path(settings["data"]) if settings.get("data") else None,
        images=Path(settings["images_dir"]) if settings.get("images_dir") else None,
        image_pattern=settings.get("image_pattern") or "{name}",
        out=out,
        limit=settings.get("limit"),
        tasks=tuple(settings.get("tasks") or ()),
        options=SuiteOptions.read(settings.get("options") or {}),
        environment_attempts=settings.get("environment_attempts") or DEFAULT_ENVIRONMENT_ATTEMPTS,
        seed=facts.get("seed"),
        repeats=facts["repeats"],
        history_images=facts["images"],
        after_mismatch=facts["after_mismatch"],
        sampling=Sampling(**sampling) if sampling else Sampling(),
        concurrency=settings.get("concurrency") or DEFAULT_CONCURRENCY,
        adaptive=bool(settings.get("adaptive")),
        attempt_timeout=settings.get("attempt_timeout") or 120.0,
        deadline=settings.get("deadline") or 600.0,
        max_attempts=settings.get("max_attempts") or 8,
        prices=Prices(**prices) if prices else None,
    )
