"""Archiving of exchanges: everything needed to approve them, nothing that must not be kept."""

from __future__ import annotations

import dataclasses
import gzip
import json
import random
import sqlite3

import pytest

from evenkeel.core.exchange import Exchange
from evenkeel.experiments.goldens.candidates import golden_of
from evenkeel.experiments.goldens.files import golden_lines, read_goldens
from evenkeel.experiments.goldens.prompts import prompt_text
from evenkeel.shadow.original import Left, Reader
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.worker import Archivist
from evenkeel.stores.counters import Tally
from evenkeel.stores.goldens import GoldenError, GoldenStore
from evenkeel.stores.sqlite.archive import SqliteExchangeArchive
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.shadow.wild_exchanges import WildExchanges

BODY = '{"model": "asked", "messages": [{"role": "user", "content": "Wie lange, bitte?"}]}'
EXCHANGE = Exchange(
    id="00000000000000ab",
    route="shop",
    received_at=12.5,
    duration_s=0.1,
    method="POST",
    path="/shop/v1/chat/completions?api-version=2",
    status=200,
    request_headers=(("content-type", "application/json"), ("content-encoding", "gzip")),
    request_body=gzip.compress(BODY.encode(), mtime=0),
    response_headers=(("content-type", "application/json"),),
    response_body=json.dumps(
        {"model": "answered", "choices": [{"message": {"content": "Vier Tage."}, "finish_reason": "stop"}]}
    ).encode(),
    task="chat",
    prompt_version="p7",
)


@pytest.fixture
def archive(tmp_path):
    return SqliteExchangeArchive(Database(tmp_path / "evenkeel.db"))


def keep(archive, exchange, prefix="/shop"):
    tally = Tally()
    original = Reader({"shop": RoutePlan((), (0.3,), 0, None)}).read(exchange)
    Archivist(archive, {"shop": prefix}, tally=tally).keep(original)
    return tally


def test_an_exchange_is_kept_decoded_and_without_its_prefix(archive):
    """The body as the client wrote it, the answer as it was read, and where it came from."""
    tally = keep(archive, EXCHANGE)
    kept = archive.find(EXCHANGE.id)
    assert kept.request == BODY
    assert (kept.path, kept.route, kept.received_at) == ("/v1/chat/completions?api-version=2", "shop", 12.5)
    assert (kept.answer.text, kept.model) == ("Vier Tage.", "answered")
    assert (kept.task, kept.prompt_version) == ("chat", "p7")
    assert tally.value("exchanges_archived", route="shop") == 1


@pytest.mark.parametrize("prefix", ["", "/sho", "/shop/v1/chat/completions?api-version=2", "/other"])
def test_only_a_whole_prefix_is_removed(archive, prefix):
    """What remains is always a path."""
    keep(archive, EXCHANGE, prefix)
    assert archive.find(EXCHANGE.id).path == EXCHANGE.path


def test_a_second_delivery_is_archived_once(archive):
    """A worker that takes over finds the exchange there."""
    keep(archive, EXCHANGE)
    again = keep(archive, dataclasses.replace(EXCHANGE, task="other"))
    assert archive.find(EXCHANGE.id).task == "chat"
    assert again.value("exchanges_archived") == 0


def test_a_store_in_trouble_is_counted_and_nothing_else():
    """Trials go on without the archive."""

    class Broken:
        def put(self, _exchange):
            raise sqlite3.OperationalError("disk I/O error")

    tally = keep(Broken(), EXCHANGE)
    assert tally.value("worker_errors", where="archive") == 1
    assert tally.value("exchanges_archived") == 0


def test_whatever_is_archived_can_be_approved_and_written(tmp_path):
    """Of odd and broken traffic each exchange that could be read comes back, or is refused with a reason."""
    rng = random.Random(11)
    exchanges = [WildExchanges(rng).exchange(number) for number in range(400)]
    plan = RoutePlan((), (0.3,), 0, None)
    reader = Reader({exchange.route: plan for exchange in exchanges})
    database = Database(tmp_path / "evenkeel.db")
    archive, store = SqliteExchangeArchive(database), GoldenStore(SqliteDocuments(database))
    tally = Tally()
    approved = refused = 0
    for exchange in exchanges:
        original = reader.read(exchange)
        if isinstance(original, Left):
            continue
        Archivist(archive, {exchange.route: "/"}, tally=tally).keep(original)
        kept = archive.find(exchange.id)
        assert kept.answer == original.answer
        assert isinstance(prompt_text(kept.request), str)
        try:
            golden = store.approve(golden_of(kept), by="ann", at=1.0)
        except GoldenError:
            refused += 1
            continue
        approved += 1
        assert store.find(golden.id) == golden
        (line,) = golden_lines([golden])
        assert read_goldens([line], "f") == (golden,)
    assert tally.value("worker_errors") == 0
    assert approved > 100
    assert refused > 0  # answers that say nothing
