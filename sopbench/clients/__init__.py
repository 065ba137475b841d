"""Whoever answers: endpoints behind an OpenAI-compatible address, and built-in policies that need no server."""

from __future__ import annotations

from typing import Protocol

from sopbench.clients.base import Policy, Sampling
from sopbench.errors import UsageError

BUILTIN_PREFIX = "builtin:"


class PolicyOptions(Protocol):
    """What `make_policy` reads of a run's configuration.

    model: `builtin:NAME`, the name under which `base_urls` serve a model, or the address of an endpoint (then the one model that it serves).
    """

    @property
    def model(self) -> str: ...
    @property
    def base_urls(self) -> tuple[str, ...]: ...
    @property
    def sampling(self) -> Sampling: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def concurrency(self) -> int: ...
    @property
    def adaptive(self) -> bool: ...
    @property
    def attempt_timeout(self) -> float: ...
    @property
    def deadline(self) -> float: ...
    @property
    def max_attempts(self) -> int: ...


async def make_policy(options: PolicyOptions) -> Policy:
    """The policy that a run asks for. An address instead of a name is asked which model it serves; the API key comes from the environment.

    Raises `UsageError` for what contradicts itself and `EndpointError` where an endpoint cannot be asked.
    """
    model = options.model.strip()
    if model.startswith(BUILTIN_PREFIX):
        if options.base_urls:
            raise UsageError(f"--model {model} answers by itself: leave --base-url away")
        from sopbench.clients.builtin import make_builtin
        from sopbench.clients.tiny import is_tiny, make_tiny

        if is_tiny(model):
            return make_tiny(options)
        return make_builtin(model, seed=options.seed or 0)
    from sopbench.clients.keys import api_key_from_environment
    from sopbench.clients.pool import EndpointPool
    from sopbench.clients.served import only_model
    from sopbench.clients.urls import is_url

    key, base_urls = api_key_from_environment(), options.base_urls
    if is_url(model):
        if base_urls:
            raise UsageError(
                "--model is an address and --base-url gives another: name the model with --model NAME, and the endpoints with --base-url"
            )
        base_urls = (model,)
        model = await only_model(model, api_key=key)
    elif not base_urls:
        raise UsageError(
            f"no endpoint for the model {model!r}: give --base-url http://host:8000/v1, or --model http://host:8000/v1 to ask it what it serves, "
            f"or one of the built-in policies (--model builtin:oracle)"
        )
    return EndpointPool(
        base_urls,
        model,
        options.sampling,
        api_key=key,
        concurrency=options.concurrency,
        adaptive=options.adaptive,
        attempt_timeout=options.attempt_timeout,
        deadline=options.deadline,
        max_attempts=options.max_attempts,
    )
