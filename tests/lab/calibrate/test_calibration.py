"""The file of a calibration, and what it says of a candidate."""

from __future__ import annotations

import json

import pytest
import yaml

from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.calibration import (
    CalibrationError,
    calibration_to_yaml,
    read_calibration,
)
from tests.lab.calibrate.planted_scores import (
    FACTS,
    MISSING,
    calibrated,
    published_rows,
)


@pytest.fixture(scope="module")
def calibration():
    return calibrated(published_rows(80), FACTS)


def test_a_calibration_reads_back_as_it_was_written(calibration):
    """From YAML and from JSON; writing it again gives the same bytes."""
    text = calibration_to_yaml(calibration)
    assert read_calibration(text) == calibration
    assert read_calibration(json.dumps(yaml.safe_load(text))) == calibration
    assert calibration_to_yaml(read_calibration(text)) == text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.pop("goldens"), "goldens: the field is missing"),
        (lambda data: data.update(colour="red"), "colour: no such field"),
        (lambda data: data.update(schema_version=2), "schema_version: 2 is newer"),
        (lambda data: data.update(schema_version="1"), "schema_version: '1' is not 1"),
        (lambda data: data.update(schema_version=0), "schema_version: 0 is no longer read"),
        (
            lambda data: data["modes"][0]["primary"]["threshold"].update(value="high"),
            "modes.0.primary.threshold.value",
        ),
        (
            lambda data: data["modes"][0]["primary"]["threshold"].update(value=0.1),
            "modes.0.primary.threshold",
        ),
        (lambda data: data["modes"][0]["primary"].pop("threshold"), "either threshold or no_threshold"),
        (lambda data: data["modes"][0].pop("primary"), "either primary or failure"),
        (lambda data: data["modes"][0]["primary"].update(metric="rouge"), "'rouge' is not among the metrics"),
        (lambda data: data["placement"].update(false_alerts=float("nan")), "placement.false_alerts"),
        (lambda data: data["modes"][0].update(mode="lost"), "modes.0.mode"),
    ],
)
def test_what_is_wrong_is_named(calibration, change, said):
    """The message holds the field and what to do about it."""
    data = yaml.safe_load(calibration_to_yaml(calibration))
    change(data)
    with pytest.raises(CalibrationError) as raised:
        read_calibration(yaml.safe_dump(data))
    assert said in str(raised.value)
    assert any(word in str(raised.value) for word in ("add", "remove", "again", "upgrade", "correct"))


def test_a_candidate_below_a_threshold_breaches_its_mode(calibration):
    """Structural F1 is low and the judge agrees; order and words are fine. Flagging is strict."""
    fine = dict.fromkeys(("kendall_tau", "bleu", "bert_score", "chain_f1"), 0.9)
    scores = {"graph_f1": 0.5, "judge": 0.1, **fine}
    (breach,) = calibration.breaches(scores)
    assert (breach.mode, breach.metric, breach.score, breach.confirmed) == (MISSING, "graph_f1", 0.5, True)
    assert not breach.harmless
    assert calibration.breaches({"bleu": 0.1})[0].harmless
    limit = calibration.of(MISSING).primary.threshold.value
    assert calibration.breaches({"graph_f1": limit}) == ()


def test_what_was_not_measured_breaches_nothing_and_is_named(calibration):
    """A failed primary leaves its mode unwatched; a failed secondary leaves the breach unconfirmed."""
    timeout = Failure("judge", 1, "timeout")
    scores = {"graph_f1": 0.5, "judge": timeout, "kendall_tau": Failure("kendall_tau", 1, "no_steps")}
    (breach,) = calibration.breaches(scores)
    assert breach.confirmed is None
