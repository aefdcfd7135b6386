"""Which reference is asked when: filling, taking turns, bursts, and limits."""

import pytest

from evenkeel.shadow.references.pace import (
    DAY_S,
    FoundChange,
    Pace,
    Round,
    Suspicion,
    count_of_day,
    next_round,
    suspicions_about,
    with_burst,
    with_round,
)
from evenkeel.stores.references import AskedToday, ReferenceState
from tests.cases import cases

CASES = cases(__file__)

NOON = 20_000 * DAY_S + DAY_S / 2
PACE = Pace(96, 60, 0.5)
TODAY = count_of_day(None, "shop", NOON)


def state(name, answers=4, *, version="p1", model="m", **changes):
    given = {
        "id": name,
        "route": "shop",
        "requested_model": model,
        "prompt_version": version,
        "answers": answers,
        "failed": 0,
        "asked_at": 0.0,
        "taken_at": NOON - 3600,
        "changed_at": 0.0,
        "chars": 100,
    }
    return ReferenceState(**{**given, **changes})


def due(states, asked=TODAY, *, now=NOON, pace=PACE, seen=None, call_usd=0.0):
    return next_round(states, asked, seen or {}, pace, now, call_usd=call_usd)


def test_young_ones_are_filled_first_those_that_lack_least():
    """They are asked one at a time, two seconds apart."""
    found = due([state("a", 2), state("b", 3), state("c", 4)])
    assert found == Round("fill", ("b",))
    asked = with_round(TODAY, found, NOON)
    assert (asked.calls, asked.fills, asked.asked_at) == (1, 1, NOON)
    assert due([state("a", 2)], asked, now=NOON + 1) is None
    assert due([state("a", 2)], asked, now=NOON + 2) == Round("fill", ("a",))


def test_filling_leaves_a_quarter_of_the_calls_for_turns():
    """The young ones wait for tomorrow after 72 of 96 calls."""
    asked = AskedToday("shop", TODAY.day, calls=72, fills=72)
    assert due([state("a", 2), state("b")], asked) == Round("round", ("b",))
    assert due([state("a", 2)], asked) == Round("round", ("a",))


@pytest.mark.parametrize(
    ("day", "call_usd", "pause_s"),
    [({"calls": 72}, 0.0, 1800), ({"calls": 6, "usd": 0.26}, 0.04, 6171)],
    ids=["calls", "dollars"],
)
def test_turns_are_spread_over_what_is_left_of_the_day(day, call_usd, pause_s):
    """At noon 24 calls are left: one each half hour. 0.24 dollars, at 0.04 a call, are one each 1.7 hours."""
    asked = AskedToday("shop", TODAY.day, asked_at=NOON, **day)
    assert due([state("a")], asked, now=NOON + pause_s - 100, call_usd=call_usd) is None
    assert due([state("a")], asked, now=NOON + pause_s + 1, call_usd=call_usd) == Round("round", ("a",))


def test_the_longest_unasked_is_next_of_whichever_prompt_version():
    """A silent change shows in the answers to an old prompt as well."""
    states = [
        state("a", version="p1", asked_at=300.0),
        state("b", version="p2", asked_at=200.0),
        state("c", version="p2", asked_at=250.0),
    ]
    assert due(states) == Round("round", ("b",))


def test_the_calls_of_a_day_are_a_ceiling():
    """Another day begins with nothing asked, and remembers what was looked into."""
    asked = AskedToday("shop", TODAY.day, 96, 10, 2, 60, 0.3, NOON, 7.0, "m", 6.0, 5, 3)
    assert due([state("a")], AskedToday("shop", TODAY.day, calls=96)) is None
    tomorrow = count_of_day(asked, "shop", NOON + DAY_S)
    assert (tomorrow.calls, tomorrow.fills, tomorrow.bursts, tomorrow.usd, tomorrow.spare) == (0, 0, 0, 0, 0)
    assert tomorrow.burst_calls == 0
    assert (tomorrow.suspected_at, tomorrow.burst_left) == (7.0, 5)
    assert count_of_day(asked, "shop", NOON + 1) == asked


def test_the_dollars_of_a_day_are_a_ceiling():
    """The price of the next call counts; null is no limit."""
    asked = AskedToday("shop", TODAY.day, usd=0.495)
    assert due([state("a")], asked, call_usd=0.004) is not None
    assert due([state("a")], asked, call_usd=0.006) is None
    assert due([state("a")], AskedToday("shop", TODAY.day, usd=0.5)) is None
    assert due([state("a")], asked, call_usd=0.006, pace=Pace(96, 60, None)) is not None


def test_what_the_traffic_no_longer_asks_is_not_asked():
    """Within a day it counts as asked, by the traffic or when it was taken."""
    old = state("a", taken_at=NOON - 2 * DAY_S)
    assert due([old]) is None
    assert due([old], seen={"m": NOON - DAY_S / 2}) is not None
    assert due([old], seen={"n": NOON}) is None


def test_a_reference_that_failed_waits():
    """Ten minutes, then twenty."""
    assert due([state("a", failed=1, asked_at=NOON - 500)]) is None
    assert due([state("a", failed=1, asked_at=NOON - 600)]) is not None
    assert due([state("a", failed=2, asked_at=NOON - 600)]) is None


def test_a_suspicion_asks_many_at_once():
    """Four at a time, each another prompt, those with most to compare with first; the other model's none."""
    suspicion = Suspicion("shop", "m", NOON - 60)
    asked = with_burst(TODAY, [suspicion], [], PACE, NOON)
    assert (asked.bursts, asked.burst_left, asked.suspected_at) == (1, 60, NOON - 60)
    states = [state(name, number) for number, name in enumerate("abcdefg")] + [state("z", model="n")]
    first = due(states, asked)
    assert first == Round("suspicion", ("g", "f", "e", "d"))
    asked = with_round(asked, first, NOON)
    assert (asked.burst_left, asked.burst_calls, asked.calls) == (56, 4, 0)
    states = [kept._replace(asked_at=NOON) if kept.id in "gfed" else kept for kept in states]
    # Those with fewer than two answers have nothing to be ranked among.
    assert due(states, asked, now=NOON + 1) == Round("suspicion", ("c", "g", "f", "e"))


def test_a_suspicion_is_looked_into_once_and_three_times_a_day_at_most():
    """The fourth of a day waits for the next."""
    asked = TODAY
    for number in range(4):
        suspicion = Suspicion("shop", "m", NOON + number)
        asked = with_burst(asked, [suspicion], [], PACE, NOON + number)
        assert with_burst(asked, [suspicion], [], PACE, NOON + number + 0.5) == asked
    assert (asked.bursts, asked.suspected_at) == (3, NOON + 2)
    tomorrow = with_burst(count_of_day(asked, "shop", NOON + DAY_S), [suspicion], [], PACE, NOON + DAY_S)
    assert (tomorrow.bursts, tomorrow.suspected_at) == (1, NOON + 3)


@pytest.mark.parametrize(("suspicion", "model"), CASES["suspicions"])
def test_which_suspicions_a_route_can_settle(suspicion, model):
    """A route settles its own, and those of models it asks by name, or of the model asked last."""
    states = [state("a"), state("b", model="n")]
    seen = {"m": NOON, "n": NOON + 1, "x": NOON + 2}
    found = suspicions_about([Suspicion(*suspicion, NOON)], "shop", states, seen)
    assert [suspicion.requested_model for suspicion in found] == ([] if model is None else [model])


def test_a_burst_ends_when_the_change_is_found():
    """The calls left over fill the references anew, beyond the calls of the day."""
    asked = with_burst(TODAY, [Suspicion("shop", "m", NOON)], [], PACE, NOON)
    asked = with_round(asked, Round("suspicion", ("a", "b")), NOON)
    elsewhere = [FoundChange("forms", "m", NOON + 5, NOON), FoundChange("shop", "n", NOON + 5, NOON)]
    assert with_burst(asked, [], elsewhere, PACE, NOON + 6) == asked
    ended = with_burst(asked, [], [FoundChange("shop", "m", NOON + 5, NOON)], PACE, NOON + 6)
    assert (ended.burst_left, ended.spare) == (0, 58)
    spent = AskedToday("shop", TODAY.day, calls=96, spare=1)
    found = due([state("a", 0)], spent)
    assert found == Round("fill", ("a",))
    after = with_round(spent, found, NOON)
    assert (after.calls, after.burst_calls, after.spare) == (96, 1, 0)


def test_without_calls_nothing_is_asked():
    """A burst needs calls of its own to begin."""
    assert due([state("a")], pace=Pace(0, 60, 0.5)) is None
    assert with_burst(TODAY, [Suspicion("shop", "m", NOON)], [], Pace(96, 0, 0.5), NOON) == TODAY
