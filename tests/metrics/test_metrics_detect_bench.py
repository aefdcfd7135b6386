"""What `benchmarks.detection` computes with, against the detectors that are shipped; and a small run of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.detection import __main__ as command
from benchmarks.detection import (
    batches,
    drift,
    family,
    others,
    passages,
    plot,
    rates,
    streams,
    tables,
)
from benchmarks.detection.cusum import best_bet, optimal
from benchmarks.metrics.page import filled
from evenkeel.monitor.detect import (
    Baseline,
    DriftAlert,
    DriftRules,
    EDetector,
    alarm_set,
    bets_against,
)

SMALL = rates.Sizes(nominal=300, false_alarms=400, tuning=400, delays=400)


@pytest.mark.parametrize(
    ("bets", "stream"),
    [
        (bets_against(0.1), streams.difference(0.1, 0.1)),
        (bets_against(0.2, "above", 0, 1), streams.rate(0.3)),
        (bets_against(0.85, "below", 0, 1), streams.scores(0.8, 0.1)),
    ],
    ids=["differences", "rate", "scores"],
)
def test_the_matrix_form_is_the_detector_that_is_shipped(bets, stream):
    """Step by step the same evidence, for what is drawn from each kind of stream."""
    drawn = stream.draw((300, 2), np.random.default_rng(1))
    runs = passages.EvidenceRuns(bets, stream, 2)
    detectors = [EDetector(bets), EDetector(bets)]
    for row in drawn:
        evidence = [
            detector.update(stream.values[value]) for detector, value in zip(detectors, row, strict=True)
        ]
        assert runs.step(row) == pytest.approx(evidence, rel=1e-9)


def test_the_group_of_a_matrix_is_the_alarm_set():
    """Row by row the same cells, also where more than the limit have evidence."""
    rng = np.random.default_rng(2)
    evidence = np.exp(rng.uniform(0, 6, (200, 40)))
    evidence[0] = 120.0
    groups = family.in_alarm(evidence, 1000.0)
    for row, group in zip(evidence, groups, strict=True):
        keys = {(f"{number:02}",): float(value) for number, value in enumerate(row)}
        expected = alarm_set(keys, 1000.0)
        assert [key in expected for key in keys] == group.tolist()


@pytest.mark.parametrize("hits", [0, 3, 40, 100])
def test_both_sides_of_a_matrix_are_the_drift_alert(hits):
    """Lines and evidence as `DriftAlert` has them, at the ends of the range as well."""
    rules = DriftRules(drift.TOLERANCE, 1e300)
    lines = drift.lines_of(np.array([hits, hits]), 100, drift.TOLERANCE)
    estimate = drift.estimate(hits, 100)
    alert = DriftAlert(rules, Baseline.of(estimate))
    assert tuple(lines[:, 0]) == alert.lines
    detectors = drift.BothSides(lines)
    for hit in np.random.default_rng(3).random(200) < 0.3:
        alert.observe(int(hit))
        assert detectors.step(np.array([hit, hit], dtype=float)) == pytest.approx(alert.evidence, rel=1e-9)


def test_a_passage_is_the_first_trial_at_a_level():
    """A sum that grows by one a trial passes 1, 2 and 5 at those trials; what came before is no number."""
    up = streams.Stream((0.0, 1.0), (0.0, 1.0))
    make = partial(passages.SumRuns, (-1.0, 1.0))
    rng = np.random.default_rng(1)
    passed = passages.passages(make, up, up, [1, 2, 4.5], runs=2, cap=100, rng=rng)
    assert passed.times.tolist() == [[1, 2, 5], [1, 2, 5]]
    assert passed.last.tolist() == [5, 5]
    later = passages.passages(make, up, up, [1, 5], runs=1, cap=100, rng=rng, quiet=3).times
    assert np.isnan(later[0, 0])
    assert later[0, 1] == 2
    down = streams.Stream((0.0, 1.0), (1.0, 0.0))
    never = passages.passages(make, up, down, [1], runs=1, cap=50, rng=rng)
    assert never.times.tolist() == [[50]]
    assert np.isnan(never.last[0])


def test_a_window_says_nothing_before_it_is_full():
    """Of 1, 1, 0, 1 the sums of three are 2 and 2."""
    runs = passages.WindowRuns(streams.rate(0.5), 3, 1)
    sums = [float(runs.step(np.array([value]))[0]) for value in (1, 1, 0, 1)]
    assert sums == [-np.inf, -np.inf, 2.0, 2.0]


@pytest.mark.parametrize(
    ("reference", "current", "p_value", "index"),
    [
        (50, 12, 0.003803573912803282, 0.06664061701333639),
        (100, 0, 0.0009111188771537826, 0.7006208039360982),
        (100, 20, 0.002225307184048786, 0.08109302162163287),
        (500, 40, 0.05648945752911305, 0.04054651081081643),
    ],
)
def test_the_tests_on_batches_are_those_of_evidently(reference, current, p_value, index):
    """The figures were computed with Evidently 0.7.23 from columns of 1,000 and 100 values."""
    counts = np.array([float(reference)]), np.array([float(current)])
    assert 1 - batches.z_distance(*counts)[0] == pytest.approx(p_value, rel=1e-9)
    assert batches.psi(*counts)[0] == pytest.approx(index, rel=1e-9)


@pytest.mark.parametrize("name", ["z", "psi"])
def test_a_tuned_test_has_the_run_length_asked_for(name):
    """A run of 5,000 trials is one alarm in fifty batches, and without a change the delay is the run."""
    chances = batches.alarm_chances(name, 0.1, 5000)
    assert chances @ binom.pmf(np.arange(101), 100, 0.1) == pytest.approx(0.02)
    assert batches.mean_delay(name, 0.1, 0.1, 5000) == pytest.approx(5000 - 48.5, abs=2)
    assert batches.mean_delay(name, 0.1, 0.9, 5000) < 110


@pytest.mark.parametrize(("mean", "spread"), others.SCORES)
def test_simulated_scores_have_exactly_the_mean_asked_for(mean, spread):
    """A mean a little beside the line would make the measured run lengths wrong."""
    stream = streams.scores(mean, spread)
    assert stream.mean == pytest.approx(mean, abs=1e-12)
    assert sum(stream.chances) == pytest.approx(1.0)
    assert min(stream.chances) >= 0


@pytest.mark.parametrize("chance", [0.05, 0.2, 0.5])
def test_mean_runs_without_a_change_are_at_least_the_nominal(chance):
    """Three quick settings; the mean of 400 runs errs by 5 %."""
    measured = rates.run_length(
        rates.rate_bets(chance), streams.rate(chance), SMALL, np.random.default_rng(1)
    )
    assert measured.censored == 0
    assert measured.mean >= SMALL.nominal
    # Evidence minus trials is a martingale at the line, so both have the same mean at the alarm.
    assert measured.height == pytest.approx(measured.mean, abs=4 * measured.error)


def test_the_optimum_is_faster_than_the_detector_and_not_by_much():
    """Who knows everything is the measure; who knows only the line comes between the two."""
    rng = np.random.default_rng(1)
    before, after = streams.difference(0.1, 0.1), streams.difference(0.1, 0.3)
    bets = bets_against(0.1)
    own = rates.delay(bets, before, after, SMALL, rng, quiet=0)
    best = optimal(before, after, SMALL.nominal, runs=400, rng=rng)
    bet = best_bet(before, after, 0.1, -1, SMALL.nominal, runs=400, rng=rng)
    fastest, faster = (
        rival.delays(after, [SMALL.nominal], runs=400, quiet=0, rng=rng)[0] for rival in (best, bet)
    )
    assert fastest < faster < own < 3 * fastest


def test_the_page_has_a_place_for_every_table_and_the_picture_is_well_formed():
    """What `--write` writes: nothing is measured that is not shown, nothing shown that is not measured."""
    tiny = replace(SMALL, nominal=100, false_alarms=20, tuning=100, delays=20)
    rng = np.random.default_rng(1)
    place = rates.Delays(0.05, 0.1, 100.0, *(float(number) for number in range(20, 30)))
    measured = [replace(place, rate=rate, shift=shift) for rate in streams.RATES for shift in streams.SHIFTS]
    grid = [("some", {(one.rate, one.shift): 1.2 for one in measured})]
    written = [
        tables.summary(measured),
        tables.delays(measured),
        tables.rivals(measured),
        tables.false_alarms([], tiny),
        tables.pairs([others.Pairs(one.rate, one.shift, 3.0, 2.0, 2.5) for one in measured]),
        tables.scores([("0.9 ± 0.1", 0.1, 20.0)]),
        tables.grids(grid),
        tables.quiet([family.quiet(0.1, 1e4, families=2, rng=rng)]),
        tables.worse([(100.0, family.worse(3, 100.0, families=2, rng=rng))]),
        tables.drift([drift.measure(0.2, 500, cells=3, rng=rng)]),
    ]
    page = filled(command.PAGE.read_text(encoding="utf-8"), written)
    assert "Not measured yet" not in page
    assert "nan" not in page.split()
    picture = plot.draw(measured)
    assert len(list(ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}polyline"))) == 18
