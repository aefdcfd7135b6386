"""Frames of a WebSocket, read in any pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.proxy.frames import FrameError, MessageReader, compression_of, unmasked
from tests.proxy.websocket import Deflater, frame

MASK = b"\x01\x80\xff\x7f"


@given(
    st.lists(st.tuples(st.binary(max_size=300), st.booleans(), st.booleans()), max_size=8),
    st.booleans(),
    st.booleans(),
    st.data(),
)
def test_any_cut_of_any_frames_gives_the_same_messages(messages, by_client, keeps_window, data):
    """Masks, fragments, control frames between them, compression and reads of any size change nothing."""
    deflate = Deflater(keeps_window=keeps_window)
    mask = MASK if by_client else None
    wire = b""
    for payload, compressed, fragmented in messages:
        sent = deflate(payload) if compressed else payload
        half = len(sent) // 2 if fragmented else len(sent)
        wire += frame(sent[:half], mask=mask, final=not fragmented, compressed=compressed)
        if fragmented:
            wire += frame(b"still there?", 9, mask=mask) + frame(sent[half:], 0, mask=mask)
        wire += frame(payload, 2, mask=mask)
    reader = MessageReader(1 << 20, compressed=True, keeps_window=keeps_window)
    frames = []
    while wire:
        size = data.draw(st.integers(1, len(wire)))
        frames += reader.feed(wire[:size])
        wire = wire[size:]
    assert frames == [payload for payload, _, _ in messages]


def test_nothing_is_read_behind_a_close():
    reader = MessageReader(100)
    assert list(reader.feed(frame(b"a") + frame(b"\x03\xe8", 8) + frame(b"b"))) == [b"a"]


@pytest.mark.parametrize(
    "wire",
    [
        frame(b"x" * 101),
        frame(b"x" * 60, final=False) + frame(b"x" * 60, 0),
        frame(Deflater()(b"x" * 101), compressed=True),
        frame(b"\xff\xff\xff", compressed=True),
        frame(b"a", 0),
        frame(b"a", final=False) + frame(b"b"),
        b"\x91\x00",
    ],
    ids=["long frame", "long message", "bomb", "not deflated", "no beginning", "no end", "reserved bit"],
)
def test_frames_that_cannot_be_read_are_errors(wire):
    """A message that is too long, inflated or not, and what breaks the protocol."""
    with pytest.raises(FrameError):
        list(MessageReader(100, compressed=True).feed(wire))
    with pytest.raises(FrameError):
        list(MessageReader(100).feed(frame(Deflater()(b"a"), compressed=True)))


@pytest.mark.parametrize("size", [0, 1, 3, 65535, 65536, 200_001])
def test_unmasking_is_masking(size):
    """Long payloads are unmasked in pieces, whose sizes the key divides."""
    payload = bytes(place % 251 for place in range(size))
    masked = unmasked(payload, MASK)
    assert masked == bytes(byte ^ MASK[place % 4] for place, byte in enumerate(payload))
    assert unmasked(masked, MASK) == payload


def test_compression_is_what_the_server_agreed_to():
    """Windows are kept unless the answer says otherwise; another extension cannot be read."""
    assert compression_of(b"") is None
    assert compression_of(b"permessage-deflate") == (True, True)
    agreed = b"permessage-deflate; server_no_context_takeover; client_max_window_bits=12"
    assert compression_of(agreed) == (True, False)
    for other in (b"x-other", b"permessage-deflate, x-other"):
        with pytest.raises(FrameError):
            compression_of(other)
