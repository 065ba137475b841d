"""Base URLs as people write them, made into the one form that requests use."""

from __future__ import annotations

import ipaddress
import os
import re
import urllib.request
from collections.abc import Sequence
from urllib.parse import urlsplit

from sopbench.errors import UsageError

_ENDINGS = ("/chat/completions", "/completions", "/models", "/responses")


def normalise_base_url(text: str) -> str:
    """`http://host:8000`, `.../v1`, `.../v1/` and `.../v1/chat/completions` all become `http://host:8000/v1`.

    A path of its own is kept (`https://host/api/openai/v1`); only an empty one becomes `/v1`. Raises `UsageError` that says what to write.
    """
    shown = text.strip()
    if "@" in re.split(r"[/?#]", shown.partition("://")[2] or shown, maxsplit=1)[0]:
        raise UsageError(
            "--base-url holds a user name or password, which would be recorded in the run; "
            "give a key through the environment variable SOPBENCH_API_KEY instead"
        )
    if "://" not in shown:
        raise UsageError(f"--base-url {shown!r} has no scheme; write http://{shown or 'host:8000'} or https://...")
    try:
        parts = urlsplit(shown)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"--base-url {shown!r} is no address: {error}") from error
    if parts.scheme not in ("http", "https"):
        raise UsageError(f"--base-url {shown!r}: the scheme must be http or https, not {parts.scheme!r}")
    if not parts.hostname or any(c.isspace() or not c.isprintable() for c in shown) or not _resolvable(parts.hostname):
        raise UsageError(f"--base-url {shown[:200]!r} names no host; write http://host:8000/v1")
    if parts.query or parts.fragment:
        raise UsageError(
            f"--base-url {shown.partition('?')[0]!r}: an address with ? or # cannot be used (it would be recorded)"
        )
    path = parts.path.rstrip("/")
    for ending in _ENDINGS:
        path = path.removesuffix(ending)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port is not None else ''}{path.rstrip('/') or '/v1'}"


def normalise_base_urls(texts: Sequence[str]) -> tuple[str, ...]:
    """All of them, each once. Raises `UsageError` where there is none."""
    urls = tuple(dict.fromkeys(normalise_base_url(text) for text in texts))
    if not urls:
        raise UsageError("no endpoint: give --base-url http://host:8000/v1 (repeat it for several)")
    return urls


def is_url(text: str) -> bool:
    return text.lower().startswith(("http://", "https://"))


def proxy_for(base_url: str) -> str | None:
    """The proxy that the environment names for this address (`HTTPS_PROXY`, `NO_PROXY`, ...); loopback is never proxied.

    Raises `UsageError` for a proxy that cannot be used: going round it would be a decision of ours about somebody's network.
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if _is_loopback(host) or not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    if urllib.request.proxy_bypass_environment(f"{host}:{parts.port}" if parts.port else host):  # type: ignore[attr-defined]  # typeshed has no name for it
        return None
    proxies = urllib.request.getproxies_environment()
    proxy = str(proxies.get(parts.scheme) or proxies.get("all") or "").strip()
    return _checked_proxy(proxy) if proxy else None


def _checked_proxy(proxy: str) -> str:
    """The proxy's address, which may hold a password (and so is never quoted); without a scheme it is plain HTTP, as for curl."""
    address = proxy if "://" in proxy else f"http://{proxy}"
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and _resolvable(parts.hostname)
        _ = parts.port
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(
            "the proxy that the environment names (http_proxy, https_proxy, all_proxy) is no address of an HTTP proxy: "
            "mend or unset it, or name the endpoint's host in no_proxy"
        )
    return address


def _resolvable(host: str) -> bool:
    """Whether a resolver could be asked for this name at all: labels of 1 to 63 characters."""
    if ":" in host:
        return True  # IPv6
    try:
        host.removesuffix(".").encode("idna")
    except UnicodeError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
