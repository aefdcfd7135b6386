"""Nothing that a client sends decides where a request or a replay goes."""

import asyncio
import json

import pytest

from evenkeel.proxy import ProxyRoute, Upstream
from evenkeel.proxy.capture import capturable
from evenkeel.runtime import replays
from evenkeel.settings import Settings
from evenkeel.shadow.original import Reader, UnreadableExchange
from evenkeel.shadow.planner import RoutePlan
from tests.cases import cases
from tests.proxy.conftest import eventually, fake_upstream, relay
from tests.stores.examples import exchange

CASES = cases(__file__)

BODY = b'{"model": "m", "messages": [{"role": "user", "content": "Hello"}]}'
ANSWER = json.dumps({"model": "m", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]})
OK = f"HTTP/1.1 200 OK\r\nContent-Length: {len(ANSWER)}\r\n\r\n{ANSWER}".encode()
PATH = "/v1/chat/completions"

TARGETS = CASES["targets"]
REFUSED = CASES["refused"]
FIELDS = CASES["fields"]


def post(target, host, fields=()):
    lines = [f"POST {target} HTTP/1.1", f"Host: {host}", *fields, f"Content-Length: {len(BODY)}", "", ""]
    return "\r\n".join(lines).encode() + BODY


def sent(request_of):
    """Send a request; return the line that came, the number of connections elsewhere, and captured paths."""

    async def main():
        async with fake_upstream(OK) as elsewhere, relay(OK, parse=False) as rig:
            rig.upstream.on_data = lambda wire, _: wire.received.endswith(BODY) and wire.write(OK)
            client = await rig.client()
            assert (await client.ask(request_of(f"127.0.0.1:{elsewhere.port}"))).startswith(b"HTTP/1.1 200 ")
            lines = rig.upstream.received.split(b"\r\n")
            own = f"127.0.0.1:{rig.upstream.port}".encode()
            assert [line for line in lines if line.lower().startswith(b"host:")] == [b"Host: " + own]
            await eventually(lambda: rig.counter("exchanges_queued") == rig.counter("exchanges_sampled"))
            return lines[0], len(elsewhere.wires), [captured.path for captured in rig.queue.exchanges]

    return asyncio.run(main())


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_a_target_that_names_a_host_goes_to_the_upstream_all_the_same(target):
    """The settings say where requests go; a path passes as it is, whatever it looks like."""
    targets = []

    def request(elsewhere):
        targets.append(target.format(elsewhere=elsewhere))
        return post(targets[0], elsewhere)

    line, connected, captured = sent(request)
    assert line == f"POST {targets[0]} HTTP/1.1".encode()
    assert connected == 0
    assert captured == targets


@pytest.mark.parametrize(("target", "host", "route", "forwarded"), CASES["absolute"])
async def test_an_absolute_target_is_routed_by_its_path_and_its_host(target, host, route, forwarded):
    """Rules about paths see the path; rules about `Host` see the target's, which counts in its place."""
    if route == "other":
        target = target.replace("other:", "other.test:")

    async with fake_upstream(OK) as upstream:
        there = Upstream.parse(f"http://127.0.0.1:{upstream.port}")
        others = (ProxyRoute("team", there, "/team"), ProxyRoute("other", there, hosts=("other.test",)))
        async with relay(OK, others=others) as rig:
            line = f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"
            assert (await rig.ask(line.encode())).startswith(b"HTTP/1.1 200 ")
            assert rig.counter("proxy_requests", route=route) == 1
            took = rig.upstream if route == "main" else upstream
            assert took.received.startswith(f"GET {forwarded} HTTP/1.1\r\n".encode())


@pytest.mark.parametrize("target", REFUSED.values(), ids=REFUSED)
async def test_a_target_of_no_known_form_is_refused(target):
    """A target that is neither a path nor an http URL passes no rule about paths, and reaches no upstream."""
    async with relay(OK) as rig:
        answer = await rig.exchange(post(target.format(elsewhere="h"), "h"))
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert rig.upstream.wires == []


def test_no_field_moves_a_request():
    """Neither `Host` nor what other proxies obey."""
    line, connected, captured = sent(
        lambda elsewhere: post(PATH, elsewhere, [field.format(elsewhere=elsewhere) for field in FIELDS])
    )
    assert line == f"POST {PATH} HTTP/1.1".encode()
    assert connected == 0
    assert captured == [PATH]


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_a_replay_stays_with_its_upstream(target, monkeypatch):
    """A captured path cannot change the host."""
    monkeypatch.setenv("EVENKEEL_SHADOW_API_KEY", "shadow")
    settings = Settings(routes=[{"upstream": "http://model.test:8080/base/v1"}])
    path = target.format(elsewhere="elsewhere.test")
    captured = exchange(1, route="default", path=path, request_body=BODY, response_body=ANSWER.encode())
    assert replays.replay_target(settings)(captured).url.startswith("http://model.test:8080/")


@pytest.mark.parametrize("target", REFUSED.values(), ids=REFUSED)
def test_what_is_no_path_is_not_replayed(target):
    """Wherever it comes from, it is neither captured nor read."""
    path = target.format(elsewhere="elsewhere.test")
    captured = exchange(1, route="default", path=path, request_body=BODY, response_body=ANSWER.encode())
    assert not capturable(b"POST", path.encode())
    reader = Reader({"default": RoutePlan((), 1, None)})
    assert reader.read(captured) == UnreadableExchange("api_unsupported", dead=False)
