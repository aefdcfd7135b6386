"""Cells that have left their own baseline, in a line for each route and model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.core import figures, rewordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.cells import CellReport

_SAID = {"risen": "more", "fallen": "less"}


def drift_notices(reports: Sequence[CellReport]) -> list[str]:
    """What has moved although it may still be within the allowed excess; risen before fallen.

    Args:
        reports: one per cell, in any order.
    """
    groups: dict[tuple[str, str, str], list[CellReport]] = {}
    for report in reports:
        if report.drift is not None and report.drift.state in _SAID:
            place = (report.drift.state, report.key.route, report.key.model)
            groups.setdefault(place, []).append(report)
    return [
        _line(*place, groups[place])
        for place in sorted(groups, key=lambda one: (one[0] != "risen", *one[1:]))
    ]


def _line(state: str, route: str, model: str, moved: Sequence[CellReport]) -> str:
    first = moved[0].drift
    assert first is not None
    under = figures.listing([rewordings.phrase(report.key.perturbation) for report in moved])
    line = f"{'beyond' if state == 'risen' else 'below'} "
    line += figures.percent(first.upper if state == "risen" else first.lower)
    trials = f"{'first' if first.provisional else 'approved'} {first.trials:,} trials"
    example = "" if len(moved) == 1 else f" of {rewordings.phrase(moved[0].key.perturbation)}"
    return (
        f"Answers of {model} on {route} shift {_SAID[state]} often than they did, under {under}: "
        f"{figures.percent(first.baseline)} in the {trials}{example}, now {line}. Look what changed there."
    )
