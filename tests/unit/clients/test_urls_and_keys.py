"""Addresses and keys as people give them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.clients.keys import api_key_from_environment, without_secrets
from sopbench.clients.urls import normalise_base_url, normalise_base_urls, proxy_for
from sopbench.errors import UsageError


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("http://host:8000", "http://host:8000/v1"),
        ("http://host:8000/", "http://host:8000/v1"),
        ("http://host:8000/v1", "http://host:8000/v1"),
        ("http://host:8000/v1/", "http://host:8000/v1"),
        ("http://host:8000/v1/chat/completions", "http://host:8000/v1"),
        ("http://host:8000/chat/completions/", "http://host:8000/v1"),
        ("  HTTPS://Host/api/openai/v1/models ", "https://host/api/openai/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
    ],
)
def test_all_the_ways_to_write_an_address(written, url):
    assert normalise_base_url(written) == url
    assert normalise_base_url(url) == url


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("host:8000", "write http://host:8000"),
        ("", "no scheme"),
        ("ftp://host", "http or https"),
        ("http://", "names no host"),
        ("http://host:port", "no address"),
        ("http://ho st/v1", "names no host"),
        ("http://host/v1?api-key=secret", "would be recorded"),
        ("http://user:secret@host/v1", "SOPBENCH_API_KEY"),
        ("user:secret@host:8000", "SOPBENCH_API_KEY"),
        ("http://" + "a" * 64 + ".example/v1", "names no host"),
        ("http://a..b/v1", "names no host"),
        ("http://host/\x1b[31m/v1", "names no host"),
    ],
)
def test_a_wrong_address_is_explained_and_no_secret_is_quoted(written, says):
    with pytest.raises(UsageError, match=says) as caught:
        normalise_base_url(written)
    assert "secret" not in str(caught.value)


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_an_error(text):
    try:
        url = normalise_base_url(text)
    except UsageError:
        return
    assert url.startswith("http")


def test_the_same_endpoint_twice_is_one():
    assert normalise_base_urls(["http://a:1", "http://a:1/v1/", "http://b:1"]) == ("http://a:1/v1", "http://b:1/v1")
    with pytest.raises(UsageError, match="--base-url"):
        normalise_base_urls([])


def test_proxies_come_from_the_environment_and_never_for_loopback(monkeypatch):
    for name in ("no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY", "http_proxy", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert proxy_for("https://api.example/v1") is None
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    assert proxy_for("https://api.example/v1") == "http://proxy:3128"
    assert proxy_for("http://127.0.0.1:8000/v1") is None
    assert proxy_for("http://localhost:8000/v1") is None
    assert proxy_for("http://[::1]:8000/v1") is None
    monkeypatch.setenv("no_proxy", "api.example")
    assert proxy_for("https://api.example/v1") is None


def test_a_proxy_without_a_scheme_is_plain_http(monkeypatch):
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("https_proxy", "proxy:3128")
    assert proxy_for("https://api.example/v1") == "http://proxy:3128"


@pytest.mark.parametrize("proxy", ["socks5://u:secret@proxy:1080", "http://u:secret@a..b:1", "http://[::1", "http://"])
def test_a_proxy_that_cannot_be_used_is_neither_gone_round_nor_quoted(monkeypatch, proxy):
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(UsageError, match="no_proxy") as caught:
        proxy_for("https://api.example/v1")
    assert "secret" not in str(caught.value)


def test_the_projects_own_variable_comes_first():
    both = {"SOPBENCH_API_KEY": " one ", "OPENAI_API_KEY": "two"}
    assert api_key_from_environment(both) == "one"
    assert api_key_from_environment({"SOPBENCH_API_KEY": "", "OPENAI_API_KEY": "two"}) == "two"
    assert api_key_from_environment({}) is None


@pytest.mark.parametrize("key", ["a\nb", "schlüssel", "two words"])
def test_a_key_that_no_header_can_carry_is_refused_without_quoting_it(key):
    with pytest.raises(UsageError, match="OPENAI_API_KEY") as caught:
        api_key_from_environment({"OPENAI_API_KEY": key})
    assert key not in str(caught.value)


def test_a_quoted_key_is_blotted_out():
    assert without_secrets("bad key sk-1 (sk-1)", "sk-1") == "bad key *** (***)"
    assert without_secrets("text", None) == "text"


def test_a_password_in_an_address_is_blotted_out():
    assert without_secrets("407, url='http://me:pw@proxy:3128'", None) == "407, url='http://***@proxy:3128'"
    assert without_secrets("http://host/v1/a@b", None) == "http://host/v1/a@b"
