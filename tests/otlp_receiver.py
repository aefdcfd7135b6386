"""A collector of spans on the loopback: one that works, and ones that don't."""

from __future__ import annotations

import gzip
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector:
    """Requests that arrived by OTLP."""

    def __init__(self, status: int) -> None:
        self._status = status
        self.requests: list[ExportTraceServiceRequest] = []
        self.refused = 0
        self.released = threading.Event()
        """Until it is set, a silent collector keeps its callers waiting."""
        collector = self

        class CollectorHandler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.take(self, body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), CollectorHandler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def take(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        if self._status == 0:
            self.refused += 1
            self.released.wait()
            return
        if handler.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        if self._status != 200:
            self.refused += 1
        else:
            self.requests.append(ExportTraceServiceRequest.FromString(body))
        answer = ExportTraceServiceResponse().SerializeToString()
        handler.send_response(self._status)
        handler.send_header("content-type", "application/x-protobuf")
        handler.send_header("content-length", str(len(answer)))
        handler.end_headers()
        handler.wfile.write(answer)

    def spans(self) -> list[Span]:
        """All spans, in the order of their arrival."""
        return [
            span
            for request in list(self.requests)
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def resources(self) -> list[dict[str, Any]]:
        """Attributes of the senders."""
        return [
            {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
            for request in list(self.requests)
            for resource in request.resource_spans
        ]

    def wait_for(self, name: str, count: int, timeout_s: float = 240) -> list[Span]:
        """The spans of that name, as soon as there are so many."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            found = [span for span in self.spans() if span.name == name]
            if len(found) >= count:
                return found
            time.sleep(0.05)
        raise AssertionError(f"{count} spans {name!r} did not come: {[span.name for span in self.spans()]}")


@contextmanager
def collecting(status: int = 200) -> Iterator[Collector]:
    """A collector that answers with this status; 0 accepts and never answers."""
    collector = Collector(status)
    thread = threading.Thread(target=collector.server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield collector
    finally:
        collector.released.set()
        collector.server.shutdown()
        thread.join()
        collector.server.server_close()


def said(span: Span) -> dict[str, Any]:
    """Attributes of a span as Python values."""
    return {
        attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value"))
        for attribute in span.attributes
    }
