"""What came of a calibration, on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from evenkeel.core.figures import number, percent, usd
from evenkeel.core.verdict import Failure

if TYPE_CHECKING:
    from rich.console import Console

    from evenkeel.experiments.calibrate.calibration import ModeResult, Role
    from evenkeel.experiments.calibrate.command import Outcome
    from evenkeel.experiments.calibrate.resampling import Measured

_DIGITS = 2


def show(outcome: Outcome, out: Console) -> None:
    """Print who watches what, what is missing, and where the files are."""
    chosen, scores, calibration = outcome.chosen, outcome.scores, outcome.calibration
    out.print(
        f"{number(len(chosen.goldens))} goldens of form {chosen.form}, {number(len(scores.rows))} "
        f"candidates, {number(len(scores.metrics))} metrics; encoder: {calibration.encoder or 'none'}"
    )
    table = Table("failure mode", "part", "metric", "sensitivity", "threshold", "false alerts", "misses")
    for mode in calibration.modes:
        for cells in _rows(mode):
            table.add_row(*cells)
    out.print(table)
    for line in _notes(outcome):
        out.print(line)
    for path in outcome.written.files:
        out.print(f"wrote {path}")
    out.print(f"rules: {outcome.written.rules}")
    if any(mode.primary for mode in calibration.modes):
        out.print(
            "calibration.yaml is for `evenkeel gate --calibration`, and for scoring.calibration in settings"
        )


def _rows(mode: ModeResult) -> list[tuple[str, ...]]:
    if mode.primary is None:
        why = mode.failure.detail if mode.failure else ""
        return [(mode.mode.value, "–", why, "", "", "", "")]
    name = f"{mode.mode.value} (harmless)" if mode.harmless else mode.mode.value
    rows = [(name, "primary", *_role(mode.primary))]
    if mode.secondary is not None:
        rows.append(("", "secondary", *_role(mode.secondary)))
    return rows


def _role(role: Role) -> tuple[str, ...]:
    limit = role.threshold
    if limit is None:
        why = role.no_threshold.reason.replace("_", " ") if role.no_threshold else ""
        return role.metric, number(role.sensitivity, _DIGITS), f"none: {why}", "", ""
    return (
        role.metric,
        number(role.sensitivity, _DIGITS),
        f"{number(limit.value, 3)} [{number(limit.lower, 3)}, {number(limit.upper, 3)}]",
        _share(limit.false_alerts),
        _share(limit.misses),
    )


def _share(measured: Measured) -> str:
    return f"{percent(measured.value)} [{number(measured.lower * 100)}, {number(measured.upper * 100)}]"


def _notes(outcome: Outcome) -> list[str]:
    scores, chosen = outcome.scores, outcome.chosen
    notes = []
    if chosen.others:
        others = ", ".join(
            f"{count} {name.replace('_', ' ')}" for name, count in sorted(chosen.others.items())
        )
        notes.append(f"left out, of another form: {others}")
    if scores.undegradable:
        most = ", ".join(f"{name} × {number(count)}" for name, count in sorted(scores.undegradable.items()))
        notes.append(f"candidates that cannot be made: {most}")
    if scores.unmoved:
        notes.append(f"metrics that never moved, left out: {', '.join(scores.unmoved)}")
    if scores.inapplicable:
        missing = ", ".join(f"{name} ({reason})" for name, reason in scores.inapplicable.items())
        notes.append(f"metrics that do not apply, left out: {missing}")
    if isinstance(outcome.bands, Failure):
        notes.append(f"bands of the cascade: none ({outcome.bands.reason}). {outcome.bands.detail}")
    elif outcome.bands is not None:
        notes.append(
            f"bands of the cascade: {percent(outcome.bands.saved)} of {number(outcome.bands.pairs)} pairs "
            "decided without the judge"
        )
    if outcome.remembered:
        notes.append(f"{number(outcome.remembered)} scores were in the journal already")
    if outcome.cost_usd:
        notes.append(f"spent on models: {usd(outcome.cost_usd)}")
    return notes
