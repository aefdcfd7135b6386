"""Sliding windows: what is in them, that clocks can't break them, and that they stay small."""

from __future__ import annotations

import json

import pytest

from evenkeel.monitor.estimate import OUTCOMES, Counts, Windows
from evenkeel.monitor.estimate.windows import RECENT
from evenkeel.monitor.fold.state import LogClock

HOUR = 3600.0
DAY = 24 * HOUR
YEAR = 365 * DAY


def filled(*rows: tuple[str, float, int]) -> tuple[Windows, float]:
    """Windows after observations with a time and an era each, and the log's time at the end."""
    windows, clock = Windows(), LogClock()
    for observation, at, era in rows:
        windows.add(observation, at, clock.add(at), era)
    return windows, clock.now


def sizes(windows: Windows, now: float, era: int = 0) -> dict[str, int]:
    return {window: words.total() for window, words in windows.totals(now, era).items()}


def test_the_time_windows_hold_the_running_slot_and_the_whole_ones_before():
    """Trials of 3 days, 3 hours and 20 minutes ago and of now: the hour has the last two, the day three."""
    now = 100 * DAY
    rows = [("0", now - age, 0) for age in (3 * DAY, 3 * HOUR, 20 * 60.0, 0.0) for _ in range(10)]
    windows, at = filled(*rows)
    assert at == now
    assert sizes(windows, at) == {"1h": 20, "24h": 30, "500": 40, "since_change": 40}


@pytest.mark.parametrize("age_s", [0, 59 * 60, 66 * 60])
def test_the_hour_is_60_to_65_minutes(age_s):
    """Nothing younger than an hour is missing, and nothing older than 65 minutes is there."""
    for phase in range(0, 300, 50):
        now = 1000 * HOUR + phase
        windows, at = filled(("0", now - age_s, 0), *[("1", now, 0)] * 9)
        assert sizes(windows, at)["1h"] == (10 if age_s <= HOUR else 9)


def test_the_last_500_are_the_last_500_in_log_order():
    """Not by their own time."""
    rows = [("0", 1e6 - number, 0) for number in range(100)] + [("1", number, 0) for number in range(RECENT)]
    windows, at = filled(*rows)
    assert windows.totals(at, 0)["500"] == {"1": RECENT}


def test_since_the_change_begins_anew_with_an_era():
    """Observations of the era before the change don't count, late ones neither; before any, nothing does."""
    windows, at = filled(("0", 1.0, 0), ("1", 2.0, 1), ("1", 3.0, 1), ("0", 4.0, 0))
    assert windows.totals(at, 1)["since_change"] == {"1": 2}
    assert windows.totals(at, 2)["since_change"] == {}


def test_one_clock_that_runs_ahead_moves_no_window():
    """A verdict from next year is in no window of time, and the others stay where they are."""
    now = 100 * DAY
    windows, at = filled(*[("0", now + number, 0) for number in range(40)], ("1", now + YEAR, 0))
    assert sizes(windows, at) == {"1h": 40, "24h": 40, "500": 41, "since_change": 41}


def test_a_clock_that_is_set_back_leaves_the_windows_right():
    """After hours of a clock a year ahead, right times fill the windows, at the latest from the fifth."""
    now = 100 * DAY
    ahead = [("0", now + YEAR + 60 * number, 0) for number in range(200)]
    windows, at = filled(*ahead, *[("1", now + 60 * number, 0) for number in range(30)])
    assert now <= at <= now + HOUR
    assert windows.totals(at, 0)["1h"] == {"1": 26}
    assert windows.totals(at, 0)["24h"] == {"1": 30}


def test_late_verdicts_go_where_they_belong():
    """Out of order within the day, each is counted in the windows of its own time."""
    now = 100 * DAY
    windows, at = filled(*[("0", now, 0)] * 9, *[("1", now - 2 * HOUR, 0)] * 4, *[("0", now, 0)] * 9)
    totals = windows.totals(at, 0)
    assert totals["1h"] == {"0": 18}
    assert totals["24h"] == {"0": 18, "1": 4}


def test_times_that_are_no_numbers_are_in_no_window_of_time():
    """Infinity and NaN neither raise nor move the log's time."""
    windows, at = filled(("0", 5.0, 0), ("0", float("nan"), 0), ("0", float("inf"), 0), ("0", -7.0, 0))
    assert at in {-7.0, 5.0}
    assert sizes(windows, at)["500"] == 4


def test_outcomes_have_letters_that_json_leaves_alone():
    """68 outcomes, each with a letter of its own, none of which a window would split or JSON escape."""
    assert len(OUTCOMES) == 68
    assert json.dumps("".join(OUTCOMES)) == f'"{"".join(OUTCOMES)}"'
    assert " " not in OUTCOMES


def test_counts_of_letters_are_those_of_the_outcomes():
    """Each outcome twice: ratings, qualities and pairs add up."""
    counts = Counts(dict.fromkeys(OUTCOMES, 2))
    # 17 kinds of rating and quality, 4 of pairs; 1 and 2 have 5 qualities each, 3 none, unsure 5 and none.
    assert counts.ratings == {0: 48, 1: 40, 2: 40, 3: 8}
    assert (counts.shifted, counts.content_trials, counts.quality_scored) == (120, 128, 96)
    assert counts.qualities == {"same": 24, "worse": 24, "better": 24, "mixed": 24, "unscored": 24}
    assert counts.pairs == {1: 34, -1: 34, 0: 34}


def test_the_log_clock_is_the_median_of_nine():
    """Four wrong clocks of nine do not move it; five do, in either direction."""
    clock = LogClock([10.0] * 9)
    assert [clock.add(1e9) for _ in range(5)] == [10.0, 10.0, 10.0, 10.0, 1e9]
    assert [clock.add(5.0) for _ in range(5)][-1] == 5.0
    assert LogClock().now == 0.0
