"""Agents that do nearly what a task asks: the publisher's checks look at the phone closely enough to refuse each."""

from __future__ import annotations

from typing import Final

from tests.androidworld.solvers import files, messages, rows, system
from tests.androidworld.solvers.work import Solver, Work


def _with(solver: Solver, name: str, value: object) -> Solver:
    """The same agent, which takes one parameter for another."""

    def slip(work: Work) -> None:
        work.params[name] = value
        solver(work)

    return slip


def copy_in_place_of_moving(work: Work) -> None:
    params = work.params
    file = f"{files.STORAGE}/{params['source_folder']}/{params['file_name']}"
    work.shell("cp", file, f"{files.STORAGE}/{params['destination_folder']}/")


def delete_one_too_many(work: Work) -> None:
    rows.deleting(rows.RECIPES)(work)
    rows.RECIPES.delete(work, "recipeId = (SELECT min(recipeId) FROM recipes)")


def backwards(work: Work) -> None:
    work.params["files"].reverse()
    rows.vlc_playlist(work)


def an_hour_late(work: Work) -> None:
    for row in work.params["row_objects"]:
        row["start_ts"] += 3600
        row["end_ts"] += 3600
    rows.adding(rows.EVENTS)(work)


def delete_the_wrong_note(work: Work) -> None:
    oldest = work.shell("ls", "-t", files.NOTES).splitlines()[-1]
    work.shell("rm", f"{files.NOTES}/{oldest}")


SLIPS: Final[dict[str, Solver]] = {
    "ContactsAddContact": _with(messages.add_contact, "number", "+15550000000"),
    "FilesMoveFile": copy_in_place_of_moving,
    "MarkorCreateNote": _with(files.create_note, "text", "Something else altogether"),
    "MarkorDeleteNewestNote": delete_the_wrong_note,
    "OsmAndMarker": _with(rows.marker, "location", "0.0, 0.0"),
    "RecipeDeleteMultipleRecipesWithNoise": delete_one_too_many,
    "SimpleCalendarAddOneEvent": an_hour_late,
    "SimpleSmsSend": _with(messages.send_message, "number", "+15550000000"),
    "SportsTrackerActivitiesCountForWeek": lambda work: work.answer("1000"),
    "SystemWifiTurnOn": _with(system.wifi, "on_or_off", "off"),
    "TasksDueOnDate": lambda work: work.answer("Nothing"),
    "VlcCreatePlaylist": backwards,
}
