"""Readers of what comes from outside, given bytes that were worth keeping, and bytes that are nearly those.

A reader may refuse what it is given, with its own exception; any other exception is a finding. Heads, chunks,
prompts, workflows and protected spans have property tests of their own beside their rooms.
"""

import contextlib
import json
import random
import tempfile
from pathlib import Path
from urllib.parse import parse_qsl

import httpx2
import pytest

from evenkeel.console.trials import TrialFilter
from evenkeel.core.errors import UserError
from evenkeel.core.exchange import Exchange
from evenkeel.lab.bench.items import ItemError, item_of
from evenkeel.lab.rows import numbered_objects
from evenkeel.llm.encodings import UnreadableBody, decode_body
from evenkeel.llm.wire import RawResponse
from evenkeel.metrics.structured.html import read_html, read_markdown, repair_html, repair_markdown
from evenkeel.metrics.structured.json import find_json, read_json
from evenkeel.metrics.structured.reading import read_structure
from evenkeel.metrics.structured.tree import UnreadableError
from evenkeel.metrics.structured.xml import read_xml, repair_xml
from evenkeel.metrics.structured.yaml import read_yaml, repair_yaml
from evenkeel.proxy.capture import capturable
from evenkeel.proxy.credentials import redacted
from evenkeel.release.goldens.files import golden_lines, read_goldens
from evenkeel.settings import SettingsError
from evenkeel.settings.settings import load
from evenkeel.shadow.answer import read_answer
from evenkeel.shadow.prompt import APIS
from evenkeel.shadow.protection import BUILTIN, Redactor
from evenkeel.shadow.replay import LONGEST, excerpt
from evenkeel.stores.payloads import lease_of
from evenkeel.stores.sealing import PayloadKey, Seal

CORPUS = Path(__file__).parent / "corpus"
INPUTS = sorted(CORPUS.glob("*/*"))
MUTATIONS = 10
ENCODINGS = ("gzip", "deflate", "br", "zstd", "gzip, br", "identity, zstd, gzip")
DECODED_BYTES = 1 << 16
SEALS = (Seal(), Seal([PayloadKey(bytes(32))]))
KEY = "sk-marker-77aa"


def targets(data):
    """A request target is stored as a path without any parameter that is dropped."""
    if not capturable(b"POST", data):
        return
    path = redacted(data)
    assert path.startswith("/")
    assert redacted(path.encode("latin-1")) == path


def answers(data):
    """A response of any API is read or refused with a reason; what is read is well-formed text."""
    for api in APIS:
        for content_type in ("application/json", "text/event-stream"):
            with contextlib.suppress(UnreadableBody):  # which covers answers that say nothing
                answer = read_answer({"content-type": content_type}, data, api.answer_reader())
                answer.text.encode()
                for call in answer.tool_calls:
                    (call.name + call.arguments).encode()


def encodings(data):
    """A compressed body is undone within its limit, or refused with a reason."""
    encoding = ENCODINGS[data[0] % len(ENCODINGS)] if data else ""
    with contextlib.suppress(UnreadableBody):
        decoded = decode_body({"content-encoding": encoding}, data[1:], DECODED_BYTES)
        assert len(decoded) <= DECODED_BYTES


def structures(data):
    """A text is read as JSON, YAML, XML, HTML or Markdown, or refused with a reason."""
    text = data.decode("utf-8", "replace")
    for read in (
        *(read_json, read_yaml, read_xml, read_html, read_markdown),
        *(find_json, repair_yaml, repair_xml, repair_html, repair_markdown),
    ):
        with contextlib.suppress(UnreadableError):
            read(text)
    for wanted in (None, "json", "yaml", "xml", "html", "markdown"):
        read_structure(text, wanted)


def goldens(data):
    """A file of goldens is refused by line and field, or is written as it is read."""
    with contextlib.suppress(UserError):
        goldens = read_goldens(data.decode("utf-8", "replace").split("\n"), "file")
        lines = list(golden_lines(goldens))
        assert read_goldens(lines, "again") == goldens
        assert all(len(line.splitlines()) == 1 for line in lines)


def payloads(data):
    """A payload of the queue is an exchange, or says why not."""
    for seal in SEALS:
        lease = lease_of("id", data, seal, 1)
        assert lease.exchange.id == "id" or lease.fault


def redactions(data):
    """A stream of any bytes is redacted, or what cannot be looked at is dropped; no address is left."""
    body = data.replace(b"@", b"ann@example.org")
    events = (("content-type", "text/event-stream"),)
    exchange = Exchange("i", "r", 0.0, 0.0, "POST", "/v1", 200, (), b"", events, body)
    assert b"ann@example.org" not in Redactor(BUILTIN).redact(exchange).exchange.response_body


def excerpts(data):
    """An excerpt of an upstream's error is a short line without the credential it was asked with."""
    body = data.replace(b"@", KEY.encode())
    for whole in (body, json.dumps({"error": {"message": body.decode("latin-1")}}).encode()):
        text = excerpt(RawResponse(400, httpx2.Headers(), whole), [f"Bearer {KEY}"])
        assert len(text) <= LONGEST
        assert len(text.splitlines()) <= 1
        assert KEY not in text


def settings(data):
    """A settings file is read, or refused in a line for each fault, which begins with its name."""
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        file.write(data)
        file.flush()
        faults = []
        try:
            load(Path(file.name), {}, {})
        except SettingsError as error:
            faults = str(error).splitlines()
        assert all(fault.startswith(file.name) for fault in faults)


def queries(data):
    """A choice of trials is read from any query string, and again from the link to it."""
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


TARGETS = {
    target.__name__: target
    for target in (
        *(targets, answers, encodings, structures, goldens, payloads),
        *(redactions, excerpts, settings, queries, issues),
    )
}


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_corpus_breaks_no_parser(path):
    """Each input, and some that are a few bytes off, is read or refused, and every invariant holds."""
    read, data = TARGETS[path.parent.name], path.read_bytes()
    read(data)
    rng = random.Random(f"{path.parent.name}/{path.name}")
    for _ in range(MUTATIONS):
        read(mutated(data, rng))


def mutated(data, rng):
    """The data with one to four edits: a byte changed, a piece cut, doubled or put elsewhere."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice((0, 1, 1, 2, 8)))
        piece = data[start:end]
        other = rng.randrange(len(data) + 1)
        mark = rng.choice((b"\r\n", b"\n", b":", b'"', b"\\u", b"\x00", b"{", b"]"))
        data = rng.choice(
            (
                data[:start] + bytes([rng.randrange(256)]) + data[start + 1 :],
                data[:start] + data[end:],
                data[:end] + piece + data[end:],
                data[:other] + piece + data[other:],
                data[:start] + mark + data[start:],
            )
        )
    return data


def test_every_target_has_a_corpus():
    """A target without inputs would be tried with nothing, and a folder without target not at all."""
    assert {path.parent.name for path in INPUTS} == set(TARGETS)
