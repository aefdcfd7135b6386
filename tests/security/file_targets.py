"""More targets for a fuzzer: what is stored, what people write into files, what they ask the admin port."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from urllib.parse import parse_qsl

import httpx2

from evenkeel.console.trial_search import TrialFilter
from evenkeel.core.exchange import Exchange
from evenkeel.core.records import from_json, to_json
from evenkeel.lab.bench.items import ItemError, item_of
from evenkeel.lab.rows import numbered_objects
from evenkeel.llm.wire import RawResponse
from evenkeel.settings import SettingsError
from evenkeel.settings.settings import load
from evenkeel.shadow.protection import BUILTIN, Redactor
from evenkeel.shadow.replay import LONGEST, excerpt
from evenkeel.stores.labels import Label
from evenkeel.stores.payloads import lease_of
from evenkeel.stores.sealing import MAGIC, PayloadKey, Seal, SealError, payload_keys

_SEAL = Seal([PayloadKey(bytes(32))])
_ADDRESS = "ann@example.org"
_KEY = "sk-marker-77aa"
_REDACTOR = Redactor(BUILTIN)


def payloads(data):
    """What a queue keeps is an exchange, or it says why not; what was sealed opens only unchanged."""
    for seal in (_SEAL, Seal()):
        lease = lease_of("id", data, seal, 0.0, 1)
        assert lease.exchange.id == "id" or lease.fault
    sealed = _SEAL.close(b"kept", "exchange")
    changed = data[: len(sealed)] + sealed[len(data) :]
    with contextlib.suppress(SealError):
        opened = _SEAL.open(changed, "exchange")
        assert changed == sealed or not changed.startswith(MAGIC)
        assert opened == (b"kept" if changed == sealed else changed)
    with contextlib.suppress(SealError):
        payload_keys(data.decode("utf-8", "replace"))


def redactions(data):
    """What is redacted is JSON as it was, but for the values in it; what cannot be read is dropped."""
    body = data.replace(b"@", _ADDRESS.encode())
    headers = (("content-type", "application/json"),)
    exchange = Exchange("i", "r", 0.0, 0.0, "POST", "/v1", 200, headers, body, headers, body)
    kept = _REDACTOR.redact(exchange).exchange
    before = None
    with contextlib.suppress(ValueError, RecursionError):
        before = _shape(json.loads(body))
    if before is not None and kept.request_body:
        assert _shape(json.loads(kept.request_body)) == before
    events = (("content-type", "text/event-stream"),)
    _REDACTOR.redact(Exchange("i", "r", 0.0, 0.0, "POST", "/v1", 200, headers, b"", events, body))


def _shape(value):
    """A value of JSON without its texts."""
    if isinstance(value, dict):
        return {name: _shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_shape(inner) for inner in value]
    return "" if isinstance(value, str) else repr(value)


def excerpts(data):
    """What is kept of an upstream's error is a short line without the credential it was asked with."""
    body = data.replace(b"@", _KEY.encode())
    for whole in (body, json.dumps({"error": {"message": body.decode("latin-1")}}).encode()):
        text = excerpt(RawResponse(400, httpx2.Headers(), whole), [f"Bearer {_KEY}"])
        assert len(text) <= LONGEST
        assert len(text.splitlines()) <= 1
        assert _KEY not in text


def settings(data):
    """A settings file is read, or refused in one line."""
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        file.write(data)
        file.flush()
        text = ""
        try:
            load(Path(file.name), {}, {})
        except SettingsError as error:
            text = str(error)
        assert len(text.splitlines()) <= 1


def queries(data):
    """What is chosen among trials can be read from any query string, and again from the link to it."""
    chosen = TrialFilter.of(dict(parse_qsl(data.decode("latin-1"), keep_blank_values=True)))
    assert TrialFilter.of({name: value or "" for name, value in chosen.parts().items()}) == chosen
    narrow = chosen.narrow()
    assert (narrow.since is None) == (not chosen.since)
    assert (narrow.until is None) == (not chosen.until)


def issues(data):
    """A line of a benchmark's issues is an issue, or is refused by field."""
    for _, row in numbered_objects(data.decode("utf-8", "replace")):
        with contextlib.suppress(ItemError):
            item_of(row, "line 1")


def labels(data):
    """What is kept of a label is written as it is read."""
    with contextlib.suppress(ValueError, TypeError, AttributeError, RecursionError):
        label = from_json(data, Label)
        assert from_json(to_json(label), Label) == label


TARGETS = (payloads, redactions, excerpts, settings, queries, issues, labels)
