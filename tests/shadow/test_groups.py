"""The adaptive plan: who is tried together, with which chances, and what follows from a moved answer."""

from collections import Counter
from math import log

import pytest

from evenkeel.core.together import together_count
from evenkeel.core.verdict import BASELINE
from evenkeel.shadow.groups import (
    ALERTING,
    LEARNING,
    MOVED_WEIGHT,
    SUSPECTING,
    WATCHING,
    SettledNeeds,
    drawn_of,
    is_learning,
    is_split,
    is_suspected,
    plan_of,
    roots_of,
)
from evenkeel.shadow.perturbations import BUILTIN, by_name
from evenkeel.shadow.planner import CellNeed, Needs

GENERAL = by_name(["general.punctuation", "general.casing", "general.spelling"])
FORMATS = by_name(["format.json", "format.yaml"])
KINDS = (*GENERAL, *FORMATS)
GROUP = "together.3_general"
EXCHANGES = [f"{number:016x}" for number in range(2_000)]


def known(trials=500, **changed):
    """Every cell of the route with so many trials; some of them otherwise."""
    names = [BASELINE, GROUP, *(kind.name for kind in KINDS)]
    return {name: CellNeed(trials, 30, 0.1) for name in names} | {
        name.replace("__", "."): need for name, need in changed.items()
    }


def shares(needs):
    """Return the share of exchanges in which each root is tried whole."""
    plans = [plan_of(exchange, roots_of(KINDS), needs, 0.125) for exchange in EXCHANGES]
    tried = Counter(looked.root.perturbation.name for plan in plans for looked in plan.roots if looked.whole)
    return {
        root.perturbation.name: tried[root.perturbation.name] / len(EXCHANGES) for root in roots_of(KINDS)
    }


def test_rewordings_of_a_category_are_tried_together():
    """Three at most. Formats exclude each other and a combination is none again, so these stand alone."""
    more = by_name(["general.tone", "general.whitespace", "positional", "general.paraphrase"])
    roots = roots_of((*KINDS, *more))
    assert [root.perturbation.name for root in roots] == [
        "together.3_general_1",
        "together.2_general_2",
        "together.3_positional",
        "format.json",
        "format.yaml",
        "positional.mixed",
        "general.paraphrase",
    ]
    assert [together_count(root.perturbation.name) for root in roots[:4]] == [3, 2, 3, 1]
    assert {together_count(kind.name) for kind in BUILTIN} == {1}


def test_a_model_is_learned_until_every_rewording_can_be_reported():
    """30 trials each; one that rarely applies is not waited for beyond 4 · 30 · 3 = 360 resends."""
    assert is_learning(KINDS, 2, {})
    assert not is_learning(KINDS, 2, known(30))
    few = {"general__casing": CellNeed(29, 30)}
    assert is_learning(KINDS, 2, known(359, **few))
    assert not is_learning(KINDS, 2, known(360, **few))
    assert is_learning(KINDS, 0, known())


def test_settled_roots_are_tried_at_their_rate_and_all_at_once():
    """An eighth of the exchanges, within two standard deviations; one that is tried gets all roots."""
    plans = [plan_of(exchange, roots_of(KINDS), known(), 0.125) for exchange in EXCHANGES]
    assert {len(plan.roots) for plan in plans} == {0, 3}
    assert shares(known())[GROUP] == pytest.approx(0.125, abs=0.015)
    assert all(looked.pace is WATCHING for plan in plans for looked in plan.roots)


@pytest.mark.parametrize(
    ("group", "casing", "pace"),
    [
        (299, 500, SUSPECTING),
        (500, 149, LEARNING),
        (500, 150, WATCHING),
        (4_799, 149, LEARNING),
        (4_800, 149, WATCHING),  # four times as many chances as it should have taken
    ],
)
def test_rewordings_of_a_group_are_drawn_more_often_until_each_is_known(group, casing, pace):
    """150 trials by itself, of which a settled group brings one in eight; other groups keep their pace."""
    needs = known(**{GROUP.replace(".", "__"): CellNeed(group, 30), "general__casing": CellNeed(casing, 30)})
    plans = [plan_of(exchange, roots_of(KINDS), needs, 1.0) for exchange in EXCHANGES[:10]]
    paces = {(looked.root.perturbation.name, looked.pace) for plan in plans for looked in plan.roots}
    assert {name: found for name, found in paces if found is not WATCHING} == (
        {} if pace is WATCHING else {GROUP: pace}
    )


@pytest.mark.parametrize(
    ("need", "share"),
    [
        (CellNeed(299, 30), 1.0),  # without a baseline
        (CellNeed(500, 30, 0.1, 0.9), 0.125),  # evidence grows with the trials also if all is well
        (CellNeed(500, 30, 0.1, suspicion=log(2)), 0.25),
        (CellNeed(500, 30, 0.1, suspicion=log(8)), 1.0),
        (CellNeed(500, 30, 0.1, suspicion=10.0), 1.0),
        (CellNeed(500, 30, 0.1, 1.0, up=True), ALERTING),
    ],
)
def test_suspicion_brings_more_exchanges_to_its_root_only(need, share):
    """An eighth times the likelihood ratio, all at most; half of the exchanges while the alert is up.

    One that has no 300 trials yet is tried always: where it does not apply that costs nothing.
    """
    found = shares(known(**{GROUP.replace(".", "__"): need}))
    assert found[GROUP] == pytest.approx(share, abs=0.02)
    assert found["format.json"] == pytest.approx(0.125, abs=0.015)


def test_a_suspected_rewording_is_tried_by_itself():
    """Its share is (e^s − 1)/128, as 1/8 · 1/16 is the chance of one that is not suspected."""
    for ratio, share in ((33, 0.25), (129, 1.0)):
        needs = known(general__casing=CellNeed(500, 30, 0.1, suspicion=log(ratio)))
        plans = [plan_of(exchange, roots_of(KINDS), needs, 0.125) for exchange in EXCHANGES]
        alone = [looked.alone for plan in plans for looked in plan.roots if looked.alone]
        assert {kind.name for kinds in alone for kind in kinds} == {"general.casing"}
        assert len(alone) / len(EXCHANGES) == pytest.approx(share, abs=0.02)
        assert shares(needs)[GROUP] == pytest.approx(0.125, abs=0.015)


def test_an_alert_that_has_been_up_for_long_is_settled():
    """An alert is settled 300 trials after it was first seen; another one begins anew."""
    latest = []
    needs = SettledNeeds(lambda _route, _model: latest[-1])

    def found(trials, *, up=True):
        cells = known(general__casing=CellNeed(trials, 30, suspicion=4.0, up=up))
        latest.append(Needs(cells, urgent=True))
        return needs("shop", "m")

    assert found(900).cells["general.casing"].up
    assert found(1_199).cells["general.casing"].up
    assert found(1_200).cells["general.casing"] == CellNeed(1_200, 30)
    assert found(1_200).cells["format.json"] == known()["format.json"]
    assert found(1_200).urgent
    assert not found(1_250, up=False).cells["general.casing"].up
    assert found(1_300).cells["general.casing"].up


@pytest.mark.parametrize(
    ("needs", "suspected"),
    [
        (Needs(), False),
        (Needs(urgent=True), True),
        (Needs({"general.tone": CellNeed(500, 30, up=True)}), True),
        (Needs({"general.tone": CellNeed(500, 30, evidence=0.9, suspicion=2.0)}), False),
        (Needs({"general.tone": CellNeed(500, 30, suspicion=3.0)}), True),
    ],
)
def test_trials_wait_unless_something_is_suspected(needs, suspected):
    """A change, an alert, or a likelihood ratio of sixteen."""
    assert is_suspected(needs) is suspected


def test_a_change_brings_everything_at_once():
    """A change of the route has all roots looked at closely, whatever their cells say."""
    plan = plan_of(EXCHANGES[0], roots_of(KINDS), known(), 0.125, urgent=True)
    assert len(plan.roots) == 3
    assert {looked.pace for looked in plan.roots} == {SUSPECTING}


@pytest.mark.parametrize("pace", [WATCHING, LEARNING, SUSPECTING])
def test_drawn_rewordings_are_among_the_split(pace):
    """Every rewording is drawn with chance v, at most one of a group; all drawn lie in the s that split."""
    root = roots_of(KINDS)[0]
    drawn = Counter(kind.name for exchange in EXCHANGES if (kind := drawn_of(exchange, root, pace)))
    split = sum(is_split(exchange, root, pace) for exchange in EXCHANGES) / len(EXCHANGES)
    for kind in root.kinds:
        assert drawn[kind.name] / len(EXCHANGES) == pytest.approx(pace.drawn, abs=0.015)
    assert split == pytest.approx(pace.split, abs=0.02)
    assert all(is_split(exchange, root, pace) for exchange in EXCHANGES if drawn_of(exchange, root, pace))
    assert pace.drawn / pace.split == MOVED_WEIGHT
