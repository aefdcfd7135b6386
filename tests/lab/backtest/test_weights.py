"""A log of trials that the adaptive plan drew: by its weights, backtests find the planted truth."""

from __future__ import annotations

import json
import random

import msgspec
import pytest

from evenkeel.core.verdict import Selection
from evenkeel.lab.backtest import backtest, read_lines
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.shadow.groups import MOVED_WEIGHT, WATCHING, drawn_of, is_split, roots_of
from evenkeel.shadow.perturbations import BUILTIN

SETTINGS = MonitorSettings(trend_interval_s=float("inf"))
PAIR = ("general.casing", "general.tone")
(ROOT,) = roots_of(tuple(kind for kind in BUILTIN if kind.name in PAIR))
EASY, HARD = 0.05, 0.4
"""Shares of answers that casing moves in two equal strata; the hard one is tried four times as often."""
GROUP = sum(share + 1 / 3 - 2 * share / 3 for share in (EASY, HARD)) / 2


def trials(exchanges):
    """Every second exchange is hard. Tone moves a third of all answers, casing and tone together none."""
    choice, found = random.Random(3), []
    for number in range(exchanges):
        hard = number % 2 == 0
        if not hard and choice.random() >= 0.25:
            continue
        name, exchange_weight = f"x{number}", 0.25 if hard else 1.0
        moved = (choice.random() < (HARD if hard else EASY), choice.random() < 1 / 3)
        moves = dict(zip(PAIR, moved, strict=True))
        group = moves[PAIR[0]] != moves[PAIR[1]]  # both together hide each other
        usual = {"time": 60.0 * number, "exchange": name}
        lines = [
            usual | {"perturbation": "control", "rating": 3},
            usual | {"perturbation": ROOT.perturbation.name, "rating": 2 if group else 3, "id": f"{name}g"},
        ]
        selections = [Selection(exchange_weight), Selection(exchange_weight)]
        split, drawn = group and is_split(name, ROOT, WATCHING), drawn_of(name, ROOT, WATCHING)
        for kind in ROOT.kinds:
            if split or kind is drawn:
                path_weight = MOVED_WEIGHT if split else 1.0
                selections.append(
                    Selection(exchange_weight, path_weight, "" if kind is drawn else f"{name}g")
                )
                lines.append(usual | {"perturbation": kind.name, "rating": 2 if moves[kind.name] else 3})
        verdicts = read_lines(map(json.dumps, lines), "log")
        for verdict, selection in zip(verdicts, selections, strict=True):
            found.append(msgspec.structs.replace(verdict, selection=selection))
    return found


def test_the_weights_of_a_log_give_the_truth_of_an_even_draw():
    """Casing moves (.05 + .40) / 2 of the answers, tone 1/3; the group .35 and .4667, .4083 in the mean."""
    truth = {PAIR[0]: (EASY + HARD) / 2, PAIR[1]: 1 / 3}
    truth[ROOT.perturbation.name] = GROUP
    cells = backtest(trials(6_000), SETTINGS).cells
    found = {cell.key.perturbation: cell.estimates.content_delta for cell in cells}
    for name, expected in truth.items():
        assert found[name].lower <= expected <= found[name].upper, name
        assert found[name].value == pytest.approx(expected, abs=0.08), name
