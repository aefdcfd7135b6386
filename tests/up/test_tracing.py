"""Traces of a whole `evenkeel up`: one story told by two processes, and collectors in trouble."""

from __future__ import annotations

import re

import pytest

from tests.otlp_receiver import collecting, said
from tests.services import wait_for

pytestmark = pytest.mark.system

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_SOON = {"OTEL_BSP_SCHEDULE_DELAY": "200", "OTEL_BLRP_SCHEDULE_DELAY": "200"}


@pytest.fixture
def traced(start, upstream, tmp_path):
    """Starts `evenkeel up` with traces to a collector."""

    def begin(collector_url, telemetry="{traces: true}"):
        config = tmp_path / "evenkeel.yaml"
        config.write_text(
            f"routes: [{{upstream: '{upstream}', sampling_rate: 1}}]\ntelemetry: {telemetry}\n",
            encoding="utf-8",
        )
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector_url, **_SOON}
        return start("--config", str(config), environment=environment)

    return begin


def test_relay_and_worker_tell_one_story(traced):
    """The worker's trace links to the relay's span in the application's trace; a page leads there."""
    with collecting() as collector:
        url = "'http://tempo.invalid/trace/{trace_id}'"
        with traced(collector.url, f"{{traces: true, trace_url: {url}}}") as running:
            running.ask([1], traceparent=PARENT)
            running.ask([1])
            running.settle()
            roots = collector.wait_for("evenkeel.shadow", 2)
            forwarded = collector.wait_for("POST /v1/chat/completions", 2)
            wait_for(lambda: running.metric("evenkeel_spans_exported_total") >= 4)
            assert running.metric("evenkeel_spans_dropped_total") == 0
            verdict = running.get("/api/verdicts")["verdicts"][0]["id"]
            page = running.page(f"/verdicts/{verdict}")
        assert {one["service.name"] for one in collector.resources()} == {"evenkeel"}
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


def test_evaluations_arrive_as_events_of_the_log(traced):
    """By OTLP over HTTP, in the trace of their trial, with what they are about; without prompts."""
    with collecting() as collector, traced(collector.url, "{traces: true, evaluations: true}") as running:
        running.ask(range(2))
        running.settle()
        wait_for(lambda: running.metric("evenkeel_evaluations_exported_total") >= 4)
        assert running.metric("evenkeel_evaluations_dropped_total") == 0
        verdicts = {one["id"] for one in running.get("/api/verdicts")["verdicts"]}
    events = collector.events()
    assert len(events) >= 4
    assert {event.event_name for event in events} == {"gen_ai.evaluation.result"}
    spans = {(span.trace_id, span.span_id) for span in collector.spans()}
    assert {(event.trace_id, event.span_id) for event in events} <= spans
    ratings = [said(one) for one in events if said(one)["gen_ai.evaluation.name"] == "similarity"]
    assert {one["evenkeel.verdict.id"] for one in ratings} <= verdicts
    for one in ratings:
        assert one["evenkeel.route"] == "default"
        assert one["gen_ai.response.id"]
        assert one["evenkeel.reference.response.id"]
        assert one["gen_ai.evaluation.score.label"] == "unsure" or one["gen_ai.evaluation.score.value"] in {
            1,
            2,
            3,
        }
    assert "Summarise" not in str(events)


@pytest.mark.parametrize("fault", ["no listener", "silent"])
def test_a_dead_collector_costs_nothing(traced, fault):
    """Requests pass, every exchange is scored, the loss is counted, and evenkeel stops."""
    with collecting(0) as collector:
        url = "http://127.0.0.1:9" if fault == "no listener" else collector.url
        with traced(url) as running:
            running.ask(range(5))
            running.settle()
            assert running.metric("evenkeel_exchanges_queued_total") == 5
            assert running.metric("evenkeel_exchanges_scored_total") == 5
            wait_for(lambda: running.metric("evenkeel_spans_dropped_total", reason="export_failed"))
            assert running.metric("evenkeel_spans_exported_total") == 0
            log = running.log.read_text()
    assert 1 <= log.count("traces cannot be exported") <= 2  # once a process
    assert "Failed to export" not in log
