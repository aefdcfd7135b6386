"""The accounting of chaos runs and soaks: what it must find, it finds. No process is started here."""

from __future__ import annotations

import json
import random

import pytest

from benchmarks.chaos.account import Evidence, blame, of_drops, of_exchanges, of_requests
from benchmarks.chaos.faults import Happened, Kind, draw, of_models, of_redis, of_roles
from benchmarks.chaos.scraped import Scraped
from benchmarks.chaos.traffic import Cut, Request
from benchmarks.chaos.upstream import Answers, read_log
from benchmarks.chaos.witness import (
    Logged,
    Seen,
    commands,
    seen_by_redis,
    seen_by_sqlite,
    watch_sqlite,
)
from benchmarks.soak_whole import slope_of
from evenkeel.stores.payloads import pack_exchange as pack
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.stores.examples import exchange, verdict

NOTHING = Answers({}, {}, 0)


def request(name, outcome="answered", **changes):
    given = {"fault": None, "stream": False, "leaves": False, "began": 10.0, "ended": 11.0, "door": "a"}
    return Request(id=name, outcome=outcome, **given | changes)


def numbers(lines):
    return {line.what.strip(): line.number for line in lines}


def bad(lines):
    return [line.what.strip() for line in lines if line.bad]


CUT = Cut("a", 10.5, "within the answer", reused=True)
UNREAD = Cut("a", 10.5, "before the answer", reused=True)


@pytest.mark.parametrize(
    ("one", "answers", "happened", "expected"),
    [
        (request("1"), NOTHING, [], "nobody"),
        (request("1", "failed", status=502), NOTHING, [], "evenkeel"),
        (request("1", "failed", status=500), Answers({}, {"1": 500}, 0), [], "model"),
        (request("1", "failed", status=502), Answers({}, {"1": 200}, 0), [], "evenkeel"),
        (request("1", "failed", status=502), NOTHING, [Happened("kill", "upstream", 9, 12)], "model"),
        (request("1", "failed", status=502), NOTHING, [Happened("kill", "upstream", 1, 8)], "evenkeel"),
        (request("1", "failed", status=502), NOTHING, [Happened("freeze", "upstream", 9, 12)], "evenkeel"),
        (request("1", "failed", cuts=[CUT]), NOTHING, [Happened("kill", "a", 10.4, 12)], "killed proxy"),
        (request("1", "failed", cuts=[CUT]), NOTHING, [Happened("kill", "b", 10.4, 12)], "evenkeel"),
        (request("1", "failed", cuts=[CUT]), NOTHING, [Happened("kill", "upstream", 10.4, 12)], "model"),
        (request("1", cuts=[UNREAD]), NOTHING, [], "evenkeel"),
        (request("1", cuts=[UNREAD]), NOTHING, [Happened("kill", "upstream", 10.4, 12)], "evenkeel"),
        (request("1", "failed"), NOTHING, [], "evenkeel"),
    ],
)
def test_evenkeel_is_to_blame_for_what_nobody_else_explains(one, answers, happened, expected):
    """A fault excuses only what it can cause, where and when it happened."""
    assert blame(one, answers, happened) == expected


def test_a_failure_of_evenkeel_unbalances_the_account():
    """Those of the model and of killed proxies are listed apart and do not."""
    lines, ours = of_requests(
        Evidence(
            [
                request("1"),
                request("2", "failed", status=500),
                request("3", cuts=[CUT]),
                request("4", "failed", status=502),
            ],
            Answers({}, {"2": 500}, 0),
            [Happened("kill", "a", 10.4, 10.6)],
            Seen(),
        )
    )
    assert [one.id for one in ours] == ["4"]
    assert bad(lines) == ["failed by evenkeel itself"]
    found = numbers(lines)
    assert found["requests"] == 4
    assert found["answered when sent once more"] == 1
    assert found["failed by the model's faults, passed on"] == 1


def test_every_accepted_exchange_has_one_end():
    """Scored, a dead letter, or left alone for a reason: anything else is lost; a verdict is logged once."""
    seen = Seen(
        {"a": "1", "b": "2", "c": "3", "d": "4"},
        [Logged("v1", "a"), Logged("v2", "a", "timeout"), Logged("v1", "a")],
        {"b": "expired"},
    )
    lines, open_ends = of_exchanges(Evidence([], NOTHING, [], seen, ["c"], folded={"one": 1, "two": 2}))
    assert open_ends == ["d"]
    assert bad(lines) == [
        "still waiting at the end",
        "neither scored nor a dead letter",
        "verdicts logged twice",
        "ratings counted by two",
    ]
    assert numbers(lines)["of them without: timeout"] == 1
    explained, _ = of_exchanges(Evidence([], NOTHING, [], seen, ["c"], skipped={"budget": 1}))
    assert numbers(explained)["neither scored nor a dead letter"] == 0


def test_every_drop_is_counted_or_died_with_its_proxy():
    """Five answers never came to the queue.

    The last three died with their proxy: two were given right before it was killed, and one while the store
    was away. Of the other two one is counted as dropped, and one is unexplained.
    """
    requests = [
        request(str(number), ended=ended) for number, ended in enumerate((1.0, 50.0, 80.0, 99.0, 99.5))
    ]
    kept = request("kept")
    happened = [Happened("freeze", "redis", 60.0, 95.0), Happened("kill", "a", 100.0, 103.0)]
    evidence = Evidence(
        [*requests, kept], NOTHING, happened, Seen({"x": "kept"}), dropped={"store_error": 1, "status": 7}
    )
    lines = of_drops(evidence)
    assert numbers(lines) == {
        "answered, and not accepted by the queue": 5,
        "of these answered shortly before their proxy was killed": 3,
        "counted as dropped: store_error": 1,
        "drops without an explanation": 1,
    }
    assert bad(lines) == ["drops without an explanation"]


def test_faults_follow_from_the_seed():
    """The same seed gives the same faults, within their bounds, in order; of two proxies one always works."""
    kinds = [*of_roles(["proxy-1", "proxy-2"], ["w"], ["m"]), *of_models(), *of_redis(cable=True)]
    drawn = draw(kinds, 7, 200, 60.0)
    assert drawn == draw(kinds, 7, 200, 60.0) != draw(kinds, 8, 200, 60.0)
    assert [one.at_s for one in drawn] == sorted(one.at_s for one in drawn)
    assert all(one.kind.shortest_s <= one.for_s <= one.kind.longest_s for one in drawn)
    assert Kind("kill", "proxy-1", 0, 1).lane == Kind("kill", "proxy-2", 0, 1).lane
    assert Kind("kill", "worker-1", 0, 1).lane != Kind("kill", "worker-2", 0, 1).lane


def _entry(*words):
    parts = [word if isinstance(word, bytes) else word.encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)


def test_the_log_of_commands_tells_what_a_redis_accepted(tmp_path):
    """Exchanges with their requests, each verdict as often as it was appended, dead letters.

    Keys of other installations do not count, and a last command that was cut off ends it.
    """
    main, body = "chaos:{main}:", json.dumps({"rating": 3, "failure": None})
    failed = json.dumps({"rating": None, "failure": {"reason": "timeout"}})
    path = tmp_path / "one.aof"
    path.write_bytes(
        _entry("SELECT", "0")
        + _entry("SET", f"{main}payload:e1", pack(exchange(1, session="r1")), "PXAT", "1")
        + _entry("XADD", f"{main}exchanges", "1-0", "id", "e1", "at", "1.0")
        + _entry("XADD", "other:{main}:exchanges", "1-0", "id", "e9", "at", "1.0")
        + _entry("XADD", f"{main}log", "1-0", "id", "v1", "exchange", "e1", "body", body)
        + _entry("XADD", f"{main}log", "2-0", "id", "v2", "exchange", "e1", "body", failed)
        + _entry("XADD", f"{main}dead", "1-1", "id", "e2", "reason", "expired", "at", "1.0")
        + _entry("SET", "x", "y")[:-4]
    )
    assert len(list(commands(path))) == 7
    seen = seen_by_redis([path], "chaos")
    assert seen == Seen({"e1": "r1"}, [Logged("v1", "e1"), Logged("v2", "e1", "timeout")], {"e2": "expired"})


def test_a_trigger_tells_what_sqlite_accepted(tmp_path):
    """Also what was acknowledged since, and not what was refused as known."""
    path = tmp_path / "evenkeel.db"
    database = Database(path)
    queue, log = SqliteExchangeQueue(database, lambda: 1.0), SqliteVerdictLog(database)
    watch_sqlite(path)
    queue.put([exchange(1, session="r1"), exchange(2, session="r2")])
    queue.put([exchange(1, session="r1")])
    queue.acknowledge([exchange(1).id])
    queue.bury(exchange(2).id, "not_json")
    log.append(verdict(1), None)
    seen = seen_by_sqlite(path)
    assert seen.accepted == {exchange(1).id: "r1", exchange(2).id: "r2"}
    assert seen.dead == {exchange(2).id: "not_json"}
    assert [one.id for one in seen.verdicts] == [verdict(1).id]
    database.close()


def test_the_control_log_tells_what_the_model_did(tmp_path):
    """How often a request came, and the status of its last whole answer."""
    path = tmp_path / "calls"
    path.write_text("S 1\nE 1 200\nS 2\nL 2\nS 2\nE 2 500\nR\nS 3\n")
    assert read_log(path) == Answers({"1": 1, "2": 2, "3": 1}, {"1": 200, "2": 500}, 1)


def test_counters_of_processes_that_died_go_on_counting():
    """A counter that falls, or is gone, belongs to a new process; what the former one had is kept."""
    scraped = Scraped()
    full, error = 'x{reason="queue_full",route="a"}', 'x{reason="store_error",route="a"}'
    scraped.note("proxy-1", {full: 2.0, error: 1.0})
    scraped.note("proxy-1", {full: 5.0, error: 1.0})
    scraped.note("proxy-1", {full: 1.0})
    scraped.note("proxy-2", {error: 4.0})
    assert scraped.by_reason() == {"queue_full": 6, "store_error": 5}


def test_a_slope_within_its_noise_is_flat():
    """Nothing but noise is flat, a rise of a few readings' noise an hour is not; few minutes give none."""
    rng = random.Random(1)
    noise = [(float(at), 100 + rng.gauss(0, 1)) for at in range(0, 1800, 5)]
    assert slope_of(noise).flat
    rising = [(at, value + at / 3600 * 5) for at, value in noise]
    slope = slope_of(rising)
    assert not slope.flat
    assert slope.per_hour == pytest.approx(5, abs=2 * slope.error + 0.5)
    assert slope_of(noise[:40]) is None
