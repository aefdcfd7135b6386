"""The simulated judge: planted truth for answers it knows, documented rules for others."""

import json
import random

import httpx2
import pytest

from evenkeel.lab.judge_audit.judgements import Strategy
from evenkeel.lab.judge_audit.questions import question, rubrics
from evenkeel.lab.judge_audit.ratings import Item, RatingScale
from evenkeel.metrics.judge.prompts import COMPLETENESS, FAITHFULNESS, SIMILARITY
from evenkeel.metrics.judge.reply import read_ruling
from evenkeel.shadow.rewriter.client import MEANING
from evenkeel.simulate import (
    JUDGE_MODEL,
    REWRITER_MODEL,
    Condition,
    ModelState,
    PromptMessage,
    Simulation,
    serving,
)
from evenkeel.simulate.judge import judge
from evenkeel.simulate.model import read, say
from evenkeel.simulate.phrases import LANGUAGES
from evenkeel.simulate.rewriter import contrast, translate
from evenkeel.simulate.tasks import TASKS
from tests.kit.simulated_prompts import make_prompt

FORMATS = ("free", "json", "yaml", "xml", "html", "markdown")
TRUTH = {
    frozenset({Condition.GOOD}): 3,
    frozenset({Condition.WORSE}): 3,
    frozenset({Condition.DIFFERENT}): 3,
    frozenset({Condition.GOOD, Condition.DIFFERENT}): 2,
    frozenset({Condition.GOOD, Condition.WORSE}): 1,
    frozenset({Condition.DIFFERENT, Condition.WORSE}): 1,
}


def ask(prompt, texts, noise=0.0, rng=None):
    """The rating as evenkeel reads it from the reply to its own prompt."""
    messages = [PromptMessage(message.role, message.content) for message in prompt.fill(texts).messages]
    ruling = read_ruling(judge(messages, rng or random.Random(0), noise))
    return ruling.rating


def prompt_of(seed):
    """A prompt and what the model understands of it."""
    messages = [PromptMessage(raw["role"], raw["content"]) for raw in make_prompt(TASKS[seed % 4].name, seed)]
    return "\n\n".join(message.text for message in messages), read(messages)


@pytest.mark.parametrize("seed", range(60))
def test_ratings_are_the_truth(seed):
    """Two answers in any formats and languages are rated by their planted states alone."""
    rng = random.Random(seed)
    request, reading = prompt_of(seed)
    pair = [rng.choice(list(Condition)) for _ in range(2)]
    one, other = (
        say(reading._replace(format=rng.choice(FORMATS), language=rng.choice(LANGUAGES)), condition)
        for condition in pair
    )
    assert ask(SIMILARITY, {"REFERENCE ANSWER": one, "CANDIDATE ANSWER": other}) == TRUTH[frozenset(pair)]
    for answer, condition in ((one, pair[0]), (other, pair[1])):
        for prompt in (FAITHFULNESS, COMPLETENESS):
            rating = ask(prompt, {"REQUEST": request, "ANSWER": answer})
            assert rating == (1 if condition is Condition.WORSE else 3)


def test_a_translation_means_the_same_and_a_contrast_does_not():
    """Both are stock words, which could not be compared with the original."""
    text = "The printer of room 3 has been out of paper since Monday. What should we do?"
    for rewritten, rating in ((translate(text, LANGUAGES[1]), 3), (contrast(text), 1)):
        assert ask(MEANING, {"ORIGINAL TEXT": text, "REWRITTEN TEXT": rewritten}) == rating


@pytest.mark.parametrize(
    ("low", "high", "ratings"), [(1, 5, [1, 3, 5]), (0, 1, [0, 0, 1]), (1, 3, [1, 2, 3])]
)
def test_the_judge_audit_gets_ratings_on_its_own_scales(low, high, ratings):
    """Bottom, middle and top for 1, 2 and 3; the top for a text without a context."""
    texts = ["Wrong.", "The lift stands in the hall again.", "The lift stands still in the hall."]
    rubric = rubrics()["fluency"]

    def rated(text, context):
        item = Item("a", "fluency", RatingScale(low, high), text, context, ())
        asked = question(Strategy.ZERO_SHOT, rubric, item)
        messages = [PromptMessage(message.role, message.content) for message in asked.messages]
        return read_ruling(judge(messages, random.Random(0)), asked.scale).rating

    assert [rated(text, texts[-1]) for text in texts] == ratings
    assert rated("A text.", "") == high


def test_noise_is_set_by_the_admin_call():
    """The judge is always served, and its noise can be changed while it runs."""
    question = SIMILARITY.fill({"REFERENCE ANSWER": "Yes.", "CANDIDATE ANSWER": "Yes."})
    body = {
        "model": JUDGE_MODEL,
        "messages": [{"role": message.role, "content": message.content} for message in question.messages],
    }
    with serving(Simulation((ModelState("m"),))) as url, httpx2.Client(base_url=url) as http:
        names = [card["id"] for card in http.get("/v1/models").json()["data"]]
        assert names == ["m", REWRITER_MODEL, JUDGE_MODEL]

        def rating():
            reply = http.post("/v1/chat/completions", json=body).json()
            return json.loads(reply["choices"][0]["message"]["content"])["rating"]

        assert rating() == 3
        assert http.put(f"/simulate/models/{JUDGE_MODEL}", json={"judge_noise": 1}).json()["judge_noise"] == 1
        assert rating() == 1
        assert http.put(f"/simulate/models/{JUDGE_MODEL}", json={"judge_noise": 2}).status_code == 400
