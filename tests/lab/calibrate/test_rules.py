"""Prometheus rules from a calibration."""

from __future__ import annotations

import subprocess
from random import Random

import pytest
import yaml

from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.rules import alert_rules
from evenkeel.release.calibration.calibration import CalibrationError
from tests.kit.records import altered
from tests.lab.calibrate.planted_scores import (
    FACTS,
    STRUCTURAL_AND_LEXICAL,
    calibrated,
    planted_rows,
    published_rows,
)


@pytest.fixture(scope="module")
def calibration():
    return calibrated(published_rows(80), FACTS)


def promtool(folder, *command):
    return subprocess.run(["promtool", *command], cwd=folder, capture_output=True, text=True, check=False)


def test_every_threshold_is_recorded_and_alerted_on(calibration):
    """Three modes, each with a primary and a secondary; what is as good as before alerts more quietly."""
    recorded, alerts = yaml.safe_load(alert_rules(calibration))["groups"]
    assert {(rule["labels"]["failure_mode"], rule["labels"]["role"]) for rule in recorded["rules"]} == {
        (mode, role) for mode in ("missing", "compressed", "reworded") for role in ("primary", "secondary")
    }
    assert [(rule["alert"], rule["labels"]["severity"]) for rule in alerts["rules"]] == [
        ("EvenkeelGoldenMissing", "warning"), ("EvenkeelGoldenMissingConfirmed", "critical"),
        ("EvenkeelGoldenCompressed", "warning"), ("EvenkeelGoldenCompressedConfirmed", "critical"),
        ("EvenkeelGoldenReworded", "info"), ("EvenkeelGoldenRewordedConfirmed", "warning"),
    ]  # fmt: skip


def series(route, golden, metric, value):
    labels = f'route="{route}", model="m", golden="{golden}", metric="{metric}"'
    return {"series": f"evenkeel_goldens_score_ratio{{{labels}}}", "values": f"{value}+0x5"}


def fired(rule, route, mean, **labels):
    """An alert of a route as promtool expects it, with the rule's own templates filled in."""
    filled = {"{{ $labels.route }}": route, "{{ $labels.model }}": "m", '{{ $value | printf "%.3f" }}': mean}
    annotations = dict(rule["annotations"])
    for key, text in annotations.items():
        for template, said in filled.items():
            text = text.replace(template, said)  # noqa: PLW2901
        annotations[key] = text
    shared = {"route": route, "model": "m", "failure_mode": "missing", "metric": "graph_f1"}
    return {"exp_labels": {**shared, **labels}, "exp_annotations": annotations}


@pytest.mark.service("promtool")
def test_the_alerts_fire_when_they_should_and_only_then(calibration, tmp_path):
    """The mean of a route's goldens decides: one bad golden among good ones fires nothing."""
    text = alert_rules(calibration)
    (tmp_path / "rules.yaml").write_text(text, encoding="utf-8")
    rules = {rule["alert"]: rule for rule in yaml.safe_load(text)["groups"][1]["rules"]}
    missing, confirmed = rules["EvenkeelGoldenMissing"], rules["EvenkeelGoldenMissingConfirmed"]
    expected = {
        "EvenkeelGoldenMissing": [
            fired(missing, "bad", "0.500", severity="warning"),
            fired(missing, "worse", "0.400", severity="warning"),
        ],
        "EvenkeelGoldenMissingConfirmed": [
            fired(confirmed, "worse", "0.400", severity="critical", confirmed_by="judge")
        ],
        "EvenkeelGoldenCompressed": [],
    }
    test = {
        "interval": "1m",
        "input_series": [
            series("good", "a", "graph_f1", 0.5),
            *(series("good", golden, "graph_f1", 0.97) for golden in "bcdef"),
            series("bad", "a", "graph_f1", 0.5), series("bad", "a", "judge", 0.9),
            series("worse", "a", "graph_f1", 0.4), series("worse", "a", "judge", 0.1),
        ],
        "alert_rule_test": [
            {"eval_time": "3m", "alertname": name, "exp_alerts": alerts} for name, alerts in expected.items()
        ],
    }  # fmt: skip
    (tmp_path / "test.yaml").write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "tests": [test]}))
    done = promtool(tmp_path, "test", "rules", "test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_calibration_without_thresholds_gives_no_rules():
    """That is said instead of writing an empty file."""
    found = calibrated(planted_rows(12, Random(1)), STRUCTURAL_AND_LEXICAL)
    with pytest.raises(CalibrationError, match="none has a threshold"):
        alert_rules(found)


def test_what_has_no_threshold_has_no_rule(calibration):
    """A mode whose primary has none is silent; a secondary without one confirms nothing."""
    none = Failure("calibration_threshold", 1, "not_separable")
    first, second, third = calibration.modes
    text = alert_rules(
        altered(
            calibration,
            modes=(
                altered(first, primary=altered(first.primary, threshold=None, no_threshold=none)),
                altered(second, secondary=altered(second.secondary, threshold=None, no_threshold=none)),
                altered(third, primary=None, secondary=None, failure=none),
            ),
        )
    )
    recorded, alerts = yaml.safe_load(text)["groups"]
    assert [rule["labels"]["role"] for rule in recorded["rules"]] == ["secondary", "primary"]
    assert [rule["alert"] for rule in alerts["rules"]] == ["EvenkeelGoldenCompressed"]


def test_a_name_that_would_break_a_rule_is_refused(calibration):
    """Quotes and braces do not get into expressions or templates."""
    first = calibration.modes[0]
    metrics = (*calibration.metrics, altered(calibration.metrics[0], name='x"} or {{ y'))
    odd = altered(first, primary=altered(first.primary, metric='x"} or {{ y'))
    with pytest.raises(CalibrationError, match="cannot stand in a rule"):
        alert_rules(altered(calibration, metrics=metrics, modes=(odd,)))
