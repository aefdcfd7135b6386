"""The audit log, on every backend."""

from dataclasses import replace

import pytest

from evenkeel.stores.audit_log import Action, ActionLog, is_name

ACTION = Action(1000.125, "zoë", "token", "golden_approved", "a/1 é", "version 2")


@pytest.fixture
def reopen(backend):
    return lambda **options: ActionLog(backend.documents(backend.opened()), **options)


def test_what_was_done_is_read_back_newest_first(reopen):
    """The next that opens the log reads it, as it was recorded, and once."""
    log = reopen()
    assert log.latest(10) == []
    other = replace(ACTION, by="bob", known_by="typed", what="golden_retired")
    later = replace(ACTION, at=1001.0)
    for action in (ACTION, other, later, later):
        log.record(action)
    assert reopen().latest(10) == [later, other, ACTION]
    assert log.latest(1) == [later]


def test_a_text_without_end_is_cut(reopen):
    log = reopen()
    log.record(replace(ACTION, subject="x" * 10_000))
    (found,) = log.latest(1)
    assert found.subject == "x" * 400


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
    """Names have no controls, no change of the writing direction, no half characters, no blank at an end."""
    assert is_name(text) == fits
