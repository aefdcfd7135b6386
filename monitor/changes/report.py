"""The report on a change: what was noticed, what it did, and what is likely behind it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.cause import SAID, Cause, likely_cause
from evenkeel.monitor.changes.compare import compare
from evenkeel.monitor.detect.gate import Verdict as GateVerdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.monitor.changes.cause import Verdict
    from evenkeel.monitor.changes.compare import Comparison
    from evenkeel.monitor.changes.goldens import GoldenAlarm, GoldenHistory
    from evenkeel.monitor.changes.record import ChangeRecord
    from evenkeel.monitor.detect.gate import GateReport

_SAME_TIME_S: Final = 86_400.0
"""A golden alarm belongs to a change that came at most so long before the run that decided it."""

Effect = Literal["worse", "none_seen", "unknown"]


@dataclass(frozen=True, slots=True)
class GoldenSide:
    """What the goldens of the route say about a change."""

    verdict: GateVerdict | None
    """Of the replay after the change; None if there was none."""
    settled: bool
    """Whether evidence decided it."""
    asked: int
    breaches: tuple[tuple[str, float, float | None], ...]
    """Measure, share of the goldens that breach it now, and before; None where that is not known."""
    reason: str = ""
    """Why nothing could be measured, "" if it could."""
    alarm: GoldenAlarm | None = None
    """Of the canaries, if they noticed it."""


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """One change."""

    id: str
    route: str
    at: float
    """Unix time in seconds."""
    marks: tuple[ChangeMark, ...]
    cause: Cause
    among: tuple[Cause, ...]
    """The causes that compete, if it is unclear."""
    evidence: tuple[str, ...]
    effect: Effect
    """Whether answers got worse: on the traffic or on the goldens."""
    effects: tuple[str, ...]
    """What got worse, one sentence each."""
    comparison: Comparison | None
    """The traffic before and after; None for a change that only canaries noticed."""
    goldens: GoldenSide | None
    settings: tuple[str, ...] = ()
    """Which settings differ, one line each."""
    also: str = ""
    """Id under which the canaries reported it before the traffic showed it; "" if they did not."""

    @property
    def title(self) -> str:
        """Route and cause in a few words."""
        said = SAID[self.cause]
        if self.cause is Cause.UNCLEAR:
            said = f"unclear: {' or '.join(SAID[cause] for cause in self.among)}"
        return f"{self.route}: {said}"


def reports_of(
    records: Sequence[ChangeRecord],
    history: GoldenHistory,
    *,
    settings: Mapping[str, Sequence[str]] | None = None,
    min_trials: int = 30,
) -> tuple[ChangeReport, ...]:
    """All changes, the newest first.

    Args:
        records: Of all routes, as the fold has them.
        history: Of the goldens.
        settings: Which settings differ, by the fingerprint after the change.
        min_trials: Nothing is said about fewer observations.
    """
    alarms = list(history.alarms)
    found = []
    for record in sorted(records, key=lambda one: one.at, reverse=True):
        own = next((alarm for alarm in alarms if _belongs(alarm, record)), None)
        if own is not None:
            alarms.remove(own)
        judged = record.id in history.judged
        found.append(
            _of_record(record, history.gates.get(record.id), own, settings or {}, min_trials, judged=judged)
        )
    found += [_of_alarm(alarm) for alarm in alarms]
    return tuple(sorted(found, key=lambda one: (-one.at, one.id)))


def _belongs(alarm: GoldenAlarm, record: ChangeRecord) -> bool:
    return alarm.route == record.route and alarm.since - 1 <= record.at <= alarm.at + _SAME_TIME_S


def _of_record(
    record: ChangeRecord,
    gate: GateReport | None,
    alarm: GoldenAlarm | None,
    settings: Mapping[str, Sequence[str]],
    min_trials: int,
    *,
    judged: bool,
) -> ChangeReport:
    comparison = compare(record.before, record.after, min_trials=min_trials)
    goldens = _goldens(gate, alarm)
    verdict = likely_cause(
        record.marks,
        goldens_moved=_moved(gate, alarm),
        goldens_judged=judged or (alarm is not None and alarm.judged),
    )
    effects = _effects(comparison, goldens)
    measured = any(cell.content_delta.before and cell.content_delta.after for cell in comparison.cells)
    known = measured or (gate is not None and gate.verdict is not GateVerdict.COULD_NOT_MEASURE)
    differ = [
        line for mark in record.marks if mark.kind == kinds.SETTINGS for line in settings.get(mark.after, ())
    ]
    return ChangeReport(
        id=record.id,
        route=record.route,
        at=record.at,
        marks=record.marks,
        cause=verdict.cause,
        among=verdict.among,
        evidence=verdict.evidence,
        effect="worse" if effects else "none_seen" if known else "unknown",
        effects=effects,
        comparison=comparison,
        goldens=goldens,
        settings=tuple(differ),
        also=_alarm_id(alarm) if alarm is not None else "",
    )


def _of_alarm(alarm: GoldenAlarm) -> ChangeReport:
    """A change that only the canaries noticed."""
    mark = ChangeMark(
        kinds.GOLDENS,
        f"{alarm.measure}: {alarm.before:.0%}",
        f"{alarm.measure}: {alarm.after:.0%}",
        alarm.at,
        0,
    )
    verdict: Verdict = likely_cause([mark], goldens_moved=True)
    goldens = _goldens(None, alarm)
    return ChangeReport(
        id=_alarm_id(alarm),
        route=alarm.route,
        at=alarm.at,
        marks=(mark,),
        cause=verdict.cause,
        among=verdict.among,
        evidence=verdict.evidence,
        effect="worse",
        effects=_effects(None, goldens),
        comparison=None,
        goldens=goldens,
    )


def _alarm_id(alarm: GoldenAlarm) -> str:
    return hashlib.sha256(f"{alarm.route}\0goldens\0{alarm.run}".encode()).hexdigest()[:12]


def _moved(gate: GateReport | None, alarm: GoldenAlarm | None) -> bool | None:
    """Whether the goldens are answered otherwise; None if that is not settled."""
    if alarm is not None:
        return True
    if gate is None or not gate.settled:
        return None
    return gate.verdict is GateVerdict.REGRESSION


def _goldens(gate: GateReport | None, alarm: GoldenAlarm | None) -> GoldenSide | None:
    if gate is None and alarm is None:
        return None
    if gate is None:
        assert alarm is not None
        return GoldenSide(None, True, 0, ((alarm.measure, alarm.after, alarm.before),), alarm=alarm)
    return GoldenSide(
        gate.verdict,
        gate.settled,
        gate.asked,
        tuple((one.measure.name, one.candidate, one.reference) for one in gate.findings if one.n),
        gate.reason,
        alarm,
    )


def _effects(comparison: Comparison | None, goldens: GoldenSide | None) -> tuple[str, ...]:
    found = []
    pooled = comparison.pooled if comparison else None
    if pooled is not None and pooled.rose and pooled.before is not None and pooled.after is not None:
        found.append(
            f"Over all perturbations answers shift in {pooled.after.value:.0%} of the trials, "
            f"{pooled.before.value:.0%} before."
        )
    for cell in comparison.cells if comparison else ():
        sides = cell.content_delta if cell.content_delta.rose else cell.excess
        if cell.worse and sides.before is not None and sides.after is not None:
            found.append(
                f"{cell.perturbation}: answers shift in {sides.after.value:.0%} of the trials, "
                f"{sides.before.value:.0%} before."
            )
    if goldens is not None and (goldens.verdict is GateVerdict.REGRESSION or goldens.alarm is not None):
        for measure, now, before in goldens.breaches:
            if now > (before or 0.0):
                was = "" if before is None else f", {before:.0%} before"
                found.append(f"Goldens: {now:.0%} breach {measure}{was}.")
    return tuple(found)
