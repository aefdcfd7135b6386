"""What becomes of each detector on each scenario, counted, and as tables."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final

from benchmarks.kit import Table
from benchmarks.upgrades.scenes import FAMILIES

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


def changes_table(outcomes: Sequence[Outcome]) -> Table:
    """How soon changes were found, a row for each family of scenarios and each detector."""
    rows = []
    for (family, detector), runs in _grouped(one for one in outcomes if one.changes).items():
        hits = [one for one in runs if one.requests is not None]
        rows.append(
            (
                family,
                detector,
                f"{len(hits)} of {len(runs)}",
                _median(one.requests for one in hits),
                max((one.requests or 0 for one in hits), default=None),
                _median(one.calls for one in hits),
                max((one.calls or 0 for one in hits), default=None),
                _median(one.days for one in hits),
            )
        )
    columns = ("change", "detector", "found", "requests", "at most", "calls", "at most", "days")
    note = (
        "Requests, calls and days from the change until it was found (by traits: suspected): the median of "
        "the plays in which it was, and the most."
    )
    return Table("changes", columns, tuple(rows), digits=1, notes=(note,))


def each_table(outcomes: Sequence[Outcome]) -> Table:
    """The same for evenkeel, a row for each scenario."""
    groups: dict[str, dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for one in outcomes:
        if one.changes and one.detector in _SHOWN:
            groups[one.scenario][one.detector].append(one)
    rows = []
    for scenario, detectors in groups.items():
        row: list[float | int | str | None] = [scenario]
        for name in _SHOWN:
            runs = detectors.get(name, [])
            hits = [one for one in runs if one.requests is not None]
            spent = (one.calls if name != _TRAITS else one.requests for one in hits)
            row += [f"{len(hits)} of {len(runs)}", max((one or 0 for one in spent), default=None)]
        rows.append(tuple(row))
    columns = ("change", "traits", "requests", "references", "calls", "both", "calls")
    return Table(
        "each", columns, tuple(rows), digits=0, notes=("Requests and calls: the most of all plays.",)
    )


_TRAITS: Final = "evenkeel: traits"
_SHOWN: Final = (_TRAITS, "evenkeel: references", "evenkeel: traits and references")


def quiet_table(outcomes: Sequence[Outcome]) -> Table:
    """False alarms where the provider changed nothing, a row for each family and detector."""
    rows = [
        (
            family,
            detector,
            len(runs),
            sum(one.watched_requests for one in runs),
            sum(one.false_suspected for one in runs),
            sum(one.false_found for one in runs),
            f"{sum(bool(one.false_found) for one in runs)} of {len(runs)}",
        )
        for (family, detector), runs in _grouped(one for one in outcomes if not one.changes).items()
    ]
    columns = ("what happens", "detector", "plays", "requests", "suspected", "found", "plays with a finding")
    return Table("quiet", columns, tuple(rows))


def summary_table(outcomes: Sequence[Outcome]) -> Table:
    """All plays together, which should be `common`, a row for each detector."""
    rows = []
    for detector, runs in _by_detector(outcomes).items():
        changed = [one for one in runs if one.changes]
        hits = [one for one in changed if one.requests is not None]
        rows.append(
            (
                detector,
                f"{len(hits)} of {len(changed)}",
                _median(one.requests for one in hits),
                _median(one.days for one in hits),
                _median(one.calls for one in hits),
                false_alarms_a_year(runs),
                round(sum(one.watched_days for one in runs)),
                f"{fmean(one.usd_a_day for one in runs):.3f}",
            )
        )
    columns = (
        "detector",
        "changes found",
        "requests",
        "days",
        "calls",
        "false alarms a year",
        "in so many days",
        "dollars a day",
    )
    note = (
        "Requests, days and calls until a change was found, medians. False alarms where nothing changed and "
        "before a change, suspicions included, in a year of one route; hostile traffic counts. Only plays "
        f"that all of them have watched: {', '.join(dict.fromkeys(one.scenario for one in outcomes))}."
    )
    return Table("summary", columns, tuple(rows), digits=1, notes=(note,))


def false_alarms_a_year(runs: Sequence[Outcome]) -> float | None:
    """Alarms without a change, of all kinds, in a year of one route; None if no time was without one."""
    days = sum(one.watched_days for one in runs)
    return 365 * sum(one.false_found + one.false_suspected for one in runs) / days if days else None


def common(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The plays that every detector has watched, so that they can be compared; all if there is none."""
    plays = [{(one.scenario, one.seed) for one in runs} for runs in _by_detector(outcomes).values()]
    shared = set.intersection(*plays)
    return [one for one in outcomes if (one.scenario, one.seed) in shared] or list(outcomes)


def _by_detector(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        groups[one.detector].append(one)
    return dict(groups)


def _grouped(outcomes: Iterable[Outcome]) -> dict[tuple[str, str], list[Outcome]]:
    """By family and detector, families in their order."""
    families = {one.name: name for name, scenarios in FAMILIES.items() for one in scenarios}
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    order = list(FAMILIES)
    found = [one for one in outcomes if one.scenario in families]
    for one in sorted(found, key=lambda one: order.index(families[one.scenario])):
        groups[families[one.scenario], one.detector].append(one)
    return dict(groups)


def _median(values: Iterable[float | int | None]) -> float | int | None:
    found = [value for value in values if value is not None]
    return median(found) if found else None
