"""Prometheus rules from a calibration."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import date
from random import Random

import pytest
import yaml

from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.calibrate import calibrate
from evenkeel.experiments.calibrate.calibration import CalibrationError
from evenkeel.experiments.calibrate.rules import alert_rules
from evenkeel.experiments.calibrate.score_table import MetricFacts, score_table
from tests.experiments.calibrate.planted_scores import FACTS, planted_rows, published_rows


def made(rows, facts):
    return calibrate(
        score_table(rows, facts),
        source="planted workflows",
        calibrated_on=date(2026, 3, 4),
        encoder=None,
        seed=9,
        rng=Random(9),
        resamples=100,
    )


@pytest.fixture(scope="module")
def calibration():
    return made(published_rows(80), FACTS)


def promtool(folder, *command):
    return subprocess.run(["promtool", *command], cwd=folder, capture_output=True, text=True, check=False)


def test_every_threshold_is_recorded_and_alerted_on(calibration):
    """Three modes, each with a primary and a secondary: six series, three alerts and three confirmed ones."""
    recorded, alerts = yaml.safe_load(alert_rules(calibration))["groups"]
    assert {(rule["labels"]["failure_mode"], rule["labels"]["role"]) for rule in recorded["rules"]} == {
        (mode, role) for mode in ("missing", "compressed", "reworded") for role in ("primary", "secondary")
    }
    assert [rule["alert"] for rule in alerts["rules"]] == [
        "EvenkeelGoldenMissing",
        "EvenkeelGoldenMissingConfirmed",
        "EvenkeelGoldenCompressed",
        "EvenkeelGoldenCompressedConfirmed",
        "EvenkeelGoldenReworded",
        "EvenkeelGoldenRewordedConfirmed",
    ]


def test_harmless_modes_alert_more_quietly(calibration):
    """Reworded steps are as good as before: info, and a warning if the meaning moved as well."""
    alerts = yaml.safe_load(alert_rules(calibration))["groups"][1]["rules"]
    assert [rule["labels"]["severity"] for rule in alerts] == [
        "warning", "critical", "warning", "critical", "info", "warning"
    ]  # fmt: skip


def test_rules_hold_the_numbers_of_the_calibration(calibration):
    """The value that the file holds, digit by digit."""
    limit = calibration.modes[0].primary.threshold.value
    rules = yaml.safe_load(alert_rules(calibration, gauge="scores", by=("team",)))["groups"]
    assert rules[0]["rules"][0]["expr"] == f"vector({limit!r})"
    assert rules[1]["rules"][0]["expr"] == f'avg by (team) (scores{{metric="graph_f1"}}) < {limit!r}'


@pytest.mark.service("promtool")
def test_promtool_accepts_the_rules(calibration, tmp_path):
    """Syntax, expressions and templates."""
    (tmp_path / "rules.yaml").write_text(alert_rules(calibration), encoding="utf-8")
    done = promtool(tmp_path, "check", "rules", "rules.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 rules found" in done.stdout


@pytest.mark.service("promtool")
def test_the_alerts_fire_when_they_should_and_only_then(calibration, tmp_path):
    """The mean of a route's goldens decides: one bad golden among good ones fires nothing."""
    (tmp_path / "rules.yaml").write_text(alert_rules(calibration), encoding="utf-8")

    def series(route, golden, metric, value):
        labels = f'route="{route}", model="m", golden="{golden}", metric="{metric}"'
        return {"series": f"evenkeel_golden_score{{{labels}}}", "values": f"{value}+0x5"}

    def expected(name, route, **labels):
        return {
            "exp_labels": {
                "route": route, "model": "m", "failure_mode": "missing", "metric": "graph_f1", **labels
            },
            "exp_annotations": ANY[name, route],
        }  # fmt: skip

    ANY = {}  # noqa: N806 - filled from the rules' own templates
    for rule in yaml.safe_load(alert_rules(calibration))["groups"][1]["rules"]:
        for route, value in (("bad", "0.500"), ("worse", "0.400")):
            ANY[rule["alert"], route] = {
                key: text.replace("{{ $labels.route }}", route)
                .replace("{{ $labels.model }}", "m")
                .replace('{{ $value | printf "%.3f" }}', value)
                for key, text in rule["annotations"].items()
            }
    test = {
        "rule_files": ["rules.yaml"],
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    series("good", "a", "graph_f1", 0.5),
                    *(series("good", golden, "graph_f1", 0.97) for golden in "bcdef"),
                    series("bad", "a", "graph_f1", 0.5),
                    series("bad", "a", "judge", 0.9),
                    series("worse", "a", "graph_f1", 0.4),
                    series("worse", "a", "judge", 0.1),
                ],
                "alert_rule_test": [
                    {
                        "eval_time": "3m",
                        "alertname": "EvenkeelGoldenMissing",
                        "exp_alerts": [
                            expected("EvenkeelGoldenMissing", route, severity="warning")
                            for route in ("bad", "worse")
                        ],
                    },
                    {
                        "eval_time": "3m",
                        "alertname": "EvenkeelGoldenMissingConfirmed",
                        "exp_alerts": [
                            expected(
                                "EvenkeelGoldenMissingConfirmed",
                                "worse",
                                severity="critical",
                                confirmed_by="judge",
                            )
                        ],
                    },
                    {"eval_time": "3m", "alertname": "EvenkeelGoldenCompressed", "exp_alerts": []},
                ],
            }
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test), encoding="utf-8")
    done = promtool(tmp_path, "test", "rules", "test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_calibration_without_thresholds_gives_no_rules():
    """That is said instead of writing an empty file."""
    found = made(planted_rows(12, Random(1)), [MetricFacts("graph_f1", 1, "s"), MetricFacts("bleu", 1, "l")])
    with pytest.raises(CalibrationError, match="none has a threshold"):
        alert_rules(found)


def test_what_has_no_threshold_has_no_rule(calibration):
    """A mode whose primary has none is silent; a secondary without one confirms nothing."""
    none = Failure("calibration_threshold", 1, "not_separable")
    first, second, third = calibration.modes
    text = alert_rules(
        replace(
            calibration,
            modes=(
                replace(first, primary=replace(first.primary, threshold=None, no_threshold=none)),
                replace(second, secondary=replace(second.secondary, threshold=None, no_threshold=none)),
                replace(third, primary=None, secondary=None, failure=none),
            ),
        )
    )
    recorded, alerts = yaml.safe_load(text)["groups"]
    assert [rule["labels"]["role"] for rule in recorded["rules"]] == ["secondary", "primary"]
    assert [rule["alert"] for rule in alerts["rules"]] == ["EvenkeelGoldenCompressed"]


def test_a_name_that_would_break_a_rule_is_refused(calibration):
    """Quotes and braces do not get into expressions or templates."""
    first = calibration.modes[0]
    metrics = (*calibration.metrics, replace(calibration.metrics[0], name='x"} or {{ y'))
    odd = replace(first, primary=replace(first.primary, metric='x"} or {{ y'))
    with pytest.raises(CalibrationError, match="cannot stand in a rule"):
        alert_rules(replace(calibration, metrics=metrics, modes=(odd,)))
