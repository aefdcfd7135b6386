"""Schemas found in prompts, slots found in answers, and their F1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.metrics.entity import AnswerSlot, SlotMatch, read_schema, read_slots
from tests.cases import cases

CASES = cases(__file__)


def pair(reference, candidate):
    return Pair(Answer(reference), Answer(candidate), CASES["schemas"][0])


def entities(**slots):
    listed = ", ".join(f'{{"name": "{name}", "value": "{value}"}}' for name, value in slots.items())
    return f'{{"entities": [{listed}]}}'


@pytest.mark.parametrize("context", CASES["schemas"])
def test_a_schema_is_found_in_the_prompt(context):
    """The slots and their choices are known in any form."""
    assert read_schema(context) == {"region": frozenset(("north", "south")), "error": frozenset()}


def test_prose_has_neither_schema_nor_slots():
    """Other JSON and brackets are no schema; that nothing is read is not the same as nothing filled."""
    assert read_schema('Summarise: {"ticket": 7, "body": {"text": "x"}} (urgent)') == {}
    assert read_schema("") == {}
    assert read_slots("no structure at all") is None


def test_what_is_nested_too_deep_has_neither():
    """A hundred thousand brackets are no schema, and the reason why an answer has no slots."""
    deep = "[" * 100_000
    assert read_schema(f"```\n{deep}\n```\n{deep}") == {}
    assert SlotMatch().score(pair(deep, entities(region="north"))).reason == "too_deep"


@pytest.mark.parametrize(("text", "slots"), CASES["slots"])
def test_slots_are_read_from_any_form(text, slots):
    """Records of name and value, or fields, in every format."""
    assert read_slots(text) == [AnswerSlot(*slot) for slot in slots]


@pytest.mark.parametrize(("reference", "candidate", "expected"), CASES["scores"])
def test_scores_of_hand_worked_pairs(reference, candidate, expected):
    """Keys and choices must be exact, texts alike from ROUGE-L 0.7 on."""
    score = SlotMatch().score(
        pair(*(side if isinstance(side, str) else entities(**side) for side in (reference, candidate)))
    )
    if isinstance(score, Failure):
        assert score.reason == expected
    else:
        assert score == pytest.approx(expected, abs=1e-5)


FILLED = st.dictionaries(
    st.sampled_from(("region", "error", "host")), st.sampled_from(("north", "south", "no quorum"))
)


@given(FILLED, FILLED)
def test_slot_match_is_bounded_symmetric_and_1_for_equal_answers(left, right):
    """Which answer is the reference does not matter."""
    metric = SlotMatch()
    there = metric.score(pair(entities(**left), entities(**right)))
    assert 0 <= there <= 1
    assert there == pytest.approx(metric.score(pair(entities(**right), entities(**left))))
    assert metric.score(pair(entities(**left), entities(**left))) == 1.0
