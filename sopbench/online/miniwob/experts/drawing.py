"""Experts for what is drawn or laid out: calendars, the pie menu."""

from __future__ import annotations

from typing import Final

from sopbench.actions import Action, Click
from sopbench.online.miniwob.look import Page, at

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def calendar(page: Page) -> Action | None:
    """Open the calendar, leaf to the month, touch the day."""
    month, day, year = page.asked(r"(\d+)/(\d+)/(\d+)")
    field = page.find("#datepicker")
    if field is not None and field.value == f"{month}/{day}/{year}":
        return page.press("#subbtn")
    title = page.find(".ui-datepicker .ui-datepicker-month")
    shown_year = page.find(".ui-datepicker .ui-datepicker-year")
    if title is None or shown_year is None or title.text not in MONTHS:
        return page.tap(field)
    now = int(shown_year.text) * 12 + MONTHS.index(title.text)
    wanted = int(year) * 12 + int(month) - 1
    if now != wanted:
        return page.press(".ui-datepicker-prev" if now > wanted else ".ui-datepicker-next")
    return page.press(".ui-datepicker-calendar td a", str(int(day)))


def pie(page: Page) -> Action | None:
    """Spread the menu, touch the item."""
    label = page.quoted()[0]
    items = [e for e in page.all("#divWheel text") if e.text == label]
    if page.memory.get("spread") and items:
        return Click(at(*items[0].centre))
    page.memory["spread"] = True
    wheel = page.find("#divWheel svg")
    return Click(at(*wheel.centre)) if wheel is not None else None


EXPERTS: Final = {
    "choose-date": calendar,
    "choose-date-easy": calendar,
    "choose-date-medium": calendar,
    "click-pie": pie,
}
