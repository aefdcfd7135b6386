"""WebSocket frames as a client or a server writes them, for tests."""

import json
import zlib

HANDSHAKE = (
    b"GET /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"


def frame(payload, opcode=1, *, mask=None, final=True, compressed=False):
    """A frame (RFC 6455, 5.2), masked as a client's if a mask is given."""
    size = len(payload)
    if size < 126:
        length = bytes([size])
    elif size < 1 << 16:
        length = b"\x7e" + size.to_bytes(2, "big")
    else:
        length = b"\x7f" + size.to_bytes(8, "big")
    first = bytes([(0x80 if final else 0) | (0x40 if compressed else 0) | opcode])
    if mask is None:
        return first + length + payload
    masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
    return first + bytes([0x80 | length[0]]) + length[1:] + mask + masked


class Deflater:
    """Compresses messages as one side of a WebSocket does (RFC 7692)."""

    def __init__(self, *, keeps_window=True):
        self._keeps_window = keeps_window
        self._begin()

    def _begin(self):
        self._deflater = zlib.compressobj(wbits=-15)

    def __call__(self, payload):
        if not self._keeps_window:
            self._begin()
        deflated = self._deflater.compress(payload) + self._deflater.flush(zlib.Z_SYNC_FLUSH)
        return deflated.removesuffix(b"\x00\x00\xff\xff")


def create(text="Hi", **members):
    """A client's request for an answer."""
    return json.dumps({"type": "response.create", "model": "m", "input": text, **members}).encode()


def completed(number, text="Yes.", **members):
    """The server's last event of an answer."""
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    response = {"id": f"resp_{number}", "status": "completed", "model": "m-1", "output": [message]}
    return json.dumps({"type": "response.completed", "response": response, **members}).encode()


DELTA = b'{"type":"response.output_text.delta","delta":"Yes."}'
