"""Schemas found in prompts, slots found in answers, and their F1."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.metrics.entity import Slot, SlotMatch, SlotRouge, read_schema, read_slots

SCHEMA_LIST = """Fill these slots:
```json
[{"name": "region", "type": "choice", "choices": ["north", "south"], "description": "where"},
 {"name": "error", "type": "string", "description": "what was shown"}]
```
The text: the cluster in the north says "no quorum"."""
SCHEMA_JSON = """Extract by {"type": "object", "properties": {"region": {"type": "string",
"enum": ["north", "south"]}, "error": {"type": "string"}}} from the text below."""
SCHEMA_YAML = (
    "Slots:\n```yaml\nregion:\n  type: choice\n  options: [north, south]\nerror:\n  type: string\n```"
)
SCHEMA_PROSE = "The slots are region (choice [north, south]: where it is) and error (string: what was shown)."
EXPECTED = {"region": frozenset(("north", "south")), "error": frozenset()}
CONTEXT = SCHEMA_LIST


def pair(reference: str, candidate: str, context: str = CONTEXT) -> Pair:
    return Pair(Answer(reference), Answer(candidate), context)


def entities(**slots: str) -> str:
    listed = ", ".join(f'{{"name": "{name}", "value": "{value}"}}' for name, value in slots.items())
    return f'{{"entities": [{listed}]}}'


@pytest.mark.parametrize("context", [SCHEMA_LIST, SCHEMA_JSON, SCHEMA_YAML, SCHEMA_PROSE])
def test_a_schema_is_found_in_the_prompt(context: str) -> None:
    """A list of records, a JSON schema, YAML, or prose with types in brackets: the same slots."""
    assert read_schema(context) == EXPECTED


def test_a_prompt_without_a_schema_has_none() -> None:
    """Other JSON and brackets in prose are no schema."""
    assert read_schema('Summarise: {"ticket": 7, "body": {"text": "x"}} (urgent)') == {}
    assert read_schema("") == {}


@pytest.mark.parametrize(
    "text",
    [
        '{"entities": [{"name": "region", "value": "north"}, {"name": "error", "value": "no quorum"}]}',
        '{"region": "north", "error": "no quorum", "other": null, "more": []}',
        "entities:\n- name: region\n  value: north\n- name: error\n  value: no quorum\n",
        """<r><entity><name>region</name><value>north</value></entity>
<entity><name>error</name><value>no quorum</value></entity></r>""",
        "| Name | Value |\n|---|---|\n| region | north |\n| error | no quorum |",
    ],
)
def test_slots_are_read_from_any_form(text: str) -> None:
    """Records of name and value, or fields; null and empty ones are not filled."""
    assert read_slots(text) == [
        Slot("region", "north"),
        Slot("error", "no quorum"),
    ]


def test_several_values_of_a_field_are_several_slots() -> None:
    """A list fills a slot more than once; nested records count by their own keys."""
    assert read_slots('{"host": ["a", "b"], "owner": {"name_of": "Kim"}}') == [
        Slot("host", "a"),
        Slot("host", "b"),
        Slot("name_of", "Kim"),
    ]
    assert read_slots("no structure at all") is None


def test_choices_must_be_exact_and_texts_alike() -> None:
    """Same choice and a text with F1 6/7 match: 1.0. Another choice spelling does not: 2·1 / 4."""
    reference = entities(region="north", error="no quorum was reached")
    near = entities(region="north", error="no quorum reached")
    assert SlotMatch().score(pair(reference, near)) == 1.0
    assert SlotMatch().score(pair(reference, entities(region="North", error="no quorum reached"))) == 0.5


def test_the_threshold_for_free_text_is_inclusive_at_0_7() -> None:
    """ROUGE-L of 7 shared words of 10 and 10 is 0.7 and matches; 6 of 10 does not."""
    words = "one two three four five six seven eight nine ten".split()  # noqa: SIM905 - reads as text
    for kept, expected in ((7, 1.0), (6, 0.0)):
        other = " ".join([*words[:kept], *("x" * (10 - kept))])
        assert SlotMatch().score(pair(entities(error=" ".join(words)), entities(error=other))) == expected


def test_keys_must_be_exact() -> None:
    """Another spelling of a key is another slot: nothing of one and one matches."""
    assert SlotMatch().score(pair(entities(error="down"), entities(Error="down"))) == 0.0


def test_slot_f1_of_a_hand_worked_pair() -> None:
    """One of two kept, one added: 2·1 / (2 + 2)."""
    left, right = entities(region="north", error="no quorum"), entities(region="north", host="db1")
    assert SlotMatch().score(pair(left, right)) == 0.5
    assert SlotRouge().score(pair(left, right)) == 0.5


def test_slot_rouge_credits_parts_of_a_text() -> None:
    """One exact slot and one with ROUGE-L 2/4 of two and two: 2·(1 + 0.5) / 4."""
    left, right = entities(region="north", error="no quorum"), entities(region="north", error="lost quorum")
    assert SlotRouge().score(pair(left, right)) == pytest.approx(0.75)
    assert SlotMatch().score(pair(left, right)) == 0.5


def test_repeated_slots_are_assigned_so_that_most_agree() -> None:
    """Two values in another order are the same two."""
    assert (
        SlotMatch().score(pair('{"host": ["alpha one", "beta two"]}', '{"host": ["beta two", "alpha one"]}'))
        == 1.0
    )


def test_empty_and_unreadable_answers() -> None:
    """No slots on both sides are alike; an unreadable candidate has none, an unreadable reference fails."""
    for metric in (SlotMatch(), SlotRouge()):
        assert metric.score(pair('{"entities": []}', '{"entities": []}')) == 1.0
        assert metric.score(pair(entities(error="down"), "Nothing was found.")) == 0.0
        unreadable = metric.score(pair("Nothing was found.", entities(error="down")))
        assert isinstance(unreadable, Failure)
        assert unreadable.reason == "no_slots"
        empty = metric.score(pair("", " "))
        assert isinstance(empty, Failure)
        assert empty.reason == "no_text"


FILLED = st.dictionaries(
    st.sampled_from(("region", "error", "host")), st.sampled_from(("north", "south", "no quorum"))
)


@settings(max_examples=60, deadline=None)
@given(FILLED, FILLED)
def test_slot_metrics_are_bounded_symmetric_and_1_for_equal_answers(left, right) -> None:
    """Which answer is the reference does not matter."""
    for metric in (SlotMatch(), SlotRouge()):
        there = metric.score(pair(entities(**left), entities(**right)))
        assert 0 <= there <= 1
        assert there == pytest.approx(metric.score(pair(entities(**right), entities(**left))))
        assert metric.score(pair(entities(**left), entities(**left))) == 1.0
