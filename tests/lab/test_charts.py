"""Charts of the lab: plots in user units."""

from evenkeel.lab.charts import Area, Axis, Curve, Mark, Rule, plot
from evenkeel.release.kit.document import Document, Picture, ReportSection
from evenkeel.release.kit.renderings import html


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
    page = Document("t", (ReportSection("s", (Picture(found),)),))
    text = html(page).decode()
    assert all(part in text for part in ('class="area mild"', 'class="rule limit"', "<title>half</title>"))
