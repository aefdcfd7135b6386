"""State of the whole monitor, and its checkpoint format.

A checkpoint is a small head and parts, of which only those that changed are written again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
from msgspec import Struct, field

from evenkeel.core.approval import Approval
from evenkeel.core.cells import CellKey, CellReport, ChangeMark, RollupReport, RouteChanges, is_unrated
from evenkeel.core.incidents import Decision
from evenkeel.core.panel import PanelRated
from evenkeel.core.records import from_plain
from evenkeel.core.together import together_count
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.changes import RouteWatch, kinds
from evenkeel.monitor.detect import Alert, Baseline, DriftAlert
from evenkeel.monitor.detect.drift import Stratum
from evenkeel.monitor.estimate import CellEffects, Counts, outcome_of
from evenkeel.monitor.fold.cell import Cell, ReportContext
from evenkeel.monitor.fold.events import (
    FoldOutcome,
    TrendRow,
    alert_event,
    cell_left,
    decided,
    drift_approved,
    drift_event,
    explained,
    followed,
    not_rolled_back,
    trend_point,
)
from evenkeel.monitor.fold.models import NEEDED, RouteModels
from evenkeel.monitor.fold.rollups import Rollup
from evenkeel.monitor.fold.silent import ModelTests, SilentChanges
from evenkeel.monitor.incidents.book import IncidentBook
from evenkeel.stores.monitor_state import IncidentRow
from evenkeel.stores.verdict_log import LoggedNote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel.core.sightings import ReferenceAnswered
    from evenkeel.monitor.changes import ChangeRecord
    from evenkeel.monitor.changes.record import ChangeTally
    from evenkeel.monitor.detect import AlertRules, DriftChange, DriftRules
    from evenkeel.monitor.estimate import RatedOutcome
    from evenkeel.monitor.fold.settings import MonitorSettings
    from evenkeel.monitor.fold.silent import SilentReport
    from evenkeel.monitor.incidents import Incident
    from evenkeel.stores.monitor_state import AlertEvent
    from evenkeel.stores.verdict_log import Logged, LoggedVerdict


_VOTES: Final = 9


class LogClock(Struct):
    """Clock of the log: the median time of the last nine verdicts and sightings.

    The fold may not look at a clock, or a replay would end differently. The newest entry's time
    would let one worker whose clock is wrong end what lasts a day; the largest so far would never come back.
    The median follows the log within four entries, over idle nights too, and in both directions.
    """

    times: list[float] = field(default_factory=list)
    """Times of which the median is taken, oldest first."""

    def add(self, at: float) -> float:
        """Take the time of the next entry, in Unix seconds; return the log's time."""
        if isfinite(at):
            self.times = [*self.times[1 - _VOTES :], at]
        return sorted(self.times)[(len(self.times) - 1) // 2] if self.times else 0.0


VERSION: Final = 28
"""Version of the checkpoint format; no other version is read."""
UNREADABLE: Final = (ValueError, KeyError, TypeError, IndexError, AttributeError)
"""Exceptions raised by reading something that is not a checkpoint."""


class CheckpointError(Exception):
    """Error for a checkpoint that cannot be read. The state can always be folded again from the log."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Data that has to be stored so that the state can be restored."""

    head: bytes
    """Small part of the state; it replaces the previous one."""
    parts: dict[str, bytes]
    """Parts by name (cells, roll-ups, incidents …) that changed since the last checkpoint; others stay
    stored."""
    incidents: list[IncidentRow]
    """Records of those incidents for all readers."""
    whole: bool
    """True if these are all the parts, so that any others in the store are to be removed."""


def part_name(kind: str, *key: str) -> str:
    """Return the name of a part: its kind, and what it is the state of."""
    return msgspec.json.encode([kind, *key]).decode()


class MonitorState:
    """State of every cell, as of `offset` in the verdict log."""

    def __init__(self, settings: MonitorSettings) -> None:
        self.settings = settings
        self.offset = 0
        """Place of the last verdict that was counted."""
        self._models: dict[str, RouteModels] = {}
        self._cells: dict[tuple[str, str, str], Cell] = {}
        self._sorted: list[Cell] = []
        self._rollups: defaultdict[tuple[str, str], Rollup] = defaultdict(Rollup)
        self._clock = LogClock()
        self._routes: dict[str, RouteWatch] = {}
        self._silent = SilentChanges(settings, self._watch)
        self._stored = False
        # Cells with an alert that is up.
        self._alarmed: set[tuple[str, str, str]] = set()
        self._incidents = IncidentBook(self._routes)
        # Rules of cells by route and by number of combined rewordings.
        self._rules: dict[tuple[str, int], tuple[AlertRules, DriftRules]] = {}

    def apply(self, logged: Logged) -> FoldOutcome:
        """Apply one entry of the log: a verdict, a sighting, an approval or a decision.

        An entry at or before `offset` is counted already and changes nothing.

        Returns: the alert events and trend points it gave rise to, mostly none.
        """
        if logged.offset <= self.offset:
            return FoldOutcome([], [])
        self.offset = logged.offset
        applied = self._applied(logged)
        dropped = self._incidents.dropped
        placed = FoldOutcome([self._incidents.place(event) for event in applied.events], applied.trend)
        if self._incidents.dropped > dropped:
            self._stored = False  # the store has a part of what is gone
        return placed

    def _applied(self, logged: Logged) -> FoldOutcome:
        if not isinstance(logged, LoggedNote):
            return self._scored(logged)
        note, offset = logged.note, logged.offset
        if isinstance(note, Approval):
            return FoldOutcome(self._approved(note, offset), [])
        if isinstance(note, Decision):
            incident = self._incidents.find(note.incident)
            return FoldOutcome([] if incident is None else [decided(incident, note, offset)], [])
        return FoldOutcome(self._sighted(note, offset), [])

    def _scored(self, logged: LoggedVerdict) -> FoldOutcome:
        verdict = logged.verdict
        now = self._clock.add(verdict.scored_at)
        events = [*self._silent.expire(logged.offset, now), *self._settle(logged)]
        if verdict.is_contrast:
            # Its answer must move, so it says nothing about rewordings: no cell, roll-up or change counts it.
            return FoldOutcome(events, [])
        model = self._places(verdict.route).name_of(verdict.model)
        drawn = not verdict.selection.split_of
        if not drawn and together_count(verdict.perturbation) > 1:
            # A part of a group was tried only because the group moved: it says which rewordings to try.
            return FoldOutcome(events, [])
        cell = self._cell(verdict.route, model, verdict.perturbation)
        outcome = outcome_of(verdict)
        before = self._watch(verdict.route).era
        # Before the cell counts it: the trial that completes a change is the first one since it.
        history = self._follow(logged, outcome)
        events += self._explained(logged) if history.era != before else ()
        counts = drawn and (not isinstance(outcome, str) or is_unrated(outcome))
        rollup = self._rollups[verdict.route, model]
        if counts and together_count(verdict.perturbation) == 1:
            rollup.add(verdict, outcome)
        if drawn:
            rollup.judge.add(verdict)
            rollup.changed = True
        # As it was before the trial: a bet must not depend on what it is about.
        effect = cell.counts.effects.content.bets_on_drift
        change = cell.add(verdict, outcome, history.era)
        if change:
            self._note_alerts(cell)
            events.append(alert_event(cell, change, logged, self.settings))
        if counts and verdict.is_answered:
            # Who rates the route at the time, not who rated this trial: a judge is asked about answers that
            # differ, so that would be a trait of the outcome.
            stratum = Stratum(history.judge, verdict.origin.prompt_version or "")
            events += self._drift(cell, logged, outcome, stratum, effect)
        trend = []
        # Clocks jump both ways.
        due = (
            cell.trend_at is None or abs(verdict.scored_at - cell.trend_at) >= self.settings.trend_interval_s
        )
        # A control has no points above noise, so there is nothing to draw.
        if change or (due and verdict.failure is None and not verdict.is_control):
            cell.trend_at, cell.changed = verdict.scored_at, True
            point = trend_point(cell, verdict.scored_at, self.settings, history.era)
            trend = [TrendRow(*cell.key.parts, point)]
        return FoldOutcome(events, trend)

    def _sighted(self, sighting: ReferenceAnswered | PanelRated, offset: int) -> list[AlertEvent]:
        now = self._clock.add(sighting.at)
        watch, dropped = self._watch(sighting.route), self._silent.dropped
        if isinstance(sighting, PanelRated):
            changed = watch.note_panel(sighting, offset)
            if changed is not None:
                self.mark_change(sighting.route, changed)
            return []
        events = [
            *self._silent.expire(offset, now),
            *self._silent.observe(sighting, offset, now),
        ]
        if self._silent.dropped > dropped:
            self._stored = False  # the store has a part of what is gone
        return events

    def _drift(
        self, cell: Cell, logged: LoggedVerdict, outcome: RatedOutcome | str, stratum: Stratum, effect: float
    ) -> list[AlertEvent]:
        """Pass a rated or unrated trial to its cell's drift detector; return the events it causes."""
        observed = None
        if not isinstance(outcome, str):
            if outcome.unsure:
                return []
            observed = int(outcome.shifted)
        drifted = cell.drift.observe(observed, stratum, effect)
        if drifted:
            self._note_alerts(cell)
            return [self._drifted(cell, drifted, logged)]
        if cell.drift.has_strayed and cell.leave_drift():
            self._note_alerts(cell)
            return [cell_left(cell, "drift", "prompts", logged, self.settings)]
        return []

    def _drifted(self, cell: Cell, drifted: DriftChange, logged: LoggedVerdict) -> AlertEvent:
        """Return the event of a cell that left its baseline, which marks a change as well, or came back."""
        if drifted.kind != "recovered":
            what = f"{cell.key.perturbation}: shifted in"
            before, after = f"{what} {drifted.baseline.mean:.0%}", f"{what} {drifted.run_mean:.0%}"
            at = logged.verdict.scored_at
            mark = ChangeMark(kinds.RATINGS, before, after, at, logged.offset, drifted.run_trials)
            self.mark_change(cell.key.route, mark)
        return drift_event(cell, drifted, logged, self.settings)

    def _approved(self, approval: Approval, offset: int) -> list[AlertEvent]:
        """Compare the cells with the approved baselines from now on.

        Also those without a verdict: the log may no longer have what came before.
        """
        events = []
        route = approval.route
        models = self._places(route)
        for approved in approval.cells:
            if not models.admit(approved.model, NEEDED):
                continue
            cell = self._cell(route, approved.model, approved.perturbation)
            drifting = cell.drift.up
            cell.drift.approve(Baseline(approved.mean, approved.n))
            self._note_alerts(cell)
            cell.touch()
            if drifting:
                events.append(drift_approved(cell, approval, offset, self.settings))
        return events

    def _places(self, route: str) -> RouteModels:
        models = self._models.get(route)
        if models is None:
            models = self._models[route] = RouteModels(self.settings.max_models_per_route)
        return models

    def _settle(self, logged: LoggedVerdict) -> list[AlertEvent]:
        """Count the exchange for its model, and drop the state of a model that loses its place to it."""
        verdict = logged.verdict
        if not verdict.is_control:
            return []
        route = verdict.route
        leaving = self._places(route).observe(verdict.model)
        events: list[AlertEvent] = []
        if self._alarmed:
            for cell in self._without_traffic(route):
                events += self._left(cell, "model", logged)
        gone, again = self._incidents.exchange(verdict, logged.offset)
        for incident in gone:
            events += self._reversed(incident, logged)
        events += [not_rolled_back(incident, logged) for incident in again]
        return events if leaving is None else events + self._dropped(route, leaving, logged)

    def _without_traffic(self, route: str) -> list[Cell]:
        models = self._places(route)
        cells: list[Cell] = []
        for key in sorted(self._alarmed):
            if key[0] == route and models.is_gone(key[1]):
                cells.append(self._cells[key])
        return cells

    def _left(
        self, cell: Cell, gone: Literal["", "model", "place"], logged: LoggedVerdict
    ) -> list[AlertEvent]:
        """End a cell's alerts because the traffic in which they were raised is gone; "" = reversed."""
        events = []
        if cell.leave_alert():
            events.append(cell_left(cell, "excess", gone, logged, self.settings))
        if cell.leave_drift():
            events.append(cell_left(cell, "drift", gone, logged, self.settings))
        self._note_alerts(cell)
        return events

    def _reversed(self, incident: Incident, logged: LoggedVerdict) -> list[AlertEvent]:
        """End the alerts of an incident whose change was reversed."""
        events = []
        for key in [part.key for part in incident.up]:
            cell = self._cells.get((key.route, key.model, key.perturbation))
            if cell is not None:
                events += self._left(cell, "", logged)
            elif key.what == "change":
                at = logged.verdict.scored_at
                events += self._silent.reverse(key.route, key.model, logged.offset, at)
        return events

    def _note_alerts(self, cell: Cell) -> None:
        if cell.up:
            self._alarmed.add(cell.key.parts)
        else:
            self._alarmed.discard(cell.key.parts)

    def _dropped(self, route: str, leaving: str, logged: LoggedVerdict) -> list[AlertEvent]:
        """Drop the state of a model of a route; return the events of the alerts that end with it."""
        events: list[AlertEvent] = []
        for cell in list(self._cells.values()):
            if (cell.key.route, cell.key.model) == (route, leaving):
                events += self._left(cell, "place", logged)
                del self._cells[cell.key.parts]
        self._rollups.pop((route, leaving), None)
        self._sorted = []
        # The store has parts of what is gone.
        self._stored = False
        return events

    def _cell(self, route: str, model: str, perturbation: str) -> Cell:
        key = (route, model, perturbation)
        cell = self._cells.get(key)
        if cell is None:
            rules, drift = self._rules_of(route, perturbation)
            alert = None if perturbation == BASELINE else Alert(rules)
            cell = Cell(CellKey(*key), alert, DriftAlert(drift))
            former = self._former_cell(route, perturbation)
            if former is not None:
                cell.counts.effects = CellEffects.after(former.counts.effects)
            self._cells[key] = cell
        return cell

    def _former_cell(self, route: str, perturbation: str) -> Cell | None:
        latest: Cell | None = None
        for cell in self._cells.values():
            if cell.key.route != route or cell.key.perturbation != perturbation or cell.scored_at is None:
                continue
            if latest is None or latest.scored_at is None or cell.scored_at > latest.scored_at:
                latest = cell
        return latest

    def _rules_of(self, route: str, perturbation: str) -> tuple[AlertRules, DriftRules]:
        together = together_count(perturbation)
        rules = self._rules.get((route, together))
        if rules is None:
            alert, drift = self.settings.rules(route, together), self.settings.drift(route)
            rules = self._rules[route, together] = alert, drift
        return rules

    def _follow(self, logged: LoggedVerdict, outcome: RatedOutcome | str) -> RouteWatch:
        route = logged.verdict.route
        history = self._watch(route)
        for change in history.observe(logged.verdict, outcome, logged.offset):
            self.mark_change(route, change)
        return history

    def _explained(self, logged: LoggedVerdict) -> list[AlertEvent]:
        """Return the event if a verdict reveals the cause of an incident, or a later change during it."""
        route, at = logged.verdict.route, logged.verdict.scored_at
        cause = self._incidents.explain(route, at)
        if cause is not None:
            return [explained(cause, logged)]
        cause = self._incidents.follow(route, at)
        return [] if cause is None else [followed(cause, logged)]

    def _watch(self, route: str) -> RouteWatch:
        watch = self._routes.get(route)
        if watch is None:
            watch = self._routes[route] = RouteWatch(route)
        return watch

    def mark_change(self, route: str, change: ChangeMark) -> None:
        """Start "since the last change" again for all cells of a route, from the next verdict on.

        Part of the fold, so the cause has to be a verdict of the log and not a call from outside.
        """
        self._watch(route).mark(change)

    def _era(self, route: str) -> int:
        history = self._routes.get(route)
        return history.era if history else 0

    def changes(self) -> list[RouteChanges]:
        """Return the changes of every route, sorted by route."""
        changes = []
        for route in sorted(self._routes):
            changes.append(self._routes[route].report())
        return changes

    def change_records(self) -> list[ChangeRecord]:
        """Return the latest changes of every route with the traffic on both sides, by route, oldest first."""
        records: list[ChangeRecord] = []
        for route in sorted(self._routes):
            of_route = self._routes[route].records()
            for record in of_route:
                for tally in (record.before, record.after):
                    # An alert that is up is about the traffic since the latest change.
                    self._relate(route, tally, is_latest=tally is of_route[-1].after)
            records += of_route
        return records

    def _relate(self, route: str, tally: ChangeTally, *, is_latest: bool) -> None:
        """Give the counts of a change the design effects of their cells, and limits that alerts show."""
        for perturbation in tally.cells:
            cell = self._cells.get((route, tally.leading_model, perturbation))
            tally.effects[perturbation] = (cell.counts if cell else Counts()).effects.intervals
            tally.shown_limits[perturbation] = cell.shown_limit if cell and is_latest else None

    def silent(self) -> list[SilentReport]:
        """Return the state of the tests for silent changes, by route and requested model."""
        return self._silent.reports()

    def incidents(self) -> list[Incident]:
        """Return the incidents that the fold still knows, the one that was opened last first."""
        return sorted(self._incidents.all(), key=lambda known: (-known.opened_at, known.id))

    @property
    def cells(self) -> Mapping[tuple[str, str, str], Cell]:
        """Cells by route, model and perturbation: read-only, for callers that need less than a report."""
        return self._cells

    def rollups(self) -> list[RollupReport]:
        """Return every roll-up's report, sorted by route and model."""
        pooled: dict[tuple[str, str], list[Cell]] = {}
        for cell in self._cells.values():
            if together_count(cell.key.perturbation) == 1:
                pooled.setdefault(cell.key.parts[:2], []).append(cell)
        reports = []
        for (route, model), cells in sorted(pooled.items()):
            rollup = self._rollups[route, model]
            if rollup.scored_at is not None:
                reports.append(rollup.report(route, model, cells, self.settings, self._era(route)))
        return reports

    def reports(self) -> list[CellReport]:
        """Return every cell's report, sorted by route, model and perturbation."""
        if len(self._sorted) != len(self._cells):
            self._sorted = [self._cells[key] for key in sorted(self._cells)]
        retired = self._retired()
        reports: list[CellReport] = []
        for cell in self._sorted:
            reports.append(self._report(cell, retired=cell.key.parts[:2] in retired))
        return reports

    def _retired(self) -> set[tuple[str, str]]:
        retired = set()
        for route, model in {cell.key.parts[:2] for cell in self._sorted}:
            watch = self._routes.get(route)
            replaced = watch is not None and model in watch.replaced
            if self._places(route).is_gone(model, replaced=replaced):
                retired.add((route, model))
        return retired

    def _report(self, cell: Cell, *, retired: bool) -> CellReport:
        route, model, _ = cell.key.parts
        control, settings = self._cells.get((route, model, BASELINE)), self.settings
        beside = ReportContext(
            self._era(route),
            noise_floor=control.estimates(settings).content_delta if control else None,
            judge=self._rollups[route, model].judge.estimates(settings.alpha, settings.min_trials),
            retired=retired,
        )
        return cell.report(settings, beside)

    def checkpoint(self, *, whole: bool = False) -> Checkpoint:
        """Return the parts to store now; they count as stored from then on.

        Args:
            whole: Whether to return all parts, whatever the store has.
        """
        whole, self._stored = whole or not self._stored, True
        parts: dict[str, bytes] = {}
        incidents: list[IncidentRow] = []
        for name, part in self._parts():
            if whole or part.changed:
                parts[name] = msgspec.json.encode(part)
                part.changed = False
        for incident in self._incidents.all() if whole else self._incidents.changed.values():
            body = incident.to_bytes()
            parts[part_name("incident", incident.id)] = body
            incidents.append(IncidentRow(incident.id, incident.offset, body))
        self._incidents.changed.clear()
        head = {
            "version": VERSION,
            "offset": self.offset,
            "models": self._models,
            "clock": self._clock,
            "silent": self._silent.models,
        }
        return Checkpoint(msgspec.json.encode(head), parts, incidents, whole)

    def _parts(self) -> Iterator[tuple[str, Cell | RouteWatch | Rollup | ModelTests]]:
        """Yield all parts but the incidents, with their names."""
        for key, cell in self._cells.items():
            yield part_name("cell", *key), cell
        for route, watch in self._routes.items():
            yield part_name("route", route), watch
        for group, rollup in self._rollups.items():
            yield part_name("rollup", *group), rollup
        for group, tests in self._silent.tests.items():
            yield part_name("silent", *group), tests

    @classmethod
    def restored(cls, head: bytes, parts: Mapping[str, bytes], settings: MonitorSettings) -> MonitorState:
        """Restore the state from the store's checkpoint.

        Counts are kept whatever the settings; evidence gathered under another threshold or run
        length starts again from nothing, while alerts that are up stay up until resolved.

        Raises:
            CheckpointError: if the data are not a checkpoint of this version.
        """
        try:
            decoded = {}
            for name, part in parts.items():
                decoded[name] = json.loads(part)
            return cls._read(json.loads(head), decoded, settings)
        except UNREADABLE as error:
            raise CheckpointError(f"checkpoint cannot be read: {error!r}") from error

    @classmethod
    def _read(cls, head: dict[str, Any], parts: Mapping[str, Any], settings: MonitorSettings) -> MonitorState:
        if head["version"] != VERSION:
            raise CheckpointError(f"checkpoint has version {head['version']}, expected {VERSION}")
        state = cls(settings)
        state.offset = head["offset"]
        state._models = from_plain(head["models"], dict[str, RouteModels])
        for models in state._models.values():
            models.most = settings.max_models_per_route
        state._clock = from_plain(head["clock"], LogClock)
        tests: list[ModelTests] = []
        incidents: list[Any] = []
        for name, raw in parts.items():
            kind, *key = json.loads(name)
            if kind == "cell":
                # The keys of some counts are numbers, which are texts in JSON.
                cell = from_plain(raw, Cell, strict=False)
                rules, drift = state._rules_of(key[0], key[2])
                if cell.alert is not None:
                    cell.alert.follow(rules)
                cell.drift.follow(drift)
                cell.changed = False
                state._cells[cell.key.parts] = cell
                state._note_alerts(cell)
            elif kind == "route":
                watch = state._routes[key[0]] = from_plain(raw, RouteWatch)
                watch.changed = False
            elif kind == "silent":
                tests.append(from_plain(raw, ModelTests))
            elif kind == "incident":
                incidents.append(raw)
            else:
                rollup = state._rollups[key[0], key[1]] = from_plain(raw, Rollup)
                rollup.changed = False
        state._silent.read(from_plain(head["silent"], dict[str, RouteModels]), tests)
        state._incidents.read(incidents)
        state._stored = True
        return state
