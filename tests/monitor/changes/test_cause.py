"""The rules by which causes are named: experiments first, then time, and never a wrong one alone."""

from dataclasses import replace
from itertools import combinations

import pytest

from evenkeel.core.cells import ChangeMark
from evenkeel.core.panel import FEWEST, YARDSTICK, PairRated, PanelRated
from evenkeel.monitor.changes import Cause, RouteWatch, kinds
from evenkeel.monitor.changes.causes import Experiments, likely_cause
from evenkeel.monitor.changes.onset import Onset
from tests.kit.records import altered

THEN = Onset(1.0, 1.0)
"""Answers began to move with the marks of these tests."""
QUIET = Experiments(references="same", panel="same", judged=True)
"""Reference prompts and the judge's panel were asked again and are as before."""

MOVED = replace(QUIET, references="moved")


def marks(*names):
    return [ChangeMark(name, "a", "b", 1.0, 1) for name in names]


@pytest.mark.parametrize(
    ("noticed", "experiments", "cause"),
    [
        ([kinds.PROMPT, kinds.RATINGS], QUIET, Cause.PROMPT),
        ([kinds.PARAMETERS, kinds.RATINGS], QUIET, Cause.PARAMETERS),
        ([kinds.MODEL, kinds.RATINGS], QUIET, Cause.MODEL),
        ([kinds.RATINGS], QUIET, Cause.TRAFFIC),
        ([kinds.SETTINGS, kinds.RATINGS], QUIET, Cause.SETTINGS),
        ([kinds.JUDGE, kinds.RATINGS], QUIET, Cause.JUDGE),
        ([kinds.JUDGE_PANEL, kinds.RATINGS], Experiments(judged=True), Cause.JUDGE),
        ([kinds.REFERENCES], MOVED, Cause.PROVIDER),
        ([kinds.REFERENCES, kinds.RATINGS], MOVED, Cause.PROVIDER),
        ([kinds.REFERENCES, kinds.MODEL], MOVED, Cause.MODEL),
        ([kinds.FINGERPRINT], Experiments(goldens="moved"), Cause.PROVIDER),
        ([kinds.JUDGE_PANEL], Experiments(goldens="moved", goldens_judged=True), Cause.JUDGE),
        ([kinds.FINGERPRINT], Experiments(), Cause.NOTHING),
        ([kinds.PROMPT], Experiments(), Cause.PROMPT),
        ([kinds.MODEL], Experiments(goldens="moved"), Cause.MODEL),
    ],
)
def test_one_cause_is_left(noticed, experiments, cause):
    """An experiment shows it, or it changed then and experiments rule out everything else."""
    assert likely_cause(marks(*noticed), experiments, onset=THEN).cause is cause


@pytest.mark.parametrize(
    ("noticed", "experiments", "among"),
    [
        ([kinds.RATINGS], Experiments(judged=True), [Cause.PROVIDER, Cause.JUDGE, Cause.TRAFFIC]),
        ([kinds.RATINGS], Experiments(), [Cause.PROVIDER, Cause.TRAFFIC]),
        ([kinds.RATINGS], Experiments(panel="same", judged=True), [Cause.PROVIDER, Cause.TRAFFIC]),
        ([kinds.PROMPT, kinds.RATINGS], Experiments(), [Cause.PROMPT, Cause.PROVIDER]),
        ([kinds.PROMPT, kinds.RATINGS], replace(QUIET, panel="due"), [Cause.PROMPT, Cause.JUDGE]),
        ([kinds.PROMPT], Experiments(goldens="moved"), [Cause.PROMPT, Cause.PROVIDER]),
        ([kinds.PROMPT, kinds.REFERENCES, kinds.RATINGS], MOVED, [Cause.PROVIDER, Cause.PROMPT]),
        ([kinds.JUDGE_PANEL, kinds.REFERENCES, kinds.RATINGS], MOVED, [Cause.PROVIDER, Cause.JUDGE]),
        ([kinds.PROMPT, kinds.MODEL], QUIET, [Cause.PROMPT, Cause.MODEL]),
    ],
)
def test_several_that_are_left_cannot_be_told_apart(noticed, experiments, among):
    """All are named, what an experiment shows first and what is only possible last."""
    found = likely_cause(marks(*noticed), experiments, onset=THEN)
    assert found.cause is Cause.UNCLEAR
    assert [candidate.cause for candidate in found.candidates] == among


@pytest.mark.parametrize("onset", [None, Onset(2.0, 3.0)])
@pytest.mark.parametrize("noticed", [kinds.MODEL, kinds.PROMPT, kinds.PARAMETERS])
def test_what_changed_at_another_moment_leaves_silent_causes_possible(noticed, onset):
    """Without experiments all of them; with them harder questions of the same kind."""
    found = likely_cause(marks(noticed), Experiments(judged=True), differs=True, onset=onset)
    assert [candidate.cause for candidate in found.candidates[1:]] == [
        Cause.PROVIDER,
        Cause.JUDGE,
        Cause.TRAFFIC,
    ]
    found = likely_cause(marks(noticed), QUIET, differs=True, onset=onset)
    assert [candidate.cause for candidate in found.candidates[1:]] == [Cause.TRAFFIC]


def test_a_panel_that_is_due_leaves_the_judge_possible():
    """Until a round is as before; a route without a panel could never tell."""
    said = []
    for has_panel in (False, True):
        watch = RouteWatch("chat", judge="j", has_panel=has_panel)
        watch.mark(*marks(kinds.PROMPT))
        said.append(watch.records()[0].panel)
        as_before = PairRated((3,) * YARDSTICK, 3)
        watch.note_panel(PanelRated("p", 2.0, "chat", "j", 0.0, (as_before,) * FEWEST), 2)
        said.append(watch.records()[0].panel)
    assert said == ["", "same", "due", "same"]


def test_only_the_panel_and_another_judge_ever_say_judge():
    others = [kind for kind in kinds.NAMES if kind not in {kinds.JUDGE, kinds.JUDGE_PANEL}]
    for noticed in combinations(others, 3):
        found = likely_cause(marks(*noticed), Experiments(judged=True), differs=True)
        assert all(
            candidate.cause is not Cause.JUDGE or candidate.strength == "possible"
            for candidate in found.candidates
        )


def test_an_edited_prompt_explains_longer_prompts_but_not_other_languages():
    """Length and template share follow from the edit; a language does not."""
    edited = marks(kinds.PROMPT)
    assert likely_cause(edited, QUIET, traffic={"length": "longer"}).cause is Cause.PROMPT
    assert likely_cause(edited, QUIET, traffic={"language": "German"}).cause is Cause.UNCLEAR


def test_other_traffic_is_named_beside_what_an_experiment_shows():
    """Alone it is the cause; goldens that are answered differently come first."""
    german = {"language": "language de in 5% → 80% of the exchanges"}
    (candidate,) = likely_cause(marks(kinds.RATINGS), QUIET, traffic=german).candidates
    assert (candidate.cause, candidate.strength) == (Cause.TRAFFIC, "changed")
    assert candidate.why == "Traffic since: language de in 5% → 80% of the exchanges."
    both = likely_cause(marks(kinds.RATINGS), Experiments(goldens="moved"), traffic=german)
    assert [candidate.cause for candidate in both.candidates] == [Cause.PROVIDER, Cause.TRAFFIC]


def test_what_changed_outside_the_interval_of_the_fall_is_not_named():
    """An edit an hour before answers can have begun to move is no candidate; one within the interval is."""
    fall = ChangeMark(kinds.RATINGS, "shifted in 10%", "shifted in 40%", 9_000.0, 9, began=6_000.0)
    early = ChangeMark(kinds.PROMPT, "v1", "v2", 2_400.0, 1)
    assert [candidate.cause for candidate in likely_cause([early, fall], QUIET).candidates] == [Cause.TRAFFIC]
    within, onset = altered(early, at=6_060.0), Onset(6_000.0, 6_120.0)
    assert likely_cause([within, fall], QUIET, onset=onset).cause is Cause.PROMPT
    found = likely_cause([fall], QUIET, beside=[within], onset=onset)
    assert found.cause is Cause.PROMPT, "noticed as another change"
    assert likely_cause([fall], QUIET, beside=[early]).cause is Cause.TRAFFIC


def test_what_it_was_not_is_said():
    """Values that stayed, and what was asked and rated again."""
    said = likely_cause(marks(kinds.PROMPT, kinds.RATINGS), QUIET).ruled_out
    assert said[0] == (
        "Unchanged: returned model, requested model, system fingerprint, request parameters, "
        "settings and the judge's name or wording."
    )
    assert "reference prompts, asked again since, are answered as before" in said[1]
    assert "it rates its panel, asked again since, as before" in said[2]
