"""What becomes of each detector on each scenario, counted, and as tables."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.kit import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.upgrades.detectors import Alarm, Detector
    from benchmarks.upgrades.scenes import Scenario


@dataclass(frozen=True, slots=True)
class Outcome:
    """One detector on one play of a scenario."""

    scenario: str
    detector: str
    seed: int
    changes: bool
    hostile: bool
    requests: int | None
    """From the change to the first alarm after it; None = none came."""
    calls: int | None
    """Extra calls in that time."""
    days: float | None
    """Likewise."""
    kind: str
    """Of that alarm; "" without one."""
    false_found: int
    """Alarms without a change before them that say that a change is found."""
    false_suspected: int
    """Likewise suspicions."""
    watched_requests: int
    """Without a change, so that alarms were false."""
    watched_days: float
    usd_a_day: float
    """Of the extra calls until the watch was over, at list price."""
    about: str
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def outcome(detector: Detector, scenario: Scenario, seed: int) -> Outcome:
    """Let a detector watch one play, until it raises the change or the traffic is over.

    A suspicion ends the watch of a detector that only suspects; others are watched until they find.
    """
    started = time.monotonic()
    scene = scenario.scene(seed)
    change_at = scene.change_at if scenario.changes else scene.end
    false: defaultdict[str, int] = defaultdict(int)
    hit: Alarm | None = None
    for alarm in detector.watch(scene):
        if alarm.at < change_at:
            false[alarm.kind] += 1
        elif scenario.changes and (alarm.kind == "found" or detector.only_suspects):
            hit = alarm
            break
    over = hit.at if hit else scene.end
    watched = [request for request in scene.requests if request.at < change_at]
    first = scene.requests[0].at
    return Outcome(
        scenario=scenario.name,
        detector=detector.name,
        seed=seed,
        changes=scenario.changes,
        hostile=bool(scenario.hostile),
        requests=scene.until(hit.at) if hit else None,
        calls=scene.endpoint.calls_between(change_at, hit.at) if hit else None,
        days=(hit.at - change_at) / 86_400 if hit else None,
        kind=hit.kind if hit else "",
        false_found=false["found"],
        false_suspected=false["suspected"],
        watched_requests=len(watched),
        watched_days=(min(change_at, over) - first) / 86_400,
        usd_a_day=scene.endpoint.usd / max((over - first) / 86_400, 1e-9),
        about=hit.about if hit else "",
        seconds=time.monotonic() - started,
    )


def found_table(name: str, outcomes: Sequence[Outcome], notes: Iterable[str] = ()) -> Table:
    """How soon each detector found the changes, a row for each scenario and detector."""
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for one in outcomes:
        if one.changes:
            groups[one.scenario, one.detector].append(one)
    rows = []
    for (scenario, detector), runs in groups.items():
        hits = [one for one in runs if one.requests is not None]
        rows.append(
            (
                scenario,
                detector,
                f"{len(hits)} of {len(runs)}",
                _median(one.requests for one in hits),
                _most(one.requests for one in hits),
                _median(one.calls for one in hits),
                _most(one.calls for one in hits),
                _median(one.days for one in hits),
            )
        )
    columns = ("change", "detector", "found", "requests", "at most", "calls", "at most", "days")
    return Table(name, columns, tuple(rows), digits=1, notes=tuple(notes))


def quiet_table(name: str, outcomes: Sequence[Outcome], notes: Iterable[str] = ()) -> Table:
    """False alarms where nothing changed, a row for each scenario and detector."""
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for one in outcomes:
        if not one.changes:
            groups[one.scenario, one.detector].append(one)
    rows = [
        (
            scenario,
            detector,
            len(runs),
            sum(one.watched_requests for one in runs),
            sum(one.false_suspected for one in runs),
            sum(one.false_found for one in runs),
            sum(bool(one.false_found) for one in runs),
        )
        for (scenario, detector), runs in groups.items()
    ]
    columns = ("nothing changed", "detector", "runs", "requests", "suspected", "found", "runs with a finding")
    return Table(name, columns, tuple(rows), notes=tuple(notes))


def summary_table(name: str, outcomes: Sequence[Outcome], notes: Iterable[str] = ()) -> Table:
    """All scenarios together, a row for each detector."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        groups[one.detector].append(one)
    rows = []
    for detector, runs in groups.items():
        changed = [one for one in runs if one.changes]
        hits = [one for one in changed if one.requests is not None]
        quiet_days = sum(one.watched_days for one in runs)
        false = sum(one.false_found + one.false_suspected for one in runs)
        rows.append(
            (
                detector,
                f"{len(hits)} of {len(changed)}",
                _median(one.requests for one in hits),
                _median(one.days for one in hits),
                _median(one.calls for one in hits),
                false,
                round(quiet_days),
                round(365 * false / quiet_days, 1) if quiet_days else None,
                f"{_usd(runs):.3f}",
            )
        )
    columns = (
        "detector",
        "changes found",
        "requests",
        "days",
        "calls",
        "false alarms",
        "days without a change",
        "false alarms a year",
        "dollars a day",
    )
    return Table(name, columns, tuple(rows), digits=1, notes=tuple(notes))


def _usd(runs: Sequence[Outcome]) -> float:
    return sum(one.usd_a_day for one in runs) / len(runs)


def _median(values: Iterable[float | int | None]) -> float | int | None:
    found = [value for value in values if value is not None]
    return median(found) if found else None


def _most(values: Iterable[float | int | None]) -> float | int | None:
    return max((value for value in values if value is not None), default=None)
