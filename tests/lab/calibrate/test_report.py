"""The page of a calibration."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from evenkeel.lab.calibrate.report import curves, document, sensitivity_cell
from evenkeel.lab.calibrate.resampling import multiplicities
from evenkeel.lab.calibrate.score_table import MetricFacts, Scored, score_table, table_lines
from evenkeel.lab.calibrate.sensitivity import trajectories
from evenkeel.release.calibration.calibration import Measured
from evenkeel.release.kit import charts
from evenkeel.release.kit.renderings import html
from tests.kit.records import altered
from tests.lab.calibrate.planted_scores import (
    FACTS,
    MISSING,
    calibrated,
    planted_rows,
    published_rows,
)
from tests.release.pages import Page


def page_of(rows, facts, **options):
    table, calibration = score_table(rows, facts), calibrated(rows, facts, **options)
    ways = trajectories(table, multiplicities(len(table.goldens), 100, Random(9)))
    return calibration, html(document(calibration, table, ways)).decode()


def test_the_page_holds_every_picture_and_figure():
    """Trajectories and histogram for each mode, one heatmap, thresholds as the calibration has them."""
    calibration, text = page_of(published_rows(80), FACTS)
    page = Page(text)
    names = [attrs["aria-label"] for tag, attrs in page.elements if tag == "svg"]
    assert sum(name.startswith("Mean scores by severity") for name in names) == 3
    assert sum("threshold" in name for name in names) == 3
    assert "Sensitivity" in page.text
    for result in calibration.modes:
        for role in (result.primary, result.secondary):
            assert f"{role.threshold.value:.3f}" in page.text
            assert role.metric in page.text
    assert "small-encoder" in page.text
    assert "prefers-color-scheme: dark" in text
    assert "&lt;workflows&gt;" in text


def test_a_picture_shows_eight_metrics_and_says_how_many_more_there_are():
    """Those that watch the mode and the steepest, each in a colour of its own."""
    names = [f"metric_{i}" for i in range(11)]
    facts = [MetricFacts(name, 1, name) for name in names]
    rows = [
        Scored(
            f"g{golden}", MISSING, severity, 1 - severity,
            {name: 1 - severity * (i + golden % 2) / 10 for i, name in enumerate(names)},
        )
        for golden in range(30)
        for severity in (0.1, 0.3, 0.5)
    ]  # fmt: skip
    _, text = page_of(rows, facts, form="prose")
    assert "Missing sentences" in text
    assert "(planted &lt;workflows&gt;, prose)" in text
    assert "3 more are in the tables" in text
    assert sorted(re.findall(r'<g class="curve (s\d)">', text)) == [f"s{i}" for i in range(8)]


def test_what_could_not_be_measured_is_said():
    """A metric that always fails, a mode nobody watches, and too few goldens each have their words."""
    rows = [altered(row, scores={"flat": 0.5, "broken": "timeout"}) for row in planted_rows(10, Random(1))]
    _, text = page_of(rows, [MetricFacts("flat", 1, "f"), MetricFacts("broken", 1, "g")])
    page = Page(text)
    assert "nobody" in page.text
    assert "broken: timeout, 30 times" in page.text


def test_the_example_of_the_docs_runs(tmp_path, monkeypatch):
    """From a file of scores to calibration, rules and page."""
    (tmp_path / "calibration-scores.jsonl").write_text(
        "\n".join(table_lines(published_rows(40), FACTS)), encoding="utf-8"
    )
    docs = Path(__file__).parents[3] / "docs" / "calibration.md"
    examples = re.findall(r"```python\n(.*?)```", docs.read_text(encoding="utf-8"), re.DOTALL)
    (example,) = [one for one in examples if "read_table(" in one]
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/calibration.md", "exec"), {})
    for name in ("calibration.yaml", "rules.yaml", "calibration.html"):
        assert (tmp_path / name).stat().st_size > 1000
    assert "as good as the golden" in (tmp_path / "calibration.html").read_text(encoding="utf-8").lower()


def test_points_lie_where_their_scores_are():
    """Score 1 is at the top, 0 at the bottom, and severities go to the right."""
    table = score_table(published_rows(40), FACTS)
    ways = [way for way in trajectories(table, multiplicities(40, 50, Random(1))) if way.mode == "missing"]
    drawn = curves("t", ways, range(7))
    ticks = {tick.label: tick.at for tick in drawn.y_ticks}
    assert ticks["0"] == charts.PLOT_BOTTOM
    assert ticks["1"] == charts.PLOT_TOP
    expected, first = drawn.curves[:2]
    assert (expected.kind, expected.marks, expected.label) == ("expected", (), "")
    mark = first.marks[0]
    height = charts.PLOT_BOTTOM - charts.PLOT_TOP
    assert mark.y == pytest.approx(charts.PLOT_BOTTOM - 0.9 * height, abs=0.1)
    assert mark.lower >= mark.y >= mark.upper
    assert [tick.label for tick in drawn.x_ticks] == ["10%", "30%", "50%"]
    assert [mark.x for mark in first.marks] == [tick.at for tick in drawn.x_ticks]


def test_the_sensitivities_say_what_is_not_there():
    """A missing sensitivity is a dash without colour; steeper ones have a stronger colour."""
    cells = [
        sensitivity_cell(None if value is None else Measured(value, value, value, 9), "a")
        for value in (0.05, 1.2, None)
    ]
    assert [(cell.shade, cell.text) for cell in cells] == [(0, "0.05"), (5, "1.20"), (0, "–")]
