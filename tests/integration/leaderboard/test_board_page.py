"""The boards' page in a real Chromium: sorting, filters, keyboard, hostile names, a phone, 2,000 rows."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from board_workshop import Learner, Workshop, define_board
from selenium.webdriver.common.keys import Keys

from sopbench.leaderboard.boards import Boards, load_boards
from sopbench.leaderboard.page.index import index_page
from sopbench.leaderboard.page.site import build_site
from sopbench.leaderboard.published import published_rows
from sopbench.leaderboard.repository import check_all, submission_paths
from sopbench.leaderboard.row import Row, Spread
from sopbench.leaderboard.scatter import scatter_of

if TYPE_CHECKING:
    from report_browser import Browser

pytestmark = pytest.mark.chromium
PHONE = (390, 844)
HOSTILE = (
    "<script>window.pwned=1</script>",
    "\"><img src=x onerror='window.pwned=1'>",
    "' autofocus onfocus='window.pwned=1",
    "</table></section><h1>Mine</h1>",
    "{{constructor.constructor('window.pwned=1')()}}",
    "javascript:window.pwned=1",
    "&lt;b&gt; &#60;i&#62;",
    "W" * 120,
)
SHOWN = ".board:not([hidden]) "
ROWS = SHOWN + "tbody.own tr:not([hidden])"


def made_up(board: str, n: int, *, seed: int = 0, names: tuple[str, ...] = ()) -> list[Row]:
    rng = random.Random(seed)
    rows = []
    for k in range(n):
        value = rng.random()
        pulls = [rng.gauss(0, 0.4) for _ in range(119)]
        middle = sum(pulls) / 119
        score = round(100 * value, 1)
        values = {"score": score, "pg": min(100.0, score + 5), "tsr": max(0.0, score - 5)}
        rows.append(
            Row(
                board=board,
                model=names[k] if k < len(names) else f"Model {k}",
                organisation=names[k] if k < len(names) else f"Lab {k % 7}",
                tier="re-run" if k % 5 == 0 else "self-reported",
                values=values if board != "pocket-online" else {"success": score},
                ranges={name: (max(0.0, v - 5), min(100.0, v + 5)) for name, v in [*values.items(), ("success", score)]},
                n=119,
                date=f"2026-{1 + k % 12:02}-{1 + k % 28:02}",
                folder=f"f{k}",
                weights_open=k % 3 != 0,
                trained_on_benchmark=("no", "unknown", "yes")[k % 3],
                parameters="7B",
                facts={"adapter": ("uis1", "qwen25vl", "ui_tars")[k % 3], "prompts": "builtin", "screens a request": 2, "repeats": 1},
                spread=Spread(value, tuple(p - middle for p in pulls)),
            )
        )  # fmt: skip
    return rows


def page_of(folder: Path, submitted: dict[str, list[Row]]) -> Path:
    boards: Boards = load_boards()
    rows = {name: submitted.get(name, []) + published_rows(boards, board) for name, board in boards.by_id.items()}
    scatter = scatter_of(boards, [row for of_one in rows.values() for row in of_one])
    page = folder / "index.html"
    page.write_text(index_page(boards, rows, scatter, lambda row: f"{row.board}/{row.folder}/index.html" if row.folder else None), encoding="utf-8")  # fmt: skip
    return page


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = {"sop-androidcontrol": made_up("sop-androidcontrol", 30), "pocket-sop": made_up("pocket-sop", 12, seed=1), "pocket-online": made_up("pocket-online", 12, seed=1)}  # fmt: skip
    return page_of(tmp_path_factory.mktemp("page"), rows)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_of(tmp_path_factory.mktemp("hostile"), {"pocket-sop": made_up("pocket-sop", 12, names=HOSTILE)})


def models(browser: Browser, rows: str = ROWS) -> list[str]:
    return browser.texts(rows + " .name")


def column(browser: Browser, selector: str) -> list[float]:
    return [float(text) for text in browser.texts(f"{ROWS} {selector} .value")]


class TestTables:
    def test_one_board_is_shown_and_the_address_says_which(self, chromium: Browser, page: Path) -> None:
        chromium.open(page, "#pocket-sop")
        assert chromium.texts(SHOWN + "h2") == ["PocketPhone, semi-online"]
        chromium.click("[data-board='pocket-online']")
        assert chromium.texts(SHOWN + "h2") == ["PocketPhone, online"]
        assert chromium.address == "#pocket-online"
        assert chromium.count("[role='tab'][aria-selected='true']") == 1

    def test_rows_stand_by_rank_and_published_ones_apart(self, chromium: Browser, page: Path) -> None:
        chromium.open(page, "#sop-androidcontrol")
        scores = column(chromium, ".lead")
        assert scores == sorted(scores, reverse=True)
        assert chromium.count(SHOWN + "tbody.papers tr:not(.divider)") == 11
        assert "not ranked" in chromium.text(SHOWN + ".divider")
        assert chromium.text(SHOWN + "tbody.papers tr:nth-child(2) .rank").strip().startswith("–")

    def test_headings_sort_both_ways_and_keep_the_tiers_apart(self, chromium: Browser, page: Path) -> None:
        chromium.open(page, "#sop-androidcontrol")
        chromium.click(SHOWN + "[data-sort='tsr']")
        found = column(chromium, ".metric:nth-of-type(4)")
        assert found == sorted(found, reverse=True)
        assert chromium.js("document.querySelector(arguments[0]).closest('th').getAttribute('aria-sort')", SHOWN + "[data-sort='tsr']") == "descending"  # fmt: skip
        chromium.click(SHOWN + "[data-sort='tsr']")
        found = column(chromium, ".metric:nth-of-type(4)")
        assert found == sorted(found)
        chromium.click(SHOWN + "[data-sort='model']")
        names = models(chromium)
        assert names[:3] == ["Model 0", "Model 1", "Model 2"]
        assert chromium.count(SHOWN + "tbody.papers tr:not(.divider)") == 11
        assert chromium.js("[...document.querySelectorAll(arguments[0])].indexOf(document.querySelector(arguments[1]))", SHOWN + "tbody", SHOWN + "tbody.papers") == 1  # fmt: skip

    def test_filters_by_tier_weights_adapter_and_words(self, chromium: Browser, page: Path) -> None:
        chromium.open(page, "#sop-androidcontrol")
        chromium.click(SHOWN + "[data-tier='self-reported']")
        assert set(chromium.texts(ROWS + " .tier")) == {"Re-run"}
        chromium.click(SHOWN + "button[data-tier='published']")
        assert not chromium.js("document.querySelector(arguments[0]).checkVisibility()", SHOWN + ".divider")
        assert chromium.text(SHOWN + ".count") == "6 of 41 rows"
        chromium.click(SHOWN + "[data-tier='self-reported']")
        chromium.driver.execute_script("const s = document.querySelector(arguments[0]); s.value = 'open'; s.dispatchEvent(new Event('change'))", SHOWN + "[data-filter='weights']")  # fmt: skip
        assert chromium.count(ROWS) == 20
        chromium.driver.execute_script("const s = document.querySelector(arguments[0]); s.value = 'ui_tars'; s.dispatchEvent(new Event('change'))", SHOWN + "[data-filter='adapter']")  # fmt: skip
        assert chromium.count(ROWS) == 10
        chromium.keys("/", *"model 17")
        assert models(chromium) == ["Model 17"]
        chromium.keys(*"nobody")
        assert chromium.text(SHOWN + ".nothing") == "No row fits these filters."
        chromium.keys(Keys.ESCAPE)
        assert chromium.count(ROWS) == 10

    def test_ties_are_told_in_words_too(self, chromium: Browser, page: Path) -> None:
        chromium.open(page, "#sop-androidcontrol")
        assert chromium.count(SHOWN + ".tie") > 3
        assert chromium.js("document.querySelector(arguments[0]).textContent", SHOWN + ".tie .offscreen").startswith("Tied with Model")  # fmt: skip
        assert "paired difference" in chromium.text(SHOWN + ".foot")

    def test_says_that_replies_can_be_fabricated_and_phones_simulated(self, chromium: Browser, page: Path) -> None:
        chromium.open(page, "#pocket-sop")
        assert "Raw replies can be fabricated" in chromium.text("#reading")
        assert "PocketPhone is simulated" in chromium.text("#reading")
        assert "simulated" in chromium.text(SHOWN + ".notice")


class TestScatter:
    def test_shows_the_fit_with_n_and_its_interval(self, chromium: Browser, page: Path) -> None:
        chromium.open(page)
        assert "0.492" in chromium.text("#scatter-facts")
        assert chromium.texts("#scatter-facts dd")[0] == "11"
        assert chromium.count("#scatter-figure .dot") == 11
        for name, n, r2 in (("six", "6", "0.934"), ("eight", "8", "0.439")):
            chromium.driver.execute_script("const s = document.querySelector('[data-axis=set]'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))", name)  # fmt: skip
            assert r2 in chromium.text("#scatter-facts .big")
            assert chromium.texts("#scatter-facts dd")[0] == n
        assert chromium.count("#scatter-figure .dot.out") == 3
        assert chromium.js("document.activeElement.dataset.axis") == "set"

    def test_submitted_models_have_a_fit_of_their_own(self, chromium: Browser, page: Path) -> None:
        chromium.open(page)
        for axis, value in (("x", "pocket-sop.tsr"), ("y", "pocket-online.success")):
            chromium.driver.execute_script("const s = document.querySelector(`[data-axis=${arguments[0]}]`); s.value = arguments[1]; s.dispatchEvent(new Event('change'))", axis, value)  # fmt: skip
        assert chromium.texts("#scatter-facts dd")[0] == "12"
        assert chromium.count("#scatter-figure .dot.submitted") == 12


class TestKeyboard:
    def test_tabs_are_walked_with_arrows(self, chromium: Browser, page: Path) -> None:
        chromium.open(page)
        chromium.js("document.querySelector('[role=tab][aria-selected=true]').focus()")
        first = chromium.text(SHOWN + "h2")
        chromium.keys(Keys.ARROW_RIGHT)
        assert chromium.text(SHOWN + "h2") != first
        chromium.keys(Keys.ARROW_LEFT)
        assert chromium.text(SHOWN + "h2") == first
        chromium.keys(Keys.END)
        assert chromium.js("document.activeElement === [...document.querySelectorAll('[role=tab]')].at(-1)")

    def test_everything_is_reached_by_tab_and_seen(self, chromium: Browser, page: Path) -> None:
        chromium.open(page, "#pocket-sop")
        chromium.js("document.activeElement.blur()")
        chromium.driver.execute_script("document.querySelector('.skip').focus()")
        seen = set()
        for _ in range(32):
            chromium.keys(Keys.TAB)
            seen.add(chromium.js("document.activeElement.dataset.sort || document.activeElement.className || document.activeElement.tagName"))  # fmt: skip
            assert chromium.js("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        assert {"rank", "score", "search"} <= seen

    def test_a_heading_sorts_with_enter(self, chromium: Browser, page: Path) -> None:
        chromium.open(page, "#pocket-sop")
        chromium.driver.execute_script("document.querySelector(arguments[0]).focus()", SHOWN + "[data-sort='date']")
        chromium.keys(Keys.ENTER)
        dates = chromium.texts(ROWS + " .date")
        assert dates == sorted(dates, reverse=True)


class TestHostileNames:
    def test_nothing_becomes_markup_or_runs(self, chromium: Browser, hostile: Path) -> None:
        chromium.open(hostile, "#pocket-sop")
        assert not chromium.js("'pwned' in window")
        assert chromium.count("main script, main img, main iframe, main form, [onerror], [onfocus], [autofocus]") == 0
        assert chromium.count("h1") == 1
        names = models(chromium)
        assert set(HOSTILE) <= set(names)
        chromium.keys("/", *"<script>")
        assert models(chromium) == [HOSTILE[0]]
        assert all(a.startswith(("file:", "#")) for a in chromium.js("[...document.querySelectorAll('a')].map(a => a.href)"))  # fmt: skip

    def test_a_script_that_got_in_anyway_would_not_run(self, chromium: Browser, page: Path) -> None:
        chromium.open(page)
        chromium.driver.execute_script("const s = document.createElement('script'); s.textContent = 'window.pwned = 1'; document.body.append(s)")  # fmt: skip
        assert not chromium.js("'pwned' in window")
        assert any("Content Security Policy" in text for text in chromium.complaints())

    def test_a_long_name_breaks_no_layout(self, chromium: Browser, hostile: Path) -> None:
        for size in ((1440, 900), PHONE):
            chromium.emulate(size)
            chromium.open(hostile, "#pocket-sop")
            assert chromium.overflow == 0


class TestLooks:
    @pytest.mark.parametrize("width", [390, 620, 760, 1000, 1440])
    def test_nothing_scrolls_sideways(self, chromium: Browser, page: Path, width: int) -> None:
        chromium.emulate((width, 844))
        for board in ("sop-androidcontrol", "pocket-online", "gui-odyssey", "miniwob"):
            chromium.open(page, f"#{board}")
            assert chromium.overflow == 0
            assert chromium.js("[...document.querySelectorAll(arguments[0])].every(box => box.scrollWidth <= box.clientWidth + 1)", SHOWN + ".tablebox")  # fmt: skip

    @pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
    def test_text_stands_out_from_its_ground(self, chromium: Browser, page: Path, dark: bool) -> None:
        chromium.emulate(dark=dark)
        chromium.open(page, "#sop-androidcontrol")
        words = ["h1", "h2", ".intro", ".about", ".tag", ".counts", ".kind", ".under", ".metric .value", ".metric small", ".tier", ".flag", ".rank b", ".rank small", "thead button", ".divider th", ".foot p", ".notice p", ".segments button", ".count", ".date", "footer", "#scatter-facts dt", ".weak", "summary", "pre"]  # fmt: skip
        found = chromium.js(CONTRAST.strip(), words)
        assert {selector: round(ratio, 2) for selector, ratio in found.items() if ratio < 4.5} == {}
        assert len(found) > 20

    def test_everything_that_can_be_pressed_has_a_name(self, chromium: Browser, page: Path) -> None:
        chromium.open(page, "#sop-androidcontrol")
        nameless = chromium.js("[...document.querySelectorAll('button, a, select, input')].filter(n => !(n.getAttribute('aria-label') || n.innerText || n.textContent || n.closest('label')?.textContent || '').trim()).map(n => n.outerHTML)")  # fmt: skip
        assert nameless == []

    def test_without_scripts_every_board_can_be_read(self, page: Path) -> None:
        text = page.read_text(encoding="utf-8")
        assert "Model 29" in text
        assert "UI-S1-7B" in text.split('<script type="application/json"')[0]

    def test_nothing_is_loaded_from_anywhere(self, chromium: Browser, page: Path) -> None:
        chromium.open(page)
        assert chromium.js("performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith('data:'))") == []  # fmt: skip


def busy(browser: Browser) -> float:
    """Processor seconds that the page's thread has worked: the clock says little on a machine that runs other tests too."""
    browser.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    found = browser.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(m["value"] for m in found if m["name"] == "TaskDuration"))


@pytest.mark.slow
def test_two_thousand_rows_are_built_shown_sorted_and_filtered_quickly(chromium: Browser, tmp_path: Path) -> None:
    """Budgets in processor time."""
    started = time.process_time()
    page = page_of(tmp_path, {"sop-androidcontrol": made_up("sop-androidcontrol", 2_000)})
    assert time.process_time() - started < 30
    assert page.stat().st_size < 8_000_000
    chromium.open(page, "#sop-androidcontrol")
    assert chromium.count(SHOWN + "tbody.own tr") == 2_000
    assert chromium.count(ROWS) == 200
    assert chromium.text(SHOWN + ".count") == "2,011 rows, the first 200 of each list are shown"
    before = busy(chromium)
    chromium.click(SHOWN + "[data-sort='tsr']")
    chromium.js("document.body.offsetHeight")
    assert busy(chromium) - before < 5
    found = column(chromium, ".metric:nth-of-type(4)")
    assert found == sorted(found, reverse=True)
    chromium.keys("/", *"model 1999")
    assert models(chromium) == ["Model 1999"]
    chromium.keys(Keys.ESCAPE)
    chromium.click(SHOWN + ".all")
    assert chromium.count(ROWS) == 2_000


@pytest.fixture(scope="module")
def site(shop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    define_board(place / "boards", shop.source)
    own = Workshop(place / "boards", shop.source, place)
    for number, name in enumerate(("<b>Bold</b>", "Plain")):
        run = shop.run(place / f"run-{number}", policy=Learner(errs=2 + 3 * number))
        links = {"paper": "https://example.org/paper"}
        own.submit(
            run, place / "boards" / "tiny-sop" / "submissions", model=name, links=links, notes="<i>see</i> & read"
        )
    found = check_all(own.boards, submission_paths(own.boards), source=shop.source, jobs=1)
    assert all(one.row is not None for one in found)
    return build_site(own.boards, found, place / "site", source=shop.source, screens=True)


class TestSubmissionPages:
    def test_a_rows_name_leads_to_its_page_and_steps(self, chromium: Browser, site: Path) -> None:
        chromium.open(site)
        names = models(chromium)
        assert set(names) == {"<b>Bold</b>", "Plain"}
        target = chromium.js("[...document.querySelectorAll('.name a')].find(a => a.textContent.includes('Bold')).href")
        chromium.driver.get(target)
        assert chromium.text("h1") == "<b>Bold</b>"
        assert chromium.count("h1 b, dd i") == 0
        words = chromium.text("main")
        for wanted in (
            "Fingerprint",
            "@made-up",
            "<i>see</i> & read",
            "By the expert's action",
            "Raw replies can be fabricated",
            "The 23 rules",
        ):
            assert wanted in words
        link = chromium.js("(a => [a.href, a.rel])(document.querySelector(\"a[href^='https://example.org']\"))")
        assert link == ["https://example.org/paper", "nofollow noopener noreferrer ugc"]
        assert chromium.overflow == 0
        chromium.emulate(PHONE)
        chromium.driver.get(target)
        assert chromium.overflow == 0
        chromium.emulate()
        chromium.driver.get(target.replace("index.html", "trajectories.html"))
        assert chromium.count(".rows .row") == 6
        chromium.click(".rows .row")
        assert "thinking about" in chromium.text("pre")
        assert chromium.js("document.querySelector('.stage img').naturalWidth") > 0


CONTRAST = """
(selectors => {
  const pixel = color => { const c = new OffscreenCanvas(1, 1).getContext('2d'); c.fillStyle = color; c.fillRect(0, 0, 1, 1); return c.getImageData(0, 0, 1, 1).data };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => { for (; node; node = node.parentElement) { const p = pixel(getComputedStyle(node).backgroundColor); if (p[3] === 255) return p } return [255, 255, 255] };
  const out = {};
  for (const selector of selectors) for (const node of [...document.querySelectorAll(selector)].filter(n => n.checkVisibility() && !n.matches('.offscreen')).slice(0, 40)) {
    const [a, b] = [light(pixel(getComputedStyle(node).color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    out[selector] = Math.min(out[selector] ?? 99, ratio);
  }
  return out;
})(arguments[0])
"""
