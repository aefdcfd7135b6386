"""Examples of everything that stores keep, and numbered ones."""

from evenkeel.core.exchange import Exchange
from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.verdict import Evidence, QualityScore, Scoring
from evenkeel.stores.archive import ArchivedExchange
from evenkeel.stores.monitor_state import AlertEvent, TrendPoint
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT


def verdict(number, **changes):
    given = altered(
        VERDICT,
        id=f"e{number}.general.spelling.0.3",
        exchange_id=f"e{number}",
        scored_at=1000.0 + number,
        route="default",
        seed=7,
        scoring=Scoring("metrics", details={"rouge_l": 0.5}),
        rating=2,
        quality=(QualityScore("faithfulness", 1, 3, 2),),
    )
    return altered(given, **changes)


def read_after(log, offset, limit):
    """Return the verdicts among so many entries of a log after a place."""
    return [entry for entry in log.entries_after(offset, limit) if isinstance(entry, LoggedVerdict)]


def fill(log, numbers, evidence=None):
    """Append the verdicts of these numbers, none of which is there."""
    for number in numbers:
        assert log.append(verdict(number), evidence)


EVIDENCE = Evidence(
    "user: hi",
    "user: hii",
    Answer("a", (ToolCall("f", "{}"),), "m", "fp", "stop", 1, 2),
    Answer("<script>é", model="m"),
)


def event(number):
    return AlertEvent(f"a{number}", 1.0, "raised", "r", "m", "p", 3, 40, 0.3)


def point(at):
    return TrendPoint(at, 0.1, None, 0.3)


def exchange(number, **changes):
    given = Exchange(
        id=f"{number:016x}",
        route="default",
        received_at=1000.0,
        duration_s=0.5,
        method="POST",
        path="/v1/chat/completions",
        status=200,
        request_headers=(("content-type", "application/json"),),
        request_body=b'{"messages": []}\xff',
        response_headers=(("content-encoding", "gzip"),),
        response_body=bytes(range(256)) * 4,
        task="case_summary",
    )
    return altered(given, **changes)


def ids(leases):
    return [lease.exchange.id for lease in leases]


ARCHIVED = ArchivedExchange(
    id="00000000000000aa",
    route="shop",
    path="/v1/chat/completions",
    request='{"messages": "\\ud83d é"}',
    answer=Answer("é", (ToolCall("f", "{}"),), "m", "fp", "stop", 1, 2),
    model="m",
    prompt_version="p",
    task="chat",
    received_at=5.0,
)
