"""Refusals in OpenAI's form: `{"error": {"message", "type", "param", "code"}}`."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from sopbench.errors import SopbenchError

TYPES = {400: "BadRequestError", 404: "NotFoundError", 413: "RequestTooLarge", 503: "ServiceUnavailable"}


class Refused(SopbenchError):
    """A request that is not answered. `param` is the field that is to blame."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code

    def response(self) -> web.Response:
        return web.json_response(self.as_object(), status=self.status, headers=self.headers())

    def headers(self) -> dict[str, str]:
        return {"Retry-After": "1"} if self.status == 503 else {}

    def as_object(self) -> dict[str, Any]:
        kind = TYPES.get(self.status, "InvalidRequestError" if self.status < 500 else "InternalServerError")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code or self.status}}
