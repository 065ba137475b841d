"""Which models an endpoint serves: `GET /models`."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import aiohttp

from sopbench.clients import BUILTIN_PREFIX
from sopbench.clients.base import is_model_name
from sopbench.clients.keys import without_secrets
from sopbench.clients.refusals import error_words
from sopbench.clients.transport import Response, ResponseTooLarge, Transport, connection_words
from sopbench.clients.urls import is_url, normalise_base_url, proxy_for
from sopbench.errors import SopbenchError

MAX_MODELS = 10_000


class EndpointError(SopbenchError):
    """An endpoint that cannot be asked what it serves, or serves what was not expected."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """`max_model_len` is the context in tokens where the server tells it (vLLM and SGLang do)."""

    name: str
    max_model_len: int | None = None


async def served_models(
    base_url: str, *, api_key: str | None = None, patience: float = 20.0
) -> tuple[ServedModel, ...]:
    """The models that the endpoint lists. Raises `EndpointError` that says what is wrong and what to do."""
    url = normalise_base_url(base_url)
    transport = Transport(api_key)
    try:
        async with asyncio.timeout(patience):
            response = await transport.get(f"{url}/models", proxy_for(url))
    except TimeoutError as error:
        raise EndpointError(
            f"{url} does not answer within {patience:g} s. Is the server up, and done loading its model?"
        ) from error
    except ResponseTooLarge as error:
        raise EndpointError(f"{url}/models is no list of models: the response has no end") from error
    except (aiohttp.ClientError, OSError) as error:
        raise EndpointError(
            f"{url} cannot be reached: {without_secrets(connection_words(error), api_key)}. Is the server up, and is this its address?"
        ) from error
    finally:
        await transport.close()
    return _models(url, response, api_key)


async def only_model(base_url: str, *, api_key: str | None = None) -> str:
    """The name of the one model that the endpoint serves. Raises `EndpointError` where it serves none or several."""
    names = [m.name for m in await served_models(base_url, api_key=api_key)]
    url = normalise_base_url(base_url)
    if not names:
        raise EndpointError(f"{url} lists no model; name it: --model NAME --base-url {url}")
    if len(names) > 1:
        shown = ", ".join(names[:20]) + (f", ... ({len(names)} in all)" if len(names) > 20 else "")
        raise EndpointError(
            f"{url} serves several models; choose one: --model NAME --base-url {url}. It serves: {shown}"
        )
    name = names[0]
    if not is_model_name(name) or is_url(name) or name.startswith(BUILTIN_PREFIX):
        raise EndpointError(
            f"{url} serves a model whose name cannot stand in a record ({name[:60]!r}): serve it under another one "
            "(vLLM: --served-model-name)"
        )
    return name


def _models(url: str, response: Response, api_key: str | None) -> tuple[ServedModel, ...]:
    if response.status in (401, 403):
        raise EndpointError(
            f"{url} wants a key (HTTP {response.status}): set the environment variable SOPBENCH_API_KEY"
        )
    if response.status != 200:
        words = without_secrets(error_words(response.body), api_key)[:300]
        raise EndpointError(
            f"{url}/models answers HTTP {response.status}{f' ({words})' if words else ''}. Name the model yourself: --model NAME --base-url {url}"
        )
    try:
        obj = json.loads(response.body)
    except (ValueError, RecursionError) as error:
        raise EndpointError(
            f"{url}/models is no JSON; is this the address of an OpenAI-compatible API (it usually ends in /v1)?"
        ) from error
    data = obj.get("data") if isinstance(obj, dict) else None
    if not isinstance(data, list):
        raise EndpointError(
            f"{url}/models is no list of models. Name the model yourself: --model NAME --base-url {url}"
        )
    return tuple(
        _model(item) for item in data[:MAX_MODELS] if isinstance(item, dict) and isinstance(item.get("id"), str)
    )


def _model(item: dict[str, Any]) -> ServedModel:
    length = item.get("max_model_len")
    return ServedModel(item["id"], length if type(length) is int and length > 0 else None)
