"""Effects of other settings, or of less traffic: several variants of one log, read once."""

from __future__ import annotations

import fnmatch
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Final

from evenkeel.core.errors import UserError
from evenkeel.core.figures import listing
from evenkeel.core.verdict import BASELINE, Verdict
from evenkeel.lab.backtest.run import BacktestRun, SettingsVariant
from evenkeel.monitor.detect import Measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from evenkeel.core.cells import Limit
    from evenkeel.lab.backtest.run import Backtest
    from evenkeel.monitor.fold import MonitorSettings
    from evenkeel.stores.verdict_log import Entry

MOST_VARIANTS: Final = 48
"""Each one is a monitor of its own, with the state of every cell."""
# Trials between two updates of the progress.
_SHOWN_AFTER: Final = 500


def grid(
    settings: MonitorSettings,
    *,
    thresholds: Sequence[float] = (),
    mean_trials: Sequence[float] = (),
    tolerances: Sequence[float] = (),
    shares: Sequence[float] = (),
    families: Sequence[tuple[str, ...]] = (),
    within: SettingsVariant | None = None,
) -> list[SettingsVariant]:
    """Every combination of some values; where none is given, that of the settings.

    A value that is given holds on all routes, whatever limits were calibrated for them.

    Args:
        settings: What everything else is taken from.
        thresholds: Of the alert: largest tolerated excess.
        mean_trials: Between false alarms, of all cells together.
        tolerances: Of drift.
        shares: Of the exchanges.
        families: Of perturbations, each some patterns.
        within: The routes and the time that all variants share.

    Raises: UserError for more than 48 combinations.
    """
    limits: dict[str, Mapping[Measure, Limit]] = {}
    for route, of_route in settings.limits.items():
        # The limit of content is what varies; calibrated ones of other measures stay.
        others = dict(of_route)
        others.pop(Measure.CONTENT, None)
        limits[route] = others
    if thresholds:
        settings = replace(settings, limits=limits)
    if tolerances:
        settings = replace(settings, tolerances={})
    placed = []
    for family, share, threshold, length, tolerance in product(
        families or [()],
        shares or [1.0],
        thresholds or [settings.threshold],
        mean_trials or [settings.mean_trials_between_false_alarms],
        tolerances or [settings.drift_tolerance],
    ):
        placed.append(
            replace(
                within or SettingsVariant(),
                settings=replace(
                    settings,
                    threshold=threshold,
                    mean_trials_between_false_alarms=length,
                    drift_tolerance=tolerance,
                ),
                share=share,
                only=family,
            )
        )
    if len(placed) > MOST_VARIANTS:
        raise UserError(
            f"{len(placed)} combinations are more than {MOST_VARIANTS}; give fewer values, or run it twice"
        )
    return placed


def sweep(
    entries: Iterable[Entry],
    variants: Sequence[SettingsVariant],
    *,
    plotted: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Backtest]:
    """Return the results of a log under each variant.

    Args:
        entries: In the order of the log; read once.
        variants: At least one.
        plotted: Of the first variant, keep enough to draw its cells.
        progress: Told now and then how many trials were read and how many alerts the first variant raised.

    Raises: UserError for a perturbation or a route that does not occur in the log.
    """
    first, *others = variants
    leading = BacktestRun(first, plotted=plotted)
    runs = [leading, *(BacktestRun(variant) for variant in others)]
    raised = number = 0
    kinds: set[str] = set()
    routes: set[str] = set()
    for number, entry in enumerate(entries, start=1):
        if isinstance(entry, Verdict):
            kinds.add(entry.perturbation)
            routes.add(entry.route)
        raised += sum(event.kind == "raised" for event in leading.add(number, entry))
        for run in runs[1:]:
            run.add(number, entry)
        if progress is not None and number % _SHOWN_AFTER == 0:
            progress(number, raised)
    if progress is not None:
        progress(number, raised)
    for variant in variants:
        _check_occurs("--only", variant.only, kinds - {BASELINE})
        _check_occurs("--route", variant.routes, routes)
    return [run.finish() for run in runs]


def _check_occurs(option: str, patterns: Sequence[str], names: AbstractSet[str]) -> None:
    """Refuse a pattern that no name matches: without a trial there is no alert."""
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            there = f"it has {listing(sorted(names))}" if names else "it has none"
            raise UserError(f"{option} {pattern}: does not occur in the log; {there}")
