"""A collector of spans on the loopback: one that works, and ones that don't."""

import threading
from contextlib import contextmanager

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.services import receiver, wait_for


class Collector:
    """Requests that arrived by OTLP."""

    def __init__(self):
        self.url = ""
        self.requests = []
        self.released = threading.Event()
        """Until it is set, a silent collector keeps its callers waiting."""

    def spans(self):
        """All spans, in the order of their arrival."""
        return [
            span
            for request in list(self.requests)
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def resources(self):
        """Attributes of the senders."""
        return [
            {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
            for request in list(self.requests)
            for resource in request.resource_spans
        ]

    def wait_for(self, name, count):
        """The spans of that name, as soon as there are so many."""

        def enough():
            found = [span for span in self.spans() if span.name == name]
            return found if len(found) >= count else None

        return wait_for(enough, f"for {count} spans {name!r}")


@contextmanager
def collecting(status=200):
    """A collector that answers with this status; 0 accepts and never answers."""
    collector = Collector()

    def take(_post, request):
        collector.requests.append(request)
        if not status:
            collector.released.wait()

    with receiver(status or 200, take, ExportTraceServiceRequest.FromString) as (collector.url, _):
        try:
            yield collector
        finally:
            collector.released.set()


def said(span):
    """Attributes of a span as Python values."""
    return {
        attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value"))
        for attribute in span.attributes
    }
