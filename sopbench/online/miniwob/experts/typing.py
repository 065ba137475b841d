"""Experts for forms: fields to be filled, and a button to be pressed."""

from __future__ import annotations

import re
from typing import Final

from sopbench.actions import Action, Click, Type, Wait
from sopbench.online.miniwob.look import Element, Page, at

_LETTERS: Final = re.compile(r"[^a-zA-Z0-9]")


def _submit(page: Page) -> Action | None:
    return page.press("#subbtn")


def _one_field(page: Page, text: str, field: str = "#tt") -> Action | None:
    return page.fill(page.find(field), text) or _submit(page)


def text(page: Page) -> Action | None:
    return _one_field(page, page.quoted()[0])


def cased_text(page: Page) -> Action | None:
    word = page.quoted()[0]
    return _one_field(page, word.upper() if "upper case" in page.goal else word.lower())


def password(page: Page) -> Action | None:
    word = page.quoted()[0]
    return page.fill(page.find("#password"), word) or page.fill(page.find("#verify"), word) or _submit(page)


def login(page: Page) -> Action | None:
    """With a popup in the way: put away."""
    away = page.press("#popup-cancel")
    if away is not None:
        return away
    user, word = page.quoted()[:2]
    return page.fill(page.find("#username"), user) or page.fill(page.find("#password"), word) or _submit(page)


def focus(page: Page) -> Action | None:
    return page.press("#area input")


def focus_nth(page: Page) -> Action | None:
    number = int(page.asked(r"the (\d)")[0])
    return page.tap(page.all("#area input")[number - 1])


def date(page: Page) -> Action | None:
    month, day, year = page.asked(r"(\d+)/(\d+)/(\d+)")
    return _segments(page, f"{year}-{month}-{day}", month + day + year)


def time(page: Page) -> Action | None:
    hour, minute, half = page.asked(r"(\d+):(\d+)\s*([AP]M)")
    hours = int(hour) % 12 + (12 if half == "PM" else 0)
    return _segments(page, f"{hours:02d}:{minute}", f"{int(hour):02d}{minute}{half[0]}")


def _segments(page: Page, value: str, keys: str) -> Action | None:
    """A field of parts, written from its first part on."""
    field = page.find("#tt")
    if field is None or field.value == value:
        return _submit(page)
    if not field.focused:
        left, top, _, height = field.box
        return Click(at(left + 8, top + height / 2))
    return Type(keys)


def table(page: Page) -> Action | None:
    label = page.asked(r"value of (.*) into")[0]
    return _one_field(page, _rows(page).get(label, ""))


def table_labels(page: Page) -> Action | None:
    rows = _rows(page)
    for label, field in (("#ll1", "#tt1"), ("#ll2", "#tt2")):
        named = page.find(label)
        todo = page.fill(page.find(field), rows.get(named.text.rstrip(":"), "")) if named is not None else None
        if todo is not None:
            return todo
    return _submit(page)


def _rows(page: Page) -> dict[str, str]:
    cells = [e.text for e in page.all("#tab td")]
    return dict(zip(cells[::2], cells[1::2], strict=False))


def algebra(page: Page) -> Action | None:
    """ "x - 3 = 10" and "3 + x = 10" and their like."""
    problem = page.find("#math-problem")
    found = re.fullmatch(r"(x|\d+) ([-+]) (x|\d+) = (-?\d+)", problem.text) if problem is not None else None
    if found is None:
        return None
    left, sign, right, result = found.group(1), found.group(2), found.group(3), int(found.group(4))
    if left == "x":
        x = result - int(right) if sign == "+" else result + int(right)
    else:
        x = result - int(left) if sign == "+" else int(left) - result
    return _one_field(page, str(x), "#math-answer")


def arithmetic(page: Page) -> Action | None:
    problem = page.find("#math-problem")
    found = re.match(r"(\d+) ([-+x]) (\d+)", problem.text) if problem is not None else None
    if found is None:
        return None
    a, sign, b = int(found.group(1)), found.group(2), int(found.group(3))
    return _one_field(page, str(a + b if sign == "+" else a - b if sign == "-" else a * b), "#math-answer")


def blocks(page: Page) -> Action | None:
    return _one_field(page, str(len(page.all("#math-problem .addition-block"))), "#math-answer")


def captcha(page: Page) -> Action | None:
    return _one_field(page, "".join(e.text for e in page.all("#captcha span")))


def nth_word(page: Page) -> Action | None:
    number = int(page.asked(r"the (\d+)")[0])
    paragraph = page.find("#area p")
    words = paragraph.text.split() if paragraph is not None else []
    return _one_field(page, _LETTERS.sub("", words[number - 1]) if number <= len(words) else "", "#answer-input")


def last_word(page: Page) -> Action | None:
    area = page.find("#text-area")
    words = area.value.split() if area is not None else []
    return _one_field(page, _LETTERS.sub("", words[-1]) if words else "", "#answer-input")


def copied(page: Page) -> Action | None:
    """Written out again instead of copied: the page compares the text alone."""
    areas = page.all("#area textarea")
    number = int(page.asked(r"the (\d)")[0]) if "text area below" in page.goal else 1
    return _one_field(page, areas[number - 1].value, "#answer-input")


def movie(page: Page) -> Action | None:
    """A form with its rows in any order: each field is known by the words before it, or by its own."""
    genre, director, year = page.asked(r"Search for (.*) movies directed by (.*) from year (\d+)")
    wanted = {"genre": genre, "director": director, "year": year, "released": year}
    labels = page.all("#area span, #area div, #area th, #area label, #area td, #area b")
    for field in page.all("#area input[type=text]"):
        word = _label(field, labels).lower()
        value = next((v for k, v in wanted.items() if k in word), None)
        todo = page.fill(field, value) if value is not None else None
        if todo is not None:
            return todo
    return page.tap(
        next(
            (e for e in page.all("#area button, #area .final, #area *") if e.text in ("Submit", "Search", "Go!")),
            None,
        )
    )


def _label(field: Element, labels: list[Element]) -> str:
    """The words nearest to the field's left or above it, or those within."""
    if field.attributes.get("placeholder"):
        return field.attributes["placeholder"]
    x, y = field.centre
    near = [
        e
        for e in labels
        if e.text and len(e.text) < 30 and not e.text.lower().startswith("movie search") and e.centre[1] <= y + 6
    ]
    near.sort(key=lambda e: (y - e.centre[1]) + (0 if e.centre[0] < x else 3) + len(e.text) / 100)
    return near[0].text if near else ""


def guess(page: Page) -> Action | None:
    """Halve what is left, by what the page says of the last guess."""
    low, high = page.memory.setdefault("range", [0, 9])
    told = page.find("#feedback > div:not(.hide)")
    found = re.search(r"(higher|lower) than (\d+)", told.text) if told is not None else None
    if found is not None:
        number = int(found.group(2))
        low, high = (max(low, number + 1), high) if found.group(1) == "higher" else (low, min(high, number - 1))
        page.memory["range"] = [low, high]
    return _one_field(page, str((low + high) // 2))


def autocomplete(page: Page) -> Action | None:
    """Begin to write; of what is offered take what ends as asked."""
    begin, end = [*page.quoted(), ""][:2]
    field = page.find("#tags")
    if field is None:
        return None
    if field.value.startswith(begin) and field.value.endswith(end) and len(field.value) > len(begin):
        return _submit(page)
    offered = page.all(".ui-autocomplete .ui-menu-item")
    if field.value and offered:
        return page.tap(next((e for e in offered if e.text.startswith(begin) and e.text.endswith(end)), None))
    return page.fill(field, begin) or Wait(0.5)


def terminal(page: Page) -> Action | None:
    """List the files, remove one that fits."""
    field = page.find("#terminal-target")
    if field is not None and not field.focused:
        return page.press("#terminal-contents")
    lists = [e.text for e in page.all("#terminal .output") if e.text]
    if not page.memory.get("listed"):
        page.memory["listed"] = True
        return Type("ls\n")
    files = lists[-1].split() if lists else []
    if "no file extension" in page.goal:
        fitting = [f for f in files if "." not in f]
    else:
        ending = page.asked(r"extension (\.\S+)")[0]
        fitting = [f for f in files if f.endswith(ending)]
    return Type(f"rm {fitting[0]}\n") if fitting else None


EXPERTS: Final = {
    "copy-paste": copied,
    "copy-paste-2": copied,
    "enter-date": date,
    "enter-password": password,
    "enter-text": text,
    "enter-text-2": cased_text,
    "enter-text-dynamic": text,
    "enter-time": time,
    "find-word": nth_word,
    "focus-text": focus,
    "focus-text-2": focus_nth,
    "guess-number": guess,
    "login-user": login,
    "login-user-popup": login,
    "multi-layouts": movie,
    "multi-orderings": movie,
    "read-table": table,
    "read-table-2": table_labels,
    "scroll-text": last_word,
    "simple-algebra": algebra,
    "simple-arithmetic": arithmetic,
    "terminal": terminal,
    "text-transform": captcha,
    "use-autocomplete": autocomplete,
    "visual-addition": blocks,
}
