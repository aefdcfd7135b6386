"""The contract of `VerdictLog`; every backend runs it. Below, what each does besides."""

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenkeel.core.incidents import Decision
from evenkeel.core.sightings import ReferenceAnswered
from evenkeel.core.verdict import BASELINE, Failure
from evenkeel.stores.redis.verdicts import RedisVerdictLog
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from evenkeel.stores.trial_index import ANYTHING, Narrow
from evenkeel.stores.verdict_log import LoggedNote
from tests.kit.records import altered
from tests.stores.examples import EVIDENCE, fill, read_after, verdict


@pytest.fixture
def log(backend):
    return backend.verdicts(evidence_kept=600)


@pytest.fixture
def database(on_sqlite):
    # What is tested here does not depend on what a power failure would leave.
    on_sqlite.place.connection().execute("PRAGMA synchronous=OFF")
    return on_sqlite.place


def test_an_id_is_logged_once(log):
    """Appending a verdict again changes nothing, not even its evidence."""
    assert log.append(verdict(1), EVIDENCE)
    assert not log.append(verdict(1, rating=1), None)
    assert [row.verdict.rating for row in read_after(log, 0, 10)] == [2]
    assert log.evidence(verdict(1).id) == EVIDENCE
    assert log.append(verdict(2), None)
    assert log.evidence(verdict(2).id) is log.find("unknown") is None


SEEN = ReferenceAnswered("reference/0", 3.0, "default", "m-1", "m", "e9")
ASKED = ReferenceAnswered("reference/1", 4.0, "triage", "m-1", "m", "e3", 5, 0, 1, 0.25, 0.75)
DECISION = Decision.of("i1", "rolled_back", route="chat", by="annä", at=5.0, note='{"a": "\x00 ☂"}')


@pytest.mark.parametrize("note", [SEEN, ASKED, DECISION], ids=["sighting", "asked", "decision"])
def test_a_note_is_an_entry_once_between_the_verdicts(log, note):
    """It comes back as it went in; who reads verdicts or approvals sees none of it."""
    log.append(verdict(1), EVIDENCE)
    assert log.note(note)
    assert not log.note(note)
    log.append(verdict(2), None)
    assert log.entries_after(0, 10)[1] == LoggedNote(2, note)
    assert log.entries_after(1, 1) == [LoggedNote(2, note)]
    assert log.approvals() == []
    assert [row.verdict for row in read_after(log, 0, 10)] == [verdict(1), verdict(2)]


def test_the_oldest_verdicts_go_first_and_are_counted(backend):
    """Sightings go with the verdicts around them; what people said stays. SQLite looks every 500 verdicts."""
    log = backend.verdicts(kept=400)
    log.note(SEEN)
    log.note(DECISION)
    fill(log, range(1000), EVIDENCE)
    log.note(ASKED)
    read = read_after(log, 0, 5000)
    assert 400 <= len(read) <= 900
    assert read[-1].verdict == verdict(999)
    assert log.trimmed() == 1000 - len(read)
    first = int(read[0].verdict.exchange_id.removeprefix("e"))
    assert log.find(verdict(first - 1).id) is None
    if isinstance(log, SqliteVerdictLog):  # a Redis forgets evidence by its age
        assert log.evidence(verdict(first - 1).id) is None
    assert log.of_exchange(f"e{first - 1}") == []
    assert log.evidence(verdict(first).id) == EVIDENCE
    notes = [entry.note for entry in log.entries_after(0, 5000) if isinstance(entry, LoggedNote)]
    assert notes == [DECISION, ASKED]


def test_old_evidence_is_pruned_and_the_verdict_kept(log):
    fill(log, range(1000), EVIDENCE)
    assert log.evidence(verdict(0).id) is None
    assert log.evidence(verdict(999).id) == EVIDENCE
    assert log.find(verdict(0).id) is not None


def test_verdicts_are_found_by_exchange_and_by_cell(log):
    """The worker asks by exchange, the console by route and perturbation, newest first."""
    log.append(verdict(1), None)
    log.append(verdict(1, id="other", perturbation="general.casing"), None)
    log.append(verdict(2, route="triage"), None)
    assert [trial.id for trial in log.of_exchange("e1")] == [verdict(1).id, "other"]
    assert [trial.route for trial in log.latest(10)] == ["triage", "default", "default"]
    casing = log.latest(10, route="default", perturbation="general.casing")
    assert [trial.id for trial in casing] == ["other"]
    assert log.latest(10, route="triage", perturbation="general.casing") == []


def test_many_threads_append_without_losing_or_doubling(log):
    def work():
        for number in range(40):
            log.append(verdict(number), EVIDENCE)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_after(log, 0, 1000)) == 40


KINDS = (BASELINE, "general.spelling", "general.tone", "format.json", "formatting.x")


ROUTES = ("desk", "shop")


RATINGS = (3, 2, 1, None)


def of_a_mix(number):
    """A verdict of one of two routes and models, five rewordings, four outcomes and three clients."""
    rating = RATINGS[number // 2 % 4]
    return verdict(
        number,
        scored_at=60.0 * number,
        route=ROUTES[number % 2],
        model=f"m-{number // 30}",
        perturbation=KINDS[number % 5],
        rating=rating,
        control_rating=(3, 2, None)[number % 3],
        control_similarity=None,
        client=f"c-{number % 3}",
        task="triage" if number % 4 else None,
        failure=None if rating else Failure("replay", 1, ("timeout", "rate_limited")[number % 5 == 0]),
    )


MIX = [of_a_mix(number) for number in range(60)]


@pytest.fixture
def mixed(backend):
    made = backend.verdicts()
    for trial in MIX:
        made.append(trial, None)
    return made


def read(log, narrow, limit):
    """All that is found when reading on until the start."""
    found, at = [], None
    while at != 0:
        stretch = log.read_before(at, limit, narrow)
        assert len(stretch.verdicts) <= stretch.looked_at <= limit
        assert at is None or stretch.reached < at
        assert all(stretch.reached <= row.offset < (at or 61) for row in stretch.verdicts)
        at = stretch.reached
        found += stretch.verdicts
    return found


cells = st.builds(
    Narrow.by,
    route=st.none() | st.sampled_from((*ROUTES, "none")),
    perturbation=st.none() | st.sampled_from(KINDS),
    rating=st.none() | st.lists(st.sampled_from(RATINGS), unique=True).map(tuple),
    state=st.none() | st.sampled_from(("rated", "failed")),
    control=st.none() | st.sampled_from(("held", "changed", "none")),
    client=st.none() | st.sampled_from(("c-1", (None,))),
    model=st.none() | st.just("m-1"),
)
moments = st.none() | st.sampled_from((0.0, 1_000.0, 2_400.0, 9_000.0))
narrows = st.builds(
    lambda cell, since, until: altered(cell, since=since, until=until),
    cells,
    moments,
    moments,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(narrow=narrows, limit=st.integers(1, 70))
def test_reading_on_finds_what_is_looked_for_once_and_in_order(mixed, narrow, limit):
    """Results are those of going through all verdicts, whatever the size of the steps."""
    expected = [(60 - at, row) for at, row in enumerate(reversed(MIX)) if narrow.admits(row)]
    assert [(row.offset, row.verdict) for row in read(mixed, narrow, limit)] == expected


def test_the_newest_come_first(mixed):
    """Exactly as many come as asked for where nothing narrows."""
    stretch = mixed.read_before(None, 3)
    assert [row.verdict.id for row in stretch.verdicts] == [MIX[59].id, MIX[58].id, MIX[57].id]
    assert (stretch.reached, stretch.looked_at) == (58, 3)
    assert [row.verdict.id for row in mixed.read_before(3, 5, ANYTHING).verdicts] == [MIX[1].id, MIX[0].id]
    assert mixed.read_before(1, 5).verdicts == []


# On SQLite.


def test_a_verdict_that_is_there_already_takes_no_place(database):
    """Offsets have no gaps, so that the limit is one of verdicts."""
    log = SqliteVerdictLog(database)
    fill(log, range(3))
    assert not any(log.append(verdict(number), None) for number in (0, 1, 2, 0))
    fill(log, [3])
    assert [row.offset for row in read_after(log, 0, 9)] == [1, 2, 3, 4]


def test_what_is_not_folded_yet_stays_until_it_is_twice_too_much(database):
    """A monitor that is behind loses nothing, and one that never folds does not fill the disk."""
    folded = [100]
    log = SqliteVerdictLog(database, kept=500, folded=lambda: folded[0])
    fill(log, range(1000))
    assert log.trimmed() == 100
    fill(log, range(1000, 1500))
    assert log.trimmed() == 500
    folded[0] = 1400
    assert log.trim() == 500
    assert [row.offset for row in read_after(log, 0, 1)] == [1001]


def test_a_limit_that_was_lowered_is_reached_in_steps(database):
    """However much there is, it is removed in transactions of 2,000 verdicts, all of it by one call."""
    fill(SqliteVerdictLog(database), range(4600))
    log = SqliteVerdictLog(database, kept=50)
    assert log.trim() == 4550
    assert log.trim() == 0
    assert log.trimmed() == 4550


def test_the_file_does_not_grow_once_the_log_is_full(database):
    """Five times as many verdicts as are kept take no more room than twice as many."""
    log = SqliteVerdictLog(database, kept=500, evidence_kept=100)
    fill(log, range(1000), EVIDENCE)

    def size():
        database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return database.path.stat().st_size

    full = size()
    fill(log, range(1000, 2500), EVIDENCE)
    assert size() <= full * 1.05


def test_evidence_has_an_age(database):
    """Prompts and answers older than the limit go, their verdicts stay."""
    now = 1000.0
    log = SqliteVerdictLog(database, evidence_s=100.0, clock=lambda: now)
    fill(log, range(300), EVIDENCE)
    now = 1300.0
    log.trim()
    assert log.evidence(verdict(199).id) is None
    assert log.find(verdict(199).id) is not None
    assert log.evidence(verdict(200).id) == EVIDENCE


# On Redis.


def test_evidence_has_a_time_to_live(store):
    """The server forgets it by itself; the verdict stays."""
    log = RedisVerdictLog(store, evidence_s=100)
    log.append(verdict(1), EVIDENCE)
    assert 0 < store.client.pttl(store.key("main", f"evidence:{verdict(1).id}")) <= 100_000
