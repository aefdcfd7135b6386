"""An HTTP proxy on loopback that tunnels, and may ask for credentials."""

from __future__ import annotations

import contextlib
import socket
import threading


class TunnelProxy:
    """Serves CONNECT; every name leads to 127.0.0.1."""

    def __init__(self, authorization=""):
        self.authorization = authorization
        """Value of `Proxy-Authorization` without which it answers 407; empty = it asks for none."""
        self.asked = []
        """Authorities of the tunnels, refused ones included."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(65_536)
                if not piece:
                    return
                head += piece
            authority = head.split(b" ")[1].decode()
            self.asked.append(authority)
            if self.authorization and f"Proxy-Authorization: {self.authorization}".encode() not in head:
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
                return
            with socket.create_connection(("127.0.0.1", int(authority.rpartition(":")[2]))) as upstream:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=_pump, args=(upstream, client), daemon=True)
                back.start()
                _pump(client, upstream)
                back.join()

    def close(self):
        """Stop listening."""
        self._listener.close()


def _pump(source, sink):
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def tunnel_proxy(authorization=""):
    """Run a proxy."""
    proxy = TunnelProxy(authorization)
    try:
        yield proxy
    finally:
        proxy.close()
