"""Traces of a whole `evenkeel up`: one story told by two processes, and collectors in trouble."""

import re

import pytest

from tests.kit.relaying import settings_file
from tests.otlp_receiver import collecting, said
from tests.services import wait_for

pytestmark = pytest.mark.system

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_relay_and_worker_tell_one_story(start, upstream, tmp_path):
    """The worker's trace links to the relay's span in the application's trace; a page leads there."""
    with collecting() as collector:
        telemetry = {"traces": True, "trace_url": "http://tempo.invalid/trace/{trace_id}"}
        config = settings_file(
            tmp_path, routes=[{"upstream": upstream, "sampling_rate": 1}], telemetry=telemetry
        )
        soon = {"OTEL_BSP_SCHEDULE_DELAY": "200", "OTEL_BLRP_SCHEDULE_DELAY": "200"}
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, **soon}
        with start("--config", str(config), environment=environment) as running:
            running.ask([1], traceparent=PARENT)
            running.ask([1])
            running.settle()
            roots = collector.wait_for("evenkeel.shadow", 2)
            forwarded = collector.wait_for("POST /v1/chat/completions", 2)
            wait_for(lambda: running.metric("evenkeel_spans_exported_total") >= 4)
            assert running.metric("evenkeel_spans_dropped_total") == 0
            verdict = running.get("/api/trials")["trials"][0]["id"]
            page = running.page(f"/verdicts/{verdict}")
        assert {resource["service.name"] for resource in collector.resources()} == {"evenkeel"}
    links = {(link.trace_id, link.span_id) for root in roots for link in root.links}
    assert links == {(span.trace_id, span.span_id) for span in forwarded}
    assert not {root.trace_id for root in roots} & {span.trace_id for span in forwarded}
    continued = [span for span in forwarded if span.trace_id.hex() == PARENT.split("-")[1]]
    assert [span.parent_span_id.hex() for span in continued] == [PARENT.split("-")[2]]
    linked = re.search(r'href="http://tempo.invalid/trace/([0-9a-f]{32})"', page)
    assert linked
    assert bytes.fromhex(linked[1]) in {root.trace_id for root in roots}
    replays = [span for span in collector.spans() if said(span).get("evenkeel.purpose") == "replay"]
    assert len(replays) >= 4
    assert "Summarise" not in str(collector.spans())
