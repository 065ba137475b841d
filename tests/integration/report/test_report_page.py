"""The report in a real Chromium: what people see, and what hostile runs cannot do to them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import fixture_runs
import pytest
from report_browser import PHONE, Browser, Report, address_of
from selenium.webdriver.common.keys import Keys

from sopbench.report import write_report
from sopbench.runs.folder import RunFolder

pytestmark = pytest.mark.chromium

ROW = ".rows .row"


def summary_of(report: Report) -> dict[str, object]:
    return RunFolder(report.run.path).summary()


def chosen_row(browser: Browser) -> int:
    return int(browser.js("[...document.querySelectorAll('.rows .row')].indexOf(document.activeElement)"))


def failed_episode(report: Report, reason: str) -> tuple[str, int]:
    """(id, step) of a trajectory that failed for `reason`."""
    for (episode, _), log in RunFolder(report.run.path).episodes().items():
        for record in log.ordered():
            if record.verdict and record.verdict.reason == reason:
                return episode, record.step
    raise AssertionError(f"no trajectory fails with {reason}")


class TestHeadline:
    def test_shows_the_numbers_of_the_summary_with_their_intervals(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page)
        summary = summary_of(plain)
        assert chromium.text("h1") == "made-up-model"
        values = dict(zip(chromium.texts(".metric h2"), chromium.texts(".metric .value"), strict=True))
        assert values == {name: f"{summary[name.lower()]}%" for name in ("Score", "PG", "TSR")}
        low, high = summary["ci95"]["score"]  # type: ignore[index]
        assert f"{low} – {high}" in chromium.text(".metric.first .under")

    def test_names_every_fact_that_changes_what_the_numbers_mean(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page)
        facts = dict(zip(chromium.texts(".facts dt"), chromium.texts(".facts dd"), strict=True))
        recorded = RunFolder(plain.run.path).info()
        assert facts["Scoring profile"] == "uis1-boxes@1"
        assert facts["Adapter"] == "uis1"
        assert facts["Protocol"] == "semi-online"
        assert facts["Prompt source"] == "builtin"
        assert facts["Fingerprint"] == recorded.fingerprint[:12]
        assert facts["Data hash"] == recorded.facts["data_sha256"][:12]
        assert "temperature 0.0" in facts["Sampling"]

    def test_an_incomplete_run_says_how_much_is_missing_and_shows_bounds_instead_of_a_mean(
        self, chromium: Browser, hostile: Report
    ) -> None:
        chromium.open(hostile.page)
        summary = summary_of(hostile)
        n = len(hostile.run.trajectories) * 2
        assert f"Incomplete: {summary['not_scored_trajectories']} of {n} episodes are not scored." in chromium.text(
            ".banner"
        )
        low, high = summary["bounds"]["score"]  # type: ignore[index]
        assert chromium.text(".metric.first .value") == f"{low}–{high}%"
        assert "not a result" in chromium.text(".metric.first .under")

    def test_a_run_without_a_summary_is_still_shown(self, chromium: Browser, tmp_path: Path) -> None:
        run = fixture_runs.semi_online_run(tmp_path / "run", n=4, pending=2, screens="missing")
        (run.path / "summary.json").unlink()
        chromium.open(write_report(run.path, trajectories=run.trajectories))
        assert "2 of 4 trajectories are not scored" in chromium.text(".banner")
        assert chromium.count(ROW) == 4


class TestList:
    def test_filters_by_outcome(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page)
        solved = len([r for r in chromium.texts(".segments button") if r.startswith("Success")])
        assert solved == 1
        chromium.click("[data-out=success]")
        assert set(chromium.texts(f"{ROW} .badge .offscreen")) == {"Success"}
        assert chromium.count(f"{ROW} .step.mismatch") == 0

    def test_filters_by_reason_and_by_failing_action_together(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page)
        chromium.choose("Reason", "outside_target")
        chromium.choose("Failing action", "click")
        assert set(chromium.texts(f"{ROW} .why")) == {"click outside target"}

    def test_searches_goals_and_ids(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page)
        chromium.keys("/", *"clock")
        goals = [t.goal for t in plain.run.trajectories.values() if t.tags["app"] == "Clock"]
        assert chromium.text(".count") == f"{len(goals)} of {len(plain.run.trajectories)}"
        assert chromium.texts(f"{ROW} .goal") == goals[:50]

    def test_says_when_nothing_fits(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page)
        chromium.keys("/", *"no such goal")
        assert chromium.count(ROW) == 0
        assert "No trajectory fits" in chromium.text(".rows")

    @pytest.mark.parametrize("order", ["length", "progress"])
    def test_sorts(self, chromium: Browser, plain: Report, order: str) -> None:
        chromium.open(plain.page)
        chromium.choose("Sort by", order)
        ratios = [tuple(map(int, ratio.split("/"))) for ratio in chromium.texts(f"{ROW} .ratio")]
        keys = [t if order == "length" else s / t for s, t in ratios]
        assert keys == sorted(keys)
        assert len(set(keys)) > 1

    def test_a_bar_of_a_chart_filters_the_list(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page)
        reasons: dict[str, int] = summary_of(plain)["reasons"]  # type: ignore[assignment]
        chromium.js(
            "[...document.querySelectorAll('button.barrow')].find(b => b.innerText.startsWith('direction')).click()"
        )
        assert chromium.text(".count").startswith(f"{reasons['direction']} of")
        chromium.js(
            "[...document.querySelectorAll('.chips button')].find(b => b.innerText === 'Clear filters').click()"
        )
        assert chromium.text(".count") == str(len(plain.run.trajectories))

    def test_the_first_failure_chart_filters_by_step(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page)
        by_step: list[dict[str, int]] = summary_of(plain)["first_failure_by_step"]  # type: ignore[assignment]
        chromium.click("button.column:not([disabled])")
        assert by_step[0]["step"] == 0
        assert chromium.text(".count").startswith(f"{by_step[0]['n']} of")
        assert set(chromium.js("[...document.querySelectorAll('.rows .steps')].map(s => s.children[0].className)")) <= {
            "step mismatch",
            "step parse",
        }

    def test_outcomes_and_steps_are_told_by_symbols_and_words_not_by_colour_alone(
        self, chromium: Browser, plain: Report
    ) -> None:
        chromium.open(plain.page)
        symbols = Counter(
            chromium.js("[...document.querySelectorAll('.rows .step')].map(s => s.className + ' ' + s.dataset.icon)")
        )
        assert {"step match check", "step mismatch cross", "step parse ask", "step unreached dot"} <= set(symbols)
        assert all(chromium.js("[...document.querySelectorAll('.rows .steps')].map(s => s.getAttribute('aria-label'))"))

    def test_a_whole_sop_run_keeps_the_page_small(self, chromium: Browser, whole_sop: Report) -> None:
        chromium.open(whole_sop.page)
        assert chromium.text(".count") == "1,543"
        assert chromium.count(ROW) == 50
        assert chromium.count("*") < 4000
        chromium.keys("/", *"delete")
        found = sum("delete" in t.goal.lower() for t in whole_sop.run.trajectories.values())
        assert chromium.text(".count") == f"{found} of 1,543"
        chromium.click(".pages button:last-child")
        assert chromium.text(".pages span") == f"51 – 100 of {found}"
        assert chromium.count("*") < 4000


class TestTrajectory:
    def test_a_step_shows_expert_and_model_in_words_and_on_the_screen(self, chromium: Browser, plain: Report) -> None:
        episode, step = failed_episode(plain, "outside_target")
        chromium.open(plain.page, address_of(episode, step + 1))
        record = RunFolder(plain.run.path).episodes()[episode, 0].steps[step]
        assert record.gold
        assert record.action
        expert, model = chromium.texts(".action .rest")[:2]
        assert expert.startswith("({}, {})".format(*record.gold["coordinate"]))
        assert model.startswith("({}, {})".format(*record.action["coordinate"]))
        assert "outside_target" in chromium.text(".verdict")
        gold = chromium.js(
            "(c => [c.cx.baseVal.value, c.cy.baseVal.value])(document.querySelector('.stage circle.gold'))"
        )
        assert gold == record.gold["coordinate"]
        assert chromium.count(".stage polygon.pred") == 1
        assert chromium.count(".stage rect.best:not(.casing)") == 1
        assert chromium.js("document.querySelector('.stage img').naturalWidth") > 0
        assert chromium.text("pre") == record.reply

    def test_the_smallest_box_that_holds_the_expert_point_is_the_one_emphasised(
        self, chromium: Browser, plain: Report
    ) -> None:
        episode, index, step = next(
            (t.id, k, s) for t in plain.run.trajectories.values() for k, s in enumerate(t.steps) if len(s.boxes) == 2
        )
        chromium.open(plain.page, address_of(episode, index + 1))
        drawn = chromium.js(
            "(r => [r.x, r.y, r.width, r.height].map(v => v.baseVal.value))(document.querySelector('.stage rect.best:not(.casing)'))"
        )
        box = min(step.boxes, key=lambda b: b.area)
        assert drawn == [box.x1, box.y1, box.x2 - box.x1, box.y2 - box.y1]
        assert chromium.count(".stage rect:not(.best, .casing)") == 1

    def test_a_swipe_is_drawn_as_an_arrow_of_the_finger(self, chromium: Browser, plain: Report) -> None:
        episode, step = failed_episode(plain, "direction")
        chromium.open(plain.page, address_of(episode, step + 1))
        assert sorted(chromium.texts(".action .verb")) == ["Swipe down", "Swipe up"]
        assert chromium.count(".stage line.gold:not(.casing)") == 1
        assert chromium.count(".stage line.pred:not(.casing)") == 1

    def test_steps_after_the_mismatch_are_shown_as_not_reached(self, chromium: Browser, plain: Report) -> None:
        episode = next(
            e for (e, _), log in RunFolder(plain.run.path).episodes().items()
            if max(log.steps) < len(plain.run.trajectories[e].steps) - 1
        )  # fmt: skip
        length = len(plain.run.trajectories[episode].steps)
        chromium.open(plain.page, address_of(episode, length))
        assert "Not reached" in chromium.text(".verdict")
        assert chromium.text(".action.pred .none") == "not asked"
        assert chromium.count(".frame") == length

    def test_missing_screens_are_named_and_lose_nothing_else(self, chromium: Browser, tmp_path: Path) -> None:
        run = fixture_runs.semi_online_run(tmp_path / "run", n=3, screens="missing")
        page = write_report(run.path, trajectories=run.trajectories)
        episode, trajectory = next(iter(run.trajectories.items()))
        chromium.open(page, address_of(episode))
        words = chromium.text(".stage .placeholder")
        assert "No picture of this screen" in words
        assert trajectory.steps[0].screen.label in words
        assert "--images" in words
        assert chromium.count(".stage img") == 0
        assert chromium.text("pre").startswith("<think>")

    def test_without_recordings_the_journal_alone_is_shown(
        self, chromium: Browser, plain: Report, tmp_path: Path
    ) -> None:
        page = write_report(plain.run.path, tmp_path / "bare.html", trajectories=None)
        episode, step = failed_episode(plain, "outside_target")
        chromium.open(page, address_of(episode, step + 1))
        assert "--data FILE --images DIR" in chromium.text(".stage .placeholder")
        assert chromium.count(".stage polygon.pred") == 1
        assert chromium.texts(".action .verb") == ["Tap", "Tap"]

    def test_screens_that_do_not_fit_into_one_file_lie_beside_it(self, chromium: Browser, tmp_path: Path) -> None:
        run = fixture_runs.semi_online_run(tmp_path / "run", n=5)
        page = write_report(run.path, trajectories=run.trajectories, inline_limit_bytes=1000)
        assert page == run.path / "report" / "index.html"
        chromium.open(page, address_of(next(iter(run.trajectories))))
        assert (
            chromium.js(
                "document.querySelector('.stage img').complete && document.querySelector('.stage img').naturalWidth"
            )
            > 0
        )
        assert chromium.js("document.querySelector('.stage img').getAttribute('src')").startswith("screens/")

    def test_infrastructure_failures_show_their_attempts(self, chromium: Browser, hostile: Report) -> None:
        episode, record = next(
            (e, r) for (e, repeat), log in RunFolder(hostile.run.path).episodes().items() for r in log.ordered()
            if r.outcome == "not_scored" and repeat == 0
        )  # fmt: skip
        chromium.open(hostile.page, address_of(episode, record.step + 1))
        assert chromium.text(".verdict strong") == "Not scored"
        assert chromium.count(".attempts li") == 3

    def test_diagnostic_steps_say_that_they_do_not_count(self, chromium: Browser, tmp_path: Path) -> None:
        run = fixture_runs.semi_online_run(tmp_path / "run", n=12, diagnostic=True, screens="missing")
        episode, record = next(
            (e, r) for (e, _), log in RunFolder(run.path).episodes().items() for r in log.ordered() if r.diagnostic
        )
        chromium.open(write_report(run.path, trajectories=run.trajectories), address_of(episode, record.step + 1))
        assert "does not count in the headline" in chromium.text(".verdict")

    def test_online_steps_show_their_own_screens_and_the_environment_has_the_last_word(
        self, chromium: Browser, online: Report
    ) -> None:
        chromium.open(online.page)
        assert "Incomplete: 2 of 12 tasks" in chromium.text(".banner")
        assert "said: success" in chromium.text(".rows")
        claimed = chromium.js(
            "[...document.querySelectorAll('.rows .row')].find(r => r.innerText.includes('said: success')).getAttribute('href')"
        )
        chromium.open(online.page, claimed)
        assert chromium.text(".pill").strip() == "Failed"
        assert "The environment's verdict: 0 %." in chromium.text(".end")
        assert "<i>42</i>" in chromium.text(".end")
        assert chromium.js("document.querySelector('.stage img').naturalWidth") > 0
        assert chromium.count(".action") == 1


class TestKeyboard:
    def test_moves_through_the_list_into_a_trajectory_and_back(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page)
        ids = list(plain.run.trajectories)
        chromium.keys("j", "j", "j", "k")
        assert chosen_row(chromium) == 1
        chromium.keys(Keys.ENTER)
        assert chromium.address.startswith(f"#{ids[1]}/")
        chromium.keys("j")
        assert chromium.address.startswith(f"#{ids[2]}/")
        chromium.keys(Keys.ARROW_DOWN, "k", "k")
        assert chromium.address.startswith(f"#{ids[1]}/")
        chromium.keys(Keys.ESCAPE)
        assert chromium.address == ""
        assert chosen_row(chromium) == 1

    def test_moves_between_steps(self, chromium: Browser, plain: Report) -> None:
        episode, trajectory = next((e, t) for e, t in plain.run.trajectories.items() if len(t.steps) >= 4)
        chromium.open(plain.page, address_of(episode))
        chromium.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
        assert chromium.address == f"#{episode}/2"
        assert chromium.text(".stepnav h2") == f"Step 2 of {len(trajectory.steps)}"
        assert (
            chromium.js(
                "[...document.querySelectorAll('.frame')].findIndex(f => f.getAttribute('aria-current') === 'step')"
            )
            == 1
        )
        chromium.keys(Keys.END, Keys.ARROW_RIGHT)
        assert chromium.address == f"#{episode}/{len(trajectory.steps)}"

    def test_j_crosses_pages(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page)
        chromium.js("document.querySelector('.rows li:last-child a').focus()")
        chromium.keys("j")
        assert chromium.text(".pages span").startswith("51")
        assert chosen_row(chromium) == 0

    def test_slash_searches_from_anywhere_and_escape_clears(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page, address_of(next(iter(plain.run.trajectories))))
        chromium.keys("/", *"mail")
        assert chromium.js("document.activeElement.id") == "search"
        assert "of" in chromium.text(".count")
        chromium.keys(Keys.ESCAPE)
        assert chromium.text(".count") == str(len(plain.run.trajectories))
        chromium.keys(Keys.ESCAPE)
        assert chromium.js("document.activeElement.id") != "search"

    def test_letters_in_the_search_box_are_text(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page)
        chromium.keys("/", "j", "k", "?")
        assert chromium.js("document.querySelector('#search').value") == "jk?"
        assert not chromium.js("document.querySelector('#help').open")

    def test_question_mark_helps_and_escape_closes_it(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page)
        chromium.keys("?")
        assert "next trajectory" in chromium.text("#help")
        chromium.keys(Keys.ESCAPE)
        assert not chromium.js("document.querySelector('#help').open")

    def test_where_the_focus_is_can_be_seen(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page)
        chromium.keys("j")
        assert chromium.js("getComputedStyle(document.activeElement).outlineStyle") == "solid"

    def test_an_address_that_leads_nowhere_shows_the_overview(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page, "#%E0%A4%A/1")
        assert chromium.js("document.querySelector('#detail').hidden")
        assert chromium.text("h1") == "made-up-model"


class TestHostileRuns:
    def test_nothing_that_a_model_or_the_data_said_becomes_markup_or_runs(
        self, chromium: Browser, hostile: Report
    ) -> None:
        for name, reply in fixture_runs.HOSTILE.items():
            episode = next(e for e in hostile.run.trajectories if e.startswith(f"<b>{name}</b>"))
            chromium.open(hostile.page, address_of(episode, 2))
            assert chromium.text(".detail h1").startswith(f"<img src=x onerror='window.pwned=1'>{name}")
            assert not chromium.js("'pwned' in window")
            assert chromium.count("main :is(script, iframe, b > img, object, embed, link, style, form)") == 0
            assert chromium.count("img[src='x'], svg[onload], [onerror]") == 0
            if reply.isprintable() and 0 < len(reply) < 20_000:
                assert chromium.text("pre") == reply

    def test_a_script_that_got_into_the_page_anyway_would_not_run(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page)
        inject = (
            "const s = document.createElement('script'); s.textContent = 'window.pwned = 1'; document.body.append(s)"
        )
        chromium.driver.execute_script(inject)
        assert not chromium.js("'pwned' in window")
        complaints = chromium.complaints()
        assert len(complaints) == 1
        assert "Content Security Policy" in complaints[0]

    def test_hidden_characters_are_spelled_out(self, chromium: Browser, hostile: Report) -> None:
        bidi = next(e for e in hostile.run.trajectories if e.startswith("<b>bidi</b>"))
        chromium.open(hostile.page, address_of(bidi, 2))
        shown = chromium.text("pre")
        assert {"⟨U+202E⟩", "⟨U+2066⟩", "⟨U+200B⟩", "⟨U+FEFF⟩", "⟨U+2028⟩"} <= set(chromium.texts("pre .ctl"))
        assert "\u202e" not in shown
        assert "\u202e" not in chromium.text(".detail h1")
        terminal = next(e for e in hostile.run.trajectories if e.startswith("<b>terminal</b>"))
        chromium.open(hostile.page, address_of(terminal, 2))
        assert chromium.text("pre").startswith("␛[2J␛[31mred")

    def test_a_giant_reply_is_cut_and_says_so(self, chromium: Browser, hostile: Report) -> None:
        long = next(e for e in hostile.run.trajectories if e.startswith("<b>long</b>"))
        chromium.open(hostile.page, address_of(long, 2))
        assert chromium.js("document.querySelector('pre').textContent.length") == 20_000
        assert f"{len(fixture_runs.HOSTILE['long']) - 20_000:,} more stand in steps.jsonl" in chromium.text(".reply")

    def test_nothing_is_loaded_from_anywhere(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page, address_of(next(iter(plain.run.trajectories))))
        loaded = chromium.js(
            "performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith('data:'))"
        )
        assert loaded == []

    def test_facts_that_lie_about_their_types_break_nothing(self, chromium: Browser, tmp_path: Path) -> None:
        run = fixture_runs.semi_online_run(tmp_path / "run", n=3, screens="missing")
        summary = {key: ["<b>", {"x": [None]}, 1e300] for key in RunFolder(run.path).summary()}
        (run.path / "summary.json").write_text(json.dumps(summary))
        chromium.open(write_report(run.path, trajectories=run.trajectories))
        assert chromium.count(ROW) == 3


CONTRAST = """
(selectors => {
  const pixel = color => { const c = new OffscreenCanvas(1, 1).getContext('2d'); c.fillStyle = color; c.fillRect(0, 0, 1, 1); return c.getImageData(0, 0, 1, 1).data };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => { for (; node; node = node.parentElement) { const p = pixel(getComputedStyle(node).backgroundColor); if (p[3] === 255) return p } return [255, 255, 255] };
  const out = {};
  for (const selector of selectors) for (const node of [...document.querySelectorAll(selector)].filter(n => n.checkVisibility()).slice(0, 40)) {
    const [a, b] = [light(pixel(getComputedStyle(node).color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    out[selector] = Math.min(out[selector] ?? 99, ratio);
  }
  return out;
})(arguments[0])
"""


class TestLooks:
    @pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
    def test_text_stands_out_from_its_ground(self, chromium: Browser, hostile: Report, dark: bool) -> None:
        chromium.emulate(dark=dark)
        chromium.open(hostile.page)
        background = chromium.js("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(13, 16, 21)" if dark else "rgb(255, 255, 255)")
        words = ["h1", ".lead", ".metric h2", ".metric .value", ".under", ".meaning", ".tiles span", ".banner p", ".banner strong", ".facts dt", ".facts dd",
                 ".note", ".barname", "small", ".colname", ".heat th", ".heat .cell:not(.none)", ".goal", ".row .id", ".why", ".legend li", ".segments button", ".chip"]  # fmt: skip
        found = chromium.js(CONTRAST.strip(), words)
        assert set(found) == set(words)
        assert {s: round(r, 2) for s, r in found.items() if r < 4.5} == {}
        record = next(
            r
            for log in RunFolder(hostile.run.path).episodes().values()
            for r in log.ordered()
            if r.verdict and r.verdict.reason == "outside_target"
        )
        chromium.open(hostile.page, address_of(record.episode, record.step + 1) + ("/2" if record.repeat else ""))
        words = [
            ".verdict strong",
            ".verdict p",
            ".verdict code",
            ".action .verb",
            ".action .rest",
            ".action h3",
            ".small",
            "pre",
            ".stepfacts dt",
            ".pill",
            ".framefoot .verb",
            ".plain",
            "figcaption",
        ]
        found = chromium.js(CONTRAST.strip(), words)
        assert set(found) == set(words)
        assert {s: round(r, 2) for s, r in found.items() if r < 4.5} == {}

    def test_fits_a_phone_without_scrolling_sideways(
        self, chromium: Browser, plain: Report, hostile: Report, online: Report
    ) -> None:
        chromium.emulate(PHONE)
        for report in (plain, hostile, online):
            chromium.open(report.page)
            assert chromium.overflow == 0
            for episode in list(report.run.trajectories)[-4:]:
                chromium.open(report.page, address_of(episode, 2))
                assert chromium.overflow == 0

    @pytest.mark.parametrize("width", [700, 900, 1100, 1920])
    def test_fits_windows_of_other_widths(self, chromium: Browser, hostile: Report, width: int) -> None:
        chromium.emulate((width, 800))
        chromium.open(hostile.page)
        assert chromium.overflow == 0
        chromium.open(hostile.page, address_of(list(hostile.run.trajectories)[-1], 2))
        assert chromium.overflow == 0

    def test_the_whole_screen_of_a_step_is_visible_without_scrolling(self, chromium: Browser, plain: Report) -> None:
        chromium.open(plain.page, address_of(next(iter(plain.run.trajectories))))
        assert chromium.js("document.querySelector('.stage .screen').getBoundingClientRect().bottom - innerHeight") <= 0

    def test_prints_without_controls(self, chromium: Browser, plain: Report) -> None:
        chromium.emulate(print_=True)
        chromium.open(plain.page)
        assert not chromium.js("document.querySelector('.tools').checkVisibility()")
        assert not chromium.js("document.querySelector('.topbar').checkVisibility()")
        assert chromium.js("document.querySelector('.metric').checkVisibility()")

    def test_everything_that_can_be_pressed_has_a_name(self, chromium: Browser, plain: Report) -> None:
        episode, step = failed_episode(plain, "outside_target")
        for address in ("", address_of(episode, step + 1)):
            chromium.open(plain.page, address)
            nameless = chromium.js(
                "[...document.querySelectorAll('button, a, select, input')].filter(n => !(n.getAttribute('aria-label') || n.innerText || n.title).trim()).map(n => n.outerHTML)"
            )
            assert nameless == []
