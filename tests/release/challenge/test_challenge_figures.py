"""Figures of a challenger, and the decision whether it may take over."""

import random
from dataclasses import replace

import pytest

from evenkeel.core.challenge import Challenge, ChallengeAnswer, ChallengePair, ChallengeRewording
from evenkeel.core.figures import date
from evenkeel.release.challenge.figures import challenge_figures, net_loss
from evenkeel.release.challenge.words import challenge_json, details, headline

CHALLENGE = Challenge(route="support", model="small")
ANSWER = ChallengeAnswer(characters=100, total_s=1.0, dollars=0.002)
PAIR = ChallengePair(
    challenge=CHALLENGE.id,
    exchange="0",
    time=0.0,
    served=ANSWER,
    again=ANSWER,
    candidate=replace(ANSWER, dollars=0.0005),
    rating=3,
    control_rating=3,
    preference=0,
    control_preference=0,
    rewording=ChallengeRewording(
        perturbation="general.typos",
        incumbent_moved=False,
        incumbent_resend_moved=False,
        candidate_moved=False,
        candidate_resend_moved=False,
    ),
)
WORSE = replace(PAIR, rating=2, preference=-1)
BETTER = replace(PAIR, rating=2, preference=1)
FAILED = replace(PAIR, candidate=ChallengeAnswer(failure="timeout"), rating=None, preference=None)


def figures(*parts, judge=True, labels=None):
    """Return the figures of so many pairs of each kind, in a random order, with or without a judge."""
    pairs = [pair for count, pair in parts for _ in range(count)]
    random.Random(7).shuffle(pairs)
    numbered = [replace(pair, exchange=str(number), judged=judge) for number, pair in enumerate(pairs)]
    return challenge_figures(CHALLENGE, numbered, labels)


@pytest.mark.parametrize(
    ("pair", "loss"),
    [
        (PAIR, 0.0),
        (WORSE, 1.0),
        (BETTER, -1.0),
        (replace(WORSE, control_rating=2, control_preference=-1), 0.0),
        (replace(BETTER, control_rating=2, control_preference=-1), -2.0),
        (FAILED, 1.0),
        (replace(FAILED, again=ChallengeAnswer(failure="timeout"), control_rating=None), 0.0),
        (replace(PAIR, candidate=replace(ANSWER, valid=False)), 1.0),
        (replace(PAIR, served=replace(ANSWER, empty=True)), 0.0),
        (replace(PAIR, rating=2, preference=None), None),
        (replace(PAIR, rating=3, preference=None), 0.0),
    ],
)
def test_a_loss_counts_beyond_what_the_incumbent_loses_to_itself(pair, loss):
    assert net_loss(pair) == loss


def test_pairs_that_nobody_rated_may_be_losses():
    """Answers differ where a judge fails, since it is not asked about equal ones."""
    unrated = replace(PAIR, rating=None, preference=None)
    found = figures((1200, PAIR), (60, unrated))
    assert (found.decision.answer, found.decision.because) == ("not_yet", ("worse",))
    assert found.measures["worse"].value == 0
    assert found.measures["worse"].upper > 2 * 60 / 1260
    before = [replace(unrated, exchange=f"b{number}", judged=False) for number in range(60)]
    later = [replace(PAIR, exchange=f"l{number}", judged=True) for number in range(1200)]
    assert challenge_figures(CHALLENGE, [*before, *later]).decision.answer == "may_switch"
    unmoved = replace(PAIR, rewording=replace(PAIR.rewording, candidate_moved=None))
    assert figures((1200, PAIR), (200, unmoved)).decision.because == ("fragile",)


def test_pairs_that_nobody_rated_may_be_losses_of_their_segment():
    """A judge that fails at every fifth pair of one client: 40 points more than those that it rated."""
    client = replace(PAIR, client="5f1c")
    found = figures((900, PAIR), (80, client), (20, replace(client, rating=None, preference=None)))
    (segment,) = found.segments
    assert (segment.worse.value, segment.worse.n, segment.rest.n) == (0, 80, 900)
    assert segment.worse.lower < -0.4 < 0.4 < segment.worse.upper


OF_A, OF_B = (replace(PAIR, client=client) for client in "ab")
MOVED = replace(PAIR, rewording=replace(PAIR.rewording, candidate_moved=True))
# Its answer moves when it is asked again just as often as when the question is reworded.
NOISY = replace(MOVED, rewording=replace(MOVED.rewording, candidate_resend_moved=True))
# Rewordings move both, and the incumbent's answer moves when it is asked again as well.
STEADIER = replace(
    MOVED, rewording=replace(MOVED.rewording, incumbent_moved=True, incumbent_resend_moved=True)
)


@pytest.mark.parametrize(
    ("parts", "judge", "answer", "because"),
    [
        (((400, PAIR), (100, WORSE), (20, BETTER)), True, "must_not", ("worse",)),
        (((900, PAIR), (200, BETTER)), True, "may_switch", ()),
        (((900, PAIR), (300, MOVED)), True, "must_not", ("fragile",)),
        (((900, PAIR), (300, NOISY)), True, "may_switch", ()),
        (((900, PAIR), (300, STEADIER)), True, "may_switch", ()),
        (((1200, PAIR),), False, "not_yet", ("judge",)),
        (((1200, OF_A), (62, OF_B)), True, "not_yet", ("client b",)),
        ((), True, "not_yet", ("worse", "fragile", "unusable")),
    ],
    ids=["loses", "wins", "fragile", "noisy", "steadier", "no judge", "a small segment", "no pairs"],
)
def test_what_decides(parts, judge, answer, because):
    """Losses, answers that rewordings move more than the incumbent's, and what is not known yet."""
    decision = figures(*parts, judge=judge).decision
    assert (decision.answer, decision.because) == (answer, because)


def test_failed_answers_forbid_it_even_without_a_judge():
    found = figures((400, PAIR), (80, FAILED), judge=False)
    assert found.decision.answer == "must_not"
    assert "unusable" in found.decision.because
    assert challenge_json(CHALLENGE, found)["candidate"]["failures"] == {"timeout": 80}
    assert found.candidate_side.dollars == pytest.approx(0.0005)


def test_one_segment_that_loses_forbids_it_and_the_rest_may():
    """Better on average, and worse for the tenth that writes German."""
    german = replace(WORSE, language="de")
    found = figures(
        (5400, replace(PAIR, language="en")), (900, replace(BETTER, language="en")), (700, german)
    )
    assert found.measures["worse"].value < 0
    assert (found.decision.answer, found.decision.because) == ("must_not", ("language de",))
    assert found.decision.may_for.share == pytest.approx(0.1)
    assert details(CHALLENGE, found)[0] == (
        "It may take over the other 90\u202f% of the traffic, all but language de; there a thousand requests "
        "would cost $1.50 less."
    )


def test_the_part_that_may_switch_names_its_own_saving():
    """The candidate is free for the tenth that must not switch, and dearer for the rest."""
    free = replace(WORSE, language="de", candidate=replace(ANSWER, dollars=0.0))
    dear = replace(PAIR, language="en", candidate=replace(ANSWER, dollars=0.003))
    found = figures((6300, dear), (700, free))
    assert found.spared_saved_dollars == pytest.approx(-0.001)
    assert "there a thousand requests would cost $1.00 more." in details(CHALLENGE, found)[0]


def test_not_yet_names_about_when():
    """A pair an hour from 1 January 1970 on: 240 pairs are ten days, and so many more take so many hours."""
    pairs = [replace(PAIR, exchange=str(hour), time=3600.0 * hour, judged=True) for hour in range(241)]
    found = challenge_figures(CHALLENGE, pairs)
    days = found.decision.more_pairs / 24.1
    assert found.settled_at == pytest.approx((10 + days) * 86_400)
    assert f", until about {date(found.settled_at)} at the pace so far" in details(CHALLENGE, found)[0]
    assert challenge_figures(CHALLENGE, pairs[:1]).settled_at is None


def test_further_pairs_are_stated_and_enough():
    few = figures((200, PAIR), (10, WORSE), (10, BETTER))
    assert few.decision.answer == "not_yet"
    times = (220 + few.decision.more_pairs) / 220
    later = figures((round(200 * times), PAIR), (round(10 * times), WORSE), (round(10 * times), BETTER))
    assert later.measures["worse"].upper == pytest.approx(0.03, abs=0.006)


def test_a_judge_that_prefers_length_decides_nothing():
    """The longer answer wins in the incumbent's own pairs, and the candidate is longer."""
    wins = replace(PAIR, again=replace(ANSWER, characters=130), control_rating=2, control_preference=1)
    loses = replace(PAIR, again=replace(ANSWER, characters=70), control_rating=2, control_preference=-1)
    long = [
        replace(pair, rating=2, preference=1, candidate=replace(ANSWER, characters=200))
        for pair in (wins, loses, PAIR)
    ]
    found = figures((60, long[0]), (60, long[1]), (600, long[2]))
    assert found.judge.prefers_longer.value == 1
    assert (found.decision.answer, found.decision.because) == ("not_yet", ("length",))


def test_labels_take_off_what_the_judge_favours():
    """The judge sees the candidate win everywhere; people see it lose."""
    unlabelled = figures((600, BETTER))
    assert unlabelled.decision.answer == "may_switch"
    labelled = figures((600, BETTER), labels={str(number): -1 for number in range(100)})
    assert labelled.judge.favours.value == pytest.approx(2)
    assert labelled.decision.answer == "must_not"


@pytest.mark.parametrize("reason", ["unauthorized", "rate_limited", "budget"])
def test_what_keeps_evenkeel_from_asking_counts_for_nobody(reason):
    """A missing key says nothing of the candidate, and the incumbent's does not make it better."""
    refused = ChallengeAnswer(failure=reason)
    alike = figures((400, PAIR))
    found = figures(
        (400, PAIR),
        (300, replace(PAIR, candidate=refused, rating=None, preference=None)),
        (200, replace(PAIR, again=refused, control_rating=None, control_preference=None)),
    )
    assert (found.measures["worse"], found.measures["unusable"], found.decision) == (
        alike.measures["worse"],
        alike.measures["unusable"],
        alike.decision,
    )
    assert (found.pairs, found.left_out) == (400, 500)
    assert found.hindrances == {f"candidate {reason}": 300, f"incumbent {reason}": 200}
    first = details(CHALLENGE, found)[0]
    assert first.startswith("500 pairs could not be asked of both models and count in nothing (candidate ")
    only = figures((300, replace(PAIR, candidate=refused, rating=None, preference=None)))
    assert only.decision.answer == "not_yet"


def test_a_candidate_that_rejects_every_request_is_refused_with_the_reason():
    """One that does not take the request's members, for example: the name alone cannot be swapped."""
    rejected = replace(PAIR, candidate=ChallengeAnswer(failure="rejected"), rating=None, preference=None)
    said = headline(CHALLENGE, figures((300, rejected)))
    assert said.startswith("small must not take over on support: ")
    assert "more of its answers are of no use (rejected 300), " in said


def test_a_stopped_challenger_is_not_said_to_go_on():
    """Nothing more comes, so no requests or date are forecast."""
    few = figures((200, PAIR))
    assert "more requests" in details(CHALLENGE, few)[0]
    stopped = details(replace(CHALLENGE, stopped_at=0.0), few)[0]
    assert stopped.startswith("It was stopped on ")
    assert "more requests" not in stopped


def test_an_open_decision_names_each_outcome_that_holds_it_up():
    """With the pairs that each takes; one that is heading over its margin settles it alone."""
    invalid = replace(PAIR, candidate=replace(ANSWER, valid=False))
    found = figures((40, PAIR), (2, WORSE), (2, invalid))
    opened = {outcome.name: outcome for outcome in found.decision.open}

    assert list(opened) == ["worse", "fragile", "unusable"]
    assert [outcome.is_harmful for outcome in opened.values()] == [True, False, True]
    assert found.decision.more_pairs == min(opened["worse"].more_pairs, opened["unusable"].more_pairs)
    said = details(CHALLENGE, found)[0]
    for name in ("its answers are worse", "rewordings move its answers more", "are of no use"):
        assert f"{name} (about " in said
    unrated = replace(PAIR, rating=None, preference=None)
    assert "60 pairs could not be rated" in details(CHALLENGE, figures((1200, PAIR), (60, unrated)))[1]


def test_an_equal_price_is_the_same():
    """Not 0 % less."""
    equal = replace(PAIR, candidate=ANSWER, again=ANSWER)
    assert "A thousand requests would cost the same, $2.00." in details(CHALLENGE, figures((1200, equal)))
