"""Responses below HTTP and above all measure: each is a fault of the infrastructure, found in bounded time and memory."""

from __future__ import annotations

import asyncio
import gzip
import json
import resource
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from sopbench.adapters import get_adapter
from sopbench.adapters.base import Message, Text
from sopbench.clients.base import Ask, AskFailed, Reply, Sampling
from sopbench.clients.pool import BackOff, EndpointPool
from sopbench.geometry import Size

BODY = json.dumps({"model": "tiny", "choices": [{"message": {"content": "hello"}}]}).encode()
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def response(body: bytes, *headers: str, length: int | None = None, status: str = "200 OK") -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        "Content-Type: application/json",
        f"Content-Length: {len(body) if length is None else length}",
        *headers,
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def bomb() -> bytes:
    """A gigabyte of blanks, in a megabyte."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(b" " * (1 << 20)) for _ in range(1024)) + packer.flush()


@asynccontextmanager
async def serving(first: bytes, then: bytes = b"") -> AsyncIterator[str]:
    """The address of a server that answers every request with `first`, and then goes on with `then` without end."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(first)
            while then:
                writer.write(then)
                await writer.drain()
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def ask(url: str) -> Reply:
    pool = EndpointPool(
        [url], "tiny", Sampling(), attempt_timeout=1.0, deadline=3.0, max_attempts=2, back_off=BackOff(0.01, 0.01)
    )
    async with pool:
        message = Message("user", (Text("hello"),))
        return await pool.ask(Ask(("e", 0, 0), (message,), Size(9, 9), get_adapter("uis1")))


BROKEN: dict[str, Callable[[], tuple[bytes, bytes]]] = {
    "no HTTP at all": lambda: (b"<html>hello</html>\n", b""),
    "random bytes": lambda: (bytes(range(256)) * 40, b""),
    "a length that is negative": lambda: (response(BODY, length=-5), b""),
    "a length beyond all numbers": lambda: (response(BODY, length=10**30), b""),
    "two lengths": lambda: (response(BODY, "Content-Length: 3"), b""),
    "a length that is too long": lambda: (response(BODY, length=5000), b""),
    "a length that is too short": lambda: (response(BODY, length=20), b""),
    "a chunk of no size": lambda: (CHUNKED + b"zzzz\r\nabc\r\n", b""),
    "a chunk of negative size": lambda: (CHUNKED + b"-5\r\nabc\r\n0\r\n\r\n", b""),
    "a chunk beyond all numbers": lambda: (CHUNKED + b"f" * 18 + b"\r\nabc", b""),
    "a chunk's extension without end": lambda: (CHUNKED + b"1;", b"a" * 65536),
    "chunks without end": lambda: (CHUNKED, b"1\r\n \r\n" * 4000),
    "trailers without end": lambda: (CHUNKED + b"2\r\n{}\r\n0\r\n", b"X-A: b\r\n" * 5000),
    "interim responses without end": lambda: (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 3000),
    "early hints without end": lambda: (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 1000),
    "headers without end": lambda: (b"HTTP/1.1 200 OK\r\n", b"X-Header: aaaaaaaaaaaaaaaa\r\n" * 2000),
    "one header without end": lambda: (b"HTTP/1.1 200 OK\r\nX: ", b"a" * 65536),
    "a body without end": lambda: (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", b" " * 65536),
    "a gzip bomb": lambda: (response(bomb(), "Content-Encoding: gzip"), b""),
    "no gzip": lambda: (response(b"abc", "Content-Encoding: gzip"), b""),
    "a coding that nobody asked for": lambda: (response(b"abc", "Content-Encoding: br"), b""),
    "another protocol": lambda: (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc",
        b"",
    ),
    "no content": lambda: (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    "a redirect to itself": lambda: (
        response(b"", "Location: /v1/chat/completions", status="308 Permanent Redirect"),
        b"",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
async def test_a_broken_response_is_an_infrastructure_failure(what: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    loop = asyncio.get_running_loop()
    first, then = BROKEN[what]()
    async with serving(first, then) as url:
        started = loop.time()
        with pytest.raises(AskFailed) as caught:
            await ask(url)
        assert loop.time() - started < 10
    assert caught.value.kind in {"connection", "bad_body", "timeout", "deadline", "rejected"}
    assert len(caught.value.detail) < 2_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000, "kilobytes"


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_proxy_that_packs_unasked_is_read_all_the_same(coding: str) -> None:
    packed = gzip.compress(BODY) if coding == "gzip" else zlib.compress(BODY)
    async with serving(response(packed, f"Content-Encoding: {coding}")) as url:
        assert (await ask(url)).text == "hello"


async def test_what_comes_behind_an_answer_answers_nothing() -> None:
    """A second response on the same connection, which nobody asked for, is not taken for the answer to the next request."""
    other = json.dumps({"choices": [{"message": {"content": "smuggled"}}]}).encode()
    async with serving(response(BODY) + response(other) * 3) as url, EndpointPool([url], "tiny", Sampling()) as pool:
        message = Message("user", (Text("hello"),))
        asks = [Ask(("e", 0, step), (message,), Size(9, 9), get_adapter("uis1")) for step in range(3)]
        assert {(await pool.ask(a)).text for a in asks} == {"hello"}
