"""Limits of the alerts, set or calibrated, and the origin of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.monitor.detect import Limit, Measure
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.runtime import choices
from evenkeel.runtime.references import reference_level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.settings import Settings

# Seconds between two points of a trend line.
_TREND_S: Final = 10.0
_SIMULATED_TREND_S: Final = 1.0
# Settings of `alerts` by the measure that each limits.
_SETTING_OF: Final = {
    Measure.CONTENT: "threshold",
    Measure.QUALITY: "quality_loss",
    Measure.INVALID: "invalid",
}


def monitor_settings(settings: Settings) -> MonitorSettings:
    """Return the settings of the fold. Precedence of a limit: setting, calibrated limit, default.

    Raises: ValueError if the file of calibrated limits can't be read.
    """
    alert = settings.alerts
    stated: dict[Measure, Limit] = {}
    for measure, name in _SETTING_OF.items():
        if name in alert.model_fields_set:
            stated[measure] = Limit(getattr(alert, name), "settings")
    calibrated: dict[str, dict[Measure, Limit]] = {}
    tolerances: dict[str, Limit] = {}
    for setting in choices.limits(settings):
        limit = Limit(setting.value, setting.source)
        if setting.measure == "drift":
            tolerances[setting.route] = limit
        elif (measure := Measure(setting.measure)) not in stated:
            calibrated.setdefault(setting.route, {})[measure] = limit
    return MonitorSettings(
        threshold=alert.threshold,
        mean_trials_between_false_alarms=alert.mean_trials_between_false_alarms,
        min_trials=alert.min_trials,
        trend_interval_s=_SIMULATED_TREND_S if settings.simulated else _TREND_S,
        reference_level=reference_level(settings),
        limits={"": stated, **calibrated},
        tolerances=tolerances,
    )


def limit_lines(settings: Settings) -> Iterator[str]:
    """Yield the limits in effect and their origin, a line for each group of routes that share them.

    Raises: ValueError if the file of calibrated limits can't be read.
    """
    settings_of_monitor = monitor_settings(settings)
    shared: dict[str, list[str]] = {}
    for route in settings.routes:
        limits: dict[str, Limit] = {}
        for measure, limit in settings_of_monitor.limits_of(route.name).items():
            limits[measure.value] = limit
        limits["drift"] = settings_of_monitor.tolerance_of(route.name)
        parts = []
        for name, limit in limits.items():
            parts.append(f"{name} {limit.value:g} ({limit.source})")
        shared.setdefault(", ".join(parts), []).append(route.name)
    for listed, routes in shared.items():
        yield f"limits of {', '.join(routes)}: {listed}"
