"""The cheap stand-ins for faithfulness and completeness."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, Pair, ToolCall, Wanted
from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.metrics.quality.stand_ins import CompletenessProxy, FaithfulnessProxy
from tests.cases import cases
from tests.kit.records import altered

CASES = cases(__file__)
CONTEXT = (
    "Summarise the case. On 2024-03-05 at 09:40 the VPN client 4.2.1 on host BER-12 stopped connecting with "
    "error 0x80070005. Maria Lopez rolled the update back under change CHG-881; 35 users could work again."
)
GOOD = "VPN client 4.2.1 on BER-12 failed 2024-03-05: 0x80070005. Maria Lopez undid it by CHG-881."


def faithfulness(answer: str, context: str = CONTEXT) -> int | Failure:
    return FaithfulnessProxy().rate_now(Answer(answer), context).outcome


def completeness(answer: str, context: str = CONTEXT) -> int | Failure:
    return CompletenessProxy().rate_now(Answer(answer), context).outcome


@pytest.mark.parametrize(("metric", "answer", "rating", "context"), CASES["ratings"])
def test_ratings_of_answers(metric: str, answer: str, rating: int, context: str) -> None:
    """Faithfulness falls with invented details, completeness with missing ones; without any, words decide."""
    rate = {"faithfulness": faithfulness, "completeness": completeness}[metric]
    assert rate(answer, CONTEXT if context == "case" else context) == rating


def test_completeness_of_a_hand_worked_answer() -> None:
    """Two of five details covered is 0.4."""
    context = "we saw INC001, INC002, INC003, INC004 and INC005"
    rating = CompletenessProxy().rate_now(Answer("it was INC001 and INC004"), context)
    assert rating.details == {"details_covered": pytest.approx(0.4)}
    assert rating.outcome == 3
    assert "inc002" in rating.explanation


def test_faithfulness_of_a_hand_worked_answer() -> None:
    """One of two details is in the context: 0.5, named in the explanation."""
    rating = FaithfulnessProxy().rate_now(
        Answer("the incident was INC001 or INC009"), "the incident INC001 was seen"
    )
    assert rating.details["details_supported"] == pytest.approx(0.5)
    assert rating.outcome == 2
    assert "inc009" in rating.explanation


_GLUE = st.lists(
    st.sampled_from(["however", "the", "it was", "there is", "and then", "also", "with"]), max_size=6
)


@given(_GLUE, st.permutations(["4.2.1", "BER-12", "2024-03-05", "0x80070005", "CHG-881"]))
def test_the_same_details_give_the_same_rating_however_worded(glue: list[str], details: list[str]) -> None:
    """Glue words and the order of details move neither rating."""
    woven = " ".join(word for pair in zip(details, [*glue, *[""] * 6], strict=False) for word in pair)
    plain = "the client 4.2.1 BER-12 2024-03-05 0x80070005 CHG-881"
    assert faithfulness(f"the client {woven}") == faithfulness(plain) == 3
    assert completeness(f"the client {woven}") == completeness(plain) == 3


def test_typos_do_not_move_the_ratings() -> None:
    """An answer that repeats a user's typing errors is as faithful and complete as without them."""
    typos = GOOD.replace("client", "cleint").replace("failed", "faild").replace("Lopez", "Lopze").lower()
    assert faithfulness(typos) == faithfulness(GOOD)
    assert completeness(typos) == completeness(GOOD)


@pytest.mark.parametrize("metric", [FaithfulnessProxy(), CompletenessProxy()], ids=lambda metric: metric.name)
def test_a_prompt_without_text_is_a_failure(metric: FaithfulnessProxy | CompletenessProxy) -> None:
    """Nothing to check against gives a failure under the stand-in's name, not a rating."""
    outcome = asyncio.run(metric.rate(Answer(GOOD), " \n")).outcome
    assert isinstance(outcome, Failure)
    assert (outcome.metric, outcome.version, outcome.reason) == (metric.name, metric.version, "no_context")


def test_tool_calls_are_claims_too() -> None:
    """An invented argument lowers faithfulness, a covered one counts for completeness."""
    call = Answer(
        "", (ToolCall("open_change", '{"change": "CHG-881", "host": "BER-12", "error": "0x80070005"}'),)
    )
    invented = Answer("", (ToolCall("open_change", '{"change": "CHG-111", "host": "BER-99"}'),))
    assert FaithfulnessProxy().rate_now(call, CONTEXT).outcome == 3
    assert FaithfulnessProxy().rate_now(invented, CONTEXT).outcome == 1
    cut_short = Answer("Done.", (ToolCall("open_change", '{"change": "CHG-111", "ho'),))
    assert FaithfulnessProxy().rate_now(cut_short, "we opened change CHG-881 and are done").outcome == 2
    assert CompletenessProxy().rate_now(call, CONTEXT).outcome == 2


FORMS = CASES["forms"]


@pytest.mark.parametrize("text", FORMS)
def test_the_format_of_an_answer_does_not_move_the_ratings(text: str) -> None:
    """The same two sentences in six forms: four of four details supported, four covered."""
    for metric in (FaithfulnessProxy(), CompletenessProxy()):
        expected = metric.rate_now(Answer(FORMS[-1]), CONTEXT)
        found = metric.rate_now(Answer(text), CONTEXT)
        assert found.outcome == expected.outcome
    invented = text.replace("BER-12", "HAM-77").replace("CHG-881", "CHG-111").replace("4.2.1", "9.9.9")
    assert faithfulness(invented) in {1, 2}


def test_answers_in_another_language_are_measured_by_what_needs_no_translation() -> None:
    """A variant in German: words and names are left aside on both sides, numbers and identifiers are not."""
    german = "Der VPN-Client 4.2.1 auf BER-12 fiel 2024-03-05 aus: 0x80070005. Frau Lopez half durch CHG-881."
    pair = Pair(Answer(GOOD), Answer(german), CONTEXT, wanted=Wanted(language="de"))
    wrong = altered(pair, candidate=Answer(german.replace("BER-12", "HAM-77").replace("CHG-881", "CHG-111")))
    poor = altered(pair, candidate=Answer("Der Client fiel aus."))
    for metric, worse in ((FaithfulnessProxy(), wrong), (CompletenessProxy(), poor)):
        same, changed = (asyncio.run(metric.measure(one)).outcome for one in (pair, worse))
        assert isinstance(same, QualityScore)
        assert isinstance(changed, QualityScore)
        assert (same.reference, same.candidate, same.direction) == (3, 3, None)
        assert changed.direction == "worse"
    nothing = altered(pair, context="Please describe the weather in a few words.")
    assert asyncio.run(CompletenessProxy().measure(nothing)).outcome is None
