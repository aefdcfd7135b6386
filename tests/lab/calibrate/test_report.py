"""The page of a calibration."""

from random import Random

from evenkeel.lab.calibrate.report import document
from evenkeel.lab.calibrate.resampling import multiplicities
from evenkeel.lab.calibrate.score_table import MetricFacts, score_table
from evenkeel.lab.calibrate.sensitivity import trajectories
from evenkeel.release.kit.renderings import html
from tests.kit.pages import Page
from tests.kit.records import altered
from tests.lab.calibrate.planted_scores import (
    FACTS,
    calibrated,
    planted_rows,
    published_rows,
)


def page_of(rows, facts, **options):
    table, calibration = score_table(rows, facts), calibrated(rows, facts, **options)
    ways = trajectories(table, multiplicities(len(table.goldens), 100, Random(9)))
    return calibration, html(document(calibration, table, ways)).decode()


def test_the_page_holds_every_picture_and_figure():
    """Trajectories for each mode, one heatmap, thresholds as the calibration has them."""
    calibration, text = page_of(published_rows(80), FACTS)
    page = Page(text)
    names = [attrs["aria-label"] for tag, attrs in page.elements if tag == "svg"]
    assert sum(name.startswith("Mean scores by severity") for name in names) == 3
    assert "Sensitivity" in page.text
    for result in calibration.modes:
        for role in (result.primary, result.secondary):
            assert f"{role.threshold.value:.3f}" in page.text
            assert role.metric in page.text
    assert "small-encoder" in page.text
    assert "prefers-color-scheme: dark" in text
    assert "&lt;workflows&gt;" in text


def test_what_could_not_be_measured_is_said():
    """A metric that always fails, a mode nobody watches, and too few goldens each have their words."""
    rows = [altered(row, scores={"flat": 0.5, "broken": "timeout"}) for row in planted_rows(10, Random(1))]
    _, text = page_of(rows, [MetricFacts("flat", 1, "f"), MetricFacts("broken", 1, "g")])
    page = Page(text)
    assert "nobody" in page.text
    assert "broken: timeout, 30 times" in page.text
