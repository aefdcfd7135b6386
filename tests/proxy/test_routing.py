"""Upstreams, prefixes and targets; rules about hosts, headers and keys; injected credentials."""

import asyncio
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.proxy.credentials import key_fingerprints
from evenkeel.proxy.routing import ProxyRoute, RouteTable, Timeouts, Upstream
from tests.proxy.conftest import eventually, fake_upstream, relay
from tests.proxy.plain import OK


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
    upstream = Upstream.parse(url)
    assert (upstream.host, upstream.port, upstream.tls) == (host, port, tls)
    assert (upstream.authority, upstream.base_path) == (authority, base)


def test_unix_socket_upstream_names_a_file():
    """The socket's path is percent-encoded in the place of the host."""
    socket = Upstream.parse("http+unix://%2Frun%2Fm.sock/v1")
    assert (socket.unix_path, socket.authority, socket.base_path) == ("/run/m.sock", b"localhost", b"/v1")


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
    return RouteTable([ProxyRoute("r", Upstream.parse(f"https://h{base}"), prefix)])


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
    routes = RouteTable([ProxyRoute("a", upstream, "/a"), ProxyRoute("ab", upstream, "/a/b")])
    assert routes.match(b"/a/b/c")[0].name == "ab"
    assert routes.match(b"/a/bc")[0].name == "a"
    assert routes.match(b"/ab") is None


@pytest.mark.parametrize("prefix", ["triage", "/triage/", "/"])
def test_bad_prefix_is_refused(prefix):
    with pytest.raises(ValueError, match="prefix"):
        ProxyRoute("r", Upstream.parse("http://h"), prefix)


def test_bad_rates_timeouts_and_twins_are_refused():
    """Values out of range, and routes that can't be told apart, are errors at once."""
    upstream = Upstream.parse("http://h")
    with pytest.raises(ValueError, match="sampling rate"):
        ProxyRoute("r", upstream, sampling_rate=1.5)
    with pytest.raises(ValueError, match="silence_s"):
        Timeouts(silence_s=0)
    with pytest.raises(ValueError, match="name"):
        RouteTable([ProxyRoute("r", upstream), ProxyRoute("r", upstream, "/x")])
    with pytest.raises(ValueError, match="prefix"):
        RouteTable([ProxyRoute("r", upstream), ProxyRoute("s", upstream)])


ELSEWHERE = Upstream.parse("http://elsewhere")

KEY = "sk-of-team-a"

# As sha256sum computes it.
DIGITS = hashlib.sha256(KEY.encode()).hexdigest()[:16]


def route(name, prefix="", **rules):
    return ProxyRoute(name, ELSEWHERE, prefix, **rules)


def found(table, *lines, target=b"/v1/x"):
    """Name of the route of a request with these header lines."""
    raw = b"POST " + target + b" HTTP/1.1\r\n" + b"".join(line.encode() + b"\r\n" for line in lines) + b"\r\n"
    match = table.find(target, raw + b"body", len(raw))
    return match and match[0].name


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        (f"Authorization: Bearer {KEY}", {DIGITS}),
        (f"authorization:bearer  {KEY} ", {DIGITS}),
        (f"API-Key: {KEY}", {DIGITS}),
        (f"x-api-key: {KEY}\t", {DIGITS}),
        ("Authorization: Basic eA==", set()),
        ("X: bearer k", set()),
        ("not-api-key: k", set()),
    ],
)
def test_key_is_recognised_however_it_is_sent(line, keys):
    """Bearer token, api-key and x-api-key, in any case and spacing; no other field, and nothing of a body."""
    raw = f"GET / HTTP/1.1\r\nHost: x\r\n{line}\r\nAccept: a\r\n\r\n".encode()
    assert key_fingerprints(raw + b"\r\napi-key: k\r\n", len(raw)) == keys


def test_host_rule_ignores_case_and_port():
    """A host without a port matches every port, one with a port only that."""
    table = RouteTable([route("a", hosts=("LLM.internal",)), route("b", hosts=("other:81", "[::1]"))])
    assert found(table, "Host: llm.INTERNAL") == "a"
    assert found(table, "host:llm.internal:8100 ") == "a"
    assert found(table, "Host: other:81") == "b"
    assert found(table, "Host: [::1]:9") == "b"
    assert found(table, "Host: other:82") is None
    assert found(table, "Host: not-llm.internal") is None


def test_header_rules_must_all_hold_with_exact_values():
    """Names in any case, values exactly; any of several fields of a name may have it."""
    table = RouteTable([route("a", headers=(("X-Team", "blue"), ("x-tier", "1"))), route("rest")])
    assert found(table, "x-TEAM: blue", "X-Tier:1") == "a"
    assert found(table, "X-Team: red", "X-Team: blue", "X-Tier: 1") == "a"
    assert found(table, "X-Team: blue") == "rest"
    assert found(table, "X-Team: Blue", "X-Tier: 1") == "rest"


def test_the_most_specific_route_wins():
    """Longer path, then key, then more headers, then host, then the order of the settings."""
    table = RouteTable(
        [
            route("all"),
            route("host", hosts=("h",)),
            route("header", headers=(("a", "1"),)),
            route("same header count", headers=(("b", "1"),)),
            route("two headers", headers=(("a", "1"), ("b", "1"))),
            route("key", key_fingerprints=("0" * 16, DIGITS)),
            route("path", "/p"),
            route("longer path", "/p/q"),
            route("path and host", "/p", hosts=("h",)),
        ]
    )
    everything = ("Host: h", "a: 1", "b: 1", f"Authorization: Bearer {KEY}")
    assert found(table, *everything, target=b"/p/q/r") == "longer path"
    assert found(table, *everything, target=b"/p/x") == "path and host"
    assert found(table, *everything[1:], target=b"/p") == "path"
    assert found(table, *everything) == "key"
    assert found(table, *everything[:3]) == "two headers"
    assert found(table, *everything[:2]) == "header"
    assert found(table, "Host: h", "b: 1") == "same header count"
    assert found(table, "a: 1", "Host: h") == "header"
    assert found(table, "Host: h") == "host"
    assert found(table, "Host: x") == "all"


def test_target_is_mapped_by_name_alone():
    """A route found by its name maps targets as matching does; unknown names are None."""
    main = ProxyRoute("main", Upstream.parse("http://h/base"), "/triage", hosts=("h",))
    table = RouteTable([main, route("rest")])
    assert table.named("main") is main
    assert table.named("other") is None
    assert main.target(b"/triage/v1/x?y") == b"/base/x?y"
    assert main.target(b"/v1/x") == b"/base/x"
    assert main.target(b"/triage/v1/x", Upstream.parse("http://h/else")) == b"/else/x"
    raw = b"GET /triage/v1/x?y HTTP/1.1\r\nHost: h\r\n\r\n"
    assert table.find(b"/triage/v1/x?y", raw, len(raw)) == (main, b"/base/x?y")


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"hosts": ("http://h",)}, "host"),
        ({"headers": (("bad name", "secret"),)}, "header rule"),
        ({"headers": (("a", " secret"),)}, "header rule"),
        ({"key_fingerprints": ("sk-secret",)}, "fingerprint"),
        ({"fallbacks": (ELSEWHERE,)}, "twice"),
        ({"inject": ((b"bad name", b"secret"),)}, "header name"),
        ({"inject": ((b"Content-Length", b"secret"),)}, "relay sets it"),
        ({"inject": ((b"api-key", b"secret\r\nx: y"),)}, "line breaks"),
        ({"inject": ((b"api-key", b""),)}, "empty"),
    ],
)
def test_bad_rule_is_one_line_that_helps_and_holds_no_value(rules, words):
    """The message names the route and what is wrong, and never repeats a value."""
    with pytest.raises(ValueError, match=words) as caught:
        route("r", **rules)
    assert "'r'" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_routes_with_the_same_rules_are_refused():
    """However they are written; one more rule tells them apart."""
    with pytest.raises(ValueError, match="'b'"):
        RouteTable([route("a", hosts=("H", "i")), route("b", hosts=("i", "h"))])
    RouteTable([route("a", hosts=("h",)), route("b", hosts=("h",), headers=(("a", "1"),))])


async def test_injected_fields_replace_the_clients():
    """All of the client's fields of that name go, in any case; the others stay as they were."""
    inject = ((b"Authorization", b"Bearer ours"), (b"api-key", b"k2"))
    async with relay(OK, rules={"inject": inject}) as rig:
        host = b"Host: 127.0.0.1:%d\r\n" % rig.upstream.port
        client = await rig.client()
        answer = await client.ask(
            b"GET /a HTTP/1.1\r\nAUTHORIZATION: Bearer theirs\r\nHost: localhost\r\nX-A: 1\r\n"
            b"Connection: keep-alive\r\nauthorization:again\r\nX-B: 2\r\n\r\n"
        )
        assert answer == OK
        await client.ask(b"GET /b HTTP/1.0\r\nHost: localhost\r\n\r\n")
        ours = b"Authorization: Bearer ours\r\napi-key: k2\r\n\r\n"
        assert rig.upstream.received == (
            b"GET /a HTTP/1.1\r\n" + host + b"X-A: 1\r\nX-B: 2\r\n" + ours + b"GET /b HTTP/1.1\r\n"
            + host + ours
        )  # fmt: skip


async def test_injected_credentials_are_neither_captured_nor_shown():
    """An exchange holds neither the client's key nor ours, nor does a route as it is logged."""
    async with relay(OK, rules={"inject": ((b"authorization", b"Bearer ours"),)}) as rig:
        answer = await rig.ask(
            b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer theirs\r\n"
            b"Content-Length: 2\r\n\r\n{}"
        )
        assert answer == OK
        await eventually(lambda: rig.queue.exchanges)
        shown = repr(rig.queue.exchanges) + repr(rig.plane.routes.named("main"))
        assert "ours" not in shown
        assert "theirs" not in shown


async def test_requests_of_one_connection_take_their_own_routes():
    """Routes are chosen request by request, by key and by a private header that is not forwarded."""
    async with fake_upstream(OK.replace(b"ok", b"B!")) as second:
        other = Upstream.parse(f"http://127.0.0.1:{second.port}")
        others = [
            ProxyRoute("by key", other, key_fingerprints=(DIGITS,)),
            ProxyRoute("by header", other, headers=(("x-evenkeel-route", "canary"),)),
        ]
        async with relay(OK, others=others) as rig:
            client = await rig.client()
            for line, body in (
                (b"Authorization: Bearer " + KEY.encode(), b"B!"),
                (b"Authorization: Bearer other", b"ok"),
                (b"X-Evenkeel-Route: canary", b"B!"),
            ):
                answer = await client.ask(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + line + b"\r\n\r\n")
                assert answer.endswith(body)
            assert rig.counter("proxy_requests", route="by key", status_class="2xx") == 1
            assert rig.counter("proxy_requests", route="by header", status_class="2xx") == 1
            assert b"Evenkeel" not in second.received
            assert b"Bearer " + KEY.encode() in second.received
        await asyncio.sleep(0)
