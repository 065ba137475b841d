"""The folder `leaderboards` as a whole: what only all submissions together can show, and that this repository's own are verified."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from board_workshop import Opened, Workshop, make_workshop, renew_sums
from commands import sopbench

from sopbench.leaderboard.boards import load_boards
from sopbench.leaderboard.page.site import build_site
from sopbench.leaderboard.reading import METADATA
from sopbench.leaderboard.repository import (
    Checked,
    check_all,
    ranked_rows,
    read_reruns,
    submission_paths,
    sums_sha256,
)


def placed(shop: Workshop, root: Path, *names: str) -> Workshop:
    """A repository with the workshop's board and a submission of each model in `names`, each with its own run."""
    shutil.copytree(shop.root, root)
    place = root / "tiny-sop" / "submissions"
    for number, name in enumerate(names):
        from board_workshop import Learner

        run = shop.run(root.parent / f"run-{number}", policy=Learner(errs=2 + 3 * number))
        shop.submit(run, place, model=name, date=f"2026-02-0{number + 1}")
    return Workshop(root, shop.source, shop.folder)


def check(shop: Workshop, jobs: int = 1) -> list[Checked]:
    boards = shop.boards
    return check_all(boards, submission_paths(boards), source=shop.source, jobs=jobs)


def refusals(found: list[Checked]) -> dict[str, str]:
    return {one.path.name: one.verification.refused.rule for one in found if one.verification.refused}


@pytest.fixture(scope="module")
def three(shop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return placed(shop, tmp_path_factory.mktemp("repository") / "boards", "First", "Second", "Third")


def test_all_are_verified_several_at_a_time(three: Workshop) -> None:
    found = check(three, jobs=2)
    assert [one.path.name for one in found] == [
        f"2026-02-0{k}_Made-up-Lab_{name}" for k, name in enumerate(("First", "Second", "Third"), start=1)
    ]
    assert refusals(found) == {}


def test_a_copy_of_anothers_replies_is_refused(three: Workshop, tmp_path: Path) -> None:
    shutil.copytree(three.root, tmp_path / "boards")
    place = tmp_path / "boards" / "tiny-sop" / "submissions"
    copy = place / "2026-03-01_Other-Lab_Mine"
    shutil.copytree(place / "2026-02-01_Made-up-Lab_First", copy)
    text = (copy / METADATA).read_text()
    for old, new in (("Made-up Lab", "Other Lab"), ('"First"', '"Mine"'), ("2026-02-01", "2026-03-01")):
        text = text.replace(old, new)
    (copy / METADATA).write_text(text)
    renew_sums(copy)
    found = check(Workshop(tmp_path / "boards", three.source, copy))
    assert refusals(found) == {copy.name: "distinct"}


def test_latency_and_dates_do_not_make_a_copy_another_run(three: Workshop, tmp_path: Path) -> None:
    shutil.copytree(three.root, tmp_path / "boards")
    place = tmp_path / "boards" / "tiny-sop" / "submissions"
    moved = Workshop(tmp_path / "boards", three.source, place / "2026-02-01_Made-up-Lab_First")

    def change(o: Opened) -> None:
        for line in o.lines:
            line["latency"] = 0.2
        o.summary["latency"] = dict.fromkeys(o.summary["latency"], 0.2)
        o.metadata = o.metadata.replace('"First"', '"Fourth"').replace("2026-02-01", "2026-03-01")

    path = moved.tampered(tmp_path / "elsewhere", change)
    path.rename(place / "2026-03-01_Made-up-Lab_Fourth")
    assert refusals(check(moved)) == {"2026-03-01_Made-up-Lab_Fourth": "distinct"}


def test_a_submission_under_another_name_or_board_is_refused(three: Workshop, tmp_path: Path) -> None:
    shutil.copytree(three.root, tmp_path / "boards")
    place = tmp_path / "boards" / "tiny-sop" / "submissions"
    (place / "2026-02-01_Made-up-Lab_First").rename(place / "first")
    found = check(Workshop(tmp_path / "boards", three.source, place))
    assert refusals(found) == {"first": "place"}


def test_a_maintainers_word_holds_for_these_bytes_only(three: Workshop, tmp_path: Path) -> None:
    shutil.copytree(three.root, tmp_path / "boards")
    board = tmp_path / "boards" / "tiny-sop"
    first, second = sorted((board / "submissions").iterdir())[:2]
    entries = {first.name: sums_sha256(first), second.name: "0" * 64}
    text = "".join(f'"{name}":\n  sums: "{sums}"\n  how: "replay"\n  by: "me"\n  date: "2026-03-01"\n  found: "95 of 100"\n' for name, sums in entries.items())  # fmt: skip
    (board / "reruns.yaml").write_text(text)
    shop = Workshop(tmp_path / "boards", three.source, first)
    rows = {row.model: row for row in ranked_rows(shop.boards, check(shop))["tiny-sop"]}
    assert {name: row.tier for name, row in rows.items()} == {"First": "re-run", "Second": "self-reported", "Third": "self-reported"}  # fmt: skip
    assert rows["First"].facts["re-run"] == "replayed by me on 2026-03-01: 95 of 100"
    (board / "reruns.yaml").write_text("a:\n  by: me\n")
    with pytest.raises(Exception, match=r"reruns\.yaml"):
        read_reruns(board / "reruns.yaml")


def test_without_the_data_nothing_is_judged_and_nothing_is_refused(three: Workshop) -> None:
    found = check_all(three.boards, submission_paths(three.boards), jobs=1)
    assert all(one.verification.unjudged and one.row is None for one in found)
    done = sopbench("board", "check", "--boards", three.root, "--jobs", "1")
    assert done.returncode == 3
    assert "0 of 3 submissions verified" in done.stdout


def test_the_commands_check_show_and_build(three: Workshop, tmp_path: Path) -> None:
    data = [
        "--boards",
        three.root,
        "--data",
        three.source.file or "",
        "--images",
        three.source.images or "",
        "--jobs",
        "1",
    ]
    done = sopbench("board", "check", *data)
    assert (done.returncode, done.stdout.startswith("3 of 3 submissions verified")) == (0, True), done.stderr
    shown = json.loads(sopbench("board", "show", "tiny-sop", *data, "--json").stdout)
    assert [row["model"] for row in shown["rows"]] == ["First", "Second", "Third"]
    assert min(row["rank"] for row in shown["rows"]) == 1
    assert "tiny-sop" in sopbench("board", "show", "--boards", three.root).stdout
    built = sopbench("board", "build", *data, "--out", tmp_path / "site")
    assert built.stdout.strip() == str(tmp_path / "site" / "index.html")
    pages = sorted(str(p.relative_to(tmp_path / "site")) for p in (tmp_path / "site").rglob("*.html"))
    assert len(pages) == 7
    assert sopbench("board", "build", *data, "--out", tmp_path / "site").returncode == 0  # an older page is replaced
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    refused = sopbench("board", "build", *data, "--out", tmp_path / "mine")
    assert (refused.returncode, "holds something else" in refused.stderr) == (2, True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "x"


def test_nothing_is_written_beside_the_page(three: Workshop, tmp_path: Path) -> None:
    shutil.copytree(three.root, tmp_path / "boards")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "boards").rglob("*")}
    shop = Workshop(tmp_path / "boards", three.source, three.folder)
    build_site(shop.boards, check(shop), tmp_path / "site", source=three.source)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "boards").rglob("*")} == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["boards", "site"]


def test_very_many_folders_that_are_no_submissions_are_refused_quickly(shop: Workshop, tmp_path: Path) -> None:
    shutil.copytree(shop.root, tmp_path / "boards")
    place = tmp_path / "boards" / "tiny-sop" / "submissions"
    for k in range(2_000):
        (place / str(k)).mkdir(parents=True)
    found = check(Workshop(tmp_path / "boards", shop.source, shop.folder))
    assert set(refusals(found).values()) == {"files"}
    assert len(found) == 2_000


@pytest.mark.slow
def test_every_submission_of_this_repository_is_verified() -> None:
    boards = load_boards()
    paths = submission_paths(boards)
    found = check_all(boards, paths, jobs=2)
    told = {f"{one.board}/{one.path.name}": one.verification.refused for one in found if one.row is None and not one.verification.unjudged}  # fmt: skip
    assert told == {}
    assert len(paths) >= 12


def test_a_workshop_can_be_made_twice_alike(shop: Workshop, tmp_path: Path) -> None:
    """Submissions hold nothing of the place where they were made."""
    again = make_workshop(tmp_path)
    first, second = (Opened(folder) for folder in (shop.folder, again.folder))
    assert [line["reply"] for line in first.lines] == [line["reply"] for line in second.lines]
    assert first.run["facts"] == second.run["facts"]
