"""Twice the text takes at most two and a half times the work, whatever the text: nothing is quadratic."""

from __future__ import annotations

import gc
import json
import random
import time
from functools import partial

import pytest

from evenkeel.core.languages import language_of
from evenkeel.core.pair import Answer, Pair
from evenkeel.core.protected_spans import protected_spans
from evenkeel.metrics.heuristic import HeuristicRater
from evenkeel.metrics.registry import heuristics
from evenkeel.metrics.similarity import normalised, words
from evenkeel.metrics.similarity.values import reading as numerals
from evenkeel.metrics.structured import reading
from evenkeel.metrics.tasks import Turn, recognise
from evenkeel.shadow import answer_traits, original
from evenkeel.shadow.answer import read_answer
from evenkeel.shadow.clusters import Clusters
from evenkeel.shadow.perturbations import BUILTIN
from evenkeel.shadow.perturbations.gate import attempt
from evenkeel.shadow.perturbations.rewriting import pieces
from evenkeel.shadow.prompt import PromptView, refusal
from evenkeel.shadow.prompt.template import TemplateLearner
from evenkeel.shadow.protection import BUILTIN as DETECTORS
from evenkeel.shadow.protection.redaction import Placeholders, redact_events, redact_json

CHARS = 6_000
RATIO = 2.5
TRIES = 6
NOISE_S = 0.012
"""Processor time that caches, the garbage collector and the clock's steps add to any measurement."""


def counted(line):
    """Lines with a number of their own."""
    return lambda size: "".join(line.format(n=n, m=n * 7919 % 100_003) for n in range(size))[:size]


def repeated(unit):
    return lambda size: (unit * size)[:size]


def lettered(size):
    """Distinct capitalised words, none with a digit."""
    draw = random.Random(7)
    return "".join("".join(draw.choices("abcdefghij", k=7)).capitalize() + " " for _ in range(size // 8))


SHAPES = {
    "code fences": repeated("```\nx = 1\n```\n\nAnd why?\n\n"),
    "backticks": repeated("`"),
    "one long word": repeated("a"),
    "distinct words": lettered,
    "nested quotes": lambda size: "\n".join(">" * (n % 40 + 1) + ' "x' for n in range(size // 25)),
    "escaped quotes": repeated('\\"'),
    "short lines": repeated("a:\n"),
    "unclosed brackets": repeated("([{<"),
    "digits": repeated("7"),
    "spaces": lambda size: "a" + " " * (size - 2) + "b",
    "combining marks": lambda size: "a" + "\u0301" * (size - 1),
    "long JSON": lambda size: json.dumps([{"id": n, "name": f"n{n}"} for n in range(size // 25)]),
    "tables": counted("| a{n} | {m} |\n"),
    "headings": counted("# Part {n}\n\nThe rules above, {m}:\n\n- Do it\n\n"),
    "ideographs": repeated("请告诉我这个问题的答案。"),
}


def body_of(*contents):
    said = [{"role": ("user", "assistant")[place % 2], "content": one} for place, one in enumerate(contents)]
    return json.dumps({"model": "m", "messages": said}).encode()


def in_one(text):
    return body_of("Answer in JSON:\n\n" + text)


def in_many(text):
    return body_of(*(text[at : at + 12] for at in range(0, len(text), 12)))


def view_of(text, body=in_one):
    return PromptView.parse(body(text), classify=TemplateLearner().classifier("main"))


def pair_of(text):
    third = len(text) // 3
    return Pair(Answer(text), Answer(f"{text[:third]} Sure: {text[third:-5]}"), "What is it?")


def answered(text):
    message = {"role": "assistant", "content": text}
    return json.dumps({"model": "m", "choices": [{"index": 0, "message": message}]}).encode()


def streamed(text):
    pieces_of = (text[at : at + 8] for at in range(0, len(text), 8))
    events = ({"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces_of)
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def learnt(view):
    learner = TemplateLearner()
    for number in range(3):
        learner.observe("main", view.slots, str(number))
        learner.version("main", view.slots)
    view.classified(learner.classifier("main"))


def perturbed(kind, view):
    outcome = attempt(kind, view, 0.5, random.Random(1))
    if isinstance(outcome, PromptView):
        outcome.body()


def read_whole(body):
    return read_answer({"content-type": "application/json"}, body, api="chat")


def read_stream(text):
    return read_answer({"content-type": "text/event-stream"}, text.encode(), api="chat")


READERS = {
    "protected spans": (str, protected_spans),
    "pieces for the rewriter": (str, pieces),
    "task": (str, lambda text: recognise([Turn("user", text)])),
    "language": (str, language_of),
    "prompt": (in_one, PromptView.parse),
    "prompt of many messages": (in_many, PromptView.parse),
    "refusal": (partial(view_of, body=in_many), refusal),
    "template": (view_of, learnt),
    "template of many messages": (partial(view_of, body=in_many), learnt),
    "traits of a prompt": (view_of, original.traits_of),
    "sketch": (partial(view_of, body=in_many), answer_traits.sketch_of),
    "cluster": (view_of, lambda view: Clusters().of("main", None, view, "x", None)),
    "cluster of many messages": (
        partial(view_of, body=in_many),
        lambda view: Clusters().of("main", None, view, "x", None),
    ),
    "answer": (answered, read_whole),
    "streamed answer": (streamed, read_stream),
    "traits of an answer": (Answer, answer_traits.traits_of),
    "redaction of JSON": (
        lambda text: in_one(text).decode(),
        lambda body: redact_json(body, Placeholders(DETECTORS).redact),
    ),
    "redaction of a stream": (
        streamed,
        lambda body: redact_events(body, Placeholders(DETECTORS).redact),
    ),
}
SAME_CODE = {"multilingual.es", "crosslingual.en_to_es", "crosslingual.en_to_en"}
METRICS = {one.name: (pair_of, one.score) for one in heuristics()}
PERTURBATIONS = {
    one.name: (view_of, partial(perturbed, one))
    for one in BUILTIN
    # The other pairs of languages are the same code.
    if not one.name.startswith(("crosslingual", "multilingual")) or one.name in SAME_CODE
}
IN_MANY_MESSAGES = {
    f"{one.name} of many messages": (partial(view_of, body=in_many), partial(perturbed, one))
    for one in BUILTIN
    if one.name.startswith(("general", "positional", "format.json", "compound.typos"))
}
SUBJECTS = {
    **READERS,
    **PERTURBATIONS,
    **IN_MANY_MESSAGES,
    **METRICS,
    "heuristic rater": (pair_of, HeuristicRater().rate_now),
}


def forget():
    protected_spans.cache_clear()
    reading.forget()
    words.forget()
    numerals.forget()
    normalised.forget()


def spent(work, given):
    """Processor time of one run with nothing remembered."""
    forget()
    start = time.thread_time()
    work(given)
    return time.thread_time() - start


def grows_too_fast(made, work, shape):
    """Whether every one of several measurements says so; noise only ever adds time."""
    single, double = made(shape(CHARS)), made(shape(2 * CHARS))
    least_single = least_double = float("inf")
    for _ in range(TRIES):
        least_single = min(least_single, spent(work, single))
        least_double = min(least_double, spent(work, double))
        if least_double <= RATIO * least_single + NOISE_S:
            return False
    return True


@pytest.fixture
def no_collections():
    """The garbage collector would count what other tests have left as work."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_work_grows_in_proportion_to_the_text(subject):
    """Every reader, perturbation and metric takes at most two and a half times as long for twice the text."""
    made, work = SUBJECTS[subject]
    too_fast = [name for name, shape in SHAPES.items() if grows_too_fast(made, work, shape)]
    assert not too_fast
