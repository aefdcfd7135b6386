"""The results as Markdown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from evenkeel.monitor.fold import MonitorSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.live_changes.cases import Case
    from benchmarks.live_changes.outcome import Outcome

_SURE: Final = 0.99


def expected_alerts(watched: int) -> float:
    """False alerts on average at most, by `mean_trials_between_false_alarms`; `watched` as in `Outcome`."""
    return watched / MonitorSettings().mean_trials_between_false_alarms


def most_alerts(expected: float) -> int:
    """What a Poisson number of that mean exceeds in fewer than one of a hundred runs."""
    count, term = 0, math.exp(-expected)
    total = term
    while total < _SURE:
        count += 1
        term *= expected / count
        total += term
    return count


def quiet_line(outcome: Outcome) -> str:
    """One sentence about the run without a change."""
    expected = expected_alerts(outcome.watched)
    most = most_alerts(expected)
    return (
        f"no change: {outcome.trials:,} trials in {outcome.cells} cells ({outcome.least} or more in "
        f"each), {len(outcome.other_alerts)} alerts "
        f"(promised: {expected:.1f} on average at most; a Poisson number of that mean is {most} or less "
        f"in 99 of 100 runs), "
        f"{len(outcome.other_reports)} change reports; {outcome.seconds:.0f} s"
    )


def head() -> str:
    """The first two lines of the table."""
    return (
        "| case | what changes | right cause alone | no report | other or further causes | reports elsewhere "
        "| alerts elsewhere | exchanges until reported, median (most) | seconds a run |\n"
        "|---|---|---:|---:|---|---:|---:|---:|---:|"
    )


def case_row(case: Case, outcomes: Sequence[Outcome]) -> str:
    """One line of it."""
    right = sum(set(one.causes) == {case.cause.value} for one in outcomes)
    silent = sum(not one.causes for one in outcomes)
    wrong = [
        " + ".join(one.causes) for one in outcomes if one.causes and set(one.causes) != {case.cause.value}
    ]
    delays = sorted(one.noticed_after for one in outcomes if one.noticed_after is not None)
    delay = f"{delays[len(delays) // 2]} ({delays[-1]})" if delays else "–"
    return (
        f"| {case.name} | {case.change} | {right} of {len(outcomes)} | {silent} | {'; '.join(wrong) or '–'} "
        f"| {sum(len(one.other_reports) for one in outcomes)} "
        f"| {sum(len(one.other_alerts) for one in outcomes)} | {delay} "
        f"| {sum(one.seconds for one in outcomes) / len(outcomes):.0f} |"
    )
