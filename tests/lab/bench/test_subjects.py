"""The simulation answers the benchmark's own issues."""

import json
import random

import pytest

from evenkeel.lab.bench.items import builtin_items
from evenkeel.lab.bench.prompts import TASKS, prompt_of
from evenkeel.lab.bench.subjects import IssueSubjects
from evenkeel.metrics.tasks import Task
from evenkeel.shadow.perturbations import NotApplicable
from evenkeel.shadow.perturbations.format import FORMATS
from evenkeel.simulate import Condition, PromptMessage
from evenkeel.simulate.model import read, say
from evenkeel.simulate.rewriter import blocks

ITEMS = builtin_items()
SUBJECTS = IssueSubjects(ITEMS)


def answer(text, condition=Condition.GOOD):
    return say(read([PromptMessage("user", text)], subjects=SUBJECTS), condition)


def test_every_issue_is_known_by_each_of_its_prompts():
    """Slots are filled as expected; a worse answer fills fewer of them."""
    for item in ITEMS:
        assert "resolution" in json.loads(answer(prompt_of(item, Task.CASE_SUMMARY).text))
        assert "outcome" in json.loads(answer(prompt_of(item, Task.CHAT_SUMMARY).text))
        assert "sources" in json.loads(answer(prompt_of(item, Task.QUESTION_ANSWERING).text))
        slots = prompt_of(item, Task.SLOT_FILLING).text
        assert json.loads(answer(slots)) == item.entities
        assert len(json.loads(answer(slots, Condition.WORSE))) < len(item.entities)


@pytest.mark.parametrize("task", TASKS)
def test_any_other_format_can_be_asked_of_every_task(task):
    """Also where the schema of what is to be filled stands beside the words on output."""
    outcomes = {form.name: form.apply(prompt_of(ITEMS[0], task), 0.5, random.Random(0)) for form in FORMATS}
    assert outcomes.pop("format.json").reason == "already_wanted"
    assert not any(isinstance(outcome, NotApplicable) for outcome in outcomes.values())


def test_the_simulated_rewriter_lists_the_blocks_of_a_template():
    """Paragraphs are blocks that cover every line once; what holds a value is context, the form is output."""
    lines = "1| Read the case.\n2| \n3| Case:\n4| {typed 1}\n5| \n6| Respond with JSON."
    found = json.loads(blocks(lines))["blocks"]
    assert [(block["first"], block["last"], block["part"]) for block in found] == [
        (1, 2, "other"), (3, 5, "context"), (6, 6, "output"),
    ]  # fmt: skip
