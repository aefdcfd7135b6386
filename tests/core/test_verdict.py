"""Verdicts as text: what is written comes back, by the fast reader and by the lenient one."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.verdict import SHIFTED_BELOW, Failure, QualityScore, Verdict

VERDICT = Verdict(
    id="v",
    exchange_id="e",
    scored_at=1.5,
    route="chat",
    model="m",
    perturbation="general.spelling",
    perturbation_version=1,
    severity=0.3,
    seed=2**63,
    scorer="judge",
    rating=3,
    baseline_rating=None,
)
texts = st.text(st.characters(codec="utf-8"), max_size=20)
verdicts = st.builds(
    replace,
    st.just(VERDICT),
    scored_at=st.floats(allow_nan=False, allow_infinity=False),
    route=texts,
    explanation=texts,
    rating=st.sampled_from([None, 1, 2, 3]),
    baseline_rating=st.sampled_from([None, 1, 2, 3]),
    quality=st.lists(
        st.builds(QualityScore, texts, st.integers(1, 9), st.floats(0, 3), st.integers(1, 3)), max_size=2
    ).map(tuple),
    failure=st.one_of(st.none(), st.builds(Failure, texts, st.integers(1, 9), texts, texts)),
    quality_failures=st.lists(st.builds(Failure, texts, st.integers(1, 9), texts), max_size=2).map(tuple),
    details=st.dictionaries(texts, st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    prompt_version=st.one_of(st.none(), texts),
)


@given(verdicts)
def test_a_verdict_comes_back_as_it_was(verdict):
    """Floats exactly, texts of any script, scores and failures as tuples."""
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_numbers_that_are_not_finite_come_back_too():
    """They are no JSON, but stand in logs: NaN among the details must not stop the monitor."""
    read = Verdict.from_json(replace(VERDICT, details={"a": math.nan, "b": math.inf}).to_json())
    assert math.isnan(read.details["a"])
    assert read.details["b"] == math.inf
    assert replace(read, details={}) == VERDICT


def test_fields_that_came_later_may_be_missing():
    """A line from before a verdict had quality failures, a task or costs is read with the defaults."""
    raw = json.loads(replace(VERDICT, quality=(QualityScore("faithfulness", 1, 3, 2),)).to_json())
    for name in ("quality_failures", "rated_by", "task", "prompt_version", "tokens", "cost_usd"):
        del raw[name]
    assert Verdict.from_json(json.dumps(raw)) == replace(
        VERDICT, quality=(QualityScore("faithfulness", 1, 3, 2),)
    )


@pytest.mark.parametrize(
    ("changes", "shifted", "direction"),
    [
        ({"rating": 3, "similarity": 0.1}, False, None),
        ({"rating": 2, "similarity": 0.9}, True, None),
        ({"rating": None, "unsure": True, "similarity": SHIFTED_BELOW}, False, None),
        ({"rating": None, "unsure": True, "similarity": SHIFTED_BELOW - 0.01}, True, None),
        ({"rating": None, "failure": Failure("replay", 1, "timeout")}, None, None),
        ({"rating": None, "unsure": True, "similarity": 0.9, "invalid": ("format",)}, True, "worse"),
    ],
)
def test_a_rating_decides_and_where_there_is_none_similarity_does(changes, shifted, direction):
    """An invalid answer is a shift for the worse; a failure says nothing."""
    verdict = replace(VERDICT, quality=(), **changes)
    assert (verdict.shifted, verdict.direction) == (shifted, direction)
    assert replace(verdict, baseline_rating=None, baseline_similarity=0.2).baseline_shifted is True


def test_a_verdict_from_before_similarity_is_read():
    """It is neither unsure nor invalid, and has no similarity."""
    stored = json.loads(VERDICT.to_json())
    for name in ("unsure", "similarity", "baseline_similarity", "invalid", "free_rating", "free_similarity"):
        del stored[name]
    read = Verdict.from_json(json.dumps(stored))
    assert read.free_shifted is None
    assert (read.unsure, read.similarity, read.baseline_similarity, read.invalid) == (False, None, None, ())
    assert Verdict.from_json(read.to_json()) == read


def test_the_graded_loss_is_what_the_variant_lost_more_than_the_resend():
    """By hand: the mean of similarity and rating, and similarity alone where either answer has no rating."""
    pair = replace(VERDICT, rating=1, similarity=0.2, baseline_rating=2, baseline_similarity=0.7)
    assert pair.graded_loss == pytest.approx((0.7 + 0.5) / 2 - (0.2 + 0.0) / 2)
    assert replace(pair, rating=None).graded_loss == pytest.approx(0.7 - 0.2)
    assert replace(pair, baseline_rating=3).graded_loss == pytest.approx((0.7 + 1.0) / 2 - (0.2 + 0.0) / 2)
    assert replace(pair, invalid=("format",)).graded_loss == pytest.approx((0.7 + 0.5) / 2)
    assert replace(pair, baseline_similarity=None).graded_loss is None
    assert replace(pair, similarity=None).graded_loss is None


WORSE = QualityScore("faithfulness", 1, 3, 2)
BETTER = QualityScore("fluency", 1, 2, 3)


@pytest.mark.parametrize(
    ("changes", "worse"),
    [
        ({"rating": 3}, False),
        ({"rating": None, "similarity": None}, None),
        ({"rating": 2}, None),
        ({"rating": 2, "quality": (BETTER,)}, False),
        ({"rating": 2, "quality": (WORSE,)}, True),
        ({"rating": 2, "quality": (BETTER, WORSE)}, False),
        ({"rating": 2, "quality": (WORSE,), "quality_failures": (Failure("tone", 1, "timeout"),)}, True),
        ({"rating": 2, "quality_failures": (Failure("tone", 1, "timeout"),)}, None),
        ({"rating": None, "invalid": ("format",)}, True),
    ],
)
def test_an_answer_got_worse_as_its_direction_says(changes, worse):
    """What did not move is not worse; what was not measured is not known; an invalid answer is worse."""
    assert replace(VERDICT, **changes).worse is worse
