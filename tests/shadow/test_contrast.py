"""Contrasts: other questions, which must move an answer, and which no figure about rewordings counts."""

import random

import pytest

from evenkeel.release.check.prompts import read_prompts
from evenkeel.shadow.perturbations import NotApplicable, attempt
from evenkeel.shadow.perturbations.contrast import CONTRASTS, question_of
from evenkeel.shadow.perturbations.gate import faults_of
from evenkeel.shadow.perturbations.protocol import RewriteTask
from tests.shadow.pretended_rewriter import asked

NUMBER, MEANING = CONTRASTS


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("We have 12 seats.", "We have 40 seats."),
        ("Call 555-1234 at 10:30 on 2024-05-01.", None),
        ("Version 2.10 costs $30.", None),
        ("Which came first?\n1. INFO started pid=3412\n2) WARN pool", None),
    ],
)
def test_a_contrast_by_rule_changes_a_number_that_stands_alone(text, changed):
    """Parts of dates, times, versions, amounts, options and lists are left alone."""
    made = attempt(NUMBER, asked(text), 1.0, random.Random(0))
    assert (None if isinstance(made, NotApplicable) else made.input_text) == changed


def test_a_model_is_asked_for_another_question():
    """The draft holds the question as the user typed it, and says what to change."""
    made = attempt(MEANING, asked("Why does it rain?"), 1.0, random.Random(0))
    assert made.tasks[0].text == "Why does it rain?"
    assert made.tasks[0].target in {"name", "opposite", "aspect"}
    assert made.finish(["Why does it snow?"]).input_text == "Why does it snow?"


def test_the_gate_lets_another_number_through():
    """A contrast may change what a rewording must keep."""
    task = RewriteTask("contrast", "Is 17 a prime number, and how do I prove it?", "name")
    assert faults_of(task, "Is 91 a prime number, and how do I prove it?") == ()


def test_the_question_is_the_last_typed_text_of_some_words():
    """A value behind it, as templates have them, is not the question; a short one alone is."""
    row = {"question": "Which plan fits a team?", "date": "Friday"}
    (view,) = read_prompts("{{question}} Answer by {{date}}.", [row], "t")
    assert question_of(view).text == "Which plan fits a team?"
    assert question_of(asked("12")).text == "12"
