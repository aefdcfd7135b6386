from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.proxy.routing import Route, RouteTable, Timeouts, Upstream


@pytest.mark.parametrize(
    ("url", "host", "port", "tls", "authority", "base"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1", 8000, False, b"127.0.0.1:8000", b""),
        ("https://api.example.com/v1", "api.example.com", 443, True, b"api.example.com", b"/v1"),
        ("https://h:443/", "h", 443, True, b"h", b""),
        ("http://h:443/a/b/", "h", 443, False, b"h:443", b"/a/b"),
        ("http://[::1]:80", "::1", 80, False, b"[::1]", b""),
        ("http://[::1]:81", "::1", 81, False, b"[::1]:81", b""),
    ],
)
def test_upstream_is_read_from_its_url(url, host, port, tls, authority, base):
    """Default ports are left out of Host, a slash at the end out of the base path."""
    found = Upstream.parse(url)
    assert (found.host, found.port, found.tls, found.authority, found.base_path) == (
        host,
        port,
        tls,
        authority,
        base,
    )


def test_unix_socket_upstream_names_a_file():
    """The socket's path is percent-encoded in the place of the host."""
    found = Upstream.parse("http+unix://%2Frun%2Fm.sock/v1")
    assert (found.unix_path, found.authority, found.base_path) == ("/run/m.sock", b"localhost", b"/v1")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("api.example.com", "needs a scheme"),
        ("ftp://h", "needs a scheme"),
        ("http://", "needs a scheme"),
        ("http://:80", "no usable host"),
        ("http://h:0", "no usable host"),
        ("http://h:99999", "not a URL"),
        ("http://h/?a=b", "query"),
        ("http://h/#", "query"),
        ("http://h/a b", "percent-encode"),
        ("http://bücher", "percent-encode"),
        ("http://me:secret@h", "credentials"),
    ],
)
def test_bad_upstream_is_one_line_that_helps(url, words):
    """The message names the fault, fits a line, and never repeats a password."""
    with pytest.raises(ValueError, match=words) as caught:
        Upstream.parse(url)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def table(base="", prefix=""):
    return RouteTable([Route("r", Upstream.parse(f"https://h{base}"), prefix)])


@pytest.mark.parametrize(
    ("base", "prefix", "target", "expected"),
    [
        ("", "", b"/v1/chat/completions?a=%20", b"/v1/chat/completions?a=%20"),
        ("/v1", "", b"/v1/models", b"/v1/models"),
        ("/openai/deployments/x", "", b"/v1/chat/completions?q", b"/openai/deployments/x/chat/completions?q"),
        ("/base", "", b"/v1", b"/base"),
        ("/base", "", b"/v1?q", b"/base?q"),
        ("/base", "", b"/v1beta/x", b"/v1beta/x"),
        ("/base", "", b"/other", b"/other"),
        ("/base", "", b"*", b"*"),
        ("", "/triage", b"/triage/v1/x", b"/v1/x"),
        ("/base", "/triage", b"/triage/v1/x", b"/base/x"),
        ("", "/triage", b"/triage", b"/"),
        ("", "/triage", b"/triage?q", b"/?q"),
    ],
)
def test_target_is_mapped(base, prefix, target, expected):
    """The prefix goes, /v1 becomes the base path, everything else stays."""
    assert table(base, prefix).match(target)[1] == expected


@given(st.binary(min_size=1, max_size=40))
def test_plain_upstream_changes_no_byte_of_any_target(target):
    """Dots, escapes, doubled slashes and odd bytes reach an upstream without a path as they came."""
    assert table().match(target)[1] is target
    assert table("/v1").match(target)[1] is target


def test_longest_prefix_wins_at_a_boundary():
    """/a/b beats /a, and /ab is neither."""
    upstream = Upstream.parse("http://h")
    routes = RouteTable([Route("a", upstream, "/a"), Route("ab", upstream, "/a/b")])
    assert routes.match(b"/a/b/c")[0].name == "ab"
    assert routes.match(b"/a/bc")[0].name == "a"
    assert routes.match(b"/ab") is None


@pytest.mark.parametrize("prefix", ["triage", "/triage/", "/"])
def test_bad_prefix_is_refused(prefix):
    """A prefix starts with a slash and does not end with one."""
    with pytest.raises(ValueError, match="prefix"):
        Route("r", Upstream.parse("http://h"), prefix)


def test_bad_rates_timeouts_and_twins_are_refused():
    """Values out of range, and routes that can't be told apart, are errors at once."""
    upstream = Upstream.parse("http://h")
    with pytest.raises(ValueError, match="sampling rate"):
        Route("r", upstream, sampling_rate=1.5)
    with pytest.raises(ValueError, match="idle_s"):
        Timeouts(idle_s=0)
    with pytest.raises(ValueError, match="name"):
        RouteTable([Route("r", upstream), Route("r", upstream, "/x")])
    with pytest.raises(ValueError, match="prefix"):
        RouteTable([Route("r", upstream), Route("s", upstream)])
