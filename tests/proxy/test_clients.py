"""Clients are told apart by a keyed hash of their key or address; nothing of either is kept."""

import re
from dataclasses import asdict

from evenkeel.proxy.clients import ClientNames
from tests.proxy.conftest import eventually, relay
from tests.proxy.plain import OK


def names(salt=b"s" * 64, proxies=()):
    return ClientNames(lambda: salt, proxies)


def head(*fields):
    return "\r\n".join(("POST /v1/chat/completions HTTP/1.1", "Host: x", *fields, "", "")).encode()


def name(*fields, address="10.0.0.1", by_key=True, **options):
    return names(**options).name(head(*fields), address, known_by_key=by_key)


def test_a_name_is_a_keyed_hash_that_says_nothing_elsewhere():
    """12 hex digits, the same for the same key, another one in another installation."""
    ours = name("Authorization: Bearer sk-1")
    assert re.fullmatch("[0-9a-f]{12}", ours)
    assert ours == name("authorization:   Bearer sk-1  ", address="10.9.9.9")
    assert ours != name("Authorization: Bearer sk-2")
    assert ours != name("Authorization: Bearer sk-1", salt=b"t" * 64)
    assert name("x-api-key: k") == name("API-Key: k")


def test_a_key_that_nobody_looks_at_names_nobody():
    """A client could send another key with each request where evenkeel replaces it: its address counts."""
    assert name("Authorization: Bearer 1", by_key=False) == name("Authorization: Bearer 2", by_key=False)
    assert name("Authorization: Bearer 1", by_key=False) == name()


def test_without_a_key_the_address_counts_and_in_ipv6_the_network():
    """An IPv6 address comes with 2^64 others."""
    assert name(address="10.0.0.1") != name(address="10.0.0.2")
    assert name(address="2001:db8::1") == name(address="2001:db8::2")
    assert name(address="2001:db8::1") != name(address="2001:db8:0:1::1")
    assert name(address="::ffff:10.0.0.1") == name(address="10.0.0.1")
    assert name(address="") == ""


def test_a_forwarded_address_is_believed_from_listed_proxies_only():
    """The first from the right that is no proxy counts: the client may have made up what stands before it."""
    forged = "X-Forwarded-For: 1.1.1.1, 8.8.8.8"
    assert name(forged) == name()
    behind = {"proxies": ["10.0.0.0/24"]}
    assert name(forged, **behind) == name(address="8.8.8.8")
    assert name(forged, "X-Forwarded-For: 10.0.0.7", **behind) == name(address="8.8.8.8")
    assert name(**behind) == name()
    assert name("X-Forwarded-For: <script>", **behind) == name("X-Forwarded-For: other", **behind)


def test_without_a_salt_clients_have_no_names_and_nothing_else_is_lost():
    """A store in trouble costs names; it is asked again."""
    answers = [OSError("gone"), b"s" * 64]

    def salt():
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    later = ClientNames(salt)
    assert later.name(head(), "10.0.0.1", known_by_key=True) == ""
    assert later.name(head(), "10.0.0.1", known_by_key=True) == name()


async def test_an_exchange_names_its_client_and_holds_neither_key_nor_address():
    """Nothing but the hash leaves the data plane."""
    async with relay(OK, names=names()) as rig:
        client = await rig.client()
        await client.ask(head("Authorization: Bearer sk-secret"))
        await eventually(lambda: rig.queue.exchanges)
        [exchange] = rig.queue.exchanges
    assert exchange.client == name("Authorization: Bearer sk-secret")
    assert "sk-secret" not in repr(asdict(exchange))
    assert "127.0.0.1" not in repr(asdict(exchange))


async def test_a_header_that_clients_already_send_names_the_session():
    """The header is forwarded and its hash kept; that of evenkeel wins; a blank one names nothing."""
    by_header = ClientNames(lambda: b"s" * 64, session_header="x-session-id")
    sent = (["X-Session-Id: run-7"], ["x-session-id: run-7"], ["x-session-id: run-8"])
    sent += (["x-session-id: run-7", "x-evenkeel-session: own"], ["x-session-id:"], [])
    async with relay(OK, names=by_header) as rig:
        for fields in sent:
            await rig.ask(head(*fields))
        await eventually(lambda: len(rig.queue.exchanges) == len(sent))
        assert b"X-Session-Id: run-7" in rig.upstream.received
    first, again, other, own, blank, none = (exchange.session for exchange in rig.queue.exchanges)
    assert re.fullmatch("[0-9a-f]{12}", first)
    assert first == again != other
    assert (own, blank, none) == ("own", None, None)
