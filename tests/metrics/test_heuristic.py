"""The heuristic rating: how near two answers are, and which cannot be compared."""

from __future__ import annotations

import pytest

from evenkeel.core.pair import Answer, AnswerForm, Pair, ToolCall
from evenkeel.core.verdict import Failure
from evenkeel.metrics.heuristic import measure
from evenkeel.metrics.tool_calls import ToolCalls

REFERENCE = (
    "The VPN client on host BER-12 stopped connecting at 09:40 after update 4.2.1. Support rolled the "
    "update back, and 35 users could work again by noon."
)
Outcome = int | Failure | None


def rate(reference, candidate, tell):
    sides = [Answer(side) if isinstance(side, str) else side for side in (reference, candidate)]
    return measure(Pair(*sides, context=""), tell).outcome


def call(name, arguments, text=""):
    return Answer(text, (ToolCall(name, arguments),))


def test_tool_call_score_of_a_hand_worked_pair():
    """Names and two arguments each, one argument differs: 2 * 2 / 6."""
    pair = Pair(call("f", '{"a": 1, "b": "x"}'), call("f", '{"a": 1, "b": "y"}'), "")
    assert ToolCalls().score(pair) == pytest.approx(4 / 6)


GERMAN = (
    "Der VPN-Client auf BER-12 verbindet sich seit dem Update nicht mehr; die Kollegen haben es entfernt."
)


def known_language(text):
    return "de" if " sich " in text else "en" if " the " in text.lower() else None


@pytest.mark.parametrize(
    ("reference", "candidate", "wanted", "expected"),
    [
        (REFERENCE, GERMAN, "de", "cross_language"),
        (REFERENCE, GERMAN, None, "cross_language"),
        (GERMAN, GERMAN + " Danke.", "de", None),
        ("Yes, restarted.", "Ja, neu gestartet.", "de", "cross_language"),
        ("Yes, restarted.", "Printer jam upstairs.", None, None),
        ("42 %", "43 %", "de", None),
    ],
)
def test_two_languages_get_no_rating(reference, candidate, wanted, expected):
    """Texts in two languages, or that may be: a failure; numbers alone and an ignored wish are comparable."""
    pair = Pair(Answer(reference), Answer(candidate), "", None, AnswerForm(language=wanted))
    outcome = measure(pair, known_language).outcome
    assert (outcome.reason if isinstance(outcome, Failure) else outcome) == expected


def test_a_language_that_is_mistaken_for_another_does_not_cost_the_comparison():
    """Answers that share their words are in one language, whatever the identifier says of one of them."""
    assert rate(REFERENCE, REFERENCE + " Indeed!", lambda text: "nl" if text.endswith("!") else "en") is None
