"""A key that evenkeel puts in serves programs and listed pages under a known name, and no other web page."""

import asyncio
import json

import pytest
from pydantic import ValidationError

from evenkeel.proxy import ProxyRoute, Upstream
from evenkeel.proxy.callers import Callers
from evenkeel.proxy.request_head import parse_request
from evenkeel.runtime.preflight import host_notes
from evenkeel.settings import Settings
from evenkeel.settings.server import Listen
from tests.cases import cases
from tests.proxy.conftest import fake_upstream, relay

CASES = cases(__file__)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
KEY = ((b"authorization", b"Bearer operators"),)
KNOWN = (
    *("localhost", "LOCALHOST:1", "localhost.", "127.0.0.1", "127.0.0.1:8100", "127.3.2.1", "[::1]:8100"),
    *("llm.corp.example", "LLM.corp.example.:443", "10.1.2.3:80", "[2001:DB8:0::7]:80"),
)
UNKNOWN = CASES["unknown"]
PAGES = CASES["pages"]
CALLERS = Callers(
    hosts=["llm.corp.example", "10.1.2.3", "2001:db8::7"],
    origins=["https://app.example", "vscode-file://vscode-app"],
)


def request(host="localhost", fields=(), line="POST /v1/chat/completions HTTP/1.1", body="{}"):
    hosts = [] if host is None else [f"Host: {host}"]
    lines = [line, *hosts, *fields, f"Content-Length: {len(body)}", "Connection: close", "", body]
    return "\r\n".join(lines).encode("latin-1")


def sent(data, *, inject=KEY, hosts=(), callers=CALLERS):
    """The answer, and what the upstream got."""

    async def main():
        rules = {"inject": inject, "hosts": hosts}
        async with relay(OK, parse=False, rules=rules, callers=callers) as rig:
            rig.upstream.on_data = lambda wire, _: wire.write(OK)
            client = await rig.client()
            client.send(data)
            return await client.rest(), rig.upstream.received

    return asyncio.run(main())


def error_of(answer):
    return json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


@pytest.mark.parametrize("host", UNKNOWN.values(), ids=UNKNOWN)
def test_a_name_that_was_pointed_here_gets_no_key(host):
    """DNS rebinding: the browser asks for the attacker's name. The error says what to set."""
    answer, received = sent(request(host))
    assert answer.startswith(b"HTTP/1.1 421 Misdirected Request\r\n")
    assert b"\r\nconnection: close\r\n" in answer
    error = error_of(answer)
    assert error["code"] == "host_not_known"
    assert "listen.hosts" in error["message"]
    assert received == b""


@pytest.mark.parametrize("host", KNOWN)
def test_known_names_and_addresses_get_through_on_every_port(host):
    """Loopback, what the settings name, and nothing about the port, which a mapping may have changed."""
    answer, received = sent(request(host))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"Bearer operators" in received


@pytest.mark.parametrize("fields", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize(
    "line",
    [
        "POST /v1/chat/completions HTTP/1.1",
        "GET /v1/models HTTP/1.1",
        "OPTIONS /v1/chat/completions HTTP/1.1",
    ],
)
def test_a_web_page_gets_no_key(fields, line):
    """Forms and `text/plain` are refused without a preflight, all in one, and if only the browser says so."""
    fields = [*fields, "Content-Type: text/plain", "Access-Control-Request-Method: POST"]
    answer, received = sent(request(fields=fields, line=line))
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert b"access-control" not in answer.lower()
    error = error_of(answer)
    assert error["code"] == "origin_not_allowed"
    assert "listen.origins" in error["message"]
    assert received == b""


def test_the_name_in_the_target_counts_as_the_host():
    """RFC 9112, 3.2.2: of an absolute target the authority counts, whatever `Host` says."""
    line = "POST http://{}/v1/chat/completions HTTP/1.1"
    assert sent(request("localhost", line=line.format("evil.example")))[0].startswith(b"HTTP/1.1 421 ")
    assert sent(request("evil.example", line=line.format("localhost:8100")))[0].startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("host", "fields", "status"),
    [("evil.example", [], 421), ("localhost", ["Origin: https://evil.example"], 403)],
)
def test_a_web_page_opens_no_tunnel(host, fields, status):
    """Browsers let any page open a WebSocket to any address; they only say whose page it is."""
    upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    lines = ["GET /v1/realtime HTTP/1.1", f"Host: {host}", *fields, *upgrade, "", ""]
    answer, received = sent("\r\n".join(lines).encode())
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert received == b""


def test_every_request_of_a_connection_is_looked_at():
    """A known name in the first request lets no second one in, pipelined or not."""

    async def main():
        async with relay(OK, rules={"inject": KEY}, callers=CALLERS) as rig:
            client = await rig.client()
            first = request().replace(b"Connection: close\r\n", b"")
            client.send(first + request("evil.example"))
            answers = await client.rest()
            assert rig.upstream.received.count(b"POST ") == 1
            return answers

    answers = asyncio.run(main())
    assert answers.startswith(OK)
    assert answers[len(OK) :].startswith(b"HTTP/1.1 421 ")


async def test_the_key_of_a_fallback_counts_too():
    """A route whose fallback alone is sent a key is a route with a key."""
    async with fake_upstream(OK) as second:
        rules = {"fallback_inject": (KEY,)}
        url = f"http://127.0.0.1:{second.port}"
        async with relay(OK, fallbacks=[url], rules=rules) as rig:
            assert (await rig.exchange(request("evil.example"))).startswith(b"HTTP/1.1 421 ")
            assert (await rig.exchange(request())).startswith(b"HTTP/1.1 200 ")


def test_routes_without_a_key_pass_everything():
    """Clients show keys of their own there; names and origins are the upstream's business."""
    for fields in PAGES.values():
        assert sent(request("evil.example", fields), inject=())[0].startswith(b"HTTP/1.1 200 ")


def test_on_all_addresses_every_address_is_known_and_no_name():
    """An address cannot be pointed elsewhere, and which ones lead here (pods, port mappings) is not known."""
    callers = Callers("0.0.0.0")
    for host in ("10.9.9.9:8100", "[fd00::1]", "127.0.0.1"):
        assert callers.refused(parse_request(request(host))) is None
    assert callers.refused(parse_request(request("evil.example"))) is not None


def test_no_route_with_a_key_is_open_by_accident(monkeypatch):
    """The settings refuse what could never match, and say under which names a route with a key is reached."""
    listen = Listen(hosts=["LLM.Example", "[2001:DB8:0::7]"], origins=["HTTPS://App.Example:443"])
    assert listen.hosts == ["llm.example", "2001:db8::7"]
    assert listen.origins == ["https://app.example"]
    for wrong in ({"hosts": ["https://llm.example"]}, {"hosts": ["llm.example:80"]}, {"hosts": ["*"]}):
        with pytest.raises(ValidationError):
            Listen(**wrong)
    for origin in ("*", "null", "app.example", "https://app.example/", "https://*.example"):
        with pytest.raises(ValidationError):
            Listen(origins=[origin])
    monkeypatch.setenv("OPERATORS_KEY", "operators")
    route = {"name": "r", "upstream": "http://u", "api_key_env": "OPERATORS_KEY"}
    everywhere = Settings(routes=[route], listen={"host": "0.0.0.0"})
    assert "listen.hosts" in host_notes(everywhere)[0]
    assert host_notes(Settings(routes=[route])) == []
    assert host_notes(Settings(routes=[{"upstream": "http://u"}], listen={"host": "0.0.0.0"})) == []


async def test_other_routes_of_the_same_port_are_not_concerned():
    """The check is the route's: the one beside it takes the client's own key from any page."""
    other = ProxyRoute("own", Upstream.parse("http://127.0.0.1:1"), "/own", 1.0)
    async with relay(OK, rules={"inject": KEY}, others=[other]) as rig:
        answer = await rig.exchange(request("evil.example", line="POST /own/v1/completions HTTP/1.1"))
        assert error_of(answer)["code"] == "upstream_refused"
