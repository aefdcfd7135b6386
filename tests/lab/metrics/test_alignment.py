"""Which step is which: by equal text, and by an encoder with planted vectors."""

import math

import pytest

from evenkeel.core.pair import Answer, Pair
from evenkeel.lab.metrics.alignment import CannotAlignError, EncoderAligner, ExactText
from evenkeel.lab.metrics.chain import ChainF1
from evenkeel.lab.metrics.compare import WorkflowComparison
from evenkeel.lab.metrics.languages import Coverage
from evenkeel.metrics.workflow.workflow import sequence
from tests.cases import cases

pytest.importorskip("scipy", reason="SKIPPED LOUDLY: scipy is not installed")

CASES = cases(__file__)
ENGLISH = Coverage(frozenset(("en",)), lambda text: "de" if "ä" in text else "en")


def pairs(reference, candidate, aligner=None):
    found = (aligner or ExactText()).align(sequence(reference), sequence(candidate))
    return [tuple(match) for match in found.matched]


class PlantedVectors:
    """Vectors by angle in degrees: the cosine of two steps is that of the angle between them."""

    def __init__(self, **angles):
        self.angles = angles
        self.calls = 0

    def encode(self, texts):
        self.calls += 1
        return [
            [math.cos(math.radians(self.angles[t])), math.sin(math.radians(self.angles[t]))] for t in texts
        ]


@pytest.mark.parametrize(("reference", "candidate", "expected"), CASES["equal texts"])
def test_equal_texts_are_paired(reference, candidate, expected):
    """Pairs are as many as both sides have, so that most stay in order."""
    assert pairs(reference, candidate) == [tuple(match) for match in expected]


@pytest.mark.parametrize(("angles", "options", "reference", "candidate", "expected"), CASES["planted"])
def test_steps_of_alike_vectors_are_paired(angles, options, reference, candidate, expected):
    """The assignment is the best in all, not step by step; pairs below the floor are dropped."""
    encoder = PlantedVectors(**angles)
    assert pairs(reference, candidate, EncoderAligner(encoder, **options)) == [
        tuple(match) for match in expected
    ]
    assert encoder.calls == 1


def test_repeated_texts_are_encoded_once_and_an_empty_side_not_at_all():
    """A single call has all steps; none is made if there is nothing to compare."""
    encoder = PlantedVectors(a=0)
    assert len(pairs("aa", "aaa", EncoderAligner(encoder, floor=1.0))) == 2
    assert pairs("", "a", EncoderAligner(encoder)) == []
    assert encoder.calls == 1


def test_an_encoder_that_fails_is_a_failure_of_the_metric():
    """Any exception becomes a reason."""
    chain = ChainF1(WorkflowComparison(EncoderAligner(PlantedVectors())))
    found = chain.score(Pair(Answer("1. a\n2. b"), Answer("1. a"), ""))
    assert found.reason == "encoder_failed"


@pytest.mark.parametrize(
    ("reference", "candidate", "aligner", "reason"),
    [
        ("a", "b", EncoderAligner(PlantedVectors(a=math.nan, b=0)), "encoder_failed"),
        (
            ["check"],
            ["prüfen und erklären"],
            EncoderAligner(PlantedVectors(), coverage=ENGLISH),
            "cross_language",
        ),
        (["a"] * 5001, ["a"] * 5001, EncoderAligner(PlantedVectors(a=0)), "too_large"),
    ],
    ids=["no numbers", "two languages", "more than memory holds"],
)
def test_what_cannot_be_aligned_says_why(reference, candidate, aligner, reason):
    """Vectors must be numbers, languages known to the encoder, and comparisons fit into memory."""
    with pytest.raises(CannotAlignError) as caught:
        pairs(reference, candidate, aligner)
    assert caught.value.reason == reason


def test_a_floor_is_a_cosine():
    """80 is no floor."""
    with pytest.raises(ValueError, match="floor"):
        EncoderAligner(PlantedVectors(), floor=80)
