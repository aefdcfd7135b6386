"""Labels and audits in the fold: what corrects an alert and the figures of a cell, and what does not."""

from __future__ import annotations

import random

import pytest

from evenkeel.core.verdict import BASELINE, DECIDED_BY, HEURISTIC_RATING, drawn_for_label
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.labels import Said, label_of
from evenkeel.stores.verdict_log import LoggedLabel, LoggedVerdict
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

SETTINGS = MonitorSettings(mean_trials_between_false_alarms=200)
KIND = "general.spelling"


def exchanges(count, *, error, audit=0.0, label=0.0, seed="errors"):
    """Resends that are equal, variants that a judge rates and calls shifted with this probability."""
    choice = random.Random(seed)
    for number in range(count):
        equal = altered(
            VERDICT,
            id=f"c{number}",
            exchange_id=f"e{number}",
            perturbation=BASELINE,
            scorer="judge",
            rating=3,
            quality=(),
            details={DECIDED_BY: 0.0},
            audit_share=audit,
            control_rating=None,
        )
        if choice.random() < audit:
            rating = 2 if choice.random() < error else 3
            equal = altered(equal, rating=rating, details={DECIDED_BY: 2.0, HEURISTIC_RATING: 3.0})
        yield equal
        yield altered(
            equal,
            id=f"v{number}",
            perturbation=KIND,
            rating=2 if choice.random() < error else 3,
            details={DECIDED_BY: 2.0},
            control_rating=equal.rating,
            control_proven=3,
            audit_share=0.0,
            label_share=label,
        )


def fold(verdicts, *, say=None, state=None):
    """The state, and the alerts that were raised; `say` is what a person says of each drawn verdict."""
    state = state or MonitorState(SETTINGS)
    raised = 0
    for verdict in verdicts:
        events = state.apply(LoggedVerdict(state.offset + 1, verdict)).events
        raised += sum(event.kind == "raised" and event.what != "drift" for event in events)
        if say and verdict.drawn:
            label = label_of(verdict, Said("ann", rating=say, drawn=True), at=verdict.scored_at)
            state.apply(LoggedLabel(state.offset + 1, label))
    return state, raised


def report(state, perturbation=KIND):
    (found,) = (one for one in state.reports() if one.key.perturbation == perturbation)
    return found


def test_what_is_drawn_follows_from_the_id():
    """Of ten thousand ids one in fifty, the same ones for a larger share."""
    drawn = {number for number in range(10_000) if drawn_for_label(f"v{number}", 0.02)}
    assert 150 < len(drawn) < 250
    assert drawn <= {number for number in range(10_000) if drawn_for_label(f"v{number}", 0.1)}
    assert not any(drawn_for_label(f"v{number}", 0.0) for number in range(100))


def test_a_judge_that_errs_raises_an_alarm_only_where_nothing_corrects_it():
    """Equal resends skip it, so every fourth variant shifts and no resend does; audits take that away."""
    _, plain = fold(exchanges(600, error=0.25))
    _, audited = fold(exchanges(600, error=0.25, audit=0.5))
    assert (plain, audited) == (1, 0)


def test_a_change_is_found_though_labels_were_given_while_nothing_moved():
    """Labels call the shifts wrong; once more than half of the variants shift, there is an alert."""
    quiet, raised = fold(exchanges(800, error=0.15, audit=0.1, label=0.3), say=3)
    assert raised == 0
    broken = [
        altered(one, id=f"b{one.id}", label_share=0.0) for one in exchanges(150, error=0.0, seed="broken")
    ]
    choice = random.Random("moved")
    broken = [
        altered(one, rating=2) if one.perturbation == KIND and choice.random() < 0.6 else one
        for one in broken
    ]
    assert fold(broken, state=quiet)[1] == 1


def test_audits_correct_the_points_above_noise():
    """A fifth of the variants shift, as would a fifth of the resends: nothing is left, and 0 is held."""
    before = report(fold(exchanges(800, error=0.2))[0])
    after = report(fold(exchanges(800, error=0.2, audit=0.3))[0])
    assert before.estimates.excess.lower > 0.1
    assert abs(after.estimates.excess.value) < 0.05
    assert after.estimates.excess.lower < 0 < after.estimates.excess.upper
    assert after.correction.labels == 0, "no person has said anything"


def test_labels_correct_levels_and_differences():
    """People call everything the same that the judge calls shifted: the level falls to nearly nothing."""
    state, _ = fold(exchanges(800, error=0.2, label=0.3), say=3)
    found = report(state)
    assert found.correction.labels > 200
    assert found.estimates.content_delta.value < 0.04
    assert found.estimates.content_delta.lower == 0
    assert found.estimates.excess.value < 0.04
    assert found.correction.said_shifted == pytest.approx(0.2, abs=0.03)
    assert found.correction.truly_shifted.lower <= 0.001
    assert found.correction.truly_shifted.upper < 0.1


@pytest.mark.parametrize(
    "said",
    [
        {"drawn": False},
        {"label_share": 0.0},
        {"rating": None},
    ],
)
def test_labels_that_chance_did_not_draw_correct_nothing(said):
    """Chosen verdicts look wrong more often than others; a label without a rating says nothing of content."""
    plain, _ = fold(exchanges(200, error=0.2, label=1.0))
    state, _ = fold(exchanges(200, error=0.2, label=1.0))
    for one in list(exchanges(200, error=0.2, label=1.0))[1::2]:
        label = label_of(one, Said("ann", rating=3, quality="equal", drawn=True), at=1.0)
        state.apply(LoggedLabel(state.offset + 1, altered(label, **said)))
    assert [one.estimates.excess for one in state.reports()] == [
        one.estimates.excess for one in plain.reports()
    ]


def test_what_a_person_takes_back_or_says_anew_replaces_what_they_said():
    """A correction and a withdrawal leave the state as if the last thing had been said alone."""
    verdicts = list(exchanges(60, error=0.5, label=1.0))

    def state_after(*labels):
        state, _ = fold(verdicts)
        for label in labels:
            state.apply(LoggedLabel(state.offset + 1, label))
        return state._corrections.to_json()[0][2]["truth"]

    one = label_of(verdicts[1], Said("ann", rating=1, drawn=True), at=1.0)
    other = altered(one, rating=3, version=2)
    gone = altered(one, version=3, withdrawn_at=2.0)
    alone = state_after(other)
    assert state_after(one, other) == {**alone, "labels": state_after(one, other)["labels"]}
    assert [numbers[3] for numbers in alone["labels"].values()] == [1]
    assert sum(numbers[3] for numbers in state_after(one, other, gone)["labels"].values()) == 0
    split = label_of(verdicts[1], Said("bob", rating=3, drawn=True), at=1.0)
    assert sum(numbers[3] for numbers in state_after(one, split)["labels"].values()) == 0
