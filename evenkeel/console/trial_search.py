"""Search for trials in the log, newest first, by the query of a page's address.

SQLite finds them by an index (`stores.trial_index`). Redis has none, and texts are in none:
there one page reads at most `SCANNED` verdicts and `TEXTS` texts, for about `SECONDS`. Where that ends before
the page is full, the page says how far it got, and the search goes on from there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.cells import OTHER_MODEL
from evenkeel.core.verdict import BASELINE
from evenkeel.stores.trial_index import Narrow
from evenkeel.stores.verdict_log import readable_evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.monitor.incidents import Incident, Part
    from evenkeel.stores.verdict_log import LoggedVerdict, VerdictLog


RATINGS: Final[Mapping[str, tuple[str, Mapping[str, str | tuple[int | None, ...]]]]] = {
    "shifted": ("changed", {"rating": (1, 2)}),
    "1": ("1 different message", {"rating": (1,)}),
    "2": ("2 some details differ", {"rating": (2,)}),
    "3": ("3 same content", {"rating": (3,)}),
    "unsure": ("unsure", {"state": "unsure"}),
    "failed": ("not rated", {"state": "failed"}),
    "open": ("changed or unclear", {"rating": (1, 2, None)}),
}
"""Choices in words, and the columns that they mean."""
OUTCOMES: Final = {
    "worse": "worse",
    "better": "better",
    "mixed": "better and worse",
    "unchanged": "the same",
}
"""Labels for the quality of an answer that changed."""
CONTROLS: Final = {"held": "held", "changed": "changed as well", "none": "no rated control"}
"""Labels for the outcome of the control."""
ORDERS: Final = {"newest": "newest first"}
"""Orders of the list besides the default, worst first."""
LABELS: Final = {"disputed": "people disagree", "any": "labelled", "none": "not labelled"}
SIDES: Final = {"after": "after it", "before": "before it"}
LONGEST: Final = 300
"""Characters of a value; longer ones are cut."""
_LAST_OF_MINUTE_S: Final = 59.999
_TICK_S: Final = 0.001
_FIRST_YEAR: Final = 1970


@dataclass(frozen=True, slots=True)
class TrialFilter:
    """Everything that can be chosen, as text; "" = anything."""

    route: str = ""
    model: str = ""
    perturbation: str = ""
    category: str = ""
    rating: str = ""
    """A key of `RATINGS`."""
    outcome: str = ""
    """A key of `OUTCOMES`."""
    control: str = ""
    """A key of `CONTROLS`."""
    client: str = ""
    """Name of the client that sent the original."""
    incident: str = ""
    """Id of an incident: only trials of its cells, from the change on until it was closed."""
    reason: str = ""
    """Word of a failure: the reason why there is no rating."""
    format: str = ""
    language: str = ""
    """Base tag of the language that was asked for, or else of the prompt."""
    task: str = ""
    prompt_version: str = ""
    change: str = ""
    """Id of a change: only trials of its route, on the chosen side of it."""
    side: str = ""
    """"before" or "after"; "" = after."""
    since: str = ""
    """Time in UTC, "2026-08-12T14:20"."""
    until: str = ""
    labels: str = ""
    """A key of `LABELS`."""
    text: str = ""
    """Text to find in prompts, answers and explanations, ignoring case."""
    order: str = ""
    """A key of `ORDERS`; "" = the worst first."""

    @classmethod
    def of(cls, query: Mapping[str, Any]) -> TrialFilter:
        """Read the values of a query string; an unknown value of a fixed choice counts as not set."""
        given = {each.name: str(query.get(each.name, "")).strip()[:LONGEST] for each in fields(cls)}
        known = {
            "rating": RATINGS,
            "outcome": OUTCOMES,
            "control": CONTROLS,
            "labels": LABELS,
            "side": SIDES,
            "order": ORDERS,
        }
        for name, choices in known.items():
            if given[name] not in choices:
                given[name] = ""
        for name in ("since", "until"):
            moment = unix_time(given[name])
            given[name] = "" if moment is None else minute(moment)
        if not given["change"]:
            given["side"] = ""
        return cls(**given)

    def parts(self, **changes: str) -> dict[str, str | None]:
        """Return the values that are set, with `changes` applied, as parts of a link."""
        changed = replace(self, **changes)
        return {each.name: getattr(changed, each.name) or None for each in fields(self)}

    @property
    def narrow(self) -> Narrow:
        """Criteria for the log's own search: all but change, incident, labels and text."""
        since, until = self.span
        plain = (
            "route",
            "model",
            "perturbation",
            "category",
            "task",
            "client",
            "reason",
            "format",
            "language",
            "prompt_version",
        )
        values: dict[str, str | tuple[str | int | None, ...] | None] = {
            name: getattr(self, name) or None for name in plain
        }
        values |= RATINGS[self.rating][1] if self.rating else {}
        values["quality"] = self.outcome or None
        values["control"] = self.control or None
        return replace(Narrow.by(**values), since=since, until=until)

    @property
    def span(self) -> tuple[float | None, float | None]:
        """First and last moment in Unix seconds, None where it is open; the last minute is meant whole."""
        since, until = unix_time(self.since), unix_time(self.until)
        whole = _LAST_OF_MINUTE_S if len(self.until) == len(minute(0)) else 0.0
        return since, None if until is None else until + whole

    def beside(self, changes: Sequence[ChangeReport]) -> TrialFilter | None:
        """Return the filter with its change turned into route and time; None if the change is unknown."""
        if not self.change:
            return self
        found = next((one for one in changes if one.is_called(self.change)), None)
        if found is None:
            return None
        # The trial that shows a change comes after it, as does the first one without what it brought.
        ended = found.end.at - _TICK_S if found.end else None
        before = self.side == "before"
        narrowed = self.within(None, found.at - _TICK_S) if before else self.within(found.at, ended)
        return replace(narrowed, route=found.route)

    def within(self, since: float | None, until: float | None = None) -> TrialFilter:
        """Return the filter limited to the time between two moments in Unix seconds."""
        first, last = self.span
        starts = [one for one in (first, since) if one is not None]
        ends = [one for one in (last, until) if one is not None]
        return replace(
            self,
            since=_exact(max(starts)) if starts else "",
            until=_exact(min(ends)) if ends else "",
        )


def unix_time(text: str) -> float | None:
    """Unix seconds of a time in ISO 8601, in UTC without an offset; None if it is none of 1970 to 9999."""
    try:
        moment = datetime.fromisoformat(text)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        return seconds if datetime.fromtimestamp(seconds, UTC).year >= _FIRST_YEAR else None
    except (ValueError, OverflowError):
        return None


def minute(moment: float) -> str:
    """Format a moment as the field of a form takes it, to the minute in UTC."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M")


def _exact(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds")


def narrowed(
    chosen: TrialFilter,
    changes: Sequence[ChangeReport],
    incidents: Sequence[Incident],
    began: Callable[[Incident], float],
) -> Narrow | None:
    """Return the criteria for the log's own search, with change and incident turned into cells and times.

    Args:
        chosen: filter of the page.
        changes: latest changes.
        incidents: all stored incidents.
        began: returns the start of an incident in Unix seconds.

    Returns: None if the change or the incident is no longer known.
    """
    beside = chosen.beside(changes)
    if beside is None or not chosen.incident:
        return None if beside is None else beside.narrow
    incident = next((incident for incident in incidents if incident.id == chosen.incident), None)
    if incident is None:
        return None
    cells = dict.fromkeys(_cell(part) for part in incident.parts)
    return replace(beside.within(began(incident), incident.closed_at).narrow, any_of=tuple(cells))


def _cell(part: Part) -> Narrow:
    raised = part.raised
    model = None if raised.what == "change" or raised.model == OTHER_MODEL else raised.model
    return Narrow.by(route=raised.route, model=model or None, perturbation=raised.perturbation or None)


def badness(verdict: Verdict) -> tuple[int, bool, float, bool]:
    """Return a sort key that puts the worst trials first.

    First come trials whose control held and whose answer changed, the largest change first, better answers
    after the others; then trials for which that is unclear; last the counter-examples, in which the control
    changed as well or the answer held.
    """
    moved, control = verdict.shifted, verdict.control.shifted
    if verdict.perturbation == BASELINE:
        tier = 6
    elif moved:
        tier = {False: 0, None: 1, True: 4}[control]
    elif verdict.unsure:
        tier = 2
    else:
        tier = 3 if verdict.failure else 5
    grade = verdict.grade
    if grade is None:
        grade = 1.0 if verdict.rating is None else (verdict.rating - 1) / 2
    direction = verdict.direction
    return tier, direction == "better", grade, direction != "worse"


SHOWN: Final = 50
"""Trials in a response of the API."""
RANKED: Final = 1_000
"""Trials among which the worst come first."""
SCANNED: Final = 50_000
"""Verdicts read for one page."""
TEXTS: Final = 1_500
"""Texts read for one page."""
SECONDS: Final = 0.5
"""Seconds after which no further part of the log is read for a page."""
_FIRST_STEP: Final = 100
_LONGEST_STEP: Final = 1_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a single search."""

    shown: int = SHOWN
    scanned: int = SCANNED
    texts: int = TEXTS
    seconds: float = SECONDS


@dataclass(frozen=True, slots=True)
class Found:
    """Trials, newest first."""

    trials: tuple[LoggedVerdict, ...]
    older: int | None
    """Position from which to continue, as `before`; None if the start of the log was reached."""
    looked_at: int
    """Verdicts read."""
    reached_s: float | None
    """Unix time of the oldest verdict read; None if none was."""
    full: bool
    """True if the page is full. If it is not and there are older trials, the search was cut short."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """The labelled verdicts, each with whether people agree with it."""

    agrees: Mapping[str, bool | None]

    def ids(self, choice: str) -> frozenset[str] | None:
        """Return the verdicts with any label, or with a disputed one; None for other choices."""
        if choice == "disputed":
            return frozenset(verdict for verdict, agrees in self.agrees.items() if agrees is False)
        return frozenset(self.agrees) if choice == "any" else None


NO_LABELS: Final = Labelled({})


def search(
    log: VerdictLog,
    narrow: Narrow,
    *,
    text: str = "",
    labels: str = "",
    labelled: Labelled = NO_LABELS,
    before: int | None = None,
    limits: Limits | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Found:
    """Return the newest trials that match a filter.

    Args:
        log: log to search.
        narrow: criteria for the log's own search.
        text: text to find in prompts, answers and explanations.
        labels: a key of `LABELS`, "" for any trial.
        labelled: verdicts with people's labels.
        before: only trials before this place in the log; None = from the newest.
        limits: most that is read.
        clock: seconds, for the limit of time.
    """
    limits = limits or Limits()
    narrow = replace(narrow, ids=labelled.ids(labels))
    wanted = text.casefold()
    ends = clock() + limits.seconds
    found: list[LoggedVerdict] = []
    at, looked_at, texts, step = before, 0, 0, _FIRST_STEP
    reached_s: float | None = None
    while at != 0 and len(found) < limits.shown and looked_at < limits.scanned and texts < limits.texts:
        stretch = log.read_before(at, min(step, limits.scanned - looked_at), narrow)
        step = min(_LONGEST_STEP, 4 * step)
        at = stretch.reached
        looked_at += stretch.looked_at
        for logged in stretch.verdicts:
            if len(found) == limits.shown or texts == limits.texts:
                at = logged.offset + 1
                break
            verdict = logged.verdict
            reached_s = verdict.scored_at
            if labels == "none" and verdict.id in labelled.agrees:
                continue
            if wanted and not _says(verdict, wanted):
                texts += 1
                if not _quotes(log, verdict, wanted):
                    continue
            found.append(logged)
        else:
            reached_s = reached_s if stretch.reached_s is None else stretch.reached_s
        if clock() > ends:
            break
    return Found(tuple(found), at or None, looked_at, reached_s, len(found) == limits.shown)


def _says(verdict: Verdict, text: str) -> bool:
    """Return whether the id, explanation or failure of a verdict contains a text."""
    detail = verdict.failure.detail if verdict.failure else ""
    return any(text in part.casefold() for part in (verdict.id, verdict.scoring.explanation, detail))


def _quotes(log: VerdictLog, verdict: Verdict, text: str) -> bool:
    """Return whether the prompts or answers of a verdict contain a text."""
    evidence = readable_evidence(log, verdict.id)
    if evidence is None:
        return False
    answers = [answer for answer in (evidence.reference, evidence.candidate) if answer]
    parts = [evidence.prompt, evidence.variant, *(answer.text for answer in answers)]
    parts += [
        part for answer in answers for call in answer.tool_calls for part in (call.name, call.arguments)
    ]
    return any(text in part.casefold() for part in parts)


def each_page(
    find: Callable[[int | None, int], Found], *, most: int, scanned: int
) -> Iterator[LoggedVerdict]:
    """Trials over as many pages as it takes.

    Args:
        find: returns a page, given its position and the number of trials still wanted.
        most: most trials to yield.
        scanned: most verdicts to read; a page in progress is finished.
    """
    before: int | None = None
    given = read = 0
    while given < most and read < scanned:
        page = find(before, most - given)
        yield from page.trials
        given += len(page.trials)
        read += page.looked_at
        if page.older is None:
            return
        before = page.older
