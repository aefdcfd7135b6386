"""The rules by which a cause is named."""

from __future__ import annotations

from itertools import combinations

import pytest

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes import Cause, kinds, likely_cause


def marks(*names, trait="language"):
    return [ChangeMark(name, f"{trait}: a 80%", f"{trait}: a 20%", 1.0, 1) for name in names]


@pytest.mark.parametrize(
    ("noticed", "goldens", "cause"),
    [
        ([kinds.PROMPT], None, Cause.PROMPT),
        ([kinds.PROMPT, kinds.ANSWERS, kinds.RATINGS], True, Cause.PROMPT),
        ([kinds.MODEL], None, Cause.MODEL),
        ([kinds.REQUESTED_MODEL, kinds.MODEL, kinds.FINGERPRINT], True, Cause.MODEL),
        ([kinds.MODEL, kinds.JUDGE_DRIFT], None, Cause.MODEL),
        ([kinds.ANSWERS], None, Cause.PROVIDER),
        ([kinds.FINGERPRINT, kinds.ANSWERS], None, Cause.PROVIDER),
        ([kinds.FINGERPRINT], True, Cause.PROVIDER),
        ([kinds.GOLDENS], True, Cause.PROVIDER),
        ([kinds.ANSWERS, kinds.JUDGE_DRIFT], None, Cause.PROVIDER),
        ([kinds.TRAFFIC], None, Cause.TRAFFIC),
        ([kinds.TRAFFIC, kinds.ANSWERS, kinds.RATINGS], None, Cause.TRAFFIC),
        ([kinds.JUDGE_DRIFT], None, Cause.JUDGE),
        ([kinds.JUDGE_DRIFT, kinds.RATINGS], None, Cause.JUDGE),
        ([kinds.JUDGE], False, Cause.JUDGE),
        ([kinds.SETTINGS, kinds.JUDGE, kinds.RATINGS], None, Cause.SETTINGS),
        ([kinds.FINGERPRINT], False, Cause.NOTHING),
        ([kinds.FINGERPRINT], None, Cause.NOTHING),
        ([kinds.RATINGS], False, Cause.NOTHING),
    ],
)
def test_the_table_of_the_docs(noticed, goldens, cause):
    """Each row: what was noticed, whether the goldens moved, and the cause."""
    assert likely_cause(marks(*noticed), goldens_moved=goldens).cause is cause


@pytest.mark.parametrize(
    ("noticed", "goldens", "among"),
    [
        ([kinds.PROMPT, kinds.MODEL], None, {Cause.PROMPT, Cause.MODEL}),
        ([kinds.MODEL, kinds.TRAFFIC], None, {Cause.MODEL, Cause.TRAFFIC}),
        ([kinds.TRAFFIC], True, {Cause.TRAFFIC, Cause.PROVIDER}),
        ([kinds.JUDGE_DRIFT], True, {Cause.JUDGE, Cause.PROVIDER}),
    ],
)
def test_two_that_speak_for_themselves_are_unclear(noticed, goldens, among):
    """Both are named; goldens are the same questions, so other traffic does not move them."""
    verdict = likely_cause(marks(*noticed), goldens_moved=goldens)
    assert verdict.cause is Cause.UNCLEAR
    assert set(verdict.among) == among


def test_a_judge_that_drifts_moves_goldens_that_it_rates():
    """Goldens that moved by a judge's ratings alone do not speak against the judge."""
    noticed = marks(kinds.JUDGE_DRIFT)
    assert likely_cause(noticed, goldens_moved=True, goldens_judged=True).cause is Cause.JUDGE


def test_an_edited_prompt_explains_longer_prompts_but_not_other_languages():
    """Length and template share follow from the edit; a language does not."""
    longer = marks(kinds.PROMPT) + marks(kinds.TRAFFIC, trait="length")
    other = marks(kinds.PROMPT) + marks(kinds.TRAFFIC, trait="language")
    assert likely_cause(longer, goldens_moved=None).cause is Cause.PROMPT
    assert likely_cause(other, goldens_moved=None).cause is Cause.UNCLEAR


def test_every_combination_has_a_cause_and_says_what_was_noticed():
    """For all pairs and triples of kinds: one sentence a kind, and a cause that follows from those left."""
    for size in (1, 2, 3):
        for noticed in combinations(kinds.KINDS, size):
            for goldens in (True, False, None):
                verdict = likely_cause(marks(*noticed), goldens_moved=goldens)
                assert (verdict.cause is Cause.NOTHING) == (not verdict.among)
                assert (verdict.cause is Cause.UNCLEAR) == (len(verdict.among) > 1)
                for kind in noticed:
                    said = kinds.NAMES[kind].lower()
                    assert any(said in line.lower() for line in verdict.evidence)
