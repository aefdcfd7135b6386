"""Filled slots as a quality, by rule."""

import asyncio
import json

import pytest

from evenkeel.core.pair import AS_BEFORE, Answer, AnswerForm, Pair
from evenkeel.core.verdict import QualityScore
from evenkeel.metrics.quality.bundles import BUNDLES
from evenkeel.metrics.quality.measurement import measure_all
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.metrics.tasks import Task
from tests.cases import cases
from tests.kit.records import altered

CASES = cases(__file__)
FULL = CASES["slots"]["full"]
PROMPT = """\
user: Fill in this schema from the message.

{"properties": {"ticket": {"type": "string"}, "host": {"type": "string"}, "state": {"type": "string",
"enum": ["open", "closed"]}, "opened": {"type": "string"}, "cause": {"type": "string"}}}

Message: INC0042 came in on 14 June: host BER-12 (10.0.0.17) lost its network because a cable was pulled."""


def answer(slots):
    return Answer(json.dumps(slots, ensure_ascii=False))


def measured(pair):
    """Qualities that the bundle for slots measures."""
    return asyncio.run(measure_all(BUNDLES[Task("slot_filling")].measures(), pair))


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
def test_a_rule_speaks_of_slots_only_where_it_is_certain(candidate, agreement):
    """Filled alike to the letter, or with another fixed choice; what is worded otherwise is the judge's."""
    qualities = measured(Pair(answer(FULL), answer(candidate), PROMPT, "slot_filling"))
    assert (qualities.failures, qualities.spent.tokens) == ((), 0)
    assert [score.candidate for score in qualities.scores] == ([] if agreement is None else [agreement])


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_headings_of_a_document_are_the_keys_of_the_data(form):
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
def test_an_answer_without_slots_is_left_to_the_judge(sides):
    prose = Answer("I would rather talk about it.")
    reference, candidate = (prose if side is None else answer(side) for side in sides)
    assert measured(Pair(reference, candidate, PROMPT, "slot_filling")).scores == ()


def test_slots_count_in_the_similarity_whenever_the_task_is_known():
    """Four of five slots alike, and the mean with the likeness of the words."""
    pair = Pair(answer(FULL), answer(FULL | {"state": "closed"}), PROMPT, "slot_filling")
    details = asyncio.run(heuristic_scorer().score(pair)).details
    assert details["slot_match"] == pytest.approx(0.8)
