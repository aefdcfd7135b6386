"""Finding trials in the log: backwards from the newest, a bounded piece at a time.

What the search is narrowed to is in the address of the page. What a log has an index for it finds by
itself; the rest is looked for here, in at most `SCANNED` verdicts and `TEXTS` texts, and for about
`SECONDS`, for one page. Where that ends before the page is full, the page says so and the search goes on
from there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.core.cells import OTHER_MODEL
from evenkeel.core.verdict import BASELINE
from evenkeel.stores.verdict_log import Narrow, readable_evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.core.verdict import Evidence, Verdict
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.monitor.incidents import Incident
    from evenkeel.stores.verdict_log import LoggedVerdict, VerdictLog


RATINGS: Final[Mapping[str, tuple[str, tuple[int | None, ...]]]] = {
    "shifted": ("changed", (1, 2)),
    "1": ("1 different message", (1,)),
    "2": ("2 some details differ", (2,)),
    "3": ("3 same content", (3,)),
    "unsure": ("unsure", (None,)),
    "failed": ("not rated", (None,)),
    "open": ("changed or unclear", (1, 2, None)),
}
"""Choices in words, and the ratings that they mean; None = there is none."""

OUTCOMES: Final[Mapping[str, tuple[str, Callable[[Verdict], bool]]]] = {
    "worse": ("worse", lambda verdict: verdict.direction == "worse"),
    "better": ("better", lambda verdict: verdict.direction == "better"),
    "mixed": ("better and worse", lambda verdict: verdict.direction == "mixed"),
    "unchanged": ("the same", lambda verdict: verdict.quality_changed is False),
}
"""What became of the quality of an answer that changed."""

CONTROLS: Final[Mapping[str, tuple[str, bool | None]]] = {
    "held": ("held", False),
    "changed": ("changed as well", True),
    "none": ("no rated control", None),
}
"""What the control did, in words, and as `Verdict.baseline_shifted` says it."""
ORDERS: Final = {"newest": "newest first"}
"""Orders of the list beside the worst first."""
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
    """Why there is no rating: a word of a failure."""
    format: str = ""
    language: str = ""
    """Base tag of the language that was asked for, or else of the prompt."""
    task: str = ""
    change: str = ""
    """Id of a change: only trials of its route, on the chosen side of it."""
    side: str = ""
    """"before" or "after"; "" = after."""
    since: str = ""
    """Time in UTC, "2026-08-12T14:20"."""
    until: str = ""
    labels: str = ""
    """One of `LABELS`."""
    text: str = ""
    """Looked for in prompts, answers and explanations, without regard to case."""
    order: str = ""
    """A key of `ORDERS`; "" = the worst first."""

    @classmethod
    def of(cls, query: Mapping[str, Any]) -> TrialFilter:
        """Read a query string's values; what is not known among the fixed choices means anything."""
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
        """The values that are set, with some of them changed, as parts of a link."""
        changed = replace(self, **changes)
        return {each.name: getattr(changed, each.name) or None for each in fields(self)}

    @property
    def narrow(self) -> Narrow:
        """The part that a log can look for by itself."""
        return Narrow(
            route=self.route or None,
            perturbation=self.perturbation or None,
            category=self.category or None,
            ratings=RATINGS[self.rating][1] if self.rating else (None,) if self.reason else None,
        )

    def admits(self, verdict: Verdict) -> bool:
        """Whether a verdict is one of those chosen; text, labels and changes are not looked at."""
        failure = verdict.failure
        return (
            self.model in {"", verdict.model}
            and self.task in {"", verdict.task}
            and (self.rating != "failed" or failure is not None)
            and (self.rating != "unsure" or verdict.unsure)
            and (not self.outcome or OUTCOMES[self.outcome][1](verdict))
            and (not self.control or verdict.baseline_shifted is CONTROLS[self.control][1])
            and self.client in {"", verdict.client}
            and (not self.reason or (failure is not None and failure.reason == self.reason))
            and self.format in {"", verdict.wanted_format}
            and self.language in {"", _language(verdict)}
            and self.narrow.admits(verdict)
        )

    @property
    def span(self) -> tuple[float | None, float | None]:
        """First and last moment in Unix seconds, None where it is open; the last minute is meant whole."""
        since, until = unix_time(self.since), unix_time(self.until)
        whole = _LAST_OF_MINUTE_S if len(self.until) == len(minute(0)) else 0.0
        return since, None if until is None else until + whole

    def beside(self, changes: Sequence[ChangeReport]) -> TrialFilter | None:
        """The same with the change put into route and time; None if there is no such change any more."""
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
        """The same, no earlier and no later than two moments in Unix seconds."""
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
    """A moment as the field of a form takes it, to the minute in UTC."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M")


def _exact(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds")


def _language(verdict: Verdict) -> str:
    return (verdict.wanted_language or verdict.prompt_language or "").partition("-")[0]


class CellName(NamedTuple):
    """A cell of an incident; "" = any."""

    route: str
    model: str = ""
    perturbation: str = ""

    def admits(self, verdict: Verdict) -> bool:
        """Whether a verdict is of it."""
        return (
            self.route == verdict.route
            and self.model in {"", OTHER_MODEL, verdict.model}
            and self.perturbation in {"", verdict.perturbation}
        )


@dataclass(frozen=True, slots=True)
class Scope:
    """What a search is narrowed to, changes and incidents put into time and cells."""

    chosen: TrialFilter
    cells: tuple[CellName, ...] = ()
    """A trial is of one of them; () = of any."""

    def admits(self, verdict: Verdict) -> bool:
        """Whether a verdict is one of those chosen; text, labels and times are not looked at."""
        return self.chosen.admits(verdict) and (
            not self.cells or any(cell.admits(verdict) for cell in self.cells)
        )


def scope(
    chosen: TrialFilter,
    changes: Sequence[ChangeReport],
    incidents: Sequence[Incident],
    began: Callable[[Incident], float],
) -> Scope | None:
    """What a choice means; None if its change or its incident is no longer known.

    Args:
        chosen: what was chosen.
        changes: the latest ones.
        incidents: all that are kept.
        began: when what an incident is about began, in Unix seconds.
    """
    beside = chosen.beside(changes)
    if beside is None or not chosen.incident:
        return None if beside is None else Scope(beside)
    found = next((one for one in incidents if one.id == chosen.incident), None)
    if found is None:
        return None
    cells = (
        CellName(one.route, "" if one.what == "change" else one.model, one.perturbation)
        for one in (part.key for part in found.parts)
    )
    narrowed = beside.within(began(found), found.closed_at)
    return Scope(narrowed, tuple(dict.fromkeys(cells)))


def badness(verdict: Verdict) -> tuple[int, bool, float, bool]:
    """Sorts trials, the worst first.

    First those whose control held and whose answer moved, the furthest first, better answers behind the
    others; then those of which that is not clear; at last the counter-examples: the control moved as well, or
    the answer held.
    """
    moved, control = verdict.shifted, verdict.baseline_shifted
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
"""Trials of an answer of the API."""
RANKED: Final = 1_000
"""Trials among which the worst come first."""
SCANNED: Final = 50_000
"""Verdicts read for one page."""
TEXTS: Final = 1_500
"""Texts read for one page."""
SECONDS: Final = 0.5
"""Time after which no further piece is read for one page."""
_FIRST_STEP: Final = 100
_LONGEST_STEP: Final = 1_000
_SLACK_S: Final = 900.0
"""Verdicts of several workers are in the log almost in the order of their times; so much may be amiss."""
_PROBED: Final = 20


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is read for one answer."""

    shown: int = SHOWN
    scanned: int = SCANNED
    texts: int = TEXTS
    seconds: float = SECONDS


@dataclass(frozen=True, slots=True)
class Found:
    """Trials, newest first."""

    trials: tuple[LoggedVerdict, ...]
    older: int | None
    """Where to go on, as `before`; None if the log's start was reached."""
    looked_at: int
    """Verdicts read."""
    reached_s: float | None
    """Unix time of the oldest verdict read; None if none was."""
    full: bool
    """Whether as many were found as fit a page; if not, and there are older ones, it was cut short."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """What is known of labels, by verdict: whether people say the same as the verdict."""

    agrees: Mapping[str, bool | None]

    def admits(self, verdict_id: str, choice: str) -> bool:
        """Whether a verdict passes the choice: "any" label, "none", or "disputed"."""
        if not choice:
            return True
        if choice == "disputed":
            return self.agrees.get(verdict_id) is False
        return (verdict_id in self.agrees) == (choice == "any")


def search(
    log: VerdictLog,
    asked: Scope | TrialFilter,
    *,
    before: int | None = None,
    labelled: Labelled | None = None,
    limits: Limits | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Found:
    """The newest trials of a choice.

    Args:
        log: where they are.
        asked: with its change and its incident put into cells and time.
        before: only trials before this place in the log; None = from the newest.
        labelled: needed if the choice is about labels.
        limits: how much is read at most.
        clock: in seconds, for the limit of time.
    """
    limits = limits or Limits()
    within = asked if isinstance(asked, Scope) else Scope(asked)
    chosen = within.chosen
    ends = clock() + limits.seconds
    since, until = chosen.span
    looking = _Looking(log, within, labelled or Labelled({}), limits)
    at = before if until is None else _start(log, until + _SLACK_S, before)
    step = _FIRST_STEP
    while at != 0 and not looking.ended:
        stretch = log.read_before(at, min(step, limits.scanned - looking.looked_at), chosen.narrow)
        step = min(_LONGEST_STEP, 4 * step)
        at = looking.take(stretch.verdicts, stretch.reached, since, until)
        looking.looked_at += stretch.looked_at
        if clock() > ends:
            break
    full = len(looking.found) == limits.shown
    return Found(tuple(looking.found), at or None, looking.looked_at, looking.reached_s, full)


class _Looking:
    """A search under way."""

    def __init__(self, log: VerdictLog, within: Scope, labelled: Labelled, limits: Limits) -> None:
        self._log = log
        self._within = within
        self._chosen = chosen = within.chosen
        self._labelled = labelled
        self._limits = limits
        self._text = chosen.text.casefold()
        self._texts = 0
        self.found: list[LoggedVerdict] = []
        self.looked_at = 0
        self.reached_s: float | None = None

    @property
    def ended(self) -> bool:
        """Whether the page is full or enough was read."""
        return (
            len(self.found) >= self._limits.shown
            or self.looked_at >= self._limits.scanned
            or self._texts >= self._limits.texts
        )

    def take(
        self, verdicts: list[LoggedVerdict], reached: int, since: float | None, until: float | None
    ) -> int:
        """Look at a stretch; returns where to go on, 0 for nowhere."""
        for one in verdicts:
            if self.ended:
                return one.offset + 1
            verdict = one.verdict
            self.reached_s = verdict.scored_at
            if since is not None and verdict.scored_at < since - _SLACK_S:
                return 0
            if self._admits(verdict, since, until):
                self.found.append(one)
        return reached

    def _admits(self, verdict: Verdict, since: float | None, until: float | None) -> bool:
        if (since is not None and verdict.scored_at < since) or (
            until is not None and verdict.scored_at > until
        ):
            return False
        if not self._within.admits(verdict):
            return False
        if not self._labelled.admits(verdict.id, self._chosen.labels):
            return False
        return not self._text or self._holds(verdict)

    def _holds(self, verdict: Verdict) -> bool:
        if any(self._text in part.casefold() for part in _own_texts(verdict)):
            return True
        self._texts += 1
        evidence = readable_evidence(self._log, verdict.id)
        return evidence is not None and any(self._text in part.casefold() for part in _texts(evidence))


def _own_texts(verdict: Verdict) -> Iterator[str]:
    yield verdict.id
    yield verdict.explanation
    if verdict.failure:
        yield verdict.failure.detail


def _texts(evidence: Evidence) -> Iterator[str]:
    yield evidence.prompt
    yield evidence.variant
    yield from _answer_texts(evidence.reference)
    if evidence.candidate:
        yield from _answer_texts(evidence.candidate)


def _answer_texts(answer: Answer) -> Iterator[str]:
    yield answer.text
    for call in answer.tool_calls:
        yield call.name
        yield call.arguments


def _start(log: VerdictLog, until: float, before: int | None) -> int | None:
    """A place in the log with nothing but later verdicts from it on, found by halving."""
    newest = log.read_before(before, _PROBED)
    if not newest.verdicts or newest.verdicts[-1].verdict.scored_at <= until:
        return before
    low, high = 0, newest.verdicts[-1].offset
    while high - low > _PROBED:
        middle = (low + high) // 2
        probe = log.read_before(middle, 1)
        if probe.verdicts and probe.verdicts[0].verdict.scored_at > until:
            high = probe.verdicts[0].offset
        else:
            low = middle
    return high


def each_page(
    find: Callable[[int | None, int], Found], *, most: int, scanned: int
) -> Iterator[LoggedVerdict]:
    """Trials over as many pages as it takes.

    Args:
        find: a page, given where to begin and how many trials are still wanted.
        most: trials at most.
        scanned: verdicts read at most; a page that is under way is finished.
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
