"""Notices: one sentence that says what happened, where, when and after what; then figures and advice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.incidents import incidents_of
from evenkeel.monitor.notify import Contact, Writer
from tests.monitor.notify.scene import FOUND, SPELLING, TONE, WORSE, decided, over

CONTACT = Contact("@support-ml", "https://wiki.example/support", "helm rollback support")


def written(*events, phase="opened"):
    """The notice about the incident of these events."""
    (incident,) = incidents_of(events)
    return Writer({"support": CONTACT}, "https://keel.example/").notice(incident, phase, 1)


def test_the_first_message_says_it_all():
    """Route, effect, time, cause; points above noise; owner and rollback; a link."""
    notice = written(SPELLING, TONE, FOUND)
    assert notice.headline == (
        "support: answers became fragile at 1 Jan 1970 00:15 UTC, after helpdesk-1 → helpdesk-2."
    )
    assert notice.facts == (
        "42 points above noise (limit 10), 2 of 2 rewordings.",
        "Reference prompts: 30% different, 2% before.",
    )
    assert notice.advice == (
        "Owner: @support-ml",
        "Roll back: helm rollback support",
        "Runbook: https://wiki.example/support",
    )
    assert notice.url == "https://keel.example/incidents/cafe"
    assert notice.text.endswith(notice.url)


def test_the_gravest_effect_is_the_headline():
    """Worse before fragile."""
    assert "answers got worse" in written(SPELLING, WORSE).headline


def test_the_last_message_says_how_long_it_took_and_why_it_is_over():
    """Without a call to roll back what is rolled back."""
    notice = written(SPELLING, over(SPELLING), phase="resolved")
    assert notice.headline == (
        "support: over after 16 min, the change was reversed (helpdesk-1 → helpdesk-2)."
    )
    assert notice.advice == ("Owner: @support-ml",)


def test_a_decision_is_quoted():
    """By whom, and what was noted."""
    notice = written(SPELLING, decided("closed", 1600.0, "accepted"), phase="resolved")
    assert "accepted as the new baseline" in notice.headline
    assert notice.facts == ("It was opened at 1 Jan 1970 00:16 UTC, closed by ana.", "Known.")


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        ((ChangeMark("prompt_version", "v1", "v2", 1.0, 1),), ", after prompt version v1 → v2."),
        ((ChangeMark("system_fingerprint", "a", "b", 1.0, 1),), ", after system fingerprint a → b."),
        ((ChangeMark("answers", "length", "length", 1.0, 1),), "UTC."),
        ((), "UTC."),
    ],
)
def test_the_change_is_said_if_it_stands_in_the_traffic(marks, said):
    """Not what only shows that answers moved."""
    assert written(replace(SPELLING, marks=marks)).headline.endswith(said)


def test_a_name_is_said_once():
    """Requested and returned model changed together."""
    marks = tuple(ChangeMark(kind, "a", "b", 1.0, 1) for kind in ("requested_model", "model"))
    assert written(replace(SPELLING, marks=marks)).headline.count("a → b") == 1
