"""The expert for calendars."""

from __future__ import annotations

from typing import Final

from sopbench.actions import Action
from sopbench.online.miniwob.look import Page

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


EXPERTS: Final = {
    "choose-date": calendar,
    "choose-date-easy": calendar,
    "choose-date-medium": calendar,
}
