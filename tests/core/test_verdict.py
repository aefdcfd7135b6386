"""Verdicts as text: what is written comes back, by the fast reader and by the lenient one."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.verdict import Failure, QualityScore, Verdict

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
