"""Filled slots and tool calls as qualities, by rule."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import AS_BEFORE, Answer, AnswerForm, Pair, ToolCall
from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.metrics.quality.bundles import BUNDLES, TOOL_QUALITIES
from evenkeel.metrics.quality.measurement import measure_all
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.metrics.tasks import Task
from evenkeel.metrics.tool_calls import ToolArgumentsMatch
from tests.cases import cases
from tests.kit.records import altered

if TYPE_CHECKING:
    from evenkeel.core.pair import Format
    from evenkeel.metrics.quality.measurement import Qualities

CASES = cases(__file__)
FULL = CASES["slots"]["full"]
PROMPT = """\
user: Fill in this schema from the message.

{"properties": {"ticket": {"type": "string"}, "host": {"type": "string"}, "state": {"type": "string",
"enum": ["open", "closed"]}, "opened": {"type": "string"}, "cause": {"type": "string"}}}

Message: INC0042 came in on 14 June: host BER-12 (10.0.0.17) lost its network because a cable was pulled."""


def answer(slots: object) -> Answer:
    return Answer(json.dumps(slots, ensure_ascii=False))


def measured(pair: Pair) -> Qualities:
    """What the bundle for slots says."""
    return asyncio.run(measure_all(BUNDLES[Task("slot_filling")].measures(), pair))


def changes(scores: dict[str, QualityScore]) -> dict[str, str | None]:
    return {name: score.direction for name, score in scores.items() if score.changed}


@pytest.mark.parametrize(
    ("candidate", "agreement"),
    [
        (FULL, 1.0),
        (dict(reversed(FULL.items())), 1.0),
        (FULL | {"state": "closed"}, 0.8),
        (FULL | {"state": "shut"}, None),
        (FULL | {"cause": "the network was lost"}, None),
        (FULL | {"opened": "14 June"}, None),
        (FULL | {"host": "ber-12"}, None),
        ({name: value for name, value in FULL.items() if name != "host"}, None),
        ({"host": "BER-12"}, None),
    ],
)
def test_a_rule_speaks_of_slots_only_where_it_is_certain(
    candidate: dict[str, str], agreement: float | None
) -> None:
    """Filled alike to the letter, or with another fixed choice; what is worded otherwise is the judge's."""
    qualities = measured(Pair(answer(FULL), answer(candidate), PROMPT, "slot_filling"))
    assert (qualities.failures, qualities.tokens) == ((), 0)
    assert [score.candidate for score in qualities.scores] == ([] if agreement is None else [agreement])


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_headings_of_a_document_are_the_keys_of_the_data(form: Format) -> None:
    """A variant that asks for a document has "Lost since" for lost_since; elsewhere keys are exact."""
    titles = {"html": "<h2>{}</h2><p>{}</p>", "markdown": "## {}\n{}\n\n"}
    slots = {"host_name": "BER-12", "lost_since": "14 June"}
    document = "".join(
        titles[form].format(key.replace("_", " ").capitalize(), value) for key, value in slots.items()
    )
    pair = Pair(answer(slots), Answer(document), PROMPT, "slot_filling", AnswerForm(format=form))
    assert measured(pair).scores == (QualityScore("slot_match", 3, 1.0, 1.0, "agreement"),)
    assert measured(altered(pair, wanted=AS_BEFORE)).scores == ()


@pytest.mark.parametrize("sides", [(FULL, None), (None, FULL)])
def test_an_answer_without_slots_is_left_to_the_judge(sides: tuple[object, object]) -> None:
    prose = Answer("I would rather talk about it.")
    reference, candidate = (prose if side is None else answer(side) for side in sides)
    assert measured(Pair(reference, candidate, PROMPT, "slot_filling")).scores == ()


def test_slots_count_in_the_similarity_whenever_the_task_is_known() -> None:
    """Four of five slots alike, and the mean with the likeness of the words."""
    pair = Pair(answer(FULL), answer(FULL | {"state": "closed"}), PROMPT, "slot_filling")
    details = asyncio.run(heuristic_scorer().score(pair)).details
    assert details["slot_match"] == pytest.approx(0.8)


def calls(*made: tuple[str, object]) -> Answer:
    return Answer("", tuple(ToolCall(name, json.dumps(arguments)) for name, arguments in made))


def by_tools(reference: Answer, candidate: Answer) -> dict[str, QualityScore]:
    qualities = asyncio.run(measure_all(TOOL_QUALITIES, Pair(reference, candidate, "user: do it")))
    assert qualities.failures == ()
    return {score.metric: score for score in qualities.scores}


def test_answers_without_tool_calls_have_no_tool_qualities() -> None:
    """Nothing to say is neither a score nor a failure."""
    assert by_tools(Answer("a"), Answer("b")) == {}


@pytest.mark.parametrize("case", CASES["calls"])
def test_another_argument_tool_or_order_is_a_change_without_direction(case: dict[str, Any]) -> None:
    """Each is noticed by its own quality; the same arguments in another order are no change."""
    scores = by_tools(calls(*case["before"]), calls(*case["after"]) if case["after"] else Answer("Done."))
    assert changes(scores) == case["changes"]
    for name, value in case.get("scores", {}).items():
        assert scores[name].candidate == pytest.approx(value)


@pytest.mark.parametrize(("before", "after", "score"), CASES["arguments"])
def test_arguments_are_compared_to_the_letter(before: str, after: str, score: float) -> None:
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


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_any_texts_give_scores_or_reasons(reference: str, candidate: str, context: str) -> None:
    """Never an exception; values in [0, 1]."""
    pair = Pair(Answer(reference), Answer(candidate), context, "slot_filling")
    qualities = measured(pair)
    assert all(0 <= value <= 1 for score in qualities.scores for value in (score.reference, score.candidate))
