"""What a fuzzer may throw bytes at: each target reads them, and raises if an invariant does not hold.

A reader may refuse what it is given, with its own exception; any other exception is a finding.
"""

from __future__ import annotations

import contextlib
import json

import h11

from evenkeel.core.protected_spans import protected_spans
from evenkeel.llm.encodings import UnreadableBody, decode_body
from evenkeel.metrics.structured.html import read_html, read_markdown, repair_html, repair_markdown
from evenkeel.metrics.structured.json import find_json, read_json
from evenkeel.metrics.structured.reading import read_structure
from evenkeel.metrics.structured.tree import UnreadableError
from evenkeel.metrics.structured.xml import read_xml, repair_xml
from evenkeel.metrics.structured.yaml import read_yaml, repair_yaml
from evenkeel.metrics.workflow.reading import read_workflow
from evenkeel.metrics.workflow.workflow import WorkflowError
from evenkeel.proxy.capture import capturable
from evenkeel.proxy.credentials import redacted
from evenkeel.proxy.framing import ChunkError, ChunkReader, Framing, MessageError
from evenkeel.proxy.request_head import parse_any_request, parse_request, render_request
from evenkeel.proxy.response_head import parse_any_response, parse_response, render_response
from evenkeel.release.goldens.files import golden_lines, read_goldens
from evenkeel.shadow.answer import read_answer
from evenkeel.shadow.perturbations.format.outline import Unreadable, outline_at
from evenkeel.shadow.prompt import APIS, PromptView, UnreadablePrompt
from evenkeel.stores.goldens import GoldenError
from tests.security import file_targets

_ENCODINGS = ("gzip", "deflate", "br", "zstd", "gzip, br", "identity, zstd, gzip")
_DECODED_BYTES = 1 << 16
_METHODS = (b"GET", b"HEAD", b"POST")


def request_head(data):
    """Both ways through the parser agree, and what is sent on is read alike by h11 and by ourselves."""
    try:
        head = parse_request(data)
    except MessageError:
        assert _refused(parse_any_request, data)
        return
    slow = parse_any_request(data)
    if head is None:
        assert slow is None
        return
    assert slow is not None
    assert _alike(head, slow)
    assert _alike(parse_request(data, parse_request(data)), slow)
    sent = render_request(head, head.target, b"upstream:1")
    assert sent.endswith(b"\r\n\r\n")
    assert sent.count(b"\r\n\r\n") == 1
    assert sent.count(b"\n") == sent.count(b"\r") == sent.count(b"\r\n")
    again = parse_request(sent)
    assert (again.end, again.framing, again.length) == (len(sent), head.framing, head.length)
    assert not again.notes
    _agree(sent, again.method, again.target, again.framing, again.length)


def _alike(head, other):
    """Whether two ways of reading agree; only one of them recognises the next head."""
    return all(getattr(head, name) == getattr(other, name) for name in other.__slots__ if name != "known")


def _refused(parse, *given):
    try:
        parse(*given)
    except MessageError:
        return True
    return False


def _agree(sent, method, target, framing, length):
    """Another strict reader takes a head for the same request, with a body of the same kind."""
    reader = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    reader.receive_data(sent)
    try:
        event = reader.next_event()
    except h11.RemoteProtocolError:  # stricter than we are, such as about a Host: not smuggled past it
        return
    assert isinstance(event, h11.Request)
    assert (event.method, event.target) == (method, target)
    fields = dict(event.headers)
    assert (b"transfer-encoding" in fields) == (framing is Framing.CHUNKED)
    assert int(fields.get(b"content-length", b"0")) == length
    assert [value for name, value in event.headers if name == b"host"] == [b"upstream:1"]


def response_head(data):
    """The same for answers: both ways agree, and what is sent on can be read again."""
    method = _METHODS[data[0] % len(_METHODS)] if data else b"GET"
    data = data[1:]
    try:
        head = parse_response(data, method)
    except MessageError:
        assert _refused(parse_any_response, data, method)
        return
    slow = parse_any_response(data, method)
    if head is None:
        assert slow is None
        return
    assert slow is not None
    assert _alike(head, slow)
    assert _alike(parse_response(data, method, parse_response(data, method)), slow)
    for minor in (0, 1):
        for keep_alive in (False, True):
            sent = render_response(head, minor=minor, keep_alive=keep_alive) or data[: head.end]
            again = parse_response(sent, method)
            assert again.end == len(sent)


def chunks(data):
    """However a chunked body is cut, payload, end and rest come out the same, or all refuse it."""
    cut = 1 + data[0] % 7 if data else 1
    data = data[1:]
    whole = _chunked([data])
    pieces = _chunked([data[start : start + cut] for start in range(0, len(data), cut)])
    assert whole == pieces
    if whole is not None:
        forwarded = ChunkReader()
        sent = forwarded.forward(data)
        judge = ChunkReader()
        assert judge.feed(sent) == whole[0]
        assert judge.done == whole[1]


def _chunked(pieces):
    reader = ChunkReader()
    payload = b""
    try:
        for piece in pieces:
            if reader.done:
                break
            payload += reader.feed(piece)
    except ChunkError:
        return None
    return payload, reader.done


def targets(data):
    """What is stored of a request target is a path, and no parameter that is dropped stands in it."""
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


def prompts(data):
    """A request of any API is read or refused with a reason; unchanged it is what it was."""
    for api in APIS:
        with contextlib.suppress(UnreadablePrompt):
            view = PromptView.parse(data, api=api)
            assert view.body() == data
            view.text.encode()
            changed = view.with_texts(dict.fromkeys(range(len(view.segments)), "x�"))
            assert len(PromptView.parse(changed.body(), api=api).segments) <= len(view.segments)
            json.loads(view.for_replay(), parse_int=str)  # of as many digits as the client wrote


def encodings(data):
    """A compressed body is undone within its limit, or refused with a reason."""
    encoding = _ENCODINGS[data[0] % len(_ENCODINGS)] if data else ""
    with contextlib.suppress(UnreadableBody):
        decoded = decode_body({"content-encoding": encoding}, data[1:], _DECODED_BYTES)
        assert len(decoded) <= _DECODED_BYTES


def structures(data):
    """A text is read as JSON, YAML, XML, HTML or Markdown, or refused with a reason."""
    text = data.decode("utf-8", "replace")
    for read in (
        *(read_json, read_yaml, read_xml, read_html, read_markdown),
        *(repair_yaml, repair_xml, repair_html, repair_markdown),
    ):
        with contextlib.suppress(UnreadableError):
            read(text)
    with contextlib.suppress(UnreadableError):
        value = find_json(text)
        assert value is None or isinstance(value, tuple)
    for wanted in (None, "json", "yaml", "xml", "html", "markdown"):
        read_structure(text, wanted)


def skeletons(data):
    """The form that a prompt asks for is read, or not at all."""
    with contextlib.suppress(Unreadable):
        outline_at(data.decode("utf-8", "replace"), 0)


def workflows(data):
    """A workflow in any of its forms is read, or refused with a reason."""
    with contextlib.suppress(WorkflowError):
        workflow = read_workflow(data.decode("utf-8", "replace"))
        assert sorted(workflow.order) == list(range(len(workflow.steps)))


def goldens(data):
    """A file of goldens is refused by line and field, or is written as it is read."""
    with contextlib.suppress(GoldenError):
        goldens = read_goldens(data.decode("utf-8", "replace").split("\n"), "file")
        lines = list(golden_lines(goldens))
        assert read_goldens(lines, "again") == goldens
        assert all(len(line.splitlines()) == 1 for line in lines)


def texts(data):
    """What is protected in a text are spans in order that do not overlap."""
    text = data.decode("utf-8", "replace")
    place = 0
    for span in protected_spans(text):
        assert place <= span.start < span.end <= len(text)
        place = span.end


TARGETS = {
    target.__name__: target
    for target in (
        *(request_head, response_head, chunks, targets, answers, prompts, encodings, structures, skeletons),
        *(workflows, goldens, texts, *file_targets.TARGETS),
    )
}
