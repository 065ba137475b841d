"""Reading an error response: what kind of refusal it is, whether a retry may help, and what a person can do about it.

Servers of the OpenAI family agree on the status codes and on little else. The wordings below are those of vLLM (0.6 to 0.32), SGLang, llama.cpp,
llama-cpp-python, text-generation-inference, LMDeploy and the OpenAI, Anthropic and Gemini services, as seen on the wire or in their public issue threads; each
has its case in `tests/unit/clients/test_refusals.py`.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

RETRIED = frozenset({408, 409, 425, 429})
"""Statuses below 500 that a later try may turn into an answer; of the 5xx all are retried."""

MAX_RETRY_AFTER = 120.0
"""Seconds: a longer Retry-After is cut to this, so that no header can park a run."""

MAX_DETAIL = 600
"""Characters of a server's words that are kept."""

IMAGE_LIMIT_ADVICE = (
    "the server takes fewer images than a request carries: start vLLM with --limit-mm-per-prompt '{{\"image\": {n}}}' "
    "(older releases: --limit-mm-per-prompt image={n}), SGLang with --limit-mm-data-per-request '{{\"image\": {n}}}', or send fewer with --history-images"
)

TOOLS_ADVICE = (
    "the endpoint does not take tools as this adapter sends them: start vLLM with --enable-auto-tool-choice --tool-call-parser NAME (old and recent releases alike; hermes "
    "for Qwen2.5-VL and Qwen3-VL, and one for each other family), SGLang with --tool-call-parser NAME, llama.cpp with --jinja; or have the tools told in the prompt with "
    "--adapter tools_text"
)

_CONTEXT = re.compile(
    r"""
      context_length_exceeded | exceed_context_size_error | context_window_exceeded
    | maximum\ context\ length | context\ window\ of\ this\ model | exceeds?\ (?:the\ )?(?:model'?s?\ )?context\ (?:window|length|limit)
    | longer\ than\ the\ (?:model'?s?\ context\ length|maximum\ model\ length)
    | available\ context\ size | max(?:imum)?\ context\ size
    | exceeds?\ the\ maximum\ allowed\ (?:input\ )?length
    | (?:prompt|input)\ is\ too\ long | exceed\ context\ window\ of
    | must\ have\ less\ than\ \d+\ tokens | inputs`?\ tokens\ \+\ `?max_new_tokens
    | input\ token\ count\ .{0,40}exceeds\ the\ maximum | maximum\ prompt\ length\ is\ \d+
    | max_tokens\ must\ be\ at\ least\ 1,\ got\ -\d+
    """,
    re.IGNORECASE | re.VERBOSE,
)
_IMAGES = re.compile(
    r"""
      at\ most\ \d+\ image\(?s?\)?\ may\ be\ provided
    | set\ ['"`]?image['"`]?\s*=\s*\d+\ \(or\ defaulted\ to\ \d+\)
    | image\ count\ \d+\ exceeds\ limit\ \d+
    | limit[-_]mm[-_](?:per[-_]prompt|data[-_]per[-_]request)
    | too\ many\ images
    """,
    re.IGNORECASE | re.VERBOSE,
)

_TOOLS = re.compile(
    r"""
      requires\ --enable-auto-tool-choice | requires\ --tool-call-parser | with\ ['"`]?--tool-call-parser
    | tools\ param\ (?:requires|is\ not) | unsupported\ param(?:eter)?:\ ['"`]?tools?\b
    | support\ tool\ use | support\ the\ provided\ ['"`]?tool_choice | not\ support\ (?:tools|tool\ call|function\ call)
    | (?:tools?|tool\ call(?:s|ing)|tool\ use|function\ calling)['"`]?\ (?:is|are)\ not\ (?:yet\ )?supported
    | missing\ a\ [`'"]?thought_signature | unexpected\ role\ ['"`]?user['"`]?\ after\ role\ ['"`]?tool
    """,
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error response, understood.

    kind: as in `AskFailed`. error: the attempt's short name (`http_503`, `context_overflow`, ...). retry: whether to try again.
    retry_after: seconds that the server asks to wait, already bounded. fatal: every request of this run would meet the same answer.
    """

    kind: str
    error: str
    detail: str
    retry: bool
    retry_after: float | None = None
    fatal: bool = False


def read_refusal(
    status: int, body: bytes, *, retry_after: str | None, model: str, images: int, tools: bool = False
) -> Refusal:
    """What a response of `status` (not 2xx) means for a request that asked for `model` and carried `images` images and, where `tools` says so, tools."""
    words = error_words(body)
    detail = f"HTTP {status}: {words}" if words else f"HTTP {status}"
    if status not in (401, 403, 404, 429) and status >= 400:
        if _CONTEXT.search(words):
            return Refusal("context_overflow", "context_overflow", detail, retry=False)
        if images and _IMAGES.search(words):
            limit = IMAGE_LIMIT_ADVICE.format(n=images)
            return Refusal("too_many_images", "too_many_images", f"{detail} ({limit})", retry=False, fatal=True)
    if tools and status not in (401, 403, 429) and status >= 400 and _TOOLS.search(words):
        return Refusal("no_tools", "no_tools", f"{detail} ({TOOLS_ADVICE})", retry=False, fatal=True)
    wait = read_retry_after(retry_after)
    if status == 429:
        return Refusal("rate_limited", "http_429", detail, retry=True, retry_after=wait)
    if status >= 500 or status in RETRIED:
        return Refusal("server", f"http_{status}", detail, retry=True, retry_after=wait)
    advice = _advice(status, model)
    fatal = status in (401, 403, 404, 405) or 300 <= status < 400
    return Refusal("rejected", f"http_{status}", f"{detail} ({advice})" if advice else detail, retry=False, fatal=fatal)


def _advice(status: int, model: str) -> str | None:
    if 300 <= status < 400:
        return "the address redirects, and requests do not follow: give the final one as --base-url"
    match status:
        case 401 | 403:
            return "set the key in the environment variable SOPBENCH_API_KEY"
        case 404:
            return f"is {model!r} the name that the endpoint serves, and does its address end in /v1? `sopbench doctor --base-url URL` tells"
        case 405:
            return "this address takes no chat completions: --base-url should end in /v1"
        case 413:
            return "a proxy or the server refuses bodies of this size: raise its limit, or send fewer images with --history-images"
    return None


def read_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds to wait, from a Retry-After header in either of its forms (RFC 9110, section 10.2.3); None for what is neither.

    Bounded to 0..`MAX_RETRY_AFTER`.
    """
    if value is None:
        return None
    text = value.strip()[:64]
    try:
        seconds = float(text)
    except ValueError:
        try:
            when = parsedate_to_datetime(text)
        except (ValueError, OverflowError, IndexError, TypeError):
            return None
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        seconds = (when - (now or datetime.now(UTC))).total_seconds()
    if math.isnan(seconds):
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER)


def error_words(body: bytes) -> str:
    """The server's own words: message, code and type of whichever error form it speaks, else the start of the text, on one line."""
    text = body[: 64 * 1024].decode("utf-8", "replace")
    try:
        obj = json.loads(text)
    except (ValueError, RecursionError):
        return one_line(text)
    found = list(dict.fromkeys(_words(obj)))
    return one_line(" ".join(found) if found else text)


def _words(obj: Any, depth: int = 0) -> list[str]:
    if isinstance(obj, str):
        return [obj]
    if isinstance(obj, list) and depth < 3:
        return [word for item in obj[:5] for word in _words(item, depth + 1)]
    if not isinstance(obj, dict) or depth > 3:
        return []
    found = [word for name in ("message", "msg", "error", "detail") for word in _words(obj.get(name), depth + 1)]
    labels = [f"[{obj[name]}]" for name in ("code", "type") if isinstance(obj.get(name), str)]
    return found + labels if found else []


def one_line(text: str) -> str:
    """`text` on one line of at most `MAX_DETAIL` characters, all of which can be printed."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= MAX_DETAIL else line[: MAX_DETAIL - 1] + "…"
