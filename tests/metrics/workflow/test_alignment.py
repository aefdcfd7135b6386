"""Which step is which: by equal text, and by an encoder with planted vectors."""

from __future__ import annotations

import math

import pytest

from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.metrics.languages import Coverage
from evenkeel.metrics.workflow.alignment import CannotAlignError, Embedded, ExactText
from evenkeel.metrics.workflow.chain import ChainF1, chain_f1
from evenkeel.metrics.workflow.compare import Comparison
from evenkeel.metrics.workflow.workflow import sequence

pytest.importorskip("scipy", reason="SKIPPED LOUDLY: scipy is not installed")


def pairs(reference, candidate, aligner=None):
    found = (aligner or ExactText()).align(sequence(reference), sequence(candidate))
    return [tuple(match) for match in found.matched]


class Planted:
    """Vectors by angle in degrees: the cosine of two steps is that of the angle between them."""

    def __init__(self, **angles: float) -> None:
        self.angles = angles
        self.calls = 0

    def encode(self, texts):
        self.calls += 1
        return [
            [math.cos(math.radians(self.angles[t])), math.sin(math.radians(self.angles[t]))] for t in texts
        ]


def test_equal_texts_are_paired_whatever_their_spaces() -> None:
    """Spaces and composed letters do not count, case does."""
    assert pairs(["Open  the tray ", "café", "Stop"], ["cafe\u0301", "Open the tray", "stop"]) == [
        (0, 1),
        (1, 0),
    ]


def test_repeated_texts_are_paired_so_that_most_stay_in_order() -> None:
    """A b a against b a: the a behind b is the second one, so both are in order."""
    assert pairs("aba", "ba") == [(0, 1), (1, 2)]
    assert (
        chain_f1(sequence("aba"), sequence("ba"), ExactText().align(sequence("aba"), sequence("ba"))).length
        == 2
    )


def test_a_text_is_paired_as_often_as_both_sides_have_it() -> None:
    """Three against two of the same: two pairs, each step once."""
    found = pairs("aaa", "aa")
    assert len(found) == 2
    assert len({one for _, one in found}) == 2


def test_pairs_below_the_floor_are_dropped() -> None:
    """30 degrees have a cosine of .87, 40 degrees one of .77; the floor can be moved between."""
    encoder = Planted(a=0, b=90, c=30, d=130)
    assert pairs("ab", "cd", Embedded(encoder)) == [(0, 0)]
    assert pairs("ab", "cd", Embedded(encoder, floor=0.75)) == [(0, 0), (1, 1)]
    assert encoder.calls == 2


def test_the_assignment_is_the_best_in_all_not_step_by_step() -> None:
    """C is nearest to b, but d can only be b: so c is a. The sum decides, as in the paper."""
    assert pairs("ab", "cd", Embedded(Planted(a=0, b=30, c=17, d=50))) == [(0, 0), (1, 1)]


def test_repeated_texts_are_encoded_once_and_an_empty_side_not_at_all() -> None:
    """One call for all steps; none if there is nothing to compare."""
    encoder = Planted(a=0)
    assert len(pairs("aa", "aaa", Embedded(encoder, floor=1.0))) == 2
    assert pairs("", "a", Embedded(encoder)) == []
    assert encoder.calls == 1


def test_an_encoder_that_fails_is_a_failure_of_the_metric() -> None:
    """Whatever it raises, and vectors that are no numbers, become a reason."""
    chain = ChainF1(Comparison(Embedded(Planted())))
    found = chain.score(Pair(Answer("1. a\n2. b"), Answer("1. a"), ""))
    assert isinstance(found, Failure)
    assert found.reason == "encoder_failed"
    with pytest.raises(CannotAlignError) as caught:
        pairs("a", "b", Embedded(Planted(a=math.nan, b=0)))
    assert caught.value.reason == "encoder_failed"


def test_languages_that_the_encoder_does_not_know_are_not_compared() -> None:
    """An English encoder says nothing of German steps beside English ones."""
    coverage = Coverage(frozenset(("en",)), lambda text: "de" if "ä" in text else "en")
    with pytest.raises(CannotAlignError) as caught:
        pairs(["check"], ["prüfen und erklären"], Embedded(Planted(), coverage=coverage))
    assert caught.value.reason == "cross_language"


def test_too_many_comparisons_are_refused() -> None:
    """5,001 steps against 5,001 would not fit into memory."""
    with pytest.raises(CannotAlignError) as caught:
        pairs(["a"] * 5001, ["a"] * 5001, Embedded(Planted(a=0)))
    assert caught.value.reason == "too_large"


def test_a_floor_is_a_cosine() -> None:
    """80 is no floor."""
    with pytest.raises(ValueError, match="floor"):
        Embedded(Planted(), floor=80)
