"""Memory of the change response, on every backend."""

import pytest

from evenkeel.stores.changes import (
    AnswerScores,
    ChangeStore,
    GoldenRun,
    Override,
    QualityTally,
    ReleaseRun,
    ScoredReference,
)
from tests.kit.records import altered

RUN = GoldenRun("r1", "shop", 5.0, "c1", "m-2", ("rating",), False, ())


@pytest.fixture
def changes(backend):
    return ChangeStore(backend.documents())


def test_runs_come_back_in_the_order_they_were_put(changes):
    """A run that is put again replaces the one before; the revision tells that something is new."""
    assert changes.runs() == []
    assert changes.revision() == 0
    later = altered(RUN, id="r2", route="other", left_out={"no_request": 2})
    changes.put_run(RUN)
    first = changes.revision()
    changes.put_run(later)
    assert changes.runs() == [RUN, later]
    assert changes.revision() > first > 0
    again = altered(RUN, at=9.0)
    changes.put_run(again)
    assert changes.runs() == [later, again]


GATE = ReleaseRun(
    "g1", 5.0, "gate", "m-2", "against m-1", "within", "pass", "PASS: no excess.", ("content_shift: pass",),
    "40 goldens", 80, 0.5,
)  # fmt: skip
CHECK = altered(GATE, id="c1", kind="check", subject="p.txt", beside="m", headline="m: over.")


def test_gates_and_checks_come_back_in_their_order(changes):
    """They stand beside the runs of goldens after changes."""
    for run in (CHECK, GATE):
        changes.put_release(run)
    assert changes.releases() == [CHECK, GATE]
    assert changes.runs() == []


def test_scores_are_kept_by_change(changes):
    """Others of the same change replace them; a route keeps a hundred, the newest."""
    first = ScoredReference("r1", {"tone": "worse"})
    given = AnswerScores("c1", "shop", 5.0, True, (first, ScoredReference("r2", failure="budget")))
    changes.put_scores(given)
    assert changes.scores() == {"c1": given}
    assert given.tallies == (QualityTally("tone", 1, 0, 0, 1),)
    again = altered(given, at=6.0)
    changes.put_scores(again)
    assert changes.scores() == {"c1": again}
    for number in range(100):
        changes.put_scores(altered(given, change=f"d{number}"))
    assert len(changes.scores()) == 100
    assert "c1" not in changes.scores()


def test_a_change_is_responded_to_once_and_settings_go_by_their_fingerprint(changes):
    """The first that comes responds; settings that were never put are None."""
    assert [changes.respond(change, 1.0) for change in ("c1", "c1", "c2")] == [True, False, True]
    changes.put_settings("f", {"a": "1"})
    changes.put_settings("f", {"a": "1"})
    assert changes.settings("f") == {"a": "1"}
    assert changes.settings("g") is None


def test_bursts_last_until_their_time(changes):
    """One a route, the last that was put."""
    changes.put_burst(Override("b", 0.5, 100.0, "c1"))
    changes.put_burst(Override("a", 1.0, 200.0, "c2"))
    changes.put_burst(Override("b", 1.0, 150.0, "c3"))
    assert changes.bursts(120.0) == [Override("a", 1.0, 200.0, "c2"), Override("b", 1.0, 150.0, "c3")]
    assert changes.bursts(150.0) == [Override("a", 1.0, 200.0, "c2")]
    changes.drop_burst("a")
    assert changes.bursts(0.0) == [Override("b", 1.0, 150.0, "c3")]
