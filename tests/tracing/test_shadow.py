"""The trace of what is made of an exchange, by a real worker before a simulated model, judge and rewriter."""

import asyncio
import dataclasses
import json
from collections import Counter

import httpx2
import pytest
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from evenkeel.core.budget import Budget
from evenkeel.metrics.judge import Judge
from evenkeel.metrics.scoring import heuristic_scorer, judge_scorer
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.replay import Replayer, Target
from evenkeel.shadow.rewriter import Rewriter
from evenkeel.simulate import (
    JUDGE_MODEL,
    REWRITER_MODEL,
    ModelState,
    Simulation,
    make_case,
    serving,
    summary_prompt,
)
from evenkeel.stores.cache import DocumentCache
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.tracing.export import ExportedSpans
from evenkeel.tracing.forwarded import forwarded_context, shadow_trace_id
from tests.llm.scripted import endpoint_of
from tests.shadow.planes import JSON, Plane, captured
from tests.stores.examples import exchange as example

KEY = "sk-never-in-a-trace"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
BY_RULE = ["general.whitespace", "general.casing"]


@dataclasses.dataclass
class Traced:
    """The verdicts of a worker, and its spans."""

    upstream: str
    spans: tuple
    events: tuple
    verdicts: dict
    counts: dict

    def named(self, name):
        return [span for span in self.spans if span.name == name]

    @property
    def root(self):
        (root,) = self.named("evenkeel.shadow")
        return root

    def below(self, span):
        return [
            child for child in self.spans if child.parent and child.parent.span_id == span.context.span_id
        ]

    def text(self):
        return "\n".join(span.to_json() for span in self.spans)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Runs a worker on an exchange, each time before a model of its own with an answer for each wording."""

    def capture(upstream, **changes):
        prompt = summary_prompt(make_case(1))
        body = json.dumps({"model": "simulated-1", "messages": [{"role": "user", "content": prompt}]})
        answer = httpx2.post(f"{upstream}/v1/chat/completions", content=body)
        sent = (*JSON, ("traceparent", PARENT))
        return captured(body.encode(), answer.content, 0xAA, request_headers=sent, **changes)

    def run(*given, **options):
        with serving(Simulation([ModelState("simulated-1", fragility=1.0)])) as upstream:
            return traced(upstream, *given, **options)

    def traced(
        upstream,
        kinds=BY_RULE,
        *,
        judged=False,
        rewritten=False,
        content=False,
        target=None,
        budget=None,
        **changes,
    ):
        exporter = InMemorySpanExporter()
        logged = InMemoryLogRecordExporter()
        spans = ExportedSpans(exporter, logged, content=content)
        exchange = capture(upstream, **changes)
        plane = Plane(tmp_path_factory.mktemp("traced"))
        plane.queue.put([exchange])

        def endpoint(model):
            return endpoint_of(base_url=f"{upstream}/v1", model=model, api_key=KEY, observer=spans.observer)

        async def working():
            replayer = Replayer(concurrency=4, timeout_s=240)
            judge = Judge(endpoint(JUDGE_MODEL)) if judged else None
            rewriter = None
            if rewritten:
                cache = DocumentCache(SqliteDocuments(plane.database), "rewrites")
                rewriter = Rewriter(endpoint(REWRITER_MODEL), cache=cache)
            url = f"{target or upstream}/v1/chat/completions?api-key={KEY}"
            plan = RoutePlan(by_name(kinds), len(kinds), "case_summary")
            worker = plane.worker(
                {"default": plan},
                *(judge_scorer(judge) if judge else heuristic_scorer(), replayer, plane.costs(budget)),
                lambda _: Target(url, (("authorization", f"Bearer {KEY}"),)),
                rewriter=rewriter,
                observer=spans.observer,
            )
            await worker.drain()
            await replayer.close()
            if judge:
                await judge.close()
            if rewriter:
                await rewriter.close()

        asyncio.run(working())
        spans.finish(240)
        verdicts = {verdict.perturbation: verdict for verdict in plane.verdicts()}
        plane.database.close()
        counts = {name: number for name, _, number in spans.snapshot()["counters"]}
        events = tuple(log.log_record for log in logged.get_finished_logs())
        return Traced(upstream, exporter.get_finished_spans(), events, verdicts, counts)

    return run


@pytest.fixture(scope="module")
def traced(work):
    """The trace of three trials that nobody judged."""
    return work()


@pytest.fixture(scope="module")
def judged(work):
    """The trace of five trials that were judged."""
    return work([*BY_RULE, "general.spelling", "general.punctuation"], judged=True)


def test_the_trace_stands_on_its_own_and_is_linked_to_the_forwarded_request(traced):
    """The root has no parent and another trace than the application's; the link names the forwarded span."""
    root = traced.root
    assert root.parent is None
    assert root.kind is SpanKind.CONSUMER
    assert root.context.trace_id == shadow_trace_id("00000000000000aa")
    assert f"{root.context.trace_id:032x}" != PARENT.split("-")[1]
    (link,) = root.links
    forwarded = forwarded_context(example(0xAA, request_headers=(("traceparent", PARENT),)))
    assert (link.context.trace_id, link.context.span_id) == (forwarded.trace_id, forwarded.span_id)
    assert {span.context.trace_id for span in traced.spans} == {root.context.trace_id}
    assert root.attributes["evenkeel.outcome"] == "scored"
    assert root.attributes["evenkeel.attempt"] == 1
    assert root.attributes["evenkeel.model"] == "simulated-1"
    assert traced.counts["spans_exported"] == len(traced.spans)


def test_each_trial_is_a_span_with_its_replay_below_it(traced):
    """The tree is exchange, trial, replay; a verdict names the trace that it came from."""
    trials = traced.below(traced.root)
    assert Counter(span.name for span in trials) == Counter(
        ["trial baseline.identical", "trial general.whitespace", "trial general.casing"]
    )
    for trial in trials:
        (replay,) = traced.below(trial)
        assert (replay.name, replay.kind) == ("chat simulated-1", SpanKind.CLIENT)
        verdict = traced.verdicts[trial.attributes["evenkeel.perturbation"]]
        assert verdict.trace_id == f"{trial.context.trace_id:032x}"
        assert trial.attributes["evenkeel.verdict.id"] == verdict.id
        assert trial.attributes["evenkeel.seed"] == verdict.seed
        assert trial.attributes["evenkeel.severity"] == verdict.severity
        assert trial.attributes.get("evenkeel.rating") == verdict.rating
        assert trial.attributes["evenkeel.tokens"] == verdict.cost.tokens
        assert trial.start_time <= replay.start_time <= replay.end_time <= trial.end_time


def test_a_replay_has_the_conventions_attributes(traced):
    """Operation, provider, models, tokens and server; of the URL only host and port."""
    replay = traced.named("chat simulated-1")[0]
    tags = dict(replay.attributes)
    assert tags["gen_ai.operation.name"] == "chat"
    assert tags["gen_ai.provider.name"] == "openai"
    assert tags["gen_ai.request.model"] == tags["gen_ai.response.model"] == "simulated-1"
    assert tags["gen_ai.usage.input_tokens"] > 100
    assert tags["gen_ai.usage.output_tokens"] > 10
    assert tags["gen_ai.response.finish_reasons"] == ("stop",)
    assert (tags["server.address"], tags["server.port"]) == (
        "127.0.0.1",
        int(traced.upstream.rpartition(":")[2]),
    )
    assert tags["evenkeel.purpose"] == "replay"
    assert replay.status.status_code is StatusCode.UNSET


def test_ratings_are_evaluation_events_of_the_trial(judged):
    """Similarity first, then each quality with the value of the answer that the user got beside it."""
    assert any(verdict.quality for verdict in judged.verdicts.values())
    trials = [span for span in judged.below(judged.root) if span.name.startswith("trial ")]
    assert len(trials) == len(judged.verdicts)
    for trial in trials:
        verdict = judged.verdicts[trial.attributes["evenkeel.perturbation"]]
        assert {event.name for event in trial.events} == {"gen_ai.evaluation.result"}
        similarity, *qualities = [dict(event.attributes) for event in trial.events]
        labels = {3: "same_content", 2: "details_differ", 1: "different_message", None: "unsure"}
        value = {} if verdict.unsure else {"gen_ai.evaluation.score.value": float(verdict.rating)}
        assert similarity == {
            "gen_ai.evaluation.name": "similarity",
            "gen_ai.evaluation.score.label": labels[verdict.rating],
            **value,
        }
        scores = {score.metric: score for score in verdict.quality}
        told = {event["gen_ai.evaluation.name"]: event for event in qualities if "error.type" not in event}
        assert told.keys() == scores.keys()
        for name, event in told.items():
            assert event["gen_ai.evaluation.score.value"] == scores[name].candidate
            assert event["evenkeel.evaluation.reference"] == scores[name].reference


def test_calls_of_the_rewriter_are_spans_of_their_trial_and_those_of_the_judge_of_the_exchange(work):
    """A paraphrase is written and replayed for itself, and judged with the resend: told apart by purpose."""
    traced = work(["general.paraphrase"], judged=True, rewritten=True)
    (trial,) = traced.named("trial general.paraphrase")
    calls = sorted(traced.below(trial), key=lambda span: span.start_time)
    assert [span.attributes["evenkeel.purpose"] for span in calls] == ["rewriter", "replay"]
    judged = [span for span in traced.below(traced.root) if span.kind is SpanKind.CLIENT]
    assert {span.attributes["evenkeel.purpose"] for span in judged} == {"judge"}
    for span in (*calls, *judged):
        model = {"rewriter": REWRITER_MODEL, "judge": JUDGE_MODEL, "replay": "simulated-1"}
        assert span.name == f"chat {model[span.attributes['evenkeel.purpose']]}"
        assert span.attributes["gen_ai.usage.input_tokens"] > 0
        assert span.kind is SpanKind.CLIENT
    assert judged[0].attributes["gen_ai.prompt.name"].startswith("similarity@")
    # Without being asked for, no content is in any span: neither prompt nor answers nor the judge's words.
    assert not [word for word in (KEY, "messages", "explanation") if word in traced.text()]
    words = {word for word in summary_prompt(make_case(5)).split() if len(word) > 9 and word.isalpha()}
    assert not [word for word in words if word in traced.text()]


def test_content_on_request_follows_the_convention(work):
    """Variant, answer and the judge's reason are there as JSON of roles and parts; keys still are not."""
    traced = work(["general.paraphrase"], judged=True, rewritten=True, content=True)
    assert KEY not in traced.text()
    replay = next(span for span in traced.spans if span.attributes.get("evenkeel.purpose") == "replay")
    (sent,) = json.loads(replay.attributes["gen_ai.input.messages"])
    assert sent["role"] == "user"
    assert sent["parts"][0]["type"] == "text"
    (answered,) = json.loads(replay.attributes["gen_ai.output.messages"])
    assert (answered["role"], answered["finish_reason"]) == ("assistant", "stop")
    assert answered["parts"][0]["content"]
    trial = next(span for span in traced.spans if span.name == "trial general.paraphrase")
    verdict = traced.verdicts["general.paraphrase"]
    assert trial.events[0].attributes["gen_ai.evaluation.explanation"] == verdict.scoring.explanation
    assert any(event.attributes.get("gen_ai.evaluation.explanation") for event in traced.events)


def test_a_failed_replay_is_an_error_with_its_reason(work):
    """Call and trial say "connection", there is nothing to evaluate, the exchange is done."""
    traced = work(BY_RULE[:1], target="http://127.0.0.1:9")
    replay = traced.named("chat simulated-1")[0]
    assert replay.attributes["error.type"] == "connection"
    assert replay.status.status_code is StatusCode.ERROR
    (trial,) = traced.named("trial general.whitespace")
    assert trial.attributes["error.type"] == "connection"
    assert trial.status.status_code is StatusCode.ERROR
    assert trial.events == ()
    assert traced.root.status.status_code is StatusCode.UNSET


def test_a_trial_that_is_not_made_says_why(work):
    """A spent budget: all trials are skipped for it, and so is the exchange."""
    traced = work(budget=Budget(tokens_per_day=1))
    for trial in traced.below(traced.root):
        outcome = trial.attributes["evenkeel.outcome"], trial.attributes["evenkeel.reason"]
        assert outcome == ("skipped", "budget")
    assert traced.root.attributes["evenkeel.outcome"] == "skipped"
    assert traced.root.attributes["evenkeel.reason"] == "budget"
    assert traced.verdicts == {}


def test_an_exchange_that_cannot_be_read_is_an_error(work):
    """The exchange goes to the dead letters under a reason, which its span gives too."""
    traced = work(request_body=b"no json")
    assert traced.root.attributes["evenkeel.outcome"] == "dead"
    assert traced.root.attributes["error.type"] == traced.root.attributes["evenkeel.reason"] == "not_json"
    assert len(traced.spans) == 1


@pytest.mark.parametrize(
    ("variable", "value"), [("OTEL_TRACES_SAMPLER", "always_off"), ("OTEL_SDK_DISABLED", "true")]
)
def test_what_the_sampler_leaves_out_is_in_no_trace(work, monkeypatch, variable, value):
    """Verdicts are as ever with sampler or SDK off, and they name no trace."""
    monkeypatch.setenv(variable, value)
    traced = work()
    assert traced.spans == ()
    assert {verdict.trace_id for verdict in traced.verdicts.values()} == {""}
    assert len(traced.verdicts) == 3


def test_evaluations_are_events_of_the_log_that_name_the_response(judged):
    """Each event of a span has its twin, in the trial's trace, with the ids of both answers."""
    in_spans = [(span, event) for span in judged.spans for event in span.events]
    assert len(judged.events) == len(in_spans) > 0
    replays = {
        span.attributes["gen_ai.response.id"]
        for span in judged.spans
        if span.attributes.get("evenkeel.purpose") == "replay"
    }
    for record, (span, event) in zip(
        sorted(judged.events, key=lambda event: event.timestamp),
        sorted(in_spans, key=lambda pair: pair[1].timestamp),
        strict=True,
    ):
        assert record.event_name == event.name == "gen_ai.evaluation.result"
        assert (record.trace_id, record.span_id) == (span.context.trace_id, span.context.span_id)
        assert dict(event.attributes).items() <= dict(record.attributes).items()
        assert record.attributes["gen_ai.response.id"] in replays
        assert record.attributes["evenkeel.verdict.id"] == span.attributes["evenkeel.verdict.id"]
        assert record.attributes["evenkeel.reference.response.id"] not in replays
        assert "gen_ai.evaluation.explanation" not in record.attributes
