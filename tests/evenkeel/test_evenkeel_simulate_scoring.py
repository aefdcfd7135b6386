"""The planted states, as the cheap scorer and the live perturbations see them."""

from __future__ import annotations

import asyncio
import json
import random

import pytest

from evenkeel.simulate import Message, make_case, summary_prompt
from evenkeel.simulate.model import Condition, answers, choose, read
from evenkeel.simulate.topics import TOPICS
from metrics.pair import Answer, Pair
from metrics.scoring import cheap_scorer
from shadow.perturbations import BUILTIN, NotApplicable, seed_for
from shadow.prompt import PromptView

SEVERITIES = (0.1, 0.3, 0.5)
CASES = {case.topic.name: case for case in map(make_case, range(400))}


def view_of(prompt: str) -> PromptView:
    """The prompt as an application would send it, with a system message before it."""
    messages = [
        {"role": "system", "content": "You write short and faithful summaries."},
        {"role": "user", "content": prompt},
    ]
    return PromptView.parse(json.dumps({"model": "simulated-1", "messages": messages}).encode())


def messages_of(view: PromptView) -> list[Message]:
    """What a server would read from the body of a view."""
    return [Message(raw["role"], raw["content"]) for raw in json.loads(view.body())["messages"]]


def test_every_topic_has_a_case():
    """The cases below cover the catalogue."""
    assert len(CASES) == len(TOPICS)


@pytest.mark.parametrize("topic", sorted(CASES))
def test_states_as_scored(topic):
    """Two answers of one state are rated 3; of two states below 3, with other quality if one is worse."""
    view = view_of(summary_prompt(CASES[topic]))
    said = answers(read(messages_of(view)))
    scorer = cheap_scorer()
    for reference in Condition:
        for candidate in Condition:
            pair = Pair(Answer(choose(said, reference)), Answer(choose(said, candidate)), view.text)
            judgement = asyncio.run(scorer.score(pair))
            assert judgement.failures == ()
            assert (judgement.rating == 3) == (reference is candidate)
            if reference is candidate:
                continue
            gains = [score.candidate - score.reference for score in judgement.quality]
            assert len(gains) == 2
            worse = (reference is Condition.WORSE) - (candidate is Condition.WORSE)
            # Both faithfulness and completeness rise from a worse answer and fall towards one.
            assert [(gain > 0) - (gain < 0) for gain in gains] == [worse, worse]
            assert judgement.details["rouge_l"] < 0.4
            assert judgement.details["details"] < 0.5


@pytest.mark.parametrize("perturbation", BUILTIN, ids=lambda one: one.name)
def test_perturbations_leave_the_answers_alone(perturbation):
    """Every variant of every topic's case has the very answers of the original."""
    for topic, case in CASES.items():
        view = view_of(summary_prompt(case))
        said = answers(read(messages_of(view)))
        for severity in SEVERITIES:
            seed = seed_for(topic, perturbation.name, severity, perturbation.version)
            variant = perturbation.apply(view, severity, random.Random(seed))
            assert not isinstance(variant, NotApplicable)
            assert answers(read(messages_of(variant))) == said, (topic, severity)
