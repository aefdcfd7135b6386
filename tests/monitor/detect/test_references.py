"""The test of reference prompts: hand-worked evidence, its exactness, and what it says of a change."""

import random
from itertools import pairwise

import pytest
from msgspec import to_builtins

from evenkeel.core.sightings import PooledComparison, ReferenceAnswered
from evenkeel.monitor.detect.references import BETS, ReferenceTest, alarm_level


def answered(number, *, below, compared=5, **changes):
    """The answer of call `number`, at that many seconds, above `below` of the others."""
    given = {
        "id": f"reference/{number}",
        "at": float(number),
        "route": "shop",
        "model": "m-1",
        "requested_model": "m",
        "reference": f"r{number % 4}",
        "compared": compared,
        "below": below,
        "ties": 1,
        "likeness": 0.9,
        "own": 0.9,
    }
    return ReferenceAnswered(**{**given, **changes})


def odd(number, **changes):
    """An answer unlike the four others, more so than any of them."""
    return answered(number, below=0, **{"likeness": 0.25, "own": 0.75, **changes})


def asked(test, *answers):
    return [found for answer in answers if (found := test.add(answer)) is not None]


def test_the_level_is_calls_a_year_over_false_alarms():
    """96 a day, 60 more at each 300th, 60 in each of 52 weeks: 45,168, or twice that at one in two years."""
    assert alarm_level(96, 60, 0.5) == pytest.approx(2 * (365 * 96 * 1.2 + 52 * 60))
    assert alarm_level(0, 0, 0.5) == 1.0


def test_the_evidence_is_the_mean_of_sums_of_bets():
    """The lowest of five wins 5·(1/5)^k, the second 5·((2/5)^k − (1/5)^k); then it is (e₁ + 1)·e₂."""
    test = ReferenceTest(1e9)
    assert asked(test, odd(1), answered(2, below=1)) == []
    expected = 0.0
    for k in BETS:
        first, second = 5 * 0.2**k, 5 * (0.4**k - 0.2**k)
        expected += (first + 1) * second / len(BETS)
    assert 10**test.evidence_log10 == pytest.approx(expected)


@pytest.mark.parametrize("compared", [3, 5, 40])
def test_every_bet_has_mean_one(compared):
    """Over all ranks: after one call the mean of the evidence is 1."""
    total = 0.0
    for below in range(compared):
        test = ReferenceTest(1e9)
        test.add(answered(1, below=below, compared=compared))
        total += sum(test.wealth)
    assert total / compared == pytest.approx(1)


def test_what_cannot_be_ranked_says_nothing():
    """A failure, and a second answer, of which neither can be the odd one."""
    test = ReferenceTest(1e9)
    before = to_builtins(test)
    assert asked(test, odd(1, failure="timeout"), odd(2, compared=2)) == []
    assert to_builtins(test) == before


def test_a_change_is_found_and_described():
    """Twenty answers as before, then odd ones: since when, in which run, by which references."""
    test = ReferenceTest(alarm_level(96, 60, 0.5))
    assert asked(test, *(answered(number, below=2 + number % 3) for number in range(20))) == []
    calls = [
        odd(
            number,
            model="m-2" if number > 20 else "m-1",
            system_fingerprint="fp",
            own=0.9 if number % 4 == 1 else 0.75,
        )
        for number in range(20, 60)
    ]
    found = next(evidence for call in calls if (evidence := test.add(call)) is not None)
    assert found.calls < 12
    assert (found.after, found.since, found.at) == (16.0, 20.0, 19.0 + found.calls)
    # Each of the first new answers adds 0.8 to the logarithm.
    assert found.until == 22.0
    assert found.requested_model == "m"
    assert found.models == ("m-2", "m-1")
    assert found.fingerprints == ("fp",)
    assert found.evidence_log10 > 4.8
    assert found.likeness == pytest.approx(0.25)
    assert found.references[0] == "r1"
    assert set(found.references) == {"r0", "r1", "r2", "r3"}


def test_the_beginning_is_as_uncertain_as_the_calls_before_it():
    """A rank in the middle just before the run leaves open that the change came before it."""
    test = ReferenceTest(1e6)
    clear, vague = [answered(number, below=4) for number in range(10)], [answered(10, below=2)]
    (found, *_) = asked(test, *clear, *vague, *(odd(number) for number in range(11, 40)))
    assert found.since == 11.0
    # The third of five makes a step of −0.36, the last of −0.64: the vague one and three more pass −2.
    assert found.after == 7.0


def compared(p_value):
    return PooledComparison(
        p_value=p_value,
        calls=48,
        since=100.0,
        after=90.0,
        likeness=0.5,
        own=0.6,
        models=("m-2",),
        fingerprints=("fp",),
        references=("r7",),
    )


def test_a_comparison_of_all_references_decides_too():
    """The level is 6 over that of calls: 0.25 of the false alarms, one look in 24 calls."""
    test = ReferenceTest(60_000)
    assert test.add(answered(1, below=2, pooled=compared(1.1e-4))) is None
    test.add(odd(2))
    found = test.add(answered(3, below=2, pooled=compared(0.9e-4)))
    assert (found.at, found.since, found.after, found.calls) == (3.0, 100.0, 90.0, 48)
    assert (found.likeness, found.own, found.models, found.fingerprints) == (0.5, 0.6, ("m-2",), ("fp",))
    assert found.references == ("r7",)
    assert found.evidence_log10 == pytest.approx(4.05, abs=0.01)
    assert test.evidence_log10 == 0.0


def test_it_begins_anew_after_a_change_was_found():
    """The same evidence is not used twice; and `forget` does the same for a change that was stated."""
    test = ReferenceTest(1e3)
    calls = [odd(number) for number in range(60)]
    found = asked(test, *calls)
    assert len(found) > 3
    assert all(later.since > earlier.at for earlier, later in pairwise(found))
    assert all(later.after == earlier.at for earlier, later in pairwise(found))
    test.forget()
    assert test.evidence_log10 == 0.0


def test_false_alarms_come_no_more_often_than_stated():
    """Ranks by chance among bags of any size, some all ties, make 3 alarms in 200 calls at most."""
    test, chance = ReferenceTest(50), random.Random(3)
    alarms = 0
    for number in range(10_000):
        compared = chance.randrange(3, 17)
        below, ties = (0, compared) if chance.random() < 0.3 else (chance.randrange(compared), 1)
        alarms += test.add(answered(number, below=below, compared=compared, ties=ties)) is not None
    assert 0.3 * 150 < alarms <= 150
