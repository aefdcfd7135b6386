"""A client that is nothing but a socket."""

import contextlib
import socket
import struct
import time

PATIENCE_S = 240.0


class Raw:
    """A connection: bytes in, bytes out."""

    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray()

    def send(self, data):
        self.sock.sendall(data)

    def send_pieces(self, pieces):
        """Send pieces so that most of them are read one by one: the peer gets time to take each."""
        for piece in pieces:
            self.sock.sendall(piece)
            time.sleep(0.0003)

    def _receive(self):
        return self.sock.recv(1 << 16)

    def read(self, count):
        """Return so many bytes, or fewer if the peer closes before."""
        while len(self._buffer) < count:
            data = self._receive()
            if not data:
                break
            self._buffer += data
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def until(self, end):
        """All bytes up to and with a marker."""
        while (place := self._buffer.find(end)) < 0:
            data = self._receive()
            assert data, f"closed after {bytes(self._buffer[-500:])!r}"
            self._buffer += data
        return self.read(place + len(end))

    def rest(self):
        """All bytes until the peer closes. Raises ConnectionResetError if it resets."""
        while data := self._receive():
            self._buffer += data
        return self.read(len(self._buffer))

    def answer(self):
        """The head of an answer, which may be an interim one, and its body, the chunked coding taken off."""
        head = self.until(b"\r\n\r\n")
        lower = head.lower()
        body = b""
        if head[9:10] == b"1":
            pass
        elif b"\r\ntransfer-encoding: chunked\r\n" in lower:
            while size := int(self.until(b"\r\n").split(b";")[0], 16):
                body += self.read(size)
                assert self.read(2) == b"\r\n"
            while self.until(b"\r\n") != b"\r\n":
                pass
        elif b"\r\ncontent-length:" in lower:
            body = self.read(int(lower.partition(b"\r\ncontent-length:")[2].split(b"\r\n")[0]))
        else:
            body = self.rest()
        return head, body

    def ask(self, request):
        """Send a request; returns head and body of its answer."""
        self.send(request)
        return self.answer()

    def leave(self):
        """Go away without a word: the peer sees a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


@contextlib.contextmanager
def raw(port):
    """A connection to a port of this machine."""
    client = Raw(port)
    try:
        yield client
    finally:
        client.sock.close()
