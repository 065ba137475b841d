"""From a run to a verified folder: what a user sees, what is left out, and which runs a board does not take."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from board_workshop import ABOUT, Learner, Opened, Workshop, define_board
from commands import assert_clear_error, sopbench
from fault_server import FaultServer, answer, status

from sopbench.api import rescore
from sopbench.errors import SopbenchError, UsageError
from sopbench.leaderboard import submit as make
from sopbench.leaderboard.reading import FILES, STEPS
from sopbench.leaderboard.replaying import replay
from sopbench.suites.base import DataSource

GIVEN = ["--organisation", "Made-up Lab", "--contact", "@made-up", "--weights-open", "--training-data", "nothing", "--trained-on-benchmark", "no"]  # fmt: skip


@pytest.fixture(scope="module")
def run(shop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shop.run(tmp_path_factory.mktemp("runs") / "run")


class TestCommands:
    def test_three_commands_from_a_model_to_a_verified_folder(self, shop: Workshop, tmp_path: Path) -> None:
        data = ["--data", str(shop.source.file), "--images", str(shop.source.images)]
        ran = sopbench("run", "--suite", "sop", *data, "--model", "builtin:noisy", "--prompts", "builtin", "--out", "r", "--no-report", "-q", cwd=tmp_path)  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        made = sopbench("submit", "r", "--out", "out", "--model", "Noisy", "--date", "2026-02-01", *GIVEN, "--boards", str(shop.root), cwd=tmp_path)  # fmt: skip
        assert made.returncode == 0, made.stderr
        assert made.stdout.startswith("out/2026-02-01_Made-up-Lab_Noisy\n")
        assert "left out" in made.stdout
        assert "sopbench verify out/2026-02-01_Made-up-Lab_Noisy" in made.stdout
        told = sopbench("verify", "out/2026-02-01_Made-up-Lab_Noisy", *data, "--boards", str(shop.root), cwd=tmp_path)
        assert told.returncode == 0, told.stdout
        assert told.stdout.splitlines()[-1].startswith("verified: tiny-sop: Noisy (Made-up Lab), score ")

    def test_what_is_missing_is_named_all_at_once(self, shop: Workshop, run: Path, tmp_path: Path) -> None:
        done = sopbench("submit", run, "--out", tmp_path, "--boards", shop.root, "--model", "x", stdin=-3)
        assert_clear_error(
            done, "--organisation", "--contact", "--weights-open", "--training-data", "--trained-on-benchmark"
        )
        assert "--model" not in done.stderr
        assert list(tmp_path.iterdir()) == []

    def test_metadata_may_come_from_a_file_and_options_win(self, shop: Workshop, run: Path, tmp_path: Path) -> None:
        (tmp_path / "m.yaml").write_text(
            "model: From file\norganisation: Lab\ncontact: '@lab'\nweights_open: false\ntraining_data: none\ntrained_on_benchmark: unknown\nlinks:\n  paper: https://example.org/p\n"
        )
        done = sopbench("submit", run, "--out", tmp_path / "o", "--boards", shop.root, "--metadata", tmp_path / "m.yaml", "--model", "From option", "--code", "https://example.org/c", "--json")  # fmt: skip
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)["row"]["told"]
        assert (told["model"], told["weights_open"]) == ("From option", False)
        assert told["links"] == {"paper": "https://example.org/p", "code": "https://example.org/c"}

    @pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of its own")
    def test_on_a_terminal_the_rest_is_asked_and_asked_again(self, shop: Workshop, run: Path, tmp_path: Path) -> None:
        import os
        import pty

        answers = ["Asked", "Lab", "nobody", "@lab", "maybe", "yes", "none", "no"]
        child, terminal = pty.fork()
        if child == 0:
            words = ["submit", str(run), "--out", str(tmp_path), "--boards", str(shop.root)]
            os.execv(sys.executable, [sys.executable, "-m", "sopbench", *words])
        seen = b""
        os.write(terminal, "".join(f"{answer}\n" for answer in answers).encode())
        try:
            while block := os.read(terminal, 4096):
                seen += block
        except OSError:  # the terminal closed with the child
            pass
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, seen.decode()
        assert b"must be a mail address" in seen
        assert b"verified by all its rules" in seen

    def test_verify_speaks_json_and_the_comment_of_ci(self, shop: Workshop, tmp_path: Path) -> None:
        data = ["--data", shop.source.file or "", "--images", shop.source.images or "", "--boards", shop.root]
        told = json.loads(sopbench("verify", shop.folder, *data, "--json").stdout)
        assert (told["ok"], told["row"]["board"], told["row"]["model"]) == (True, "tiny-sop", "Tiny-GUI 0.1B")
        good = sopbench("verify", shop.folder, *data, "--comment")
        assert good.returncode == 0
        assert "is verified" in good.stdout
        assert "| `Tiny-GUI 0.1B` | `Made-up Lab` |" in good.stdout
        bad = shop.tampered(tmp_path, lambda o: o.summary.update(score=99.9))
        done = sopbench("verify", bad, *data, "--comment")
        assert done.returncode == 2
        assert "Rule **headline**" in done.stdout

    def test_a_refused_submission_is_exit_status_2_and_no_traceback(self, shop: Workshop, tmp_path: Path) -> None:
        done = sopbench("verify", tmp_path / "nowhere", "--boards", shop.root)
        assert (done.returncode, done.stderr) == (2, "")
        assert "FIX  reading" in done.stdout

    def test_replay_needs_to_know_whom_to_ask(self, shop: Workshop) -> None:
        assert_clear_error(sopbench("verify", shop.folder, "--boards", shop.root, "--replay", "5"), "--base-url")


class TestScrubbing:
    def test_nothing_of_the_machine_is_in_any_file(self, shop: Workshop, run: Path, tmp_path: Path) -> None:
        recorded = (run / "steps.jsonl").read_text()
        assert "10.0.0.7" in recorded
        folder = shop.submit(run, tmp_path)
        whole = b"".join((folder / name).read_bytes() for name in FILES if name != STEPS)
        whole += zstandard.ZstdDecompressor().decompress((folder / STEPS).read_bytes())
        for secret in (b"10.0.0.7", b"8000", str(shop.source.file).encode(), str(tmp_path).encode(), b"busy"):
            assert secret not in whole
        assert whole.count(b'"endpoint":"endpoint"') > 0
        assert b"http_503" in whole

    def test_a_models_path_becomes_its_name(self, shop: Workshop, tmp_path: Path) -> None:
        run = shop.run(tmp_path / "run", policy=Learner(name="/srv/people/me/ui-model"))
        opened = Opened(shop.submit(run, tmp_path / "out"))
        assert opened.run["facts"]["model"] == "ui-model"
        assert {line["model"] for line in opened.lines} == {"ui-model"}

    def test_what_was_left_out_is_told(self, shop: Workshop, run: Path, tmp_path: Path) -> None:
        made = make(run, tmp_path, ABOUT, boards=shop.boards)
        assert set(made.left_out) == {"settings.base_urls", "settings.data", "settings.images_dir"}


def without_its_last_verdict(run: Path, copy: Path) -> Path:
    """A copy of `run` whose last step failed for its server."""
    shutil.copytree(run, copy)
    lines = [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]
    kept = {name: lines[-1][name] for name in ("v", "episode", "repeat", "step")}
    lines[-1] = kept | {"outcome": "not_scored", "error": {"reason": "timeout", "detail": "at 10.0.0.7"}}
    (copy / "steps.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return copy


class TestRuns:
    def test_a_limited_run_is_refused(self, shop: Workshop, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="--limit"):
            shop.submit(shop.run(tmp_path / "run", limit=2), tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_an_unfinished_run_is_refused(self, shop: Workshop, run: Path, tmp_path: Path) -> None:
        shutil.copytree(run, tmp_path / "run")
        (tmp_path / "run" / "summary.json").unlink()
        with pytest.raises(SopbenchError, match="sopbench resume"):
            shop.submit(tmp_path / "run", tmp_path / "out")

    def test_a_run_with_steps_that_have_no_verdict_is_refused(self, shop: Workshop, run: Path, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"rule not-scored: 1 of 6 episodes have no verdict"):
            shop.submit(without_its_last_verdict(run, tmp_path / "run"), tmp_path / "out")
        assert list((tmp_path / "out").iterdir()) == []

    def test_a_board_may_allow_some_and_then_shows_bounds(self, shop: Workshop, run: Path, tmp_path: Path) -> None:
        limits = {"images": 4, "max_tokens": 1024, "repeats": 1, "not_scored": 20}
        define_board(tmp_path / "boards", shop.source, limits=limits)
        lenient = Workshop(tmp_path / "boards", shop.source, shop.folder)
        path = lenient.submit(without_its_last_verdict(run, tmp_path / "run"), tmp_path / "out")
        row = lenient.verify(path).row
        assert row is not None
        assert (row.values, row.spread) == ({}, None)
        assert set(row.bounds) == {"score", "pg", "tsr"}
        assert all(low < high for low, high in row.bounds.values())

    def test_the_same_name_is_not_taken_twice(self, shop: Workshop, run: Path, tmp_path: Path) -> None:
        shop.submit(run, tmp_path)
        with pytest.raises(UsageError, match="is there already"):
            shop.submit(run, tmp_path)

    def test_repeats_are_all_in_it(self, shop: Workshop, tmp_path: Path) -> None:
        path = shop.submit(shop.run(tmp_path / "run", repeats=2), tmp_path / "out")
        row = shop.verify(path).row
        assert row is not None
        assert row.facts["repeats"] == 2
        assert {line["repeat"] for line in Opened(path).lines} == {0, 1}
        with pytest.raises(UsageError, match="rule limits"):
            shop.submit(shop.run(tmp_path / "more", repeats=4), tmp_path / "out2")

    def test_a_run_that_was_scored_again_under_the_boards_profile_is_taken(
        self, shop: Workshop, tmp_path: Path
    ) -> None:
        run = shop.run(tmp_path / "run", profile="uis1-boxes")
        with pytest.raises(UsageError, match="rule profile"):
            shop.submit(run, tmp_path / "out")
        again = rescore(run, "uis1-released", source=shop.source)
        assert again.summary["complete"]
        path = make(again.path, tmp_path / "out", ABOUT, boards=shop.boards, source=shop.source).path
        assert shop.verify(path).ok

    def test_a_run_of_a_suite_without_a_board_says_which_there_are(self, shop: Workshop, tmp_path: Path) -> None:
        run = shop.run(tmp_path / "run", suite="androidcontrol-high")
        with pytest.raises(UsageError, match="tiny-sop"):
            shop.submit(run, tmp_path / "out")

    def test_static_boards_are_verified_and_ranked_by_steps(self, shop: Workshop, tmp_path: Path) -> None:
        for suite in ("androidcontrol-high", "androidcontrol-low"):
            define_board(tmp_path / "boards", shop.source, board=suite, suite=suite)
        static = Workshop(tmp_path / "boards", shop.source, shop.folder)
        for suite in ("androidcontrol-high", "androidcontrol-low"):
            path = static.submit(static.run(tmp_path / suite, suite=suite), tmp_path / f"out-{suite}")
            found = static.verify(path)
            assert found.row is not None
            summary = Opened(path).summary
            assert found.row.values == {name: summary[name] for name in ("sr", "tm", "gr") if summary[name] is not None}
            assert found.row.spread is not None
            assert round(100 * found.row.spread.value, 1) == summary["sr"]
            static.folder = path
            untold = static.tampered(tmp_path / f"t-{suite}", lambda o: o.lines[0].pop("told"))
            refused = static.verify(untold).refused
            assert refused is not None
            assert (refused.rule, "told" in refused.detail) == ("replies", True)


class TestReplay:
    def test_an_open_checkpoint_is_asked_a_sample_again(
        self, shop: Workshop, fault_server: Callable[..., FaultServer]
    ) -> None:
        """A server that gives one and the same answer: it is the recorded one where that was given before, and nowhere else."""
        lines = Opened(shop.folder).lines
        text = lines[0]["reply"]
        server = fault_server(answer(text))
        found = replay(shop.folder, len(lines), base_urls=[server.base_url], model="tiny", boards=shop.boards, source=shop.source, seed=1)  # fmt: skip
        assert (found.asked, found.failed) == (len(lines), 0)
        assert found.same_reply == sum(line["reply"] == text for line in lines)
        assert found.same_action == sum(line["action"] == lines[0]["action"] for line in lines)
        sent = server.requests[0].body
        assert (sent["temperature"], sent["max_tokens"], sent["model"]) == (0.0, 512, "tiny")
        low, high = found.as_dict()["same_action"]["ci95"]
        assert low < found.same_action / found.asked < high

    def test_requests_without_an_answer_are_told_apart(
        self, shop: Workshop, fault_server: Callable[..., FaultServer]
    ) -> None:
        server = fault_server(status(422), answer("nothing"))
        found = replay(
            shop.folder, 3, base_urls=[server.base_url], model="tiny", boards=shop.boards, source=shop.source
        )
        assert (found.asked, found.failed, found.same_action) == (2, 1, 0)

    def test_without_the_screens_nothing_can_be_asked(self, shop: Workshop) -> None:
        with pytest.raises(SopbenchError):
            replay(shop.folder, 3, base_urls=["http://127.0.0.1:9/v1"], model="x", boards=shop.boards, source=DataSource(shop.source.file))  # fmt: skip
