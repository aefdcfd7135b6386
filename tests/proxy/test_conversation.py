"""Requests and answers over a WebSocket: the tunnel is untouched, and each pair becomes an exchange."""

import asyncio
import contextlib
import json

import pytest

from evenkeel.proxy import Limits
from evenkeel.shadow.answer import read_answer
from evenkeel.shadow.prompt import RESPONSES, PromptView, refusal
from tests.proxy.conftest import eventually, relay
from tests.proxy.websocket import DELTA, HANDSHAKE, SWITCHED, Deflater, completed, create, frame

MASK = b"\x01\x80\xff\x7f"


@contextlib.asynccontextmanager
async def websocket(more=b"", **options):
    """A relay in front of an upstream that agrees to WebSockets, and leaves what follows to the test."""

    def answer(wire, data):
        if data.startswith(b"GET "):
            wire.write(SWITCHED + more + b"\r\n")

    async with relay(b"", parse=False, **options) as rig:
        rig.upstream.on_data = answer
        yield rig


async def opened(rig, handshake=HANDSHAKE, more=b""):
    """A client and its upstream, with a WebSocket between."""
    client = await rig.client()
    client.send(handshake + more + b"\r\n")
    await client.until(b"\r\n\r\n")
    return client, rig.upstream.wires[-1]


async def turn(client, wire, asked, *events):
    """Ask, wait until it has arrived, and answer."""
    sent = frame(asked, mask=MASK)
    before = len(wire.received)
    client.send(sent)
    await eventually(lambda: len(wire.received) == before + len(sent))
    answer = b"".join(map(frame, events))
    wire.write(answer)
    assert wire.received[before:] == sent
    assert await client.read(len(answer)) == answer


async def test_each_request_with_its_answer_is_an_exchange():
    """The exchange is read, and would be asked again, like a stream over HTTP."""
    async with websocket() as rig:
        client, wire = await opened(rig, more=b"Authorization: Bearer k\r\nX-Evenkeel-Task: qa\r\n")
        await turn(client, wire, create("One?"), DELTA, completed(1))
        await turn(client, wire, create("Two?", previous_response_id="resp_1"), DELTA, completed(2, "No."))
        await eventually(lambda: len(rig.queue.exchanges) == 2)
        first, second = rig.queue.exchanges
        assert first.id != second.id
        assert (first.method, first.path, first.status, first.task) == ("POST", "/v1/responses", 200, "qa")
        assert "Bearer" not in str(first.request_headers)
        view = PromptView.parse(second.request_body, api=RESPONSES)
        assert refusal(view) is None
        assert json.loads(view.for_replay()) == {
            "model": "m", "input": "Two?", "previous_response_id": "resp_1", "stream": True, "store": False,
        }  # fmt: skip
        answer = read_answer(dict(second.response_headers), second.response_body, RESPONSES.answer_reader())
        assert (answer.text, answer.streamed, answer.response_id) == ("No.", True, "resp_2")
        for name in ("eligible", "sampled", "queued"):
            await eventually(lambda name=name: rig.counter(f"exchanges_{name}") == 2)


async def test_what_only_the_connection_knows_is_put_into_the_request():
    """Items of the response before, which nobody else knows with `store: false`, come first."""
    reasoning = [{"type": "reasoning", "id": "rs_1"}, {"type": "reasoning", "encrypted_content": "e"}]
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "7"}
    answer = {"id": "resp_1", "status": "completed", "output": [*reasoning, call]}
    async with websocket() as rig:
        client, wire = await opened(rig)
        warm = create("Hi", store=False, generate=False)
        await turn(
            client, wire, warm, json.dumps({"type": "response.completed", "response": {"id": "w"}}).encode()
        )
        await turn(
            client, wire, create([{"role": "user", "content": "Go."}], store=False, previous_response_id="w"),
            json.dumps({"type": "response.completed", "response": answer}).encode(),
        )  # fmt: skip
        await turn(client, wire, create([output], store=False, previous_response_id="resp_1"), completed(2))
        await eventually(lambda: len(rig.queue.exchanges) == 2)
        first, second = (json.loads(exchange.request_body) for exchange in rig.queue.exchanges)
        asked = [{"role": "user", "content": "Hi"}, {"role": "user", "content": "Go."}]
        assert first["input"] == asked
        assert second["input"] == [*asked, reasoning[1], call, output]
        assert not {"previous_response_id", "type", "generate"} & second.keys()


async def test_lanes_of_one_connection_do_not_mix():
    """Requests with a `stream_id` are answered side by side; what fails or is steered is counted."""
    async with websocket() as rig:
        client, wire = await opened(rig)
        for lane in "abc":
            await turn(client, wire, create(f"For {lane}?", stream_id=lane), DELTA)
        await turn(
            client, wire, b'{"type":"response.steer","stream_id":"c"}', completed(3, "C.", stream_id="c")
        )
        await turn(client, wire, b'{"type":"x"}', completed(2, "B.", stream_id="b"))
        await turn(client, wire, b'{"type":"x"}', b'{"type":"error","stream_id":"a","status":400}')
        await eventually(lambda: rig.counter("exchanges_skipped", reason="websocket_failed") == 1)
        assert rig.counter("exchanges_skipped", reason="websocket_steered") == 1
        (exchange,) = rig.queue.exchanges
        assert json.loads(exchange.request_body)["input"] == "For b?"
        assert b"B." in exchange.response_body


async def test_compressed_and_fragmented_messages_are_read():
    """The handshake agreed on compression; control frames come in between."""
    deflate, inflated = Deflater(), Deflater()
    more = b"Sec-WebSocket-Extensions: permessage-deflate\r\n"
    async with websocket(more) as rig:
        client, wire = await opened(rig)
        for number in range(3):
            sent = deflate(create(f"Question {number}?"))
            client.send(frame(sent[:5], mask=MASK, final=False, compressed=True))
            client.send(frame(b"ping", 9, mask=MASK) + frame(sent[5:], 0, mask=MASK))
            await eventually(lambda number=number: wire.received.count(frame(b"ping", 9, mask=MASK)) > number)
            wire.write(frame(inflated(completed(number)), compressed=True))
        await eventually(lambda: len(rig.queue.exchanges) == 3)
        asked = [json.loads(exchange.request_body)["input"] for exchange in rig.queue.exchanges]
        assert asked == [f"Question {number}?" for number in range(3)]


@pytest.mark.parametrize("side", ["client", "upstream"])
async def test_either_side_may_be_killed(side):
    """The other side is told at once, and the request without an answer is counted."""
    async with websocket() as rig:
        client, wire = await opened(rig)
        await turn(client, wire, create(), DELTA)
        if side == "client":
            client.leave()
            await eventually(wire.lost.is_set)
        else:
            wire.reset()
            assert await client.rest() == b""
        await eventually(lambda: rig.counter("exchanges_skipped", reason="websocket_cut") == 1)
        assert rig.counter("proxy_in_flight") == 0
        assert rig.queue.exchanges == []


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (frame(b"a", 0, mask=MASK), "websocket_unread"),
        (frame(b"not json", mask=MASK), "websocket_unread"),
        (frame(create("x" * 9000), mask=MASK), "websocket_unread"),
        (frame(create("x" * 3000), mask=MASK), "websocket_too_large"),
    ],
)
async def test_what_cannot_be_read_passes_and_is_counted(sent, reason):
    """Bytes that are no frames, no JSON, or too many."""
    answer = frame(DELTA + b" " * 3000) + frame(completed(1))
    async with websocket(limits=Limits(max_exchange_bytes=5000)) as rig:
        client, wire = await opened(rig)
        client.send(sent)
        await eventually(lambda: wire.received.endswith(sent))
        wire.write(answer)
        assert await client.read(len(answer)) == answer
        await eventually(lambda: rig.counter("exchanges_skipped", reason=reason) == 1)
        assert rig.queue.exchanges == []


async def test_other_tunnels_and_unsampled_ones_are_left_alone():
    """Realtime is another API; a replay is never sampled; the sample is drawn once for a connection."""
    async with websocket() as rig:
        for handshake, more in (
            (HANDSHAKE.replace(b"/v1/responses", b"/v1/realtime"), b""),
            (HANDSHAKE, b"X-Evenkeel-Replay: 1\r\n"),
        ):
            client, wire = await opened(rig, handshake, more)
            await turn(client, wire, create(), completed(1))
        assert rig.counter("exchanges_skipped", reason="replay") == 1
        assert rig.plane.handoff.size_bytes == 0
    async with websocket(rate=0.0) as rig:
        client, wire = await opened(rig)
        await turn(client, wire, create(), completed(1))
        assert rig.counter("exchanges_eligible") == 1
        assert rig.plane.handoff.size_bytes == 0


async def test_only_so_many_websockets_are_sampled_at_once(monkeypatch):
    """Each keeps some of its conversation in memory; one that has ended makes room."""
    monkeypatch.setattr("evenkeel.proxy.client._MOST_LISTENED", 1)
    async with websocket() as rig:
        first, _ = await opened(rig)
        client, wire = await opened(rig)
        await turn(client, wire, create(), completed(1))
        assert rig.counter("exchanges_skipped", reason="websocket_crowd") == 1
        first.leave()
        await eventually(lambda: rig.plane.lanes["main"].listened == 0)
        client, wire = await opened(rig)
        await turn(client, wire, create(), completed(1))
        await eventually(lambda: len(rig.queue.exchanges) == 1)


async def test_ten_thousand_frames_pass_unchanged_in_both_directions():
    """Frames of all sizes pass with slow readers, however little room the hand-off has."""
    frames = [bytes([number % 251]) * (number % 700) for number in range(10_000)]
    up = b"".join(frame(payload, 2, mask=MASK) for payload in frames)
    down = b"".join(frame(payload, 2) for payload in reversed(frames))
    async with websocket(max_bytes=50_000) as rig:
        client, wire = await opened(rig)
        at = len(wire.received)
        client.send(up)
        wire.write(down)
        await asyncio.sleep(0.05)
        assert await client.read(len(down)) == down
        await eventually(lambda: len(wire.received) == at + len(up))
        assert wire.received[at:] == up
        assert rig.counter("exchanges_skipped", reason="queue_full") == 1
        # The connection goes on, and nothing of it is read any more.
        await turn(client, wire, create(), completed(1))
        await eventually(lambda: rig.plane.handoff.size_bytes == 0)
        assert rig.queue.exchanges == []


@pytest.mark.parametrize("slow", ["client", "upstream"])
async def test_a_slow_side_holds_the_other_back(slow):
    """The sender is paused while the other side does not read, nothing piles up, and all of it arrives."""
    payload = frame(b"x" * 60_000, 2, mask=MASK if slow == "upstream" else None) * 500  # 30 MB
    async with websocket(max_bytes=50_000) as rig:
        client, wire = await opened(rig)
        [relayed] = rig.plane._clients
        reader, sender = (wire.transport, client.writer.transport)
        taking, giving = (relayed.transport, relayed._upstream.transport)
        if slow == "client":
            reader, sender, taking, giving = sender, reader, giving, taking
        reader.pause_reading()
        at = len(wire.received)
        sender.write(payload)
        # The system's sockets take megabytes, how many is theirs to say; evenkeel itself keeps next to none.
        await eventually(lambda: not taking.is_reading())
        assert 0 < giving.get_write_buffer_size() < 1 << 20
        reader.resume_reading()
        if slow == "upstream":
            await eventually(lambda: len(wire.received) == at + len(payload))
            assert wire.received[at:] == payload
        else:
            assert await client.read(len(payload)) == payload
