"""Experts for the mail app: find somebody's mail; star, delete, answer or forward it."""

from __future__ import annotations

import re
from typing import Final, Literal

from sopbench.actions import Action
from sopbench.online.miniwob.look import Element, Page

Task = Literal["star", "delete", "reply", "forward"]
_NAME: Final = re.compile(r"\b[A-Z][a-z]+(?:-[A-Z][a-z]+)?\b")


def mail(page: Page) -> Action | None:
    task = _task(page)
    if task == "reply" and (text := page.find("#reply-text")) is not None:
        words = page.quoted()
        return page.fill(text, words[-1] if words else "") or page.press("#send-reply")
    if task == "forward" and (field := page.find(".forward-sender")) is not None:
        to = _receiver(page)
        return None if to is None else page.fill(field, to) or page.press("#send-forward")
    if page.find("#email") is not None:
        button = {"star": ".star", "delete": ".trash", "reply": ".email-reply", "forward": ".email-forward"}[task]
        return page.press(f"#email {button}")
    return _in_the_list(page, task)


def _task(page: Page) -> Task:
    words = page.goal.lower()
    if "reply" in words or "respond" in words or "answer" in words:
        return "reply"
    if "delete" in words or "trash" in words:
        return "delete"
    return "star" if "star" in words or "important" in words else "forward"


def _in_the_list(page: Page, task: Task) -> Action | None:
    """Scroll to the mail and open it, or touch its icon."""
    senders = page.all("#main .email-thread .email-sender")
    number = _sender(page, senders)
    if number is None:
        return None
    page.memory["sender"] = senders[number].text
    if task in ("star", "delete"):
        icons = page.all(f"#main .email-thread .{'star' if task == 'star' else 'trash'}")
        return page.tap(icons[number]) if number < len(icons) else page.tap(senders[number])
    return page.tap(senders[number])


def _sender(page: Page, senders: list[Element]) -> int | None:
    """Whose mail is meant: the name after "by" or "from", or the one sender who is named."""
    after = re.search(r"\b(?:by|from) ([A-Z][\w-]*)", page.goal)
    named = [n for n, e in enumerate(senders) if re.search(rf"\b{re.escape(e.text)}\b", page.goal)]
    exact = [n for n in named if after is not None and senders[n].text == after.group(1)]
    return next(iter(exact or named), None)


def _receiver(page: Page) -> str | None:
    """To whom: the name after "to" that is not the sender's, or the last other name."""
    sender = page.memory.get("sender", "")
    after = [n for n in re.findall(r"\bto ([A-Z][\w-]*)", page.goal) if n != sender]
    others = [n for n in _NAME.findall(page.goal[1:]) if n != sender]
    return next(iter(after or others[-1:]), None)


EXPERTS: Final = {
    "email-inbox": mail,
    "email-inbox-delete": mail,
    "email-inbox-forward": mail,
    "email-inbox-forward-nl": mail,
    "email-inbox-important": mail,
    "email-inbox-noscroll": mail,
    "email-inbox-reply": mail,
    "email-inbox-star-reply": mail,
}
