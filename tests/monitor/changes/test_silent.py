"""What becomes of a silent change in the list of a route's changes."""

from __future__ import annotations

import pytest

from evenkeel.monitor.changes import RouteWatch, kinds
from evenkeel.monitor.changes.silent import Silent
from tests.kit.records import altered
from tests.monitor.changes.silent_evidence import found, references, suspected, traits
from tests.monitor.changes.test_route import exchanges, fed

MINUTE_S = 60.0
DAY_S = 86_400.0


def minutes(first, last, **changes):
    """Exchanges one a minute, each a resend and one trial."""
    return [altered(one, scored_at=MINUTE_S * one.scored_at) for one in exchanges(first, last, **changes)]


def watched(count=400, **changes):
    """A watch that has seen so many minutes of exchanges."""
    watch = RouteWatch("chat")
    fed(watch, minutes(0, count, **changes))
    return watch


def test_a_suspicion_is_listed_and_changes_nothing_else():
    """It has a record, but no cell begins anew and the next change is compared with all that came before."""
    watch = watched()
    change = watch.mark_silent(suspected(400 * MINUTE_S), 900)
    (record,) = watch.records()
    assert record.id == change
    assert (record.kinds, record.silent.state) == ({kinds.TRAITS}, "suspected")
    assert watch.era == 0
    fed(watch, [*minutes(400, 600), *minutes(600, 700, model="m2")], offset=1000)
    _, stated = watch.records()
    assert stated.kinds == {kinds.MODEL}
    assert stated.before.exchanges == 550, "607 but the last block, and also from before the suspicion"
    assert watch.era == 1


def test_a_finding_joins_its_suspicion():
    """One record, with both marks and both pieces of evidence, that begins a new era."""
    watch = watched()
    change = watch.mark_silent(suspected(400 * MINUTE_S), 900)
    fed(watch, minutes(400, 500), offset=1000)
    assert watch.mark_silent(found(500 * MINUTE_S, since=401 * MINUTE_S), 1300) == change
    (record,) = watch.records()
    assert [mark.kind for mark in record.marks] == [kinds.TRAITS, kinds.REFERENCES]
    assert record.silent == Silent(traits(400 * MINUTE_S), references(500 * MINUTE_S, since=401 * MINUTE_S))
    assert watch.era == 1


def test_the_traffic_of_both_sides_is_told_apart_by_the_first_sign():
    """Blocks wholly before it are before, those wholly since are after, the one between is neither."""
    watch = watched(420)
    watch.mark_silent(found(420 * MINUTE_S, since=310 * MINUTE_S), 900)
    (record,) = watch.records()
    assert (record.before.exchanges, record.after.exchanges) == (300, 70)
    assert record.marks[0].run == 70
    fed(watch, minutes(420, 430), offset=1000)
    assert watch.records()[0].after.exchanges == 80


@pytest.mark.parametrize(
    ("changes", "found_at", "joined"),
    [
        ({"model": "m2"}, 475, True),
        ({"system_fingerprint": "fp_2"}, 475, True),
        ({"prompt_version": "v2"}, 475, True),
        ({"prompt_version": "v2"}, 600, False),
        ({"settings": "s2"}, 475, False),
    ],
)
def test_what_was_stated_shortly_before_is_the_same_change(changes, found_at, joined):
    """A finding joins it, so that its report says both; what came hours earlier is another change."""
    watch = watched(system_fingerprint="fp_1")
    fed(watch, minutes(400, found_at, **({"system_fingerprint": "fp_1"} | changes)), offset=2000)
    at = found_at * MINUTE_S
    watch.mark_silent(found(at, since=at - 600), 9000)
    assert len(watch.records()) == (1 if joined else 2)
    assert (watch.records()[0].silent is not None) is joined


def test_a_name_that_changed_between_two_answers_explains_a_finding_hours_later():
    """References are asked now and then: between the last like answer and the finding all is one change."""
    watch = watched()
    fed(watch, minutes(400, 900, model="m2"), offset=2000)
    watch.mark_silent(found(900 * MINUTE_S, since=850 * MINUTE_S, after=390 * MINUTE_S), 9000)
    (record,) = watch.records()
    assert record.kinds == {kinds.MODEL, kinds.REFERENCES}


def test_another_finding_is_another_change():
    """So is one of another requested model."""
    watch = watched()
    first = watch.mark_silent(found(400 * MINUTE_S), 900)
    second = watch.mark_silent(found(480 * MINUTE_S, since=460 * MINUTE_S), 910)
    other = watch.mark_silent(found(480 * MINUTE_S, since=460 * MINUTE_S, model="n"), 911)
    assert len({first, second, other}) == 3


def test_traits_that_move_late_belong_to_the_finding():
    """If they moved since before it was made; what moves afterwards is suspected by itself."""
    watch = watched()
    first = watch.mark_silent(found(400 * MINUTE_S), 900)
    assert watch.mark_silent(suspected(420 * MINUTE_S, since=395 * MINUTE_S), 950) == first
    assert watch.silent(first).traits is not None
    assert watch.mark_silent(suspected(600 * MINUTE_S, since=590 * MINUTE_S), 990) != first


def test_an_old_suspicion_makes_room_first():
    """Suspicions that came to nothing push no change out of the list."""
    watch = watched()
    stated = watch.mark_silent(found(400 * MINUTE_S), 900)
    for day in range(1, 6):
        at = 400 * MINUTE_S + day * 2 * DAY_S
        change = watch.mark_silent(suspected(at), 1000 + day)
        watch.update_silent(change, altered(watch.silent(change), closed="not_confirmed", closed_at=at))
    assert stated in {record.id for record in watch.records()}
    assert len(watch.records()) == 4
