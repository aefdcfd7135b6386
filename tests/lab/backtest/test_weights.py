"""A log of trials that the adaptive plan drew: by its weights, backtests find the planted truth."""

from __future__ import annotations

import json
import random

import pytest

from evenkeel.lab.backtest import backtest, read_lines
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.shadow.groups import MOVED_WEIGHT, WATCHING, drawn_of, is_split, roots_of
from evenkeel.shadow.perturbations import BUILTIN

SETTINGS = MonitorSettings(trend_interval_s=float("inf"))
PAIR = ("general.casing", "general.tone")
(ROOT,) = roots_of(tuple(one for one in BUILTIN if one.name in PAIR))
EASY, HARD = 0.05, 0.4
"""How often casing moves an answer in two strata of equal size; the hard one is tried four times as often."""
GROUP = sum(one + 1 / 3 - 2 * one / 3 for one in (EASY, HARD)) / 2


def lines(exchanges, *, weighted):
    """Every second exchange is hard. Tone moves a third of all answers, casing and tone together none."""
    choice, found = random.Random(3), []
    for number in range(exchanges):
        hard = number % 2 == 0
        if not hard and choice.random() >= 0.25:
            continue
        name = f"x{number}"
        moves = dict(
            zip(PAIR, (choice.random() < (HARD if hard else EASY), choice.random() < 1 / 3), strict=True)
        )
        weight = {"exchange_weight": 0.25 if hard else 1.0} if weighted else {}
        usual = {"time": 60.0 * number, "exchange": name, **weight}
        group = moves[PAIR[0]] != moves[PAIR[1]]  # both together hide each other
        found.append(usual | {"perturbation": "control", "rating": 3})
        found.append(
            usual | {"perturbation": ROOT.perturbation.name, "rating": 2 if group else 3, "id": f"{name}g"}
        )
        split, drawn = group and is_split(name, ROOT, WATCHING), drawn_of(name, ROOT, WATCHING)
        for kind in ROOT.kinds:
            if split or kind is drawn:
                said = {
                    "path_weight": MOVED_WEIGHT if split else 1.0,
                    "split_of": "" if kind is drawn else f"{name}g",
                }
                trial = usual | {"perturbation": kind.name, "rating": 2 if moves[kind.name] else 3}
                found.append(trial | (said if weighted else {}))
    return [json.dumps(one) for one in found]


def deltas(exchanges, *, weighted):
    """Content delta of every cell."""
    found = backtest(read_lines(lines(exchanges, weighted=weighted), "log"), SETTINGS)
    return {cell.key.perturbation: cell.estimates.content_delta for cell in found.cells}


def test_the_weights_of_a_log_give_the_truth_of_an_even_draw():
    """Casing moves (.05 + .40) / 2 of the answers, tone 1/3; the group .35 and .4667, .4083 in the mean."""
    truth = {PAIR[0]: (EASY + HARD) / 2, PAIR[1]: 1 / 3}
    truth[ROOT.perturbation.name] = GROUP
    found = deltas(6_000, weighted=True)
    for name, expected in truth.items():
        assert found[name].lower <= expected <= found[name].upper, name
        assert found[name].value == pytest.approx(expected, abs=0.08), name
