"""Bands of the cascade, set on pairs that a judge rated."""

from __future__ import annotations

from random import Random

import pytest

from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.bands import (
    RatedPair,
    form_of,
    judge_bands,
    lower_bound,
)
from evenkeel.metrics.protocol import Rating


def pair(cheap, judge, **scores):
    return RatedPair(Rating(cheap, details=scores), judge)


def bands_of(pairs, **options):
    return judge_bands(pairs, source="planted", **{"agreement": 0.9, **options})


def planted(count, rng, *, judge_from=0.8, slip=0.02):
    """The judge says 3 from `judge_from` on and 1 below 0.2, but for slips; the heuristic cuts wider."""
    pairs = []
    for _ in range(count):
        score = rng.random()
        judge = 3 if score >= judge_from else 1 if score < 0.2 else 2
        if rng.random() < slip:
            judge = rng.choice([1, 2, 3])
        cheap = 3 if score >= 0.6 else 1 if score < 0.3 else 2
        pairs.append(pair(cheap, judge, rouge_l=score, noise=rng.random()))
    return pairs


def test_the_ends_lie_where_the_judge_stops_agreeing():
    """Planted at 0.8 and 0.2, for an agreement of 0.9: near these, and on the right score."""
    found = bands_of(planted(3000, Random(1)))
    sides = {side.rating: side for side in found.sides}
    (same,), (other,) = sides[3].bands, sides[1].bands
    assert (same.metric, other.metric) == ("rouge_l", "rouge_l")
    assert 0.76 < same.same_from < 0.82
    assert 0.18 < other.other_below < 0.23
    assert all(side.lower >= 0.9 and side.agreed / side.decided > 0.9 for side in found.sides)
    assert found.saved == pytest.approx(found.decided / 3000)


def test_the_bands_decide_the_pairs_that_were_counted():
    """The cascade's own `decide` on the same pairs gives the same counts."""
    pairs = planted(1500, Random(2))
    # Equal pairs never get as far as the bands, so their agreement is none of the bands'.
    found = bands_of([pair(3, 3, normalised=1.0)] * 500 + pairs)
    assert found.pairs == 1500
    bands = found.bands
    decided = [(bands.decide(each.heuristic), each.judge) for each in pairs]
    for side in found.sides:
        own = [judge for rating, judge in decided if rating == side.rating]
        assert (len(own), own.count(side.rating)) == (side.decided, side.agreed)
    assert sum(rating is not None for rating, _ in decided) == found.decided
    agreed = sum(rating == judge for rating, judge in decided if rating is not None)
    assert bands.agreement == round(agreed / found.decided, 4)


def test_nothing_is_promised_that_the_pairs_do_not_prove():
    """No score that is clear enough is a failure, and so are 58 pairs: 59 in full agreement show 95 %."""
    rng = Random(3)
    unclear = [pair(rng.choice([1, 3]), rng.choice([1, 2, 3]), rouge_l=rng.random()) for _ in range(600)]
    assert bands_of(unclear).reason == "no_clear_scores"
    few = bands_of([pair(3, 3, rouge_l=0.9)] * 58, agreement=0.95)
    assert few.reason == "too_few_pairs"
    assert "59" in few.detail
    assert bands_of([]).reason == "too_few_pairs"
    with pytest.raises(ValueError, match="agreement"):
        bands_of([], agreement=1.0)


def test_a_guard_is_kept_where_it_pays():
    """The judge says 3 only if the details are kept, whatever the words: the guard is in the bands."""
    rng = Random(5)
    pairs = []
    for _ in range(1500):
        details = rng.choice([1.0, 0.5])
        pairs.append(pair(3, 3 if details == 1.0 else 2, rouge_l=rng.random(), details=details))
    found = bands_of(pairs)
    (side,) = found.sides
    ends = {band.metric: band.same_from for band in side.bands}
    assert ends["details"] > 0.5
    assert 600 < side.decided < 900
    assert side.agreed == side.decided


def test_each_form_of_answer_has_its_own_bands():
    """Scores of tool calls and of data set bands for those forms only."""
    rng = Random(6)
    text = planted(1500, rng)
    calls = [pair(3, 3, tool_calls=rng.random(), rouge_l=rng.random()) for _ in range(300)]
    found = bands_of([*text, *calls])
    assert found.bands.text
    assert found.bands.tool_calls
    assert found.bands.structured == ()
    assert form_of({"tool_calls": 1.0, "json_rouge": 1.0}) == "tool_calls"
    assert form_of({"json_rouge": 1.0}) == "structured"


def test_the_agreement_holds_as_often_as_stated():
    """Over planted tables the true agreement of what the bands decide is below 0.9 in 5 % at most."""
    rng = Random(7)
    wrong = silent = 0
    for _ in range(60):
        found = bands_of(planted(800, rng, slip=0.03))
        if isinstance(found, Failure):
            silent += 1
            continue
        for side in found.sides:
            (band,) = side.bands
            if band.metric != "rouge_l":
                wrong += 1
                continue
            # A slip lands on the right rating once in three.
            right = 1 - 0.03 * 2 / 3
            if side.rating == 3:
                width = 1 - max(0.6, band.same_from)
                clear = min(1 - 0.8, width)
            else:
                width = min(0.3, band.other_below)
                clear = min(0.2, width)
            agreement = (clear * right + (width - clear) * 0.03 / 3) / width
            wrong += agreement < 0.9
    # 3 expected at most; 7 or more of 60 happen once in 30 times at exactly 5 %.
    assert wrong <= 6
    assert silent < 10


@pytest.mark.parametrize(("agreed", "n"), [(59, 59), (57, 60), (180, 200), (1, 5)])
def test_the_lower_bound_is_clopper_and_pearsons(agreed, n):
    """Agrees with the quantile of the beta distribution."""
    stats = pytest.importorskip("scipy.stats")
    assert lower_bound(agreed, n, 0.05) == pytest.approx(
        stats.beta.ppf(0.05, agreed, n - agreed + 1), abs=1e-9
    )
