"""Silent changes in the list of a route's changes."""

import pytest

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes import RouteWatch, kinds
from evenkeel.monitor.changes.record import ASKED
from tests.kit.records import altered
from tests.monitor.changes.silent_evidence import found
from tests.monitor.changes.test_route import exchanges, fed

MINUTE_S = 60.0


def minutes(first, last, **changes):
    """Exchanges one a minute, each a resend and one trial."""
    return [
        altered(trial, scored_at=MINUTE_S * trial.scored_at) for trial in exchanges(first, last, **changes)
    ]


def watched(count=400, **changes):
    """A watch that has seen so many minutes of exchanges."""
    watch = RouteWatch("chat")
    fed(watch, minutes(0, count, **changes))
    return watch


def moved_at(minute):
    """A mark of ratings that began to move with the minute 400."""
    at = minute * MINUTE_S
    return ChangeMark(kinds.RATINGS, "before", "after", at, 2100, began=400 * MINUTE_S)


def test_the_traffic_of_both_sides_is_told_apart_by_the_first_sign():
    """Blocks wholly before it are before, those wholly since are after, the one between is neither."""
    watch = watched(420)
    watch.mark_silent(found(420 * MINUTE_S, since=310 * MINUTE_S), 900)
    (record,) = watch.records()
    assert (record.before.exchanges, record.after.exchanges) == (300, 70)
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


def test_what_began_before_a_change_is_not_of_it():
    """A swap, its rollback and a fallback within minutes: the finding belongs to what came before it."""
    watch = watched()
    fed(watch, minutes(400, 475, model="m2"), offset=2000)
    fed(watch, minutes(475, 500, model="m3"), offset=3000)
    first, second = watch.records()
    swapped = watch.mark_silent(found(500 * MINUTE_S, since=405 * MINUTE_S, after=395 * MINUTE_S), 9000)
    assert (swapped.id, second.kinds) == (first.id, {kinds.MODEL})


@pytest.mark.parametrize(("before", "asked"), [(ASKED - 1, ""), (ASKED, "same")])
def test_what_is_asked_after_a_silent_change_was_found_rules_it_out_for_no_earlier_change(before, asked):
    """References are compared with the new answers then, and are as before from there on."""
    watch = watched(prompt_version="v1")
    fed(watch, minutes(400, 700, prompt_version="v2"), offset=2000)
    watch.note_reference(same=True)
    watch.mark(moved_at(415))
    for _ in range(before):
        watch.note_reference(same=True)
    fed(watch, minutes(700, 1600, prompt_version="v2"), offset=3000)
    watch.mark_silent(found(1600 * MINUTE_S, since=1550 * MINUTE_S), 9000)
    for _ in range(ASKED):
        watch.note_reference(same=True)
    edit, silent = watch.records()
    assert (edit.silent, edit.references, silent.references) == (None, asked, "moved")


def test_another_finding_is_another_change():
    watch = watched()
    first = watch.mark_silent(found(400 * MINUTE_S), 900)
    second = watch.mark_silent(found(480 * MINUTE_S, since=460 * MINUTE_S), 910)
    other = watch.mark_silent(found(480 * MINUTE_S, since=460 * MINUTE_S, model="n"), 911)
    assert len({first.id, second.id, other.id}) == 3
