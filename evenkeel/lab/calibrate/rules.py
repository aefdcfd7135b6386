"""Prometheus rules with the calibrated thresholds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import yaml

from evenkeel.release.calibration.calibration import CalibrationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.release.calibration.calibration import Calibration, ModeResult, Role, Threshold

GAUGE: Final = "evenkeel_goldens_score_ratio"
"""Latest score of one approved golden, with the label `metric` beside those the alerts are by."""
_BY: Final = "route, model"
"""Labels that the goldens are averaged by."""
_WHERE: Final = "route {{ $labels.route }}, model {{ $labels.model }}"
RECORDED: Final = "evenkeel:calibrated_threshold"

_PLAIN = re.compile(r"[A-Za-z0-9_.:-]+")


def alert_rules(calibration: Calibration) -> str:
    """Rules as YAML: every threshold recorded as a series, and two alerts for each watched mode.

    `EvenkeelGolden<Mode>` (warning) fires while the mean of the primary metric over the goldens of a
    route is below its threshold; `EvenkeelGolden<Mode>Confirmed` (critical) while the secondary is below
    its own as well. For a harmless mode the two are info and warning. A mode without a threshold gets no
    rule.

    Args:
        calibration: holds the thresholds.

    Raises:
        CalibrationError: A metric's name is not fit for a rule, or there is no threshold at all.
    """
    recorded = [rule for mode in calibration.modes for rule in _recorded(mode)]
    if not recorded:
        raise CalibrationError(
            "modes: none has a threshold, so there are no rules: calibrate on more goldens"
        )
    alerts = [rule for mode in calibration.modes for rule in _alerts(mode, calibration)]
    groups = [
        {"name": "evenkeel-calibrated-thresholds", "rules": recorded},
        {"name": "evenkeel-goldens", "rules": alerts},
    ]
    text: str = yaml.safe_dump(
        {"groups": [group for group in groups if group["rules"]]}, sort_keys=False, width=110
    )
    head = f"# Calibrated on {calibration.calibrated_on} on {calibration.goldens.count} goldens"
    return f"{head} (sha256 {calibration.goldens.sha256[:12]}).\n{text}"


def _recorded(mode: ModeResult) -> Iterator[dict[str, Any]]:
    for part, role in (("primary", mode.primary), ("secondary", mode.secondary)):
        if role is not None and role.threshold is not None:
            yield {
                "record": RECORDED,
                "expr": f"vector({role.threshold.value!r})",
                "labels": {"failure_mode": mode.mode.value, "metric": _name(role), "role": part},
            }


def _alerts(mode: ModeResult, calibration: Calibration) -> Iterator[dict[str, Any]]:
    primary, secondary = mode.primary, mode.secondary
    if primary is None or primary.threshold is None:
        return
    name = f"EvenkeelGolden{mode.mode.value.capitalize()}"
    labels = {"failure_mode": mode.mode.value, "metric": _name(primary)}
    expr = _below(primary, primary.threshold)
    yield {
        "alert": name,
        "expr": expr,
        "labels": {"severity": "info" if mode.harmless else "warning", **labels},
        "annotations": {
            "summary": f"Goldens look {mode.mode.value}: {_WHERE}",
            "description": _description(mode, primary, primary.threshold, calibration),
        },
    }
    if secondary is None or secondary.threshold is None:
        return
    yield {
        "alert": f"{name}Confirmed",
        "expr": f"{expr}\nand on ({_BY})\n{_below(secondary, secondary.threshold)}",
        "labels": {
            "severity": "warning" if mode.harmless else "critical",
            **labels,
            "confirmed_by": _name(secondary),
        },
        "annotations": {
            "summary": f"Goldens look {mode.mode.value}, by two metrics: {_WHERE}",
            "description": (
                f"{_name(primary)} and {_name(secondary)} are both below their thresholds "
                f"{primary.threshold.value:g} and {secondary.threshold.value:g}. Compare answers with their "
                "goldens; undo the change of model or prompt if they are worse."
            ),
        },
    }


def _below(role: Role, limit: Threshold) -> str:
    return f'avg by ({_BY}) ({GAUGE}{{metric="{_name(role)}"}}) < {limit.value!r}'


def _description(mode: ModeResult, role: Role, limit: Threshold, calibration: Calibration) -> str:
    mild, moderate = calibration.placement.mild, calibration.placement.moderate
    return (
        f'Mean {_name(role)} over the goldens is {{{{ $value | printf "%.3f" }}}}, below {limit.value:g}. '
        f"In calibration it was {limit.mild_mean:.2f} with {mild:.0%} and {limit.moderate_mean:.2f} with "
        f"{moderate:.0%} of a golden {mode.mode.value}; of single goldens {limit.false_alerts.value:.0%} "
        f"of the former are flagged and {limit.misses.value:.0%} of the latter missed."
    )


def _name(role: Role) -> str:
    if not _PLAIN.fullmatch(role.metric):
        raise CalibrationError(
            f"metrics: the name {role.metric!r} cannot stand in a rule: use letters, digits and _ . : -"
        )
    return role.metric
