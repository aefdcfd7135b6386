"""Verdicts as text: what is written comes back, and derived figures are right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.records import from_json, to_json
from evenkeel.core.verdict import Failure, QualityScore, Scoring, Verdict
from tests.kit.records import altered

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
    scoring=Scoring("judge"),
    rating=3,
)
texts = st.text(st.characters(codec="utf-8"), max_size=20)
verdicts = st.builds(
    altered,
    st.just(VERDICT),
    scored_at=st.floats(allow_nan=False, allow_infinity=False),
    route=texts,
    explanation=texts,
    rating=st.sampled_from([None, 1, 2, 3]),
    control_rating=st.sampled_from([None, 1, 2, 3]),
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
    assert from_json(to_json(verdict), Verdict) == verdict


@pytest.mark.parametrize(
    ("written", "read"),
    [
        # A metric may return numbers of numpy.
        (
            {"similarity": np.float64(0.5), "details": {"a": np.float32(0.25)}},
            {"similarity": 0.5, "details": {"a": 0.25}},
        ),
        # UTF-8 cannot hold half a surrogate pair.
        (
            {"details": {"\ude00": 1.0}, "quality_failures": (Failure("m", 1, "a\ud83db\x00"),)},
            {"details": {"\ufffd": 1.0}, "quality_failures": (Failure("m", 1, "a\ufffdb\x00"),)},
        ),
    ],
)
def test_what_json_cannot_hold_is_written_as_what_comes_next_to_it(written, read):
    assert from_json(to_json(altered(VERDICT, **written)), Verdict) == altered(VERDICT, **read)


def test_a_line_holds_only_what_differs_from_the_defaults():
    """A log of millions of verdicts stays small so; missing members are read with the default."""
    assert to_json(VERDICT) == (
        '{"id":"v","exchange_id":"e","scored_at":1.5,"route":"chat","model":"m","perturbation":"general.spelling",'
        '"perturbation_version":1,"severity":0.3,"seed":9223372036854775808,"scoring":{"scorer":"judge"},"rating":3}'
    )


@pytest.mark.parametrize(
    ("changes", "shifted", "direction"),
    [
        ({"rating": 3, "similarity": 0.1}, False, None),
        ({"rating": 2, "similarity": 0.9}, True, None),
        ({"rating": None, "unsure": True, "similarity": 0.0}, None, None),
        ({"rating": None, "failure": Failure("replay", 1, "timeout")}, None, None),
        ({"rating": None, "unsure": True, "similarity": 0.9, "invalid": ("format",)}, True, "worse"),
    ],
)
def test_only_a_rating_or_an_ignored_form_says_whether_content_shifted(changes, shifted, direction):
    """An invalid answer is a shift for the worse; similarity and a failure say nothing."""
    verdict = altered(VERDICT, quality=(), **changes)
    assert (verdict.shifted, verdict.direction) == (shifted, direction)
    assert altered(verdict, control_rating=None, control_similarity=0.2).control.shifted is None


def test_the_graded_loss_is_what_the_variant_lost_more_than_the_resend():
    """The loss is the mean of similarity and rating, or similarity alone where an answer has no rating."""
    pair = altered(VERDICT, rating=1, similarity=0.2, control_rating=2, control_similarity=0.7)
    assert pair.graded_loss == pytest.approx((0.7 + 0.5) / 2 - (0.2 + 0.0) / 2)
    assert altered(pair, rating=None).graded_loss == pytest.approx(0.7 - 0.2)
    assert altered(pair, control_rating=3).graded_loss == pytest.approx((0.7 + 1.0) / 2 - (0.2 + 0.0) / 2)
    assert altered(pair, invalid=("format",)).graded_loss == pytest.approx((0.7 + 0.5) / 2)
    assert altered(pair, control_similarity=None).graded_loss is None
    assert altered(pair, similarity=None).graded_loss is None


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
    """An answer that did not move is not worse, one not measured is not known, an invalid one is worse."""
    assert altered(VERDICT, **changes).worse is worse
