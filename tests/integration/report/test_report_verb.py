"""`sopbench report` on a run that the engine itself played, and where the page is put."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import fixture_runs
import pytest
from recordings import make_recording
from typer.testing import CliRunner

import sopbench
from sopbench.cli import build
from sopbench.errors import DataError, UsageError
from sopbench.report import write_report


def data_of(page: Path) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    data = json.loads(found.group(1))
    assert isinstance(data, dict)
    return data


def invoke(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(build(), [str(word) for word in words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout.strip()


@pytest.fixture
def played(tmp_path: Path) -> Path:
    recording = make_recording(tmp_path / "data", n=4)
    return sopbench.run(model="builtin:oracle", out=tmp_path / "run", **recording.options).path


def test_the_verb_writes_the_page_and_says_where(played: Path) -> None:
    code, out = invoke("report", played)
    assert (code, out) == (0, str(played / "report.html"))
    data = data_of(played / "report.html")
    assert [row["out"] for row in data["rows"]] == ["success"] * 4
    assert data["rows"][0]["goal"] == "goal 0"
    assert all(entry[1:] == [540, 1200] for entry in data["screens"])
    assert data["overview"]["headline"][0]["value"] == 100.0


def test_recordings_that_moved_are_given_by_option(played: Path, tmp_path: Path) -> None:
    moved = (tmp_path / "data").rename(tmp_path / "elsewhere")
    assert not data_of(write_report(played, trajectories=None))["recordings"]
    code, _ = invoke("report", played, "--data", moved / "data.jsonl", "--images", moved / "images")
    data = data_of(played / "report.html")
    assert code == 0
    assert data["rows"][0]["goal"] == "goal 0"
    assert all(entry[0] is not None for entry in data["screens"])


def test_data_that_is_not_there_is_an_error(played: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        invoke("report", played, "--data", "gone.jsonl")


def test_a_folder_that_is_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no run\.json"):
        write_report(tmp_path, trajectories=None)


@pytest.mark.parametrize(
    ("out", "limit", "expected"),
    [
        (None, 10**7, "run/report.html"),
        (None, 10, "run/report/index.html"),
        ("my.html", 10**7, "my.html"),
        ("my.html", 10, "my/index.html"),
        ("folder", 10**7, "folder/index.html"),
        ("folder", 10, "folder/index.html"),
    ],
)
def test_where_the_page_is_put(tmp_path: Path, out: str | None, limit: int, expected: str) -> None:
    run = fixture_runs.semi_online_run(tmp_path / "run", n=2)
    page = write_report(
        run.path, tmp_path / out if out else None, trajectories=run.trajectories, inline_limit_bytes=limit
    )
    assert page == tmp_path / expected
    assert page.is_file()
    assert (page.parent / "screens").is_dir() == (limit == 10)
    assert not list(page.parent.glob("*.tmp"))


def test_an_older_single_file_does_not_stay_beside_a_newer_folder(tmp_path: Path) -> None:
    run = fixture_runs.semi_online_run(tmp_path / "run", n=2)
    single = write_report(run.path, trajectories=run.trajectories)
    write_report(run.path, trajectories=run.trajectories, inline_limit_bytes=10)
    assert not single.exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    run = fixture_runs.semi_online_run(tmp_path / "run", n=2)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write the report"):
        write_report(run.path, tmp_path / "file" / "page.html", trajectories=run.trajectories)
