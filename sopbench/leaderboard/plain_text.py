"""Text that strangers choose and that everybody will read: what may be in it."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

MAX_LINK: Final = 300
_HOST: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?\Z", re.IGNORECASE)


def plain(text: str) -> str:
    """`text` if every character of it is seen as itself: no controls, no terminal escapes, no bidi or invisible format characters, no half surrogates."""
    for character in text:
        if character != "\n" and unicodedata.category(character)[0] in "CZ" and character != " ":
            raise ValueError(f"holds U+{ord(character):04X}, which is not seen as itself")
    return text


def one_line(text: str) -> str:
    if "\n" in text:
        raise ValueError("must be one line")
    if not text.strip():
        raise ValueError("is empty")
    if text != text.strip():
        raise ValueError("begins or ends with spaces")
    return plain(text)


def link(text: str) -> str:
    """An https address with a plain host, no user, no port but the usual one."""
    one_line(text)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ValueError("is no address") from error
    if parts.scheme != "https" or not parts.hostname or not _HOST.match(parts.hostname) or "." not in parts.hostname:
        raise ValueError("must be an https:// address")
    if parts.username or parts.password or port not in (None, 443):
        raise ValueError("must not hold a user, a password or a port")
    if any(c in text for c in "\"'<>`\\ {}|^"):
        raise ValueError("holds a character that no address has; percent-encode it")
    return text


Line = Annotated[str, Field(min_length=1, max_length=120), AfterValidator(one_line)]
Prose = Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(plain)]
Link = Annotated[str, Field(max_length=MAX_LINK), AfterValidator(link)]
