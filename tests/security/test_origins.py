"""A credential belongs to an origin: no failover and no replay takes it to another one."""

import asyncio
import random
import socket
from dataclasses import dataclass

from evenkeel.core.endpoint import Upstream
from evenkeel.proxy import Counters
from evenkeel.proxy.lanes import Lane
from evenkeel.proxy.request_head import parse_request, render_request
from evenkeel.runtime.changes import golden_routes
from evenkeel.runtime.preflight import missing_keys
from evenkeel.runtime.replays import reference_target, replay_target
from evenkeel.settings import Settings, route_table
from evenkeel.stores.references import Reference
from tests.proxy.conftest import fake_upstream, relay
from tests.stores.examples import exchange

OK = b"HTTP/1.1 200 OK\r\nSet-Cookie: s=answer\r\nContent-Length: 2\r\n\r\nok"
CLIENTS = (
    *("Authorization: Bearer client", "Cookie: s=client", "cookie: t=client", "api-key: client"),
    *("X-API-Key: client", "x-goog-api-key: client", "Ocp-Apim-Subscription-Key: client"),
    *("X-Amz-Security-Token: client", "X-Auth-Token: client", "CF-Access-Client-Secret: client"),
    *("Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.client", "Helicone-Auth: Bearer client"),
)
KEPT = ("Idempotency-Key: kept", "X-Request-ID: kept", "anthropic-version: kept", "Sec-WebSocket-Key: kept")
POST = (
    "POST /v1/chat/completions?a=1&api-key=client HTTP/1.1\r\nHost: localhost\r\n"
    + "\r\n".join((*CLIENTS, *KEPT, "Content-Length: 2"))
    + "\r\n\r\nhi"
).encode()
ORIGINS = (
    *("http://a.test", "http://a.test:81", "https://a.test", "http://b.test"),
    *("http+unix://%2Fone", "http+unix://%2Ftwo"),
)
HEADERS = ("authorization", "api-key", "x-corp")
SHADOW = "EVENKEEL_SHADOW_API_KEY"


@dataclass(eq=False)
class Place:
    """A pool as far as a lane needs one."""

    upstream: Upstream
    resting_until: float = 0.0


class Configuration:
    """Random settings whose every key names the origins that it may reach."""

    def __init__(self, seed, monkeypatch):
        self._rng = rng = random.Random(seed)
        self._monkeypatch = monkeypatch
        self.allowed = {}
        """Value of a key → the upstreams that may be sent it."""
        self.routes = [self._route(number) for number in range(rng.randint(1, 3))]
        firsts = {str(Upstream.parse(route["upstream"])) for route in self.routes}
        origins = firsts if len(firsts) == 1 else set()
        monkeypatch.delenv(SHADOW, raising=False)
        if rng.random() < 0.7:
            monkeypatch.setenv(SHADOW, "key-shadow")
        self.allowed["key-shadow"] = origins
        self.settings = Settings(routes=self.routes)

    def _route(self, number):
        rng = self._rng
        names = rng.sample(ORIGINS, rng.randint(1, 4))
        if rng.random() < 0.3:
            names.append(names[0])
        urls = [f"{url}/base{place}" for place, url in enumerate(names)]
        route = {"name": f"r{number}", "match": {"prefix": f"/r{number}"}, "upstream": urls[0]}
        route["share_credentials"] = rng.random() < 0.2
        route |= self._keys(urls[0], ("api_key_env", "replay_key_env"))
        route["fallbacks"] = [
            url if rng.random() < 0.4 else {"url": url, **self._keys(url, ("api_key_env",))}
            for url in urls[1:]
        ]
        return route

    def _keys(self, url, settings):
        rng = self._rng
        keys = {"api_key_header": rng.choice(HEADERS)}
        for setting in settings:
            if rng.random() < 0.5:
                value = f"key-{len(self.allowed)}"
                self.allowed[value] = {str(Upstream.parse(url))}
                keys[setting] = f"VARIABLE_{len(self.allowed)}"
                self._monkeypatch.setenv(keys[setting], value)
        return keys

    def check(self, sent, route, upstream):
        """Check that no key is sent to another origin, unless the route shares those for its first."""
        shared = self.settings.routes[int(route.name[1:])].share_credentials
        first = str(route.upstream)
        for word in sent.replace("\r\n", " ").split():
            if word.startswith("key-"):
                origins = self.allowed[word]
                assert str(upstream) in origins or (shared and first in origins), (word, str(upstream))
        assert "client" not in sent or shared or str(upstream) == first


def test_no_credential_reaches_another_origin_whatever_the_settings_are(monkeypatch):
    """Traffic at every upstream, replays, reference prompts and goldens, in forty settings."""
    head = parse_request(POST)
    for seed in range(40):
        drawn = Configuration(seed, monkeypatch)
        replayed, asked = replay_target(drawn.settings), reference_target(drawn.settings)
        goldens = golden_routes(drawn.settings)
        for route in route_table(drawn.settings.routes).routes:
            places = [Place(upstream) for upstream in route.upstreams]
            lane = Lane(route, places, Counters().of(route.name))
            for number, place in enumerate(places):
                target = lane.target(head.target, place)
                sent = render_request(head, target, b"h", lane.injections[place]).decode()
                drawn.check(sent, route, place.upstream)
                assert sent.count("kept") == len(KEPT)
                where = {"route": route.name, "upstream": number}
                original = exchange(1, path=f"{route.prefix}/v1/completions", **where)
                reference = Reference(
                    id="x", requested_model="", prompt_version="", path="/v1/completions", request="{}",
                    taken_at=0.0, answers=(), **where,
                )  # fmt: skip
                for headers in (replayed(original).headers, asked(reference).headers):
                    drawn.check(" ".join(value for _, value in headers), route, place.upstream)
            headers = goldens[route.name].endpoint.headers
            drawn.check(" ".join(value for _, value in headers), route, route.upstream)


async def _failed_over(*, share, own=()):
    """Send two requests; return what a fallback on another port received, and the answers."""
    with socket.socket() as refusing:
        refusing.bind(("127.0.0.1", 0))
        port = refusing.getsockname()[1]
        rules = {"inject": ((b"x-corp", b"key-first"),), "share_credentials": share, "fallback_inject": own}
        async with (
            fake_upstream(OK) as fallback,
            relay(
                OK, upstream_port=port, fallbacks=[f"http://127.0.0.1:{fallback.port}"], rules=rules
            ) as rig,
        ):
            client = await rig.client()
            answers = b""
            for _ in range(2):  # the second goes there at once: the first upstream rests
                answers += await client.ask(POST)
            assert rig.counter("proxy_failovers") == 1
            return fallback.received, answers


def test_a_failover_to_another_origin_takes_no_credential_along():
    """Neither the client's, in fields, cookies and query, nor the operator's; its cookies do not return."""
    received, answers = asyncio.run(_failed_over(share=False))
    assert b"client" not in received
    assert b"key-first" not in received
    assert received.count(b"POST /v1/chat/completions?a=1 HTTP/1.1\r\n") == 2
    assert received.count(b": kept") == 2 * len(KEPT)
    assert b"Set-Cookie" not in answers


def test_a_fallback_of_another_origin_gets_its_own_key():
    """The fallback gets nothing else that could be one."""
    own = (((b"authorization", b"Bearer key-own"),),)
    received, _ = asyncio.run(_failed_over(share=False, own=own))
    assert received.count(b"\r\nauthorization: Bearer key-own\r\n") == 2
    assert b"client" not in received
    assert b"key-first" not in received


def test_a_route_that_shares_its_credentials_takes_them_along():
    """A request arrives at a fallback as it would have at the first upstream."""
    received, answers = asyncio.run(_failed_over(share=True))
    assert received.count(b"client") == 2 * (len(CLIENTS) + 1)
    assert received.count(b"\r\nx-corp: key-first\r\n") == 2
    assert answers.count(b"Set-Cookie") == 2


def test_one_key_of_replays_goes_to_one_origin(monkeypatch):
    """Routes of two origins do not share it: a route names it as its own, or it is sent nowhere, loudly."""
    monkeypatch.setenv(SHADOW, "s")
    routes = [
        {"name": "a", "upstream": "http://a/v1"},
        {"name": "b", "match": {"prefix": "/b"}, "upstream": "http://b"},
    ]

    def carried(**second):
        settings = Settings(routes=[routes[0], routes[1] | second])
        told = any(SHADOW in line for line in missing_keys(settings, "worker"))
        return {name: keys[0].replay_headers() for name, keys in settings.keys.items()}, told

    assert carried() == ({"a": (), "b": ()}, True)
    header = (("authorization", "Bearer s"),)
    assert carried(replay_key_env=SHADOW) == ({"a": (), "b": header}, False)
