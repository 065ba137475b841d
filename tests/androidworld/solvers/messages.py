"""Tasks about people and messages: the forms of the desk, filled by intents and touched, and the content providers."""

from __future__ import annotations

import re
from typing import Final

from tests.androidworld.solvers.work import NotDone, Solver, Work

MESSENGER: Final = "com.simplemobiletools.smsmessenger/.activities.MainActivity"


def send(work: Work, number: str, text: str) -> None:
    """The form for a message, a touch on its button, and the app in front that the task names: its check looks for it."""
    work.shell(
        "am", "start", "-a", "android.intent.action.SENDTO", "-d", f"sms:{number}", "--es", "sms_body", text,
    )  # fmt: skip
    work.tap("Send SMS")
    work.shell("am", "start", "-n", MESSENGER)


def _texts(work: Work, box: str) -> list[tuple[str, str]]:
    """(number, text) of a box, the newest first."""
    said = work.shell("content", "query", "--uri", f"content://sms/{box}", "--projection", "address:body")
    return [(found[1], found[2]) for found in re.finditer(r"(?m)^Row: \d+ address=(.*?), body=(.*)$", said)]


def _number_of(work: Work, name: str) -> str:
    said = work.shell(
        "content", "query", "--uri", "content://contacts/phones", "--projection", "display_name:number",
    )  # fmt: skip
    for found in re.finditer(r"(?m)^Row: \d+ display_name=(.*), number=(.*)$", said):
        if found[1] == name:
            return found[2]
    raise NotDone(f"{name} is not among the contacts")


def send_message(work: Work) -> None:
    send(work, work.params["number"], work.params["message"])


def reply_to_newest(work: Work) -> None:
    send(work, _texts(work, "inbox")[0][0], work.params["message"])


def resend(work: Work) -> None:
    number = _number_of(work, work.params["name"])
    send(work, number, next(text for to, text in _texts(work, "sent") if _digits(to) == _digits(number)))


def _digits(number: str) -> str:
    return re.sub(r"\D", "", number)


def send_clipboard(work: Work) -> None:
    said = work.shell("am", "broadcast", "-a", "clipper.get")
    send(work, work.params["number"], said.partition('data="')[2].rpartition('"')[0])


def forward_address(work: Work) -> None:
    sender = _digits(_number_of(work, work.params["name2"]))
    address = next(text for number, text in _texts(work, "inbox") if _digits(number) == sender)
    send(work, _number_of(work, work.params["name1"]), address)


def add_contact(work: Work) -> None:
    work.shell(
        "am", "start", "-a", "android.intent.action.INSERT", "-t", "vnd.android.cursor.dir/contact",
        "--es", "name", work.params["name"], "--es", "phone", work.params["number"],
    )  # fmt: skip
    work.tap("SAVE")


def draft_contact(work: Work) -> None:
    """The form is filled by typing and left unsaved."""
    work.shell("am", "start", "-a", "android.intent.action.INSERT", "-t", "vnd.android.cursor.dir/contact")
    for line, name in (("first_name", "first"), ("last_name", "last"), ("phone", "phone")):
        work.tap(line, "resource-id")
        work.shell("input", "text", work.params[name])
    for label in ("Mobile", "Home"):  # a touch goes on to the next one
        if label == work.params["phone_label"]:
            return
        work.tap(label)


MESSAGES: Final[dict[str, Solver]] = {
    "ContactsAddContact": add_contact,
    "ContactsNewContactDraft": draft_contact,
    "SimpleSmsReply": send_message,
    "SimpleSmsReplyMostRecent": reply_to_newest,
    "SimpleSmsResend": resend,
    "SimpleSmsSend": send_message,
    "SimpleSmsSendClipboardContent": send_clipboard,
    "SimpleSmsSendReceivedAddress": forward_address,
}
