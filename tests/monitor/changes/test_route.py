"""Changes that a route's verdicts tell of, as a fold of them."""

import pytest

from evenkeel.core.cells import ChangeMark
from evenkeel.core.records import from_json, to_json
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.changes import RouteWatch, kinds
from evenkeel.monitor.changes.stay import End
from evenkeel.monitor.estimate import outcome_of
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT


def verdict(number, kind=BASELINE, **changes):
    said = {
        "id": f"x{number}.{kind}",
        "exchange_id": f"x{number}",
        "scored_at": float(number),
        "model": "m1",
        "perturbation": kind,
        "scorer": "judge",
        "control_rating": None if kind == BASELINE else 3,
        "similarity": 0.9,
        "requested_model": "m",
        "prompt_version": "v1",
        "prompt_chars": 900 + number % 7,
        "prompt_language": "en",
        "settings": "s1",
    }
    return altered(VERDICT, **(said | changes))


def fed(watch, verdicts, offset=0):
    """Feed verdicts; the marks with the number of their exchange."""
    found = []
    for place, trial in enumerate(verdicts, offset + 1):
        for mark in watch.observe(trial, outcome_of(trial), place):
            watch.mark(mark)
            found.append((trial.exchange_id, mark))
    return found


def exchanges(first, last, **changes):
    """A resend and one trial for each exchange."""
    return [
        verdict(number, kind, **changes)
        for number in range(first, last)
        for kind in (BASELINE, "general.casing")
    ]


def swapped(first, last, model):
    """Exchanges of a model, whose trials shift under m2."""
    verdicts = exchanges(first, last, model=model)
    if model != "m2":
        return verdicts
    return [trial if trial.is_control else altered(trial, rating=2) for trial in verdicts]


@pytest.mark.parametrize(
    ("change", "kind", "before", "after"),
    [
        ({"model": "m2"}, kinds.MODEL, "m1", "m2"),
        ({"requested_model": "n"}, kinds.REQUESTED_MODEL, "m", "n"),
        ({"prompt_version": "v2"}, kinds.PROMPT, "v1", "v2"),
        ({"settings": "s2"}, kinds.SETTINGS, "s1", "s2"),
    ],
)
def test_a_value_that_changes_is_one_mark_after_eight_exchanges(change, kind, before, after):
    """Each kind of value by itself, and nothing else with it."""
    watch = RouteWatch("chat")
    found = fed(watch, exchanges(0, 100) + exchanges(100, 400, **change))
    ((name, mark),) = found
    assert (name, mark.kind, mark.before, mark.after) == ("x107", kind, before, after)
    assert (mark.at, mark.offset) == (107.0, 2 * 107 + 1)
    assert watch.counts == {kind: 1}


def test_each_parameter_is_followed_by_itself():
    """Another temperature, and tools that come, are marks though every request has another seed."""
    watch = RouteWatch("chat")
    verdicts = [
        verdict(number, parameters=f"seed={number} temperature={0.2 if number < 100 else 0.9:g}{tools}")
        for number in range(200)
        for tools in (" tools=1a2b3c4d" if number >= 100 else "",)
    ]
    found = fed(watch, verdicts)
    assert [(name, mark.kind, mark.before, mark.after) for name, mark in found] == [
        ("x107", kinds.PARAMETERS, "temperature 0.2", "temperature 0.9"),
        ("x107", kinds.PARAMETERS, "tools not set", "tools 1a2b3c4d"),
    ]
    (record,) = watch.records()
    assert record.kinds == {kinds.PARAMETERS}
    again = from_json(to_json(watch), RouteWatch)
    assert again == watch


def test_parameters_that_become_known_are_no_change():
    """Verdicts of before the field was there say nothing; a request that asks for nothing says that."""
    watch = RouteWatch("chat")
    asked = {"parameters": "temperature=0.2"}
    assert fed(watch, exchanges(0, 100) + exchanges(100, 200, **asked)) == []
    watch = RouteWatch("chat")
    found = fed(watch, exchanges(0, 100, parameters="none") + exchanges(100, 200, **asked))
    assert [(mark.before, mark.after) for _, mark in found] == [("temperature not set", "temperature 0.2")]


def test_templates_that_are_still_being_learned_are_no_edits():
    """A learned version that is new within the first 150 exchanges is given, later ones are edits."""
    first, second, third = ({"prompt_version": digit * 16} for digit in "abc")
    watch = RouteWatch("chat")
    found = fed(
        watch, exchanges(0, 90, **first) + exchanges(90, 250, **second) + exchanges(250, 300, **third)
    )
    assert [(mark.before, mark.after) for _, mark in found] == [("b" * 16, "c" * 16)]


def test_another_judge_or_wording_is_a_change_of_the_judge():
    """Told from the trials that a judge was asked about."""
    judged = {"scorer": "judge", "rated_by": "similarity@1", "judge_model": "j1"}
    watch = RouteWatch("chat")
    found = fed(watch, exchanges(0, 60, **judged) + exchanges(60, 90, **(judged | {"judge_model": "j2"})))
    assert [(mark.kind, mark.before, mark.after) for _, mark in found] == [
        (kinds.JUDGE, "j1 similarity@1", "j2 similarity@1")
    ]


def test_what_is_noticed_close_together_is_one_change():
    """A requested and a returned name together; a prompt three hundred exchanges later is another change."""
    watch = RouteWatch("chat")
    fed(
        watch,
        exchanges(0, 100)
        + exchanges(100, 400, model="m2", requested_model="n")
        + exchanges(400, 500, model="m2", requested_model="n", prompt_version="v2"),
    )
    first, second = watch.records()
    assert first.kinds == {kinds.MODEL, kinds.REQUESTED_MODEL}
    assert second.kinds == {kinds.PROMPT}
    assert first.id != second.id
    assert len(first.id) == 12


def test_the_sides_of_a_change_hold_its_traffic_and_no_other():
    """Blocks wholly before the first m2 are before; all from the change on, up to the next one, is after."""
    watch = RouteWatch("chat")
    fed(watch, swapped(0, 190, "m1") + swapped(190, 290, "m2"))
    (record,) = watch.records()
    before, after = record.before.counts("general.casing"), record.after.counts("general.casing")
    assert (before.trials, before.shifted) == (149, 0), "the block with the first m2 is left out"
    # The eighth exchange decided; its trial and what follows are after.
    assert (after.trials, after.shifted) == (93, 93)
    assert (record.before.exchanges, record.after.exchanges, record.since) == (150, 92, 92)


def test_a_fall_may_have_begun_two_runs_before_it_was_noticed():
    """A hundred and twenty trials, one an exchange, before the last of 400: in the sixth block."""
    watch = RouteWatch("chat")
    fed(watch, exchanges(0, 400))
    fall = ChangeMark(kinds.RATINGS, "general.casing: in 3%", "general.casing: in 30%", 399.0, 800, run=60)
    record = watch.mark(fall)
    assert record.marks[0].begun_at == 249.0
    assert record.before.exchanges == 250


def test_a_nightly_batch_of_other_prompts_is_one_change_in_all_its_nights():
    """Another model, language and length each night: marks in the first one, and none from then on."""
    day = {"model": "m1", "prompt_language": "en"}
    night = {"model": "m2", "prompt_language": "de"}
    watch = RouteWatch("chat")
    log = []
    for first in range(0, 3000, 300):
        log += exchanges(first, first + 240, **day) + exchanges(first + 240, first + 300, **night)
    assert [(name, mark.kind) for name, mark in fed(watch, log)] == [("x247", kinds.MODEL)]


def test_a_change_that_was_reversed_keeps_what_was_measured_while_it_was_in_effect():
    """The report has all trials of m2, and none of m1 after the rollback, which was with exchange 300."""
    watch = RouteWatch("chat")
    fed(watch, swapped(0, 200, "m1") + swapped(200, 300, "m2") + swapped(300, 900, "m1"))
    (record,) = watch.records()
    after = record.after.counts("general.casing")
    assert (after.trials, after.shifted, record.after.exchanges) == (93, 93, 92)
    assert record.end == End("reversed", 300.0, 2 * 339 + 1, "m1", 92)
    again = from_json(to_json(watch), RouteWatch)
    assert again == watch
    assert again.records()[0].end == record.end


def test_the_change_after_one_that_was_reversed_is_compared_with_what_was_before_both():
    """m1 before and after its rollback, and nothing of m2, is held against m3."""
    watch = RouteWatch("chat")
    fed(
        watch,
        swapped(0, 200, "m1") + swapped(200, 300, "m2") + swapped(300, 500, "m1") + swapped(500, 600, "m3"),
    )
    reversed_, latest = watch.records()
    counts = latest.before.counts("general.casing")
    assert counts.shifted == 0
    assert counts.trials > reversed_.before.counts("general.casing").trials == 199
    assert latest.end is None


def test_a_change_that_gives_way_to_a_known_value_was_replaced():
    """The model m0, which had answered before m1 did, is known, so its return is no change of its own."""
    watch = RouteWatch("chat")
    played = (
        swapped(0, 100, "m0") + swapped(100, 300, "m1") + swapped(300, 400, "m2") + swapped(400, 500, "m0")
    )
    fed(watch, played)
    first, second = watch.records()
    assert (first.end.how, first.end.by) == ("replaced", "m2")
    assert (second.end.how, second.end.by) == ("replaced", "m0")
    counts = second.after.counts("general.casing")
    assert (counts.trials, counts.shifted) == (101, 93), "a few of m0 pass for traffic beside m2"


def test_a_parameter_that_is_set_back_reverses_its_change():
    watch = RouteWatch("chat")
    for first, last, asked in (
        (0, 100, "temperature=0.2"),
        (100, 200, "temperature=0.9"),
        (200, 300, "temperature=0.2"),
    ):
        fed(watch, exchanges(first, last, parameters=asked))
    (record,) = watch.records()
    assert (record.end.how, record.end.at, record.end.by) == ("reversed", 200.0, "temperature 0.2")


@pytest.mark.parametrize("tried", [30, 60, 90])
def test_a_value_that_had_gone_before_has_not_made_room_for_the_new_one(tried):
    """The old m1 is still among the latest 120, but m3 comes for m2."""
    watch = RouteWatch("chat")
    last = 80 + tried
    found = fed(watch, swapped(0, 80, "m1") + swapped(80, last, "m2") + swapped(last, last + 30, "m3"))
    assert [(mark.before, mark.after) for _, mark in found] == [("m1", "m2"), ("m2", "m3")]
