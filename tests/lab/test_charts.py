"""Charts of the lab: bars and plots in user units."""

from __future__ import annotations

from evenkeel.lab.charts import Area, Axis, Bar, Curve, Mark, Rule, bar_plot, plot
from evenkeel.release.kit.charts import LEFT, RIGHT
from evenkeel.release.kit.document import Document, Picture, Section
from evenkeel.release.kit.renderings import html


def test_bars_are_split_by_their_counts():
    """Nothing is drawn for a count of 0; thin parts carry no number."""
    found = bar_plot("t", [Bar("a", (("x", 1), ("y", 0), ("z", 3)), ""), Bar("b", (("x", 1), ("y", 99)), "")])
    first, second = found.bars
    assert [(part.kind, part.x, part.width) for part in first.parts] == [
        ("x", LEFT, (RIGHT - LEFT) / 4),
        ("z", LEFT + (RIGHT - LEFT) / 4, (RIGHT - LEFT) * 3 / 4),
    ]
    assert [part.room for part in second.parts] == [False, True]


def test_a_plot_has_curves_areas_and_rules_on_the_same_axes():
    """Labels of curves that end at the same place are apart; the page draws all of it."""
    curves = [
        Curve("s0", (Mark(0, 0.0), Mark(1, 0.5, 0.4, 0.6, "half")), "one"),
        Curve("s1", (Mark(1, 0.5),), "two"),
    ]
    found = plot(
        "t",
        Axis(0, 1, (0, 1), percent=True),
        Axis(0, 1, (0, 0.5, 1)),
        curves=[*curves, Curve("empty", ())],
        areas=[Area("mild", ((0, 0), (0.5, 1), (1, 0)))],
        rules=[Rule("limit", 0.5, 0.4, 0.6)],
    )
    assert [curve.kind for curve in found.curves] == ["s0", "s1"]
    assert found.curves[0].end_y == found.curves[1].end_y
    assert abs(found.curves[0].label_y - found.curves[1].label_y) >= 15
    assert [tick.label for tick in found.x_ticks] == ["0%", "100%"]
    page = Document("t", (Section("s", (Picture(found),)),))
    text = html(page).decode()
    assert all(part in text for part in ('class="area mild"', 'class="rule limit"', "<title>half</title>"))
