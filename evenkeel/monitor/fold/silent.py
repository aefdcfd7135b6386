"""Tests for silent changes of every route and requested model, by answers to reference prompts.

What they find goes into the route's changes, so that it joins what was stated at the same time. A finding is
over once answers are back to what they were, once they change again, or after 24 hours of the log's time:
then they are the new normal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, log10
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from evenkeel.core.cells import OTHER_MODEL
from evenkeel.monitor.changes.record import Silent
from evenkeel.monitor.detect.references import ReferenceTest
from evenkeel.monitor.fold.events import change_closed, change_raised
from evenkeel.monitor.fold.models import RouteModels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenkeel.core.sightings import ReferenceAnswered
    from evenkeel.monitor.changes import RouteWatch
    from evenkeel.monitor.changes.record import Closed
    from evenkeel.monitor.detect.references import ReferenceEvidence
    from evenkeel.monitor.fold.settings import MonitorSettings
    from evenkeel.stores.monitor_state import AlertEvent

MOST_MODELS: Final = 8
"""Most requested models that are tested on a route."""
# Share of the level, in logarithms, below which the evidence says that answers are as before.
_LOW: Final = 0.5
DAY_S: Final = 86_400.0
# Most answers that a reference compares after it began anew; references that did not compare more.
_NEW_BAG: Final = 4
# Answers to references for which the likeness to the time before the last finding is kept.
_LOOKED_BACK: Final = 200
# References of one model; more are the work of names that a client makes up.
_MOST_REFERENCES: Final = 512


@dataclass(slots=True)
class OpenChange:
    """Change of one route and requested model that was found and is not over."""

    change: str
    """Id of the route's change."""
    at: float
    """Unix time in seconds of the observation that decided it."""
    alike: tuple[float, float]
    """Mean likeness of the new answers to the earlier ones, and of the earlier ones to each other."""

    @property
    def due(self) -> float:
        """Unix time in seconds at which it is the new normal."""
        return self.at + DAY_S


@dataclass(frozen=True, slots=True)
class SilentReport:
    """State of the tests of one route and requested model."""

    route: str
    requested_model: str
    evidence_log10: float
    level_log10: float
    """Evidence at which a change is found."""
    compared: int
    """Answers to references that the test has taken since the log began."""
    suspected_since: float | None = None
    """Unix time in seconds at which answers began to hint at a change; None if they do not."""
    found: OpenChange | None = None
    """Change that was found and is not over."""


class ModelTests(Struct, dict=True):
    """Test of the references of one route and requested model."""

    route: str
    model: str
    references: ReferenceTest
    compared: int = 0
    open: OpenChange | None = None
    """Change that was found and is not over."""
    bags: dict[str, int] = field(default_factory=dict)
    """Number of answers compared last time, by reference."""
    renewed: list[str] | None = None
    """References that have begun anew since the last finding; None if there was none lately."""
    former: list[tuple[float, float]] = field(default_factory=list)
    """Times of the latest answers, each with its likeness to answers from before the last finding."""

    def __post_init__(self) -> None:
        self.changed = True
        """True if it changed since the last checkpoint."""

    def answered(self, answer: ReferenceAnswered) -> ReferenceEvidence | None:
        """Take an answer to a reference; return the evidence if it shows a change.

        After a finding, answers are left out that are still compared with those of before.
        """
        if answer.p_value is None or not self._renews(answer):
            return None
        self.compared += 1
        if answer.former is not None:
            self.former = [*self.former[1 - _LOOKED_BACK :], (answer.at, answer.former)]
        return self.references.add(answer)

    def _renews(self, answer: ReferenceAnswered) -> bool:
        left_in_bag = self.bags.pop(answer.reference, 0)
        self.bags[answer.reference] = answer.compared
        if len(self.bags) > _MOST_REFERENCES:
            del self.bags[next(iter(self.bags))]
        if self.renewed is None or answer.reference in self.renewed:
            return True
        if answer.compared > left_in_bag > 0 or (
            answer.compared > _NEW_BAG and answer.compared >= left_in_bag
        ):
            return False
        self.renewed.append(answer.reference)
        return True

    def is_back(self, open_change: OpenChange, evidence: ReferenceEvidence) -> bool:
        """Return whether the answers of a finding are back to those before an earlier finding.

        They are if they are nearer to being as like those as those were to each other than to being as unlike
        them as the answers in between.
        """
        former = []
        for at, alike in self.former:
            if at >= evidence.since:
                former.append(alike)
        return bool(former) and sum(former) / len(former) > sum(open_change.alike) / 2

    @property
    def is_quiet(self) -> bool:
        """True if the references' evidence is far below the level at which a change is found."""
        return self.references.evidence_log10 < _LOW * log10(max(10.0, self.references.level))

    def report(self) -> SilentReport:
        """Return the state of the test."""
        return SilentReport(
            self.route,
            self.model,
            self.references.evidence_log10,
            log10(self.references.level),
            self.compared,
            found=None if self.open is None else replace(self.open),
            suspected_since=self.references.suspected_since,
        )


class SilentChanges:
    """Tests of all routes, and the changes they found that are not over."""

    def __init__(self, settings: MonitorSettings, watch: Callable[[str], RouteWatch]) -> None:
        """Start without tests.

        Args:
            settings: The references' level, and how many models a route has room for.
            watch: Returns the changes of a route, where findings are entered.
        """
        self.tests: dict[tuple[str, str], ModelTests] = {}
        self.dropped = 0
        """Number of tests dropped with their models, since the start or the last checkpoint that was read."""
        self._settings = settings
        self._watch = watch
        self.models: dict[str, RouteModels] = {}
        """Requested models by route: the small part of the state. The tests are parts of their own."""
        # Unix time in seconds of the next step that is due.
        self._due = inf

    def observe(self, sighting: ReferenceAnswered, offset: int, now: float) -> list[AlertEvent]:
        """Take the next answer to a reference; return the events it causes, mostly none."""
        events: list[AlertEvent] = []
        leaving = self._place(sighting)
        if leaving is not None:
            events += self._drop(sighting.route, leaving, offset, now)
        tests = self._tests(sighting.route, sighting.requested_model)
        if tests is None:
            return events
        tests.changed = True
        evidence = tests.answered(sighting)
        if evidence is not None:
            events += self._find(tests, evidence, offset)
        elif sighting.p_value is not None:
            self._watch(sighting.route).note_reference(same=tests.is_quiet)
        return events

    def expire(self, offset: int, now: float) -> list[AlertEvent]:
        """Return the events that follow from the log's time alone, mostly none."""
        if now < self._due:
            return []
        events: list[AlertEvent] = []
        # Sorted, so that a fold after a restart gives its events in the same order.
        for tests in (self.tests[key] for key in sorted(self.tests)):
            if tests.open is not None and tests.open.due <= now:
                tests.changed = True
                tests.renewed = None
                events.append(self._close(tests, tests.open, "settled", offset, now))
        self._schedule()
        return events

    def _schedule(self) -> None:
        self._due = min((tests.open.due for tests in self.tests.values() if tests.open), default=inf)

    def _place(self, sighting: ReferenceAnswered) -> str | None:
        """Count the answer for its requested model; return the model that it displaces, mostly none."""
        models = self.models.get(sighting.route)
        if models is None:
            most = min(MOST_MODELS, self._settings.max_models_per_route)
            models = self.models[sighting.route] = RouteModels(most)
        return models.observe(sighting.requested_model)

    def _tests(self, route: str, model: str) -> ModelTests | None:
        if model == OTHER_MODEL or self.models[route].name_of(model) == OTHER_MODEL:
            return None
        tests = self.tests.get((route, model))
        if tests is None:
            references = ReferenceTest(self._settings.reference_level)
            tests = self.tests[route, model] = ModelTests(route, model, references)
        return tests

    def _drop(self, route: str, model: str, offset: int, now: float) -> list[AlertEvent]:
        tests = self.tests.get((route, model))
        if tests is None:
            return []
        open_change = tests.open
        events = [] if open_change is None else [self._close(tests, open_change, "settled", offset, now)]
        del self.tests[route, model]
        self.dropped += 1
        self._schedule()
        return events

    def _find(self, tests: ModelTests, evidence: ReferenceEvidence, offset: int) -> list[AlertEvent]:
        """Record a finding: it ends the previous one, and raises an alert unless answers are back."""
        watch = self._watch(tests.route)
        record = watch.mark_silent(Silent(references=evidence), offset)
        events: list[AlertEvent] = []
        back = False
        if tests.open is not None:
            back = tests.is_back(tests.open, evidence)
            how: Closed = "reversed" if back else "replaced"
            events.append(self._close(tests, tests.open, how, offset, evidence.at))
        # Answers are compared with those since the change from now on, or each would find it once more.
        tests.renewed = []
        if back:
            watch.close_silent(record.id, "settled")
        else:
            tests.open = OpenChange(record.id, evidence.at, alike=(evidence.likeness, evidence.own))
            events.append(change_raised(record, offset))
        self._schedule()
        return events

    def reverse(self, route: str, model: str, offset: int, at: float) -> list[AlertEvent]:
        """Close the open change of a requested model whose stated change was reversed."""
        tests = self.tests.get((route, model))
        if tests is None or tests.open is None:
            return []
        tests.changed = True
        event = self._close(tests, tests.open, "reversed", offset, at)
        self._schedule()
        return [event]

    def _close(
        self, tests: ModelTests, opened: OpenChange, closed: Closed, offset: int, at: float
    ) -> AlertEvent:
        tests.open = None
        self._watch(tests.route).close_silent(opened.change, closed)
        return change_closed(
            tests.route,
            tests.model,
            opened.change,
            closed,
            opened_at=opened.at,
            at=at,
            offset=offset,
        )

    def reports(self) -> list[SilentReport]:
        """Return the state of every test, sorted by route and requested model."""
        reports = []
        for key in sorted(self.tests):
            reports.append(self.tests[key].report())
        return reports

    def read(self, models: dict[str, RouteModels], tests: Iterable[ModelTests]) -> None:
        """Take the state of a checkpoint, under the settings of today."""
        self.models = models
        for test in tests:
            test.references.level, test.changed = self._settings.reference_level, False
            self.tests[test.route, test.model] = test
        self._schedule()
