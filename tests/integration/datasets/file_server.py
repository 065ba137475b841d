"""A real HTTP server on loopback that serves files as the publishers' servers do, and misbehaves to order."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


@dataclass
class Served:
    """One file and how it is served. `cut_after` ends the first so many connections after so many bytes (of the body that was asked for)."""

    data: bytes
    ranges: bool = True
    etag: str | None = "made"
    modified: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    announced: int | None = None
    redirect: str | None = None
    stall: float = 0.0
    content_range: str | None = None
    chunked: bool = False
    pace: float = 0.0

    @property
    def tag(self) -> str | None:
        return f'"{hashlib.md5(self.data).hexdigest()}"' if self.etag == "made" else self.etag


class FileServer:
    """`files` goes by path. `asked` has the Range of every request, by path; None where there was none."""

    def __init__(self, files: dict[str, Served]) -> None:
        self.files = files
        self.asked: list[tuple[str, str | None]] = []
        self.counts: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.before: Callable[[str], None] = lambda path: None
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                owner._answer(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        path, asked = request.path, request.headers.get("Range")
        self.asked.append((path, asked))
        self.counts[path] += 1
        self.before(path)
        served = self.files.get(path)
        request.close_connection = True
        if served is None:
            request.send_error(404)
            return
        if served.statuses:
            request.send_error(served.statuses.pop(0))
            return
        if served.redirect is not None:
            request.send_response(302)
            request.send_header("Location", served.redirect)
            for name, value in served.headers.items():
                request.send_header(name, value)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        time.sleep(served.stall)
        self._body(request, served, path, asked)

    def _body(self, request: BaseHTTPRequestHandler, served: Served, path: str, asked: str | None) -> None:
        data, begin = served.data, 0
        valid = request.headers.get("If-Range") in (None, served.tag, served.modified)
        if asked is not None and served.ranges and valid:
            begin = int(asked.removeprefix("bytes=").rstrip("-"))
            if begin >= len(data):
                request.send_response(416)
                request.send_header("Content-Range", f"bytes */{len(data)}")
                request.send_header("Content-Length", "0")
                request.end_headers()
                return
            request.send_response(206)
            request.send_header("Content-Range", served.content_range or f"bytes {begin}-{len(data) - 1}/{len(data)}")
        else:
            request.send_response(200)
        body = data[begin:]
        if not served.chunked:
            request.send_header("Content-Length", str(len(body) if served.announced is None else served.announced))
        if served.tag is not None:
            request.send_header("ETag", served.tag)
        if served.modified is not None:
            request.send_header("Last-Modified", served.modified)
        for name, value in served.headers.items():
            request.send_header(name, value)
        request.end_headers()
        if served.cut_after:
            body = body[: served.cut_after.pop(0)]
        with suppress(ConnectionError):  # whoever asked may have heard enough
            for at in range(0, len(body), 64 * 1024):
                request.wfile.write(body[at : at + 64 * 1024])
                self.sent[path] += len(body[at : at + 64 * 1024])
                time.sleep(served.pace)
