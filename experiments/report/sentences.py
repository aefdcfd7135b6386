"""The report's first page, and its figures, in words."""

from __future__ import annotations

import tomllib
from collections import Counter
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core import rewordings
from evenkeel.core.figures import (
    count,
    date_and_time,
    difference,
    difference_interval,
    listing,
    number,
    points,
    points_text,
    reasons,
    share,
    usd,
)
from evenkeel.core.labels import scorer_words
from evenkeel.experiments.report.period import Period
from evenkeel.experiments.report.tables import RESEND, ranked
from evenkeel.monitor.changes.markdown import EFFECTS
from evenkeel.monitor.changes.report import SAID, Cause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.experiments.kit.document import Tone
    from evenkeel.experiments.report.findings import Report
    from evenkeel.experiments.report.sides import ChangeSides
    from evenkeel.experiments.report.tables import Line
    from evenkeel.monitor.changes.report import ChangeReport, Difference


DAY_S: Final = 86_400
_WORDS: Final[dict[str, Any]] = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
ABOUT_MEAN: Final[str] = _WORDS["about_mean"]
HEADINGS: Final[dict[str, str]] = _WORDS["headings"]
GLOSSARY: Final[tuple[tuple[str, str], ...]] = tuple(_WORDS["glossary"].items())
"""What the figures mean."""

_RAISING: Final = frozenset(("content_delta", "quality_delta", "excess"))
"""Measures of which more is worse."""


def tone(measure: str, found: Difference | None) -> Tone:
    """Where a measure has moved: "worse" or "better", else ""."""
    if found is None or not found.moved:
        return ""
    return "worse" if (found.value > 0) == (measure in _RAISING) else "better"


def line_name(name: str) -> str:
    """A line's name for people: "spelling", "format: yaml", "control"."""
    if name in RESEND:
        return "control"
    if not name:
        return "all perturbations"
    return rewordings.label(name).replace("_", " ") if "." in name else name


def short_name(name: str, table: str) -> str:
    """The same where the table says the category already: "yaml", "de", "de to en"."""
    if table == "formats":
        return rewordings.column_label(name)
    if table == "languages":
        category, _, kind = name.partition(".")
        return f"{kind.replace('_', ' ')} ({category})"
    return line_name(name)


def place(route: str, model: str) -> str:
    """Where a line is from: "support, helpdesk-1"."""
    if not route:
        return "all routes and models"
    return f"{route}, {model}" if model else f"{route}, all models"


_NAMED: Final = 3
"""Routes, changes or perturbations that a sentence names at most."""


def title(report: Report) -> str:
    """What the report is about."""
    if report.change is not None:
        return f"Before and after a change on {report.change.report.route}"
    return f"Robustness of {report.route}" if report.route else "Robustness of all routes"


def headline(report: Report) -> str:
    """The most important thing in one sentence."""
    if report.change is not None:
        return change_line(report.change.report, dated=False)
    whole = report.tables.whole
    if whole is None or whole.robustness is None:
        return "Too little was measured for a figure."
    return f"{points(whole.robustness)} of 100 answers keep their quality when the question is reworded."


def summary(report: Report) -> list[str]:
    """The first page, a sentence or two for each matter."""
    overall = _overall(report) if report.change is None else _sides(report.change)
    return [
        *overall,
        *(_extremes(report) if report.change is None else ()),
        *_changes(report),
        _alerts(report),
        *(_weakest(report) if report.change is None else ()),
        *_measured(report),
        *_gaps(report),
        _spent(report),
    ]


def change_line(change: ChangeReport, *, dated: bool = True) -> str:
    """A change in a sentence: when, what, and what it did."""
    cause = SAID[change.cause]
    if change.cause is Cause.UNCLEAR:
        cause = f"it is unclear whether {' or '.join(SAID[one] for one in change.among)}"
    text = f"{change.route}: {cause}; {EFFECTS[change.effect]}."
    return f"{date_and_time(change.at)}: {text}" if dated else text


def _measured(report: Report) -> Iterator[str]:
    routes = list(report.costs)
    named = listing(routes) if len(routes) <= _NAMED else f"{listing(routes[:_NAMED])} and others"
    when = Period(report.first_at, report.last_at + 1).words
    yield (
        f"{count(report.exchanges, 'request')} on {count(len(routes), 'route')} ({named}) "
        f"{'was' if report.exchanges == 1 else 'were'} sent again, as they were and reworded "
        f"with their meaning kept: {count(report.trials, 'trial')}, {when}."
    )
    if report.scorers:
        said = [f"{number(times)} {scorer_words(scorer)}" for scorer, times in sorted(report.scorers.items())]
        yield f"Ratings: {listing(said)}."


def _overall(report: Report) -> Iterator[str]:
    whole = report.tables.whole
    if whole is None or whole.robustness is None:
        yield (
            f"Too few trials for a figure: {number(report.rules.min_trials)} are needed. Raise the sampling "
            "rate, or look at a longer time."
        )
        return
    low, high = (number(100 * end, 1) for end in (whole.robustness.lower, whole.robustness.upper))
    yield (
        f"Of 100 reworded requests, {points(whole.robustness)} got an answer of the same quality as the "
        f"original; with 95 % confidence between {low} and {high}."
    )
    if whole.content_delta is None:
        return
    text = f"The content of the answer changed in {points_text(whole.content_delta)} of 100"
    if whole.noise_floor is not None and whole.excess is not None:
        text += (
            f"; when the same request is sent again it changes in {points_text(whole.noise_floor)}, so the "
            f"rewordings account for {points_text(whole.excess)}"
        )
    yield f"{text}."


def _extremes(report: Report) -> Iterator[str]:
    known = [line for line in ranked(report.tables.models) if line.robustness is not None]
    if len(known) > 1:
        yield (
            f"Least robust: {_where(known[0])}, {points_text(known[0].robustness)}. "
            f"Most robust: {_where(known[-1])}, {points_text(known[-1].robustness)}."
        )


def _weakest(report: Report) -> Iterator[str]:
    known = [line for line in ranked(report.tables.kinds) if line.robustness is not None]
    if not known:
        return
    several = len({(line.route, line.model) for line in known}) > 1
    named = [
        f"{line_name(line.name)}{f' on {_where(line)}' if several else ''} ({points(line.robustness)})"
        for line in known[:_NAMED]
    ]
    yield f"Weakest rewordings: {listing(named)}."
    tested = [line for line in known if line.excess is not None]
    above = sum(line.excess is not None and line.excess.lower > 0 for line in tested)
    yield (
        f"Of {count(len(tested), 'perturbation')} with a figure, "
        f"{number(above)} {'changes' if above == 1 else 'change'} answers more often than the control, "
        "beyond its interval."
    )


def _alerts(report: Report) -> str:
    if not report.alerts:
        return "No alert was up."
    routes = Counter(alert.route for alert in report.alerts)
    up = sum(alert.resolved_at is None for alert in report.alerts)
    n = len(report.alerts)
    still = "all of them still at its end" if up == n > 1 else f"{number(up)} of them still at its end"
    if n == 1:
        still = "and it still was at its end" if up else "and it was resolved"
    return f"{count(n, 'alert')} {'was' if n == 1 else 'were'} up in the period, {still}: {_split(routes)}."


def _changes(report: Report) -> Iterator[str]:
    others = [one for one in report.changes if report.change is None or one.id != report.change.report.id]
    if report.change is None and not others:
        yield "No change was noticed."
    for change in others[:_NAMED]:
        yield f"Change: {change_line(change)}"
    if len(others) > _NAMED:
        yield f"{count(len(others) - _NAMED, 'more change')} below."


def _sides(change: ChangeSides) -> Iterator[str]:
    found = change.report
    yield (
        f"Noticed {date_and_time(found.at)}. Compares {count(change.before_exchanges, 'request')} before "
        f"with {number(change.after_exchanges)} after."
    )
    together = [line for table in change.tables for line in table.lines if not line.name]
    for line in together:
        for measure, name in (("robustness", "Robustness"), ("content_delta", "The content delta")):
            shift = line.differences[measure]
            if shift is not None:
                yield (
                    f"{name} was {points_text(getattr(line.before, measure))} before and is "
                    f"{points_text(getattr(line.after, measure))} after: {difference(shift)} "
                    f"{difference_interval(shift)} points."
                )
    worse = [
        line.name
        for table in change.tables
        if table.key == "sides-kinds"
        for line in table.lines
        if "worse" in {tone(measure, line.differences[measure]) for measure in line.differences}
    ]
    if worse:
        named = [line_name(name) for name in worse[:_NAMED]]
        more = [f"{number(len(worse) - _NAMED)} more"] if len(worse) > _NAMED else []
        yield f"Worse on their own, beyond both intervals: {listing([*named, *more])}."


def _gaps(report: Report) -> Iterator[str]:
    lost = sum(sum(counts.values()) for counts in report.gaps.failures.values())
    if lost:
        together: Counter[str] = Counter()
        for counts in report.gaps.failures.values():
            together.update(counts)
        yield (
            f"Not measured: {count(lost, 'trial')} of {number(report.trials)} "
            f"({share(lost, report.trials)}) gave no rating ({reasons(together)})."
        )
    if report.gaps.thin:
        yield f"{count(len(report.gaps.thin), 'perturbation')} had too few trials for a figure."


def _spent(report: Report) -> str:
    tokens = sum(cost.tokens for cost in report.costs.values())
    dollars = sum(cost.usd for cost in report.costs.values())
    return f"Spent on these trials: {usd(dollars)} and {count(tokens, 'token')}."


def _where(line: Line) -> str:
    return f"{line.route} ({line.model})"


def _split(routes: Counter[str]) -> str:
    named = [f"{route} {number(times)}" for route, times in routes.most_common(_NAMED)]
    rest = len(routes) - len(named)
    return listing([*named, count(rest, "more route")] if rest > 0 else named)
