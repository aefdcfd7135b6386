import math

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.console.chart import (
    BOTTOM,
    LEFT,
    MAX_POINTS,
    RIGHT,
    TOP,
    ChartMark,
    chart,
    spark,
    time_ticks,
)
from evenkeel.core.geometry import Scale
from evenkeel.stores.monitor_state import TrendPoint

NOW = 1_786_544_400.0


def _samples(*values, step=60.0, end=NOW):
    start = end - step * (len(values) - 1)
    return [TrendPoint(start + step * place, value, None, None) for place, value in enumerate(values)]


def _points(path):
    return [
        tuple(float(part) for part in point.split())
        for point in path.removeprefix("M").rstrip("Z").split("L")
    ]


def test_values_and_times_are_placed_in_proportion():
    """The axis has a step of room at both ends; the first sample is at the left edge, now at the right."""
    drawn = chart([_samples(0.0, 0.25, 0.5)], [], threshold=0.1, now=NOW)
    up = Scale(-0.1, 0.6, BOTTOM, TOP)
    placed = [(LEFT, up.at(0.0)), ((LEFT + RIGHT) / 2, up.at(0.25)), (RIGHT, up.at(0.5))]
    assert _points(drawn.lines[0].line) == placed
    assert drawn.threshold_y == up.at(0.1)


def test_points_without_a_number_are_left_out():
    """None, NaN and infinite bounds draw nothing and break nothing."""
    samples = [
        TrendPoint(NOW - 60, None, None, None),
        TrendPoint(NOW - 30, math.nan, 0, 0),
        TrendPoint(NOW, 0.2, -math.inf, 0.4),
    ]
    drawn = chart([samples], [], threshold=0.1, now=NOW)
    assert len(set(_points(drawn.lines[0].line))) == 1  # a dot
    assert drawn.lines[0].band == ""


def test_a_line_breaks_where_nothing_was_measured():
    """A flat line through a silence would say that the model was as before."""
    series = [*_samples(*[0.1] * 20, end=NOW - 3600), *_samples(*[0.1] * 20)]
    drawn = chart([series], [], threshold=0.1, now=NOW)
    assert drawn.lines[0].line.count("M") == 2


def test_long_series_are_thinned_and_keep_their_ends():
    """A thousand points become few; the first and the newest are among them."""
    drawn = chart([_samples(*[0.1] * 999, 0.4)], [], threshold=0.1, now=NOW)
    points = _points(drawn.lines[0].line)
    assert len(points) == MAX_POINTS
    assert points[0][0] == LEFT
    assert points[-1] == (drawn.lines[0].end_x, Scale(-0.1, 0.5, BOTTOM, TOP).at(0.4))


def test_marks_stay_inside_and_do_not_overlap():
    """Labels near the right edge turn inwards, close ones take two rows, older ones are dropped."""
    marks = [
        ChartMark(NOW - 7200, "old", "raised"),
        ChartMark(NOW - 20, "a", "raised"),
        ChartMark(NOW - 5, "b", "resolved"),
    ]
    drawn = chart([_samples(*[0.1] * 60)], marks, threshold=0.1, now=NOW)
    assert [mark.label for mark in drawn.marks] == ["a", "b"]
    assert {mark.anchor for mark in drawn.marks} == {"end"}
    assert drawn.marks[0].label_y != drawn.marks[1].label_y
    marks = [
        ChartMark(NOW - 30 + place, "x", kind) for place, kind in enumerate(("change", "raised", "resolved"))
    ]
    drawn = chart([_samples(*[0.1] * 60)], marks, threshold=0.1, now=NOW)
    assert len({mark.label_y for mark in drawn.marks}) == 3


@given(st.floats(min_value=1, max_value=4e6), st.floats(min_value=0, max_value=2e9))
def test_time_ticks_are_few_ordered_and_inside(span, start):
    ticks = time_ticks(start, start + span)
    times = [at for at, _ in ticks]
    assert len(times) <= 6
    assert times == sorted(set(times))
    assert all(start - 1e-6 <= at <= start + span + 1e-6 for at in times)


def test_a_sparkline_breaks_where_nothing_was_measured():
    """The line ends where measuring ended, not at the right edge."""
    steady = [TrendPoint(NOW - 6000 + 60 * place, 0.05, 0.0, 0.1) for place in range(20)]
    later = [TrendPoint(NOW - 2400 + 60 * place, 0.06, 0.0, 0.1) for place in range(20)]
    drawn = spark([*steady, *later], 0.1, NOW)
    assert drawn.line.count("M") == 2
    assert drawn.end_x < 70
    assert spark(steady[:1], 0.1, NOW) is None
