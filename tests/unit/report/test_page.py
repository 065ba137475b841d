"""The page as text: data that cannot end its block, a policy that names our script, holes that data cannot open."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.report.page import json_for_html, render_page
from sopbench.report.screens import Picture

WICKED = ["</script>", "<!--", "<script>", "]]>", "&lt;", "\u2028", "\u2029", "\ud800", "{{script}}", "{{data}}"]


@given(st.text() | st.sampled_from(WICKED))
def test_json_for_html_says_the_same_without_characters_that_markup_knows(text: str) -> None:
    out = json_for_html({text: [text]})
    assert out.isascii()
    assert not set(out) & set("<>&")
    assert json.loads(out) == {text: [text]}


def test_json_for_html_refuses_what_no_browser_reads() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        json_for_html([float("nan")])


def rendered(pictures: dict[str, Picture] | None = None, **data: object) -> str:
    return "".join(render_page(data, {} if pictures is None else pictures, title="<t> & co"))


def block(page: str, identity: str) -> str:
    found = re.search(rf'<script type="application/json" id="{identity}">(.*?)</script>', page, re.DOTALL)
    assert found
    return found.group(1)


def test_data_stays_data_even_where_it_looks_like_a_hole_or_an_end() -> None:
    page = rendered(wicked=WICKED)
    assert json.loads(block(page, "data")) == {"wicked": WICKED}
    assert "{{" not in page.replace(block(page, "data"), "")


def test_the_policy_allows_our_script_and_style_by_hash_and_nothing_from_elsewhere() -> None:
    page = rendered()
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert script
    assert style
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    directives = dict(part.strip().split(" ", 1) for part in unescape(policy.group(1)).split(";"))
    for name, found in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(found.group(1).encode()).digest()).decode()
        assert directives[name] == f"'sha256-{digest}'"
    assert directives["default-src"] == "'none'"
    assert directives["img-src"] == "data:"
    assert "unsafe" not in policy.group(1)


def test_the_script_writes_no_markup_and_evaluates_nothing() -> None:
    script = re.search(r"<script>(.*?)</script>", rendered(), re.DOTALL)
    assert script
    forbidden = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "fetch(",
        "XMLHttpRequest",
        "import(",
    ]
    assert [word for word in forbidden if word in script.group(1)] == []


def test_the_page_names_no_address_but_that_of_the_svg_language() -> None:
    assert set(re.findall(r"https?://[^\s\"')]+", rendered())) == {"http://www.w3.org/2000/svg"}


def test_pictures_become_data_uris_by_name() -> None:
    page = rendered(
        {"ab": Picture("ab", 2, 2, "image/png", b"\x89PNG"), "cd": Picture("cd", 2, 2, "image/webp", b"RIFF")}
    )
    assert json.loads(block(page, "pictures")) == {
        "ab": "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode(),
        "cd": "data:image/webp;base64," + base64.b64encode(b"RIFF").decode(),
    }


def test_the_title_is_escaped() -> None:
    assert "<title>&lt;t&gt; &amp; co</title>" in rendered()
