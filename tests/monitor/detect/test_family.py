"""Alarms over many cells: e-BH by hand, by brute force, step by step, and as often as promised."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.monitor.detect import Alert, AlertRules, Family, alarm_set
from evenkeel.monitor.detect.family import MOST_TOGETHER, rank

evidences = st.one_of(st.just(0.0), st.floats(0.01, 500), st.sampled_from([100.0, 50.0, 100 / 3, 25.0, 20.0]))
families = st.dictionaries(st.tuples(st.sampled_from("abcdefghijkl")), evidences, max_size=10)


def brute_force(evidence, alarm):
    """The largest of all groups whose members have what its size asks for."""
    ordered = sorted(evidence, key=lambda key: -evidence[key])
    sizes = [size for size in range(1, len(ordered) + 1) if evidence[ordered[size - 1]] * size >= alarm]
    return frozenset(ordered[: max(sizes)]) if sizes else frozenset()


def test_two_cells_need_half_the_evidence_each():
    """At a level of 100: one cell needs 100, two 50 each, three 33⅓ each."""
    assert alarm_set({("a",): 99.0, ("b",): 49.0}, 100) == frozenset()
    assert alarm_set({("a",): 99.0, ("b",): 50.0}, 100) == {("a",), ("b",)}
    assert alarm_set({("a",): 40.0, ("b",): 34.0, ("c",): 33.0}, 100) == frozenset()
    assert alarm_set({("a",): 40.0, ("b",): 34.0, ("c",): 33.4}, 100) == {("a",), ("b",), ("c",)}
    assert alarm_set({("a",): 100.0, ("b",): 49.0}, 100) == {("a",)}


@given(families)
def test_the_alarm_set_is_the_largest_group_there_is(evidence):
    """The counting by rank agrees with trying every size."""
    assert alarm_set(evidence, 100) == brute_force(evidence, 100)


@given(families, st.tuples(st.sampled_from("abcdefghijkl")), st.floats(0, 500))
def test_more_evidence_never_makes_the_group_smaller(evidence, key, more):
    """A cell that gets worse can only help the others into alarm."""
    grown = {**evidence, key: evidence.get(key, 0.0) + more}
    assert alarm_set(evidence, 100) <= alarm_set(grown, 100)


@given(st.floats(1e-3, 1e9), st.floats(1, 1e7))
def test_a_rank_is_the_smallest_size_that_suffices(evidence, alarm):
    """Also where the division rounds."""
    place = rank(evidence, alarm)
    if place is None:
        assert evidence * MOST_TOGETHER < alarm
    else:
        assert evidence * place >= alarm
        assert place == 1 or evidence * (place - 1) < alarm


@given(st.lists(st.tuples(st.tuples(st.sampled_from("abcdef")), evidences), max_size=60))
def test_cell_by_cell_the_family_stays_at_the_alarm_set(shown):
    """Whatever is shown in whatever order, the members are those of the latest evidence, each named once."""
    family = Family(100)
    latest: dict[tuple[str, ...], float] = {}
    up: set[tuple[str, ...]] = set()
    for key, evidence in shown:
        if key in up:
            continue  # evidence of a raised alert stays what it was
        latest[key] = evidence
        raised = family.show(key, evidence, up=False)
        assert list(raised) == sorted(set(raised))
        assert not up & set(raised)
        up |= set(raised)
        for one in raised:
            assert family.show(one, latest[one], up=True) == ()
        assert family.members() == alarm_set(latest, 100)
        assert family.members() <= up
    again = Family(100)
    for key in reversed(latest):
        again.show(key, latest[key], up=key in up)
    assert again.members() == family.members()


def test_an_alert_that_is_over_leaves_the_group():
    """Its evidence starts from nothing, and the others lose its help."""
    family = Family(100)
    assert family.show(("a",), 60.0, up=False) == ()
    assert family.show(("b",), 50.0, up=False) == (("a",), ("b",))
    family.show(("a",), 60.0, up=True)
    family.show(("b",), 50.0, up=True)
    assert family.show(("b",), 0.0, up=False) == ()
    assert family.members() == frozenset()
    assert family.show(("c",), 49.0, up=False) == ()
    assert family.show(("c",), 50.0, up=False) == (("c",),)  # with "a", which is still up


def run_family(seed: str, *, level: float, trials: int, excess: float = 0.1, worse: int = 0):
    """Forty cells in turn, `worse` of them far beyond their line; yields who is raised at each trial."""
    choice = random.Random(seed)
    alerts = {(f"{number:02}",): Alert(AlertRules(0.1, level)) for number in range(40)}
    family = Family(level)
    keys = list(alerts)
    for trial in range(trials):
        number = trial % 40
        rate = 0.1 + (0.4 if number < worse else excess)
        alert = alerts[keys[number]]
        before = alert.up
        change = alert.observe((choice.random() < rate) - (choice.random() < 0.1))
        raised = [keys[number]] if change and not before else []
        for one in family.show(keys[number], alert.evidence, up=alert.up):
            assert alerts[one].raise_now()
            family.show(one, alerts[one].evidence, up=True)
            raised.append(one)
        yield raised


def test_a_family_without_change_alarms_no_oftener_than_one_cell():
    """Forty cells exactly on their lines: the mean run to the first alert of any is at least the level."""
    runs = []
    for number in range(40):
        stream = enumerate(run_family(f"family {number}", level=1000, trials=8000), 1)
        runs.append(next((trial for trial, raised in stream if raised), 8000))
    assert sum(runs) / len(runs) >= 1000


def test_cells_that_worsen_together_are_found_sooner_than_one_alone():
    """Each of ten of forty cells is found in fewer trials than the only one of forty."""

    def mean_delay(worse: int, runs: int) -> float:
        delays = []
        for number in range(runs):
            stream = run_family(f"{worse} {number}", level=10_000, trials=4800, excess=0, worse=worse)
            found: dict[tuple[str, ...], float] = {}
            for trial, raised in enumerate(stream, 1):
                for key in raised:
                    found.setdefault(key, trial / 40)
            delays += [found.get((f"{cell:02}",), 120) for cell in range(worse)]
        return sum(delays) / len(delays)

    alone, together = mean_delay(1, runs=40), mean_delay(10, runs=8)
    # Measured 68 and 53 trials of the cell.
    assert together < 0.9 * alone


def test_the_levels_by_rank_fall_like_one_over_the_size():
    """Ranks 1, 2, 3 … begin at C, C/2, C/3 …; below C/16 there is none."""
    places = [rank(1000 / size, 1000) for size in range(1, MOST_TOGETHER + 1)]
    assert all(later - former in {0, 1, 2} for former, later in pairwise(places))
    assert places[0] == 1
    assert rank(1000 / 16 - 1e-6, 1000) is None
