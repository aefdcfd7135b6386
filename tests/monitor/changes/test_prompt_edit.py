"""Which words of a prompt changed between two versions."""

import pytest

from evenkeel.core.cells import ChangeMark
from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Evidence
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.prompt_edit import WordChange, edits_of, word_changes
from tests.stores.examples import verdict

EDIT = ChangeMark(kinds.PROMPT, "v1", "v2", 9.0, 9)


@pytest.fixture
def log(on_sqlite):
    return on_sqlite.verdicts()


def asked(log, numbers, version, instruction):
    for number in numbers:
        prompt = f"system: {instruction}\n\nuser: Question {number}?"
        evidence = Evidence(prompt, "v", Answer("a"), Answer("b"))
        log.append(verdict(number, route="shop", prompt_version=version), evidence)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("Answer briefly now.", "Answer in French now.", ["“briefly” → “in French”"]),
        ("Answer now.", "Answer briefly now.", ["added “briefly”"]),
        ("Answer briefly now.", "Answer now.", ["removed “briefly”"]),
        ("Answer now.", "Answer now.", []),
    ],
)
def test_words_are_told_apart(before, after, said):
    assert [edit.said for edit in word_changes([before], [after])] == said


def test_what_users_say_is_no_edit(log):
    asked(log, range(5), "v1", "Be kind.")
    asked(log, range(10, 15), "v2", "Be very kind.")
    assert edits_of(log, "shop", [EDIT]) == (WordChange("", "very"),)
    assert edits_of(log, "forms", [EDIT]) == ()


def test_without_two_prompts_of_each_version_nothing_is_said(log):
    asked(log, range(5), "v1", "Be kind.")
    asked(log, [10], "v2", "Be very kind.")
    assert edits_of(log, "shop", [EDIT]) == ()
    assert edits_of(log, "shop", [ChangeMark(kinds.MODEL, "v1", "v2", 9.0, 9)]) == ()
    assert edits_of(None, "shop", [EDIT]) == ()
