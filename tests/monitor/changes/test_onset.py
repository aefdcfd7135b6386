"""When answers began to move, told from the exchanges around a change."""

import random

import pytest

from evenkeel.monitor.changes.onset import ExchangeShifts, onset_of


def exchanges(moved, before=0.12, after=0.45, number=240, seed=0):
    """Two rewordings for each of so many exchanges, one a second; answers move from one of them on."""
    choice = random.Random(f"onset/{moved}/{seed}")
    drawn = []
    for at in range(number):
        share = after if at >= moved else before
        drawn.append(ExchangeShifts(float(at), sum(choice.random() < share for _ in range(2)), 2))
    return drawn


@pytest.mark.parametrize("moved", [60, 120, 180])
def test_the_interval_holds_the_moment(moved):
    """In three of four logs, where a new value that came then is noticed twelve exchanges later."""
    found = [onset_of(exchanges(moved, seed=seed)) for seed in range(40)]
    held = [onset for onset in found if onset and onset.likeliest < moved + 12 and onset.latest >= moved]
    assert len(held) >= 30


@pytest.mark.parametrize(
    "seen",
    [
        [],
        exchanges(120, after=0.12),
        exchanges(120, after=0.16),
        exchanges(120, number=10),
        [ExchangeShifts(float(at)) for at in range(240)],
    ],
    ids=["empty", "nothing moves", "hardly anything moves", "few exchanges", "no trials"],
)
def test_it_is_not_known(seen):
    """Not where nothing moved for sure, nor where the moment may be any of many."""
    assert onset_of(seen) is None
