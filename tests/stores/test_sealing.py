"""Encryption of what is kept: nothing readable in the store, keys turned over, wrong keys said plainly."""

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Evidence
from evenkeel.stores.archive import ArchivedExchange, ExchangeArchive
from evenkeel.stores.cache import DocumentCache
from evenkeel.stores.errors import StoreError
from evenkeel.stores.goldens import Golden, GoldenStore
from evenkeel.stores.labels import LabelStatement, LabelStore, label_of
from evenkeel.stores.references import KeptAnswer, Reference, ReferenceStore
from evenkeel.stores.sealing import KEY_VARIABLE, MAGIC, Seal, SealError, payload_keys, seal_of
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.kit.records import altered
from tests.stores.examples import ARCHIVED, exchange, read_after, verdict

WORD = "periwinkle"
FIRST, SECOND, THIRD = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2, 3))


def seal(*written):
    return seal_of({KEY_VARIABLE: ",".join(written)})


@settings(max_examples=40)
@given(payload=st.binary(max_size=300), place=st.text(max_size=20))
def test_what_is_closed_opens_again_and_only_in_its_place(payload, place):
    """Any bytes come back whole; moved elsewhere or changed in any byte they do not."""
    mine = seal(FIRST)
    closed = mine.close(payload, place)
    assert mine.open(closed, place) == payload
    assert mine.close(payload, place) != closed  # each has a nonce of its own
    assert closed.startswith(MAGIC)
    # the key's id, a nonce and a tag
    assert len(closed) == len(payload) + len(MAGIC) + 4 + 12 + 16
    with pytest.raises(SealError, match="changed"):
        mine.open(closed, place + "x")
    at = len(closed) - 1 - len(payload) // 2
    with pytest.raises(SealError, match="changed"):
        mine.open(closed[:at] + bytes([closed[at] ^ 1]) + closed[at + 1 :], place)


def test_without_a_key_bytes_pass_as_they_are():
    """That is the default; with "plain" in front of a key what was sealed can still be opened."""
    for open_seal in (seal(""), seal_of({}), seal("plain", FIRST), Seal()):
        assert not open_seal.active
        assert open_seal.close(b"x", "here") == open_seal.open(b"x", "here") == b"x"
    assert seal("plain", FIRST).open(seal(FIRST).close(b"y", "here"), "here") == b"y"


def test_keys_are_turned_over():
    """The first key seals, all open; plain payloads stay readable; a key that is gone is named."""
    old = seal(FIRST).close(b"old", "here")
    both = seal(SECOND, FIRST)
    assert both.open(old, "here") == b"old"
    new = both.close(b"new", "here")
    assert seal(SECOND).open(new, "here") == b"new"
    assert both.open(b"never sealed", "here") == b"never sealed"
    key_id = payload_keys(FIRST)[0].id.hex()
    with pytest.raises(SealError, match=f"the key {key_id}, which is not in {KEY_VARIABLE}; put that"):
        seal(SECOND, THIRD).open(old, "here")


@pytest.mark.parametrize("written", ["secret", "QUJD", FIRST[:-4], f"{FIRST},short", f"{FIRST} plain"])
def test_a_key_that_is_none_is_refused_without_being_shown(written):
    """The message says which entry it is and how to make one, never what it holds."""
    with pytest.raises(SealError, match="not a key of 32 bytes in base64; make one with: openssl") as caught:
        seal_of({KEY_VARIABLE: written})
    assert "QUJD" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_both_base64_alphabets_are_read():
    """Keys made by tools that write base64 for URLs are keys too."""
    secret = bytes(range(220, 252))
    plain, for_urls = base64.b64encode(secret), base64.urlsafe_b64encode(secret)
    assert plain != for_urls
    assert payload_keys(plain.decode()) == payload_keys(for_urls.decode())


def test_a_key_shows_itself_by_its_id_only():
    """Neither keys nor seals can end in a log with what they hold."""
    (key,) = payload_keys(FIRST)
    shown = repr(key) + repr(Seal([key]))
    assert key.id.hex() in shown
    assert FIRST not in shown
    assert repr(key.secret) not in shown


def test_stores_take_the_keys_of_the_environment(tmp_path, monkeypatch):
    """No place that opens a store can forget them; keys that are none keep it closed."""
    monkeypatch.setenv(KEY_VARIABLE, FIRST)
    assert Database(tmp_path / "a.db").seal.active
    monkeypatch.setenv(KEY_VARIABLE, "nonsense")
    with pytest.raises(StoreError, match="not a key"):
        Database(tmp_path / "a.db")


VERDICT = verdict(1, id="v1", explanation=f"the second leaves out {WORD}")
ASKED = json.dumps({"messages": [{"role": "user", "content": f"{WORD}?"}]})
ANSWER = Answer(f"{WORD} answered")
STORED = altered(ARCHIVED, id="e1", request=ASKED, answer=ANSWER)
LABEL = label_of(VERDICT, LabelStatement("ann", rating=3, note=f"{WORD} is only wording"), at=3.0)
KEPT = KeptAnswer(ANSWER, 10.0, "m", "asked")
REFERENCE = Reference(
    id="x1", route="shop", requested_model="m", prompt_version="p", path="/v1/chat/completions",
    request=ASKED, taken_at=1.0, answers=(KEPT,),
)  # fmt: skip
RULING = "ab" * 32, f'[2, "{WORD} is missing"]'.encode()


def filled(stores):
    """Write the word into every store that keeps text."""
    log, archive, goldens, labels, references, rulings = stores
    assert log.append(VERDICT, Evidence(f"{WORD}?", "v", ANSWER, None))
    assert archive.put(STORED)
    goldens.approve(Golden(id="g1", request=ASKED, answer=ANSWER), by="someone", at=2.0)
    labels.put(LABEL, Evidence(f"{WORD}?", "v", ANSWER, None))
    references.add(REFERENCE.renewed(lambda _kept: False, at=5.0, since=4.0).answered(KEPT))
    rulings.put(*RULING)


def read(stores):
    """Check that everything that was written is there."""
    log, archive, goldens, labels, references, rulings = stores
    assert log.find("v1") == log.of_exchange("e1")[0] == log.latest(1)[0] == VERDICT
    assert read_after(log, 0, 9)[0].verdict == VERDICT
    assert log.evidence("v1").reference == ANSWER
    assert archive.find("e1") == archive.latest()[0] == STORED
    assert goldens.find("g1") == goldens.select()[0] == goldens.history("g1")[0]
    assert goldens.find("g1").request == ASKED
    (label,) = labels.select()
    assert (label.note, labels.texts("v1").reference) == (LABEL.note, ANSWER)
    assert references.find("x1").former == references.find("x1").answers == (KEPT,)
    assert rulings.get(RULING[0]) == RULING[1]


def closed(stores):
    """Check that no text can be read, each with what is to be done about it, and figures can."""
    log, archive, goldens, labels, references, rulings = stores
    logged = read_after(log, 0, 9)[0].verdict
    assert (logged.rating, logged.route) == (VERDICT.rating, VERDICT.route)
    assert "put that key there" in logged.scoring.explanation
    (label,) = labels.select()
    assert (label.rating, label.judge_rating, label.agrees) == (3, 2, False)
    assert "put that key there" in label.note
    assert [state.id for state in references.states()] == ["x1"]
    for store, name in (
        (log.evidence, "v1"),
        (archive.find, "e1"),
        (goldens.find, "g1"),
        (labels.texts, "v1"),
        (references.find, "x1"),
        (rulings.get, RULING[0]),
    ):
        with pytest.raises(SealError, match="put that key there"):
            store(name)


def test_nothing_readable_is_left_in_a_store(backend):
    """Verdict, evidence, exchange, golden, label, reference and ruling, wherever the backend keeps them."""

    def stores(*keys):
        place = backend.opened(seal=seal(*keys))
        return (
            backend.verdicts(place),
            backend.archive(place),
            GoldenStore(backend.documents(place)),
            LabelStore(backend.documents(place)),
            ReferenceStore(backend.documents(place)),
            DocumentCache(backend.documents(place), "rulings"),
        )

    filled(stores(FIRST))
    read(stores(SECOND, FIRST))
    closed(stores(SECOND))
    closed(stores())
    assert VERDICT.perturbation in backend.contents()
    assert WORD not in backend.contents()
    backend.verdicts().append(altered(VERDICT, id="v2"), None)
    assert WORD in backend.contents()


def test_documents_moved_between_rows_are_refused(tmp_path, monkeypatch):
    """Who can write to the file cannot have one golden, or one exchange, read as another."""
    monkeypatch.setenv(KEY_VARIABLE, FIRST)
    place = Database(tmp_path / "a.db")
    goldens, archive = (
        GoldenStore(SqliteDocuments(place)),
        ExchangeArchive(SqliteDocuments(place), clock=lambda: 9.0),
    )
    asked = {"route": "main", "path": "/v1/chat/completions", "request": "{}", "model": "m"}
    for name in ("one", "two"):
        goldens.approve(Golden(id=name, answer=Answer(name), **asked), by="someone", at=2.0)
        archive.put(ArchivedExchange(id=name, answer=Answer(name), received_at=1.0, **asked))
    assert goldens.find("one").answer.text == archive.find("one").answer.text == "one"
    with place.write() as connection:
        for table in ("goldens", "archived_exchanges"):
            connection.execute(
                f"UPDATE {table} SET body = (SELECT body FROM {table} WHERE id = 'two') WHERE id = 'one'"
            )
    for reading in (lambda: goldens.find("one"), goldens.select, lambda: archive.find("one")):
        with pytest.raises(SealError, match="belongs to another document"):
            reading()
    assert goldens.find("two").answer.text == "two"


def test_exchanges_moved_between_rows_of_the_queue_are_dead_letters(backend):
    """None is read as another, in the file and in Redis."""
    place = backend.opened(seal=seal(FIRST))
    queue = backend.queue(place)
    one, two = exchange(1), exchange(2)
    assert queue.put([one, two]) == 2
    _swap(place, ("exchanges", "main", "payload:"), one.id, two.id)
    leases = queue.reserve(2, 60.0)
    assert [(lease.exchange.id, lease.fault) for lease in leases] == [
        (one.id, "undecryptable"),
        (two.id, "undecryptable"),
    ]
    assert all(lease.exchange.request_body == b"" for lease in leases)


def _swap(place, where, one, two):
    """Exchange the payloads of two rows behind the back of the queue."""
    table, section, prefix = where
    if isinstance(place, Database):
        payloads = dict(place.rows(f"SELECT id, payload FROM {table}"))
        with place.write() as connection:
            for name, other in ((one, two), (two, one)):
                connection.execute(f"UPDATE {table} SET payload = ? WHERE id = ?", (payloads[other], name))
        return
    names = [place.key(section, f"{prefix}{name}") for name in (one, two)]
    first, second = place.client.mget(names)
    place.client.mset({names[0]: second, names[1]: first})
