"""The parts of a report that need no store: periods, finding them in a log, alerts, sums and differences."""

from __future__ import annotations

import pytest

from evenkeel.core.verdict import BASELINE, QualityScore
from evenkeel.lab.report.counts import Folder, GroupKey
from evenkeel.lab.report.findings import alerts_of
from evenkeel.lab.report.period import Period, period_of, read_period, span_of
from evenkeel.lab.report.tables import Rules, group_line, make_tables
from evenkeel.release.kit.arguments import InputError
from evenkeel.stores.monitor_state import AlertEvent
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

DAY = 86_400.0
NOON = 1_795_003_200.0
"""2026-11-18 12:00:00 UTC."""
MIDNIGHT = NOON - DAY / 2

TEMPLATE = altered(
    VERDICT,
    exchange_id="x",
    scored_at=NOON,
    route="support",
    model="m-1",
    perturbation="general.spelling",
    control_rating=3,
)


class Log:
    """A log that makes its verdicts, one at each time, when they are read, and counts them."""

    def __init__(self, times):
        self.times = times
        self.read = 0

    def rows(self, offset, limit):
        return [
            LoggedVerdict(place, altered(TEMPLATE, id=str(place), scored_at=at))
            for place, at in enumerate(self.times[offset : offset + limit], offset + 1)
        ]

    def read_after(self, offset, limit):
        found = self.rows(offset, limit)
        self.read += len(found)
        return found

    def latest(self, limit, **_):
        return [row.verdict for row in self.rows(max(0, len(self.times) - limit), limit)[::-1]]


@pytest.mark.parametrize(
    ("since", "until", "expected", "words"),
    [
        (None, None, Period(NOON - 7 * DAY, NOON), "11 Nov 2026 12:00 to 18 Nov 2026 12:00 UTC"),
        ("2026-11-17", "2026-11-18", Period(MIDNIGHT - DAY, MIDNIGHT + DAY), "17 Nov 2026 to 18 Nov 2026"),
        ("2026-11-18", "2026-11-18", Period(MIDNIGHT, MIDNIGHT + DAY), "18 Nov 2026"),
        ("36h", None, Period(NOON - 1.5 * DAY, NOON), "17 Nov 2026 00:00 to 18 Nov 2026 12:00 UTC"),
        (
            "2026-11-18T10:30",
            "2026-11-18T12:30+01:00",
            Period(NOON - 5400, NOON - 1800),
            "18 Nov 2026, 10:30 to 11:30 UTC",
        ),
    ],
)
def test_a_period_is_read_and_said(since, until, expected, words):
    """Dates are UTC days, the last one as a whole; times may have a zone; "36h" counts back from now."""
    assert period_of(since, until, NOON) == expected
    assert expected.words == words


@pytest.mark.parametrize("since", ["yesterday", "2026-13-01", "7y", "", "2026-11-19"])
def test_a_period_that_is_none_is_refused(since):
    """Words, wrong dates, unknown units; and one that ends before it starts."""
    with pytest.raises(InputError, match="--since"):
        period_of(since or " ", "2026-11-17", NOON)


def test_a_day_of_a_long_log_is_found_without_reading_all_of_it():
    """Of 200,000 verdicts in 200 days some 5,000 are read for one day; progress ends at the whole."""
    log = Log([place * 86.4 for place in range(1, 200_001)])
    told = []
    found = list(read_period(log, Period(100 * DAY, 101 * DAY), progress=lambda *at: told.append(at)))
    assert len(found) == 1000
    assert log.read < 12_000
    assert told[-1][0] == told[-1][1]
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert span_of(log) == Period(86.4, 200_000 * 86.4)
    assert span_of(Log([])) is None


def event(at, kind, route="support", what="excess"):
    return AlertEvent(f"{at}{kind}{route}", at, kind, route, "m", "general.tone", int(at), 50, 0.3, what)


def test_alerts_are_those_that_were_up_in_the_period():
    """Raised before and still up, raised and resolved within; not those that were over or came later."""
    events = [
        event(10, "raised"), event(20, "resolved"),  # over before
        event(30, "raised"), event(120, "resolved"),  # from before into it
        event(150, "raised"), event(250, "resolved"),  # still up at its end
        event(210, "raised", "late"),
        event(160, "resolved", "pruned"),  # raised too long ago to be known
    ]  # fmt: skip
    found = alerts_of([*events[::-1], events[2]], Period(100, 200))
    assert [(one.route, one.raised_at, one.resolved_at) for one in found] == [
        ("pruned", None, 160),
        ("support", 150, None),
        ("support", 30, 120),
    ]
    assert alerts_of(events, Period(100, 200), "pruned") == found[:1]


def fold(*verdicts):
    folder = Folder()
    for place, verdict in enumerate(verdicts, 1):
        folder.add(LoggedVerdict(place, altered(verdict, id=str(place))))
    return folder


def test_an_exchange_weighs_the_same_whatever_its_trials():
    """One of two trials shifted in one exchange, its only trial in another: (0.5 + 1) / 2."""
    changed = (QualityScore("faithfulness", 1, 3.0, 1.0),)
    moved = altered(TEMPLATE, rating=1, quality=changed)
    folder = fold(
        altered(TEMPLATE, perturbation=BASELINE),
        TEMPLATE,
        altered(moved, perturbation="general.tone"),
        altered(moved, exchange_id="y", perturbation="format.json"),
    )
    groups = folder.groups()
    line = group_line("support", "m-1", "", groups[GroupKey("support", "m-1")], Rules(min_trials=1))
    assert (line.content_delta.value, line.robustness.value) == (0.75, 0.25)
    assert (line.trials, line.exchanges, line.noise_floor.n) == (3, 2, 1)
    # general 0.5, format 0, the resend 1
    (model,) = make_tables(folder, Rules(min_trials=1)).models
    assert model.mean_of_categories.value == pytest.approx(0.5)
