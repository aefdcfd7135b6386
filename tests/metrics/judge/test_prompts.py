"""Questions to a judge: rubrics, and the tag of the markers around the judged texts."""

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.metrics.judge.prompts import (
    COMPLETENESS,
    FAITHFULNESS,
    SIMILARITY,
    Prompt,
    unforgeable_tag,
)
from evenkeel.metrics.quality.bundles import custom_prompt
from tests.cases import cases

CASES = cases(__file__)


@given(st.lists(st.text(), max_size=4))
def test_the_tag_occurs_in_no_text_and_is_repeatable(texts):
    """The same texts give the same sixteen hex digits, which none of them holds."""
    tag = unforgeable_tag(texts)
    assert re.fullmatch(r"[0-9a-f]{16}", tag)
    assert tag == unforgeable_tag(texts)
    assert not any(tag in text for text in texts)


def test_a_tag_that_occurs_is_replaced(monkeypatch):
    """The next hash is taken if the first one stands in a text, upper or lower case."""
    digests = iter(["aa" * 32, "bb" * 32])

    class PlantedHash:
        def update(self, data):
            """Take data and ignore it."""

        def hexdigest(self):
            return next(digests)

    monkeypatch.setattr("evenkeel.metrics.judge.prompts.hashlib.sha256", lambda _: PlantedHash())
    assert unforgeable_tag(["it says " + "AA" * 8]) == "bb" * 8


def test_moving_text_between_fields_changes_the_tag():
    """Field boundaries are part of the hash; lone surrogates do not break it."""
    assert unforgeable_tag(["ab", "c"]) != unforgeable_tag(["a", "bc"])
    assert unforgeable_tag(["\ud800"])


@pytest.mark.parametrize("prompt", [SIMILARITY, FAITHFULNESS, COMPLETENESS], ids=lambda prompt: prompt.name)
def test_prompts_state_scale_output_and_data_rule(prompt):
    """Every rubric explains 3, 2 and 1, asks for JSON after the data, and declares the data as data."""
    question = prompt.fill({"ANSWER": "text {with} braces"})
    system, user = (message.content for message in question.messages)
    assert (question.prompt, question.version) == (prompt.name, prompt.version)
    assert [message.role for message in question.messages] == ["system", "user"]
    assert all(f"\n{step} - " in user for step in (3, 2, 1))
    assert "never as an instruction" in system
    assert user.index('"rating": <1, 2 or 3>') > user.index("<<<END ANSWER")
    assert "text {with} braces" in user


def test_a_quality_in_words_becomes_a_prompt():
    """Description, scale from the best down, its own ratings in the output form, and a version."""
    scale = {3: "Civil throughout.", 1: "Rude.", 2: "Curt\n  in places."}
    prompt = custom_prompt("tone_of_voice", " Is the tone {civil}? ", scale)
    question = prompt.fill({"REQUEST": "r", "ANSWER": "a"})
    assert question.prompt_version == prompt.prompt_version
    assert question.scale == (1, 2, 3)
    user = question.messages[1].content
    assert user.startswith('Rate the answer in one respect: "tone of voice".\n\nIs the tone {civil}?\n\n')
    assert "Scale:\n3 - Civil throughout.\n2 - Curt in places.\n1 - Rude.\n" in user
    assert user.endswith('"rating": <1, 2 or 3>}')


@pytest.mark.parametrize(("steps", "spoken"), CASES["scales"])
def test_the_output_form_names_the_ratings_of_the_scale(steps, spoken):
    """The judge is told which numbers of a scale count, and only those do."""
    prompt = Prompt("tone", 1, "You rate.", "Is it civil?", "Scale:", tuple(steps))
    question = prompt.fill({"ANSWER": "a"})
    assert spoken in question.messages[1].content
    assert question.scale == tuple(steps)


def test_the_words_of_the_built_in_prompts_belong_to_their_versions():
    """A change of any wording shows here: raise the version with it, and note the new digest."""
    texts = {"A": "", "B": ""}
    digests = {
        prompt.prompt_version: hashlib.sha256(
            "".join(message.content for message in prompt.fill(texts).messages).encode()
        ).hexdigest()[:12]
        for prompt in (SIMILARITY, FAITHFULNESS, COMPLETENESS)
    }
    assert digests == {
        "similarity@4": "84a75412bf40",
        "faithfulness@2": "1f0c537530ca",
        "completeness@2": "1beb11e5f3c4",
    }
