"""Filled slots and tool calls as qualities, by rule."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.pair import AS_BEFORE, Answer, Pair, ToolCall, Wanted
from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.metrics.quality.bundles import BUNDLES, TOOL_QUALITIES
from evenkeel.metrics.quality.measurement import measure_all
from evenkeel.metrics.quality.slots import SlotCoverage, SlotGrounding
from evenkeel.metrics.tasks import Task
from evenkeel.metrics.tool_calls import ToolArgumentsMatch

if TYPE_CHECKING:
    from evenkeel.core.pair import Format

PROMPT = """\
user: Fill in this schema from the message.

{"properties": {"ticket": {"type": "string"}, "host": {"type": "string"}, "state": {"type": "string",
"enum": ["open", "closed"]}, "opened": {"type": "string"}, "cause": {"type": "string"}}}

Message: INC0042 came in on 14 June: host BER-12 (10.0.0.17) lost its network because a cable was pulled."""

FULL = {
    "ticket": "INC0042", "host": "BER-12", "state": "open", "opened": "2025-06-14",
    "cause": "a cable was pulled out by somebody",
}  # fmt: skip


def answer(slots: object) -> Answer:
    return Answer(json.dumps(slots, ensure_ascii=False))


def measured(
    candidate: object, reference: object = FULL, wanted: Wanted = AS_BEFORE
) -> dict[str, QualityScore]:
    """The scores of the bundle for slots, by name; there must be no failure."""
    pair = Pair(answer(reference), answer(candidate), PROMPT, "slot_filling", wanted)
    qualities = asyncio.run(measure_all(BUNDLES[Task("slot_filling")].measures(), pair))
    assert qualities.failures == ()
    assert (qualities.tokens, qualities.cost_usd) == (0, 0)
    return {score.metric: score for score in qualities.scores}


def changes(scores: dict[str, QualityScore]) -> dict[str, str | None]:
    return {name: score.direction for name, score in scores.items() if score.changed}


def test_the_same_slots_reworded_are_no_change() -> None:
    """Another order, another wording of free text and another case of keys' values leave quality alone."""
    reworded = dict(reversed(FULL.items())) | {"cause": "a cable was pulled by somebody"}
    scores = measured(reworded)
    assert changes(scores) == {}
    assert scores["slot_match"] == QualityScore("slot_match", 2, 1.0, 1.0, "agreement")
    # 6 of 7 words in order: 2·6/13 = 0.923; the four others 1: (4 + 0.923) / 5.
    assert scores["slot_rouge"].candidate == pytest.approx((4 + 12 / 13) / 5)
    assert list(scores) == ["slot_match", "slot_rouge", "slot_grounding", "slot_coverage"]


def test_an_empty_slot_is_worse() -> None:
    """Four of five slots: F1 2·4/9; the schema has five, so coverage falls from 1 to 0.8."""
    scores = measured(FULL | {"host": "unknown"})
    assert scores["slot_coverage"] == QualityScore("slot_coverage", 1, 1.0, 0.8, "ratio")
    # "unknown" is a value to the F1, and a wrong one: four of five slots on either side.
    assert scores["slot_match"].candidate == pytest.approx(0.8)
    assert changes(scores) == {"slot_match": None, "slot_coverage": "worse"}
    assert measured(FULL | {"host": None})["slot_match"].candidate == pytest.approx(8 / 9)


def test_an_invented_value_is_worse_and_its_correction_better() -> None:
    """Three values can be checked (ticket, host, date); one of them wrong is 2/3 grounded."""
    wrong = FULL | {"host": "HAM-77"}
    scores = measured(wrong)
    assert scores["slot_grounding"].reference == 1.0
    assert scores["slot_grounding"].candidate == pytest.approx(2 / 3)
    assert changes(scores) == {"slot_match": None, "slot_grounding": "worse", "slot_coverage": "worse"}
    assert changes(measured(FULL, wrong)) == {
        "slot_match": None, "slot_grounding": "better", "slot_coverage": "better",
    }  # fmt: skip


def test_another_choice_is_a_change_without_direction() -> None:
    """Both choices are possible, and spelling does not tell which is right."""
    assert changes(measured(FULL | {"state": "closed"})) == {"slot_match": None}


def test_a_digit_that_the_words_hide_is_noticed_by_grounding() -> None:
    """10.0.0.18 has three of four words of 10.0.0.17, so the F1 takes them for alike; the input does not."""
    scores = measured({"host": "10.0.0.18"}, {"host": "10.0.0.17"})
    assert scores["slot_match"].candidate == 1.0
    assert changes(scores) == {"slot_grounding": "worse", "slot_coverage": "worse"}


@pytest.mark.parametrize("date", ["2025-06-14", "14.06.2025", "June 14", "14 June 2025"])
def test_a_date_is_grounded_however_it_is_spelled(date: str) -> None:
    """The message says "14 June"."""
    assert measured(FULL | {"opened": date})["slot_grounding"].candidate == 1.0


def test_another_day_is_not_grounded() -> None:
    """15 June is nowhere in the message: two of three."""
    assert measured(FULL | {"opened": "2025-06-15"})["slot_grounding"].candidate == pytest.approx(2 / 3)


def test_translated_values_are_judged_by_what_needs_no_translation() -> None:
    """A variant in German translates the cause; numbers and identifiers stay, and so does quality."""
    german = FULL | {"cause": "Jemand hat ein Kabel gezogen", "state": "offen"}
    scores = measured(german, wanted=Wanted(language="de"))
    assert list(scores) == ["slot_grounding", "slot_coverage"]
    assert changes(scores) == {}
    assert changes(measured(german)) == {"slot_match": None, "slot_rouge": None}
    lost = {key: value for key, value in german.items() if key != "ticket"}
    assert changes(measured(lost, wanted=Wanted(language="de"))) == {"slot_coverage": "worse"}


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_headings_of_a_document_are_the_keys_of_the_data(form: Format) -> None:
    """A variant that asks for a document has "Lost since" for lost_since; elsewhere keys are exact."""
    titles = {"html": "<h2>{}</h2><p>{}</p>", "markdown": "## {}\n{}\n\n"}
    slots = {"host_name": "BER-12", "lost_since": "14 June"}
    document = "".join(
        titles[form].format(key.replace("_", " ").capitalize(), value) for key, value in slots.items()
    )
    pair = Pair(answer(slots), Answer(document), PROMPT, "slot_filling", Wanted(format=form))
    scores = asyncio.run(measure_all(BUNDLES[Task("slot_filling")].measures(), pair)).scores
    assert [score.metric for score in scores if score.changed] == []
    assert len(scores) == 4
    unasked = replace(pair, wanted=AS_BEFORE)
    scores = asyncio.run(measure_all(BUNDLES[Task("slot_filling")].measures(), unasked)).scores
    assert scores[0] == QualityScore("slot_match", 2, 1.0, 0.0, "agreement")


def test_no_schema_counts_the_slots_that_anyone_fills() -> None:
    """Reference two, candidate three, in all three: 2/3 against 1."""
    pair = Pair(
        answer({"a": "x", "b": "y"}), answer({"a": "x", "b": "y", "c": "z"}), "user: list what you find"
    )
    assert SlotCoverage().measure_now(pair) == QualityScore("slot_coverage", 1, 2 / 3, 1.0, "ratio")
    assert SlotGrounding().measure_now(pair) == QualityScore("slot_grounding", 1, 1.0, 1.0, "ratio")


def test_a_candidate_without_slots_fills_none() -> None:
    """Prose instead of slots: nothing claimed, nothing covered."""
    pair = Pair(answer(FULL), Answer("I would rather talk about it."), PROMPT, "slot_filling")
    scores = asyncio.run(measure_all(BUNDLES[Task("slot_filling")].measures(), pair)).scores
    assert {score.metric: score.candidate for score in scores} == {
        "slot_match": 0.0, "slot_rouge": 0.0, "slot_grounding": 1.0, "slot_coverage": 0.0,
    }  # fmt: skip


def test_a_reference_without_slots_is_a_failure() -> None:
    """There is nothing to agree with, so quality is unknown."""
    pair = Pair(Answer("I would rather talk about it."), answer(FULL), PROMPT, "slot_filling")
    qualities = asyncio.run(measure_all(BUNDLES[Task("slot_filling")].measures(), pair))
    assert qualities.scores == ()
    assert {(failure.metric, failure.reason) for failure in qualities.failures} == {
        (name, "no_slots") for name in ("slot_match", "slot_rouge", "slot_grounding", "slot_coverage")
    }


def calls(*made: tuple[str, object]) -> Answer:
    return Answer("", tuple(ToolCall(name, json.dumps(arguments)) for name, arguments in made))


def by_tools(reference: Answer, candidate: Answer) -> dict[str, QualityScore]:
    qualities = asyncio.run(measure_all(TOOL_QUALITIES, Pair(reference, candidate, "user: do it")))
    assert qualities.failures == ()
    return {score.metric: score for score in qualities.scores}


def test_answers_without_tool_calls_have_no_tool_qualities() -> None:
    """Nothing to say is neither a score nor a failure."""
    assert by_tools(Answer("a"), Answer("b")) == {}


def test_the_same_calls_are_no_change() -> None:
    """Arguments in another order and with a reworded text do the same."""
    before = calls(("open", {"host": "BER-12", "note": "the cable was pulled out"}), ("close", {"id": 4}))
    after = calls(("open", {"note": "The cable was pulled out!", "host": "ber-12"}), ("close", {"id": 4}))
    scores = by_tools(before, after)
    assert set(scores) == {"tool_names", "tool_arguments_match", "tool_order"}
    assert not any(score.changed for score in scores.values())


def test_another_argument_tool_or_order_is_a_change_without_direction() -> None:
    """Each is noticed by its own quality."""
    two = calls(("a", {"x": 1, "y": 2}), ("b", {}))
    other_argument = by_tools(two, calls(("a", {"x": 1, "y": 3}), ("b", {})))
    # The call of a has one of two arguments, that of b has none to differ in.
    assert other_argument["tool_arguments_match"].candidate == pytest.approx((0.5 + 1) / 2)
    assert changes(other_argument) == {"tool_arguments_match": None}
    assert changes(by_tools(two, calls(("b", {}), ("a", {"x": 1, "y": 2})))) == {"tool_order": None}
    assert changes(by_tools(two, calls(("a", {"x": 1, "y": 2})))) == {"tool_names": None}
    assert changes(by_tools(two, Answer("Done."))) == {"tool_names": None}


@pytest.mark.parametrize(
    ("before", "after", "score"),
    [
        ('{"q": "weather in Bergen tomorrow"}', '{"q": "the weather in Bergen tomorrow"}', 1.0),
        ('{"q": "weather in Bergen tomorrow"}', '{"q": "weather in Lisbon tomorrow"}', 0.0),
        ('{"q": "pay invoice 4711 at once"}', '{"q": "pay invoice 4712 at once"}', 0.0),
        ('{"ip": "10.0.0.1"}', '{"ip": "10.0.0.2"}', 0.0),
        ("not json", "not json", 1.0),
        ("", "{}", 1.0),
        ("{}", '{"x": 1}', 0.0),
    ],
)
def test_arguments_are_alike_if_they_do_the_same(before: str, after: str, score: float) -> None:
    """Rewording passes, another number, name or address does not."""
    pair = Pair(Answer("", (ToolCall("t", before),)), Answer("", (ToolCall("t", after),)), "")
    assert ToolArgumentsMatch().score(pair) == score


def test_calls_of_one_tool_are_assigned_to_each_other() -> None:
    """Two calls in the other order are the same two calls."""
    pair = Pair(calls(("t", {"x": 1}), ("t", {"x": 2})), calls(("t", {"x": 2}), ("t", {"x": 1})), "")
    assert ToolArgumentsMatch().score(pair) == 1.0


def test_arguments_beyond_the_limit_are_a_failure() -> None:
    """Too many calls of one tool are not compared."""
    many = calls(*[("t", {"x": number}) for number in range(51)])
    score = ToolArgumentsMatch().score(Pair(many, many, ""))
    assert isinstance(score, Failure)
    assert score.reason == "too_large"


_VALUE = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=6))
_ARGUMENTS = st.dictionaries(st.sampled_from("abc"), _VALUE, max_size=3)
_CALLS = st.lists(st.tuples(st.sampled_from(["f", "g"]), _ARGUMENTS), max_size=3)


@settings(max_examples=80, deadline=None)
@given(_CALLS, _CALLS)
def test_tool_arguments_are_symmetric_and_bounded(
    left: list[tuple[str, object]], right: list[tuple[str, object]]
) -> None:
    """The same either way round, in [0, 1], and 1 for an answer against itself."""
    one, other = calls(*left), calls(*right)
    score = ToolArgumentsMatch().score(Pair(one, other, ""))
    back = ToolArgumentsMatch().score(Pair(other, one, ""))
    if isinstance(score, Failure):
        assert isinstance(back, Failure)
    else:
        assert 0 <= score <= 1
        assert score == pytest.approx(back)
    same = ToolArgumentsMatch().score(Pair(one, one, ""))
    assert same == 1.0 if left else isinstance(same, Failure)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_any_texts_give_scores_or_reasons(reference: str, candidate: str, context: str) -> None:
    """Never an exception; values in [0, 1]."""
    pair = Pair(Answer(reference), Answer(candidate), context, "slot_filling")
    qualities = asyncio.run(measure_all(BUNDLES[Task("slot_filling")].measures(), pair))
    assert all(0 <= value <= 1 for score in qualities.scores for value in (score.reference, score.candidate))
