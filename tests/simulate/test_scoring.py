"""The planted states, as scored without a judge and as the live perturbations see them."""

from __future__ import annotations

import asyncio
import json
import random
import re

import pytest

from evenkeel.core.pair import Answer, Pair
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.shadow.perturbations import BUILTIN, Draft, NotApplicable
from evenkeel.shadow.perturbations.gate import passages_to_keep
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.template.labelling import fixed_template
from evenkeel.shadow.rewriter.prompts import request_for
from evenkeel.simulate import Message, make_case, make_prompt, summary_prompt
from evenkeel.simulate.content import Condition
from evenkeel.simulate.judge import rate_similarity
from evenkeel.simulate.model import answers, choose, read, say
from evenkeel.simulate.rewriter import rewrite
from evenkeel.simulate.tasks import TASKS

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


@pytest.mark.parametrize("topic", sorted(CASES))
def test_states_as_scored(topic):
    """Two answers of one state are identical; answers of two states are far apart, and unsure."""
    view = view_of(summary_prompt(CASES[topic]))
    said = answers(read(messages_of(view)))
    scorer = heuristic_scorer()
    for reference in Condition:
        for candidate in Condition:
            pair = Pair(Answer(choose(said, reference)), Answer(choose(said, candidate)), view.text)
            judgement = asyncio.run(scorer.score(pair))
            assert judgement.failures == ()
            if reference is candidate:
                assert (judgement.rating, judgement.similarity) == (3, 1.0)
            else:
                assert (judgement.unsure, judgement.similarity < 0.4) == (True, True)


def resolved(outcome):
    """The outcome once the simulated rewriter has done what it asks for."""
    while isinstance(outcome, Draft):
        texts = []
        for task in outcome.tasks:
            request = request_for(task, passages_to_keep(task))
            texts.append(rewrite([Message(message.role, message.content) for message in request]))
        outcome = outcome.finish(texts)
    return outcome


_UNSPOKEN = ("fr-CA", "it", "nl", "pt-BR")
"""Languages of built-in perturbations that the simulation does not write."""
UNDERSTOOD = tuple(one for one in BUILTIN if not re.search(rf"[._]({'|'.join(_UNSPOKEN)})(_|$)", one.name))


@pytest.mark.parametrize("perturbation", UNDERSTOOD, ids=lambda one: one.name)
def test_every_kind_is_understood(perturbation):
    """Each kind's variants are answered with the original's content, in the form that they ask for."""
    seen = 0
    for task in (*TASKS, None):
        view = view_of(summary_prompt(make_case(8)))
        if task is not None:
            body = json.dumps({"model": "simulated-1", "messages": make_prompt(task.name, 8)})
            middle = f"{task.template.before}\n\n{{input}}\n\n{task.template.after}"
            template = fixed_template([text for text in (task.template.system, middle) if text])
            view = PromptView.parse(body.encode(), template)
        variant = resolved(perturbation.apply(view, 0.5, random.Random(8)))
        if isinstance(variant, NotApplicable):
            continue
        seen += 1
        before, after = (read(messages_of(one)) for one in (view, variant))
        assert (after.topic, after.details, after.task) == (before.topic, before.details, before.task)
        assert after.format == (perturbation.wanted.format or before.format)
        assert after.language.tag == (perturbation.wanted.language or before.language.tag)
        for condition in Condition:
            assert rate_similarity(say(before, condition), say(after, condition)).rating == 3
    assert seen
