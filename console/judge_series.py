"""What the judge did, in time: read back from the newest verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.console.chart import Chart, Sample, Scale, chart
from evenkeel.core import figures
from evenkeel.core.verdict import BANDS_RATING, JUDGED_AGAIN, JUDGED_SWAPPED, stage_of
from evenkeel.monitor.estimate import proportion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.core.verdict import Verdict

READ: Final = 4000
"""Newest verdicts read for the plots."""

POINTS: Final = 12
"""Points of a plot at most."""

FEWEST: Final = 5
"""Observations behind a point at least: fewer say nothing, so neighbours are taken together."""

_WHOLE: Final = Scale(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Plot:
    """One share in time."""

    id: str
    title: str
    note: str
    now: str
    """The newest point with its interval, "" if there is none."""
    chart: Chart
    description: str
    samples: tuple[Sample, ...]


def judge_plots(verdicts: Sequence[Verdict], now: float) -> tuple[Plot, ...]:
    """Plots of everything that was observed often enough.

    Args:
        verdicts: in any order; those that no judge stands behind are passed over.
        now: Unix time in seconds.
    """
    rated = sorted(
        (one for one in verdicts if one.scorer == "judge" and one.rating is not None),
        key=lambda one: one.scored_at,
    )
    found = []
    for place, (title, note, observe) in enumerate(_OBSERVED):
        seen = [(one.scored_at, hit) for one in rated if (hit := observe(one)) is not None]
        samples = binned(seen)
        if not samples:
            continue
        latest = samples[-1]
        assert latest.value is not None
        assert latest.lower is not None
        assert latest.upper is not None
        shown = (
            f"{figures.percent(latest.value)} [{figures.number(latest.lower * 100)}, "
            f"{figures.number(latest.upper * 100)}]"
        )
        found.append(
            Plot(
                id=f"judge-plot-{place}",
                title=title,
                note=note,
                now=shown,
                chart=chart([samples], (), threshold=0.0, scale=_WHOLE, now=now),
                description=f"{title}, in time: lately {shown}, from {len(seen)} observations.",
                samples=tuple(samples),
            )
        )
    return tuple(found)


def binned(seen: Sequence[tuple[float, bool]]) -> list[Sample]:
    """Shares of what was seen, over stretches with equally many observations each.

    Args:
        seen: time and whether it was so, in order of time.

    Returns: at most `POINTS` samples, each at the time of its last observation with an interval that
        covers the truth of its stretch with probability 95 %; none for fewer than `FEWEST` observations.
    """
    count = min(POINTS, len(seen) // FEWEST)
    samples = []
    for place in range(count):
        part = seen[place * len(seen) // count : (place + 1) * len(seen) // count]
        estimate = proportion(sum(hit for _, hit in part), len(part))
        assert estimate is not None
        samples.append(Sample(part[-1][0], estimate.value, estimate.lower, estimate.upper))
    return samples


def _agrees(verdict: Verdict) -> bool | None:
    bands = verdict.details.get(BANDS_RATING)
    return None if bands is None else bands == verdict.rating


def _repeats(verdict: Verdict) -> bool | None:
    again = verdict.details.get(JUDGED_AGAIN)
    return None if again is None else again == verdict.rating


def _symmetric(verdict: Verdict) -> bool | None:
    swapped = verdict.details.get(JUDGED_SWAPPED)
    return None if swapped is None else swapped == verdict.rating


def _saved(verdict: Verdict) -> bool | None:
    return stage_of(verdict.details) != "judge"


_OBSERVED: Final[tuple[tuple[str, str, Callable[[Verdict], bool | None]], ...]] = (
    ("Agrees with the cheap metrics", "of pairs that both have rated", _agrees),
    ("Same rating when asked again", "of pairs judged twice", _repeats),
    ("Same rating with sides swapped", "of pairs judged both ways", _symmetric),
    ("Rated without a call", "of all ratings", _saved),
)
