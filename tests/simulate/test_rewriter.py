"""The simulated rewriter: whatever a check can look at is kept, and the topic with it."""

import random
from collections import Counter

import pytest

from evenkeel.core.languages import language_of
from evenkeel.core.protected_spans import protected_spans
from evenkeel.shadow.perturbations.gate import faults_of
from evenkeel.shadow.perturbations.protocol import RewriteTask
from evenkeel.shadow.rewriter.prompts import TONES, request_for, rewritten_in
from evenkeel.simulate import PromptMessage
from evenkeel.simulate.cases import make_case
from evenkeel.simulate.phrases import LANGUAGES
from evenkeel.simulate.recognition import find_topic, read_details
from evenkeel.simulate.rewriter import rewrite
from evenkeel.simulate.tasks import TASKS
from tests.kit.simulated_prompts import input_of, make_prompt, template_of

TARGETS = tuple(language.tag for language in LANGUAGES if language.tag != "en")


def asked(task, rejected=None):
    """The text that the simulated rewriter gives."""
    kept = [task.text[span.start : span.end] for span in protected_spans(task.text)]
    request = request_for(task, kept, rejected)
    return rewritten_in(rewrite([PromptMessage(message.role, message.content) for message in request]))


def kept_passages(text):
    """The protected passages of a text, each as often as it is there."""
    return Counter(text[span.start : span.end].strip() for span in protected_spans(text))


def tasks_of(seed):
    """Rewriting tasks on one prompt: input and template, and the whole, in turn."""
    rng = random.Random(seed)
    task = TASKS[seed % len(TASKS)]
    texts = (
        input_of(task.name, make_case(seed), rng),
        template_of(task.name).before,
        make_prompt(task.name, seed)[-1]["content"],
    )
    text = texts[seed // len(TASKS) % len(texts)]
    yield RewriteTask("translation", text, TARGETS[seed % len(TARGETS)])
    yield RewriteTask("paraphrase", text)
    yield RewriteTask("tone", text, list(TONES)[seed % len(TONES)])


@pytest.mark.parametrize("seed", range(40))
def test_generated_prompts_pass(seed):
    """Protected passages, line breaks, language and length are right on 40 prompts."""
    for task in tasks_of(seed):
        text = asked(task)
        assert text != task.text
        assert not kept_passages(task.text) - kept_passages(text)
        assert text.count("\n") == task.text.count("\n")
        topic = find_topic(task.text)
        assert find_topic(text) is topic
        if topic is not None:
            assert read_details(text) == read_details(task.text)
        if task.kind == "translation" and "{" not in task.text:
            assert language_of(text) == task.target.partition("-")[0]
        assert faults_of(task, text) == ()


@pytest.mark.parametrize(
    ("messages", "reply"),
    [
        ([], "takes rewriting requests of evenkeel only"),
        ([PromptMessage("user", "Task: paraphrase")], "takes rewriting requests of evenkeel only"),
        (
            [
                PromptMessage(message.role, message.content)
                for message in request_for(RewriteTask("translation", "Hi", "sv"), ())
            ],
            "does not know the target sv",
        ),
    ],
)
def test_other_requests_are_refused(messages, reply):
    """A sentence says what the simulation can't do."""
    assert reply in rewrite(messages)
