"""The audit log, on every backend."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from evenkeel.stores.audit_log import Action, ActionLog, is_name

ACTION = Action(1000.125, "zoë", "token", "golden_approved", "a/1 \ud83d", "version 2")


@pytest.fixture
def reopen(backend):
    """Opens the log, as often as asked for."""
    return lambda **options: ActionLog(backend.documents(backend.opened()), **options)


def test_what_was_done_is_read_back_newest_first(reopen):
    """By whoever opens the log next, as it was recorded."""
    log = reopen()
    assert log.latest(10) == []
    other = replace(ACTION, by="bob", known_by="typed", what="golden_retired")
    for action in (ACTION, other, ACTION):
        log.record(action)
    assert reopen().latest(10) == [ACTION, other, ACTION]
    assert log.latest(1) == [ACTION]


def test_a_text_without_end_is_cut(reopen):
    """400 characters of each are kept."""
    log = reopen()
    log.record(replace(ACTION, subject="x" * 10_000))
    (found,) = log.latest(1)
    assert found.subject == "x" * 400


def test_what_a_later_version_has_recorded_can_be_read():
    """Fields that this one does not know are left aside."""
    assert Action.from_json(json.dumps({**asdict(ACTION), "address": "192.0.2.7"})) == ACTION


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("ann", True),
        ("Zoë Müller-Lüdenscheidt", True),
        ("山田 太郎", True),
        ("x" * 200, True),
        ("x" * 201, False),
        ("", False),
        (" ann", False),
        ("ann\n", False),
        ("an\u202en", False),
        ("an\x00n", False),
        ("\ud83d", False),
    ],
)
def test_a_name_is_what_can_be_seen(text, fits):
    """No controls, no change of the writing direction, no half characters, no blank at an end."""
    assert is_name(text) == fits
