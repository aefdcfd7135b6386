"""Thresholds calibrated on half of the goldens, held against the other half."""

from __future__ import annotations

import random
from datetime import date
from statistics import mean

import pytest

from evenkeel.experiments.calibrate.calibrate import calibrate
from evenkeel.experiments.calibrate.candidates import conditions, source_of
from evenkeel.experiments.calibrate.columns import chosen_columns, gather, heuristic_columns
from evenkeel.experiments.calibrate.score_table import FailureMode, score_table
from evenkeel.experiments.calibrate.scoring import Task, score_task
from evenkeel.experiments.goldens.files import load_goldens
from evenkeel.metrics.registry import telling
from tests.experiments.calibrate.planted_goldens import data, prose, workflow, write_goldens

GOLDENS = 160
SPLITS = 3
MAKE = {"prose": prose, "workflow": workflow, "data": data}


def scored(tmp_path, form):
    """A score table of made-up goldens, as `evenkeel calibrate` makes it."""
    columns = chosen_columns(heuristic_columns(), telling(form))
    missing = dict.fromkeys(conditions(form), frozenset(column.key for column in columns))
    rows = []
    for golden in load_goldens(write_goldens(tmp_path / "goldens.jsonl", GOLDENS, MAKE[form], seed=3)):
        rows += score_task(Task(source_of(golden, ""), form, 0, missing, {}))
    scores = gather(rows, columns)
    return score_table(scores.rows, scores.metrics)


def shares(table, role, mode):
    """Mild candidates flagged and moderate ones not, of the goldens of a table, with what was stated."""
    column = [facts.name for facts in table.metrics].index(role.metric)
    limit = role.threshold
    mild = table.scores[:, table.place(mode, 0.1), column]
    moderate = table.scores[:, table.place(mode, 0.3), column]
    return (
        ((mild < limit.value).mean(), limit.false_alerts),
        ((moderate >= limit.value).mean(), limit.misses),
    )


@pytest.mark.parametrize("form", MAKE)
def test_thresholds_hold_on_goldens_they_were_not_set_on(tmp_path, form):
    """False alerts on mild and misses on moderate candidates lie in their stated 95 % intervals."""
    table = scored(tmp_path, form)
    rng = random.Random(7)
    inside = trials = 0
    found_alerts, stated_alerts = [], []
    for seed in range(SPLITS):
        ids = list(table.goldens)
        rng.shuffle(ids)
        half, other = table.only(ids[: GOLDENS // 2]), table.only(ids[GOLDENS // 2 :])
        found = calibrate(
            half, source="planted", calibrated_on=date(2026, 1, 2), encoder=None, seed=seed,
            rng=random.Random(seed), resamples=60,
        )  # fmt: skip
        for result in found.modes:
            for role in (result.primary, result.secondary):
                if role is None or role.threshold is None:
                    continue
                for share, stated in shares(other, role, result.mode):
                    trials += 1
                    inside += stated.lower <= share <= stated.upper
                found_alerts.append(shares(other, role, result.mode)[0][0])
                stated_alerts.append(role.threshold.false_alerts.value)
        assert found.of(FailureMode.MISSING).primary.threshold is not None
    assert trials >= 40
    assert inside / trials >= 0.9, (inside, trials)
    assert abs(mean(found_alerts) - mean(stated_alerts)) <= 0.05
