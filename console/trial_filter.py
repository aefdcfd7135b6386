"""What the trial explorer is narrowed to: every part of it is in the address of the page."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from evenkeel.stores.verdict_log import Narrow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes.report import ChangeReport

RATINGS: Final[Mapping[str, tuple[int | None, ...]]] = {
    "shifted": (1, 2),
    "3": (3,),
    "2": (2,),
    "1": (1,),
    "failed": (None,),
}
"""Ratings that a choice means; None = there is none."""

OUTCOMES: Final[Mapping[str, Callable[[Verdict], bool]]] = {
    "excess": lambda verdict: bool(verdict.shifted) and verdict.baseline_shifted is False,
    "noise": lambda verdict: bool(verdict.baseline_shifted),
    "worse": lambda verdict: verdict.direction == "worse",
    "better": lambda verdict: verdict.direction == "better",
    "mixed": lambda verdict: verdict.direction == "mixed",
    "unchanged": lambda verdict: verdict.quality_changed is False,
}
LABELS: Final = ("any", "none", "disputed")
SIDES: Final = ("before", "after")
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

    @classmethod
    def of(cls, query: Mapping[str, Any]) -> TrialFilter:
        """Read a query string's values; what is not known among the fixed choices means anything."""
        given = {each.name: str(query.get(each.name, "")).strip()[:LONGEST] for each in fields(cls)}
        fixed: Mapping[str, Sequence[str]] = {
            "rating": [*RATINGS],
            "outcome": [*OUTCOMES],
            "labels": LABELS,
            "side": SIDES,
        }
        for name, known in fixed.items():
            if given[name] not in known:
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
            ratings=RATINGS.get(self.rating, (None,) if self.reason else None),
        )

    def admits(self, verdict: Verdict) -> bool:
        """Whether a verdict is one of those chosen; text, labels and changes are not looked at."""
        failure = verdict.failure
        return (
            self.model in {"", verdict.model}
            and self.task in {"", verdict.task}
            and (not self.outcome or OUTCOMES[self.outcome](verdict))
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
        found = next((one for one in changes if self.change in (one.id, one.also)), None)
        if found is None:
            return None
        since, until = self.span
        if self.side == "before":
            last = found.at - _TICK_S  # the trial that shows a change comes after it
            until = last if until is None else min(until, last)
        else:
            since = found.at if since is None else max(since, found.at)
        return replace(
            self,
            route=found.route,
            since="" if since is None else _exact(since),
            until="" if until is None else _exact(until),
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
