"""The rules by which a cause is named."""

from __future__ import annotations

from itertools import combinations

import pytest

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes import Cause, kinds, likely_cause
from tests.kit.records import altered


def marks(*names, trait="language"):
    return [ChangeMark(name, f"{trait}: a 80%", f"{trait}: a 20%", 1.0, 1) for name in names]


@pytest.mark.parametrize(
    ("noticed", "goldens", "cause"),
    [
        ([kinds.PROMPT], None, Cause.PROMPT),
        ([kinds.PROMPT, kinds.ANSWERS, kinds.RATINGS], True, Cause.PROMPT),
        ([kinds.MODEL], None, Cause.MODEL),
        ([kinds.PARAMETERS], None, Cause.PARAMETERS),
        ([kinds.PARAMETERS, kinds.ANSWERS, kinds.RATINGS], None, Cause.PARAMETERS),
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
        ([kinds.REFERENCES], None, Cause.PROVIDER),
        ([kinds.REFERENCES, kinds.MODEL], None, Cause.MODEL),
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
        ([kinds.PARAMETERS], True, {Cause.PARAMETERS, Cause.PROVIDER}),
        ([kinds.JUDGE_DRIFT], True, {Cause.JUDGE, Cause.PROVIDER}),
        ([kinds.REFERENCES, kinds.PROMPT], None, {Cause.PROMPT, Cause.PROVIDER}),
        ([kinds.REFERENCES, kinds.TRAFFIC], None, {Cause.TRAFFIC, Cause.PROVIDER}),
    ],
)
def test_two_that_speak_for_themselves_are_unclear(noticed, goldens, among):
    """Both are named; goldens are the same questions, so other traffic does not move them."""
    verdict = likely_cause(marks(*noticed), goldens_moved=goldens)
    assert verdict.cause is Cause.UNCLEAR
    assert {one.cause for one in verdict.candidates} == among


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
                assert (verdict.cause is Cause.NOTHING) == (not verdict.candidates)
                strong = [one for one in verdict.candidates if not one.weaker]
                assert (verdict.cause is Cause.UNCLEAR) == (len(strong) > 1)
                for kind in noticed:
                    said = kinds.NAMES[kind].lower()
                    assert any(said in line.lower() for line in verdict.evidence)


def test_answers_that_moved_clearly_later_are_their_own_candidate():
    """A prompt edited 200 exchanges before does not explain them; one edited 20 exchanges before does."""
    prompt = ChangeMark(kinds.PROMPT, "v1", "v2", 1.0, 1)
    answers = ChangeMark(kinds.ANSWERS, "length: above 9 in 40%", "length: above 9 in 80%", 2.0, 9)
    later = [prompt, altered(answers, since=300, run=100)]
    verdict = likely_cause(later, goldens_moved=None)
    assert verdict.cause is Cause.UNCLEAR
    assert [one.cause for one in verdict.candidates] == [Cause.PROVIDER, Cause.PROMPT], "by distance in time"
    first, second = verdict.candidates
    assert first.why.startswith(
        "nothing else that changed explains it, so the provider may have changed the model silently: Answers:"
    )
    assert second.why == "Prompt version: “v1” → “v2”, 200 exchanges before the answers moved."
    soon = likely_cause([prompt, altered(answers, since=120, run=100)], goldens_moved=None)
    assert [one.cause for one in soon.candidates] == [Cause.PROMPT]
    assert "(explained by: prompt version)" in soon.evidence[1]


def test_several_that_fit_are_ranked_by_time_then_by_size():
    """What is nearest to where the answers moved comes first, then what moved more."""
    answers = ChangeMark(kinds.ANSWERS, "x: 40%", "x: 80%", 2.0, 9, since=100, run=60)
    model = ChangeMark(kinds.MODEL, "a", "b", 1.0, 1)
    asked = ChangeMark(kinds.PARAMETERS, "temperature 0.2", "temperature 0.9", 1.5, 3, since=40)
    mix = ChangeMark(kinds.TRAFFIC, "language: de in 40%", "language: de in 60%", 1.5, 3, since=70, run=70)
    verdict = likely_cause([model, asked, mix, answers], goldens_moved=None)
    assert [one.cause for one in verdict.candidates] == [Cause.PARAMETERS, Cause.MODEL, Cause.TRAFFIC]
    assert verdict.candidates[0].why == (
        "Request parameters: “temperature 0.2” → “temperature 0.9”, when the answers moved."
    )


def test_what_it_was_not_is_said():
    """Values that stayed, and goldens that are answered as before."""
    verdict = likely_cause(marks(kinds.PROMPT), goldens_moved=False)
    values, goldens = verdict.ruled_out
    assert values == (
        "No change was noticed of returned model, requested model, system fingerprint, request parameters, "
        "settings and the judge's name or wording."
    )
    assert goldens == "The goldens are answered as before."
