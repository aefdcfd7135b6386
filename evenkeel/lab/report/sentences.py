"""The report's first page, and its figures, in words."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core import rewordings
from evenkeel.core.figures import (
    NO_JUDGE,
    count,
    date_and_time,
    listing,
    number,
    points,
    points_text,
    reasons,
    share,
    usd,
)
from evenkeel.core.labels import scorer_words
from evenkeel.core.text import one_line
from evenkeel.lab.report.period import Period
from evenkeel.lab.report.tables import RESEND, WORDS, ranked
from evenkeel.release.kit.renderings import environment

if TYPE_CHECKING:
    from jinja2 import Template

    from evenkeel.lab.report.findings import Report
    from evenkeel.lab.report.tables import ReportLine
    from evenkeel.monitor.changes.report import ChangeReport


DAY_S: Final = 86_400
ABOUT_MEAN: Final[str] = WORDS["about_mean"]
SECTIONS: Final[dict[str, dict[str, Any]]] = WORDS["sections"]
HEADINGS: Final[dict[str, str]] = WORDS["headings"]
GLOSSARY: Final[tuple[tuple[str, str], ...]] = tuple(WORDS["glossary"].items())
"""Meanings of the figures."""


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
    """Say where a line is from: "support, helpdesk-1"."""
    if not route:
        return "all routes and models"
    return f"{route}, {model}" if model else f"{route}, all models"


# Routes, changes or perturbations that a sentence names at most.
_NAMED: Final = 3


def title(report: Report) -> str:
    """Say what the report is about."""
    return f"Robustness of {report.route}" if report.route else "Robustness of all routes"


def headline(report: Report) -> str:
    """The most important thing in one sentence."""
    whole = report.tables.whole
    if whole is None or whole.robustness is None:
        if "judge" not in report.scorers:
            return f"{NO_JUDGE[:1].upper()}{NO_JUDGE[1:]}."
        return "Too little was measured for a figure."
    return f"{points(whole.robustness)} of 100 answers keep their quality when the question is reworded."


def summary(report: Report) -> list[str]:
    """The first page, a sentence or two for each matter; `summary.txt` has the words."""
    kinds = [line for line in ranked(report.tables.kinds) if line.robustness is not None]
    tested = [line.excess for line in kinds if line.excess is not None]
    several = len({(line.route, line.model) for line in kinds}) > 1
    failures: Counter[str] = Counter()
    for counts in report.gaps.failures.values():
        failures.update(counts)
    page = _template().render(
        report=report,
        most=_NAMED,
        models=[line for line in ranked(report.tables.models) if line.robustness is not None],
        changes=report.changes,
        up=sum(alert.resolved_at is None for alert in report.alerts),
        routes=_split(Counter(alert.route for alert in report.alerts)),
        kinds=kinds,
        weakest=[
            f"{line_name(line.name)}{f' on {where(line)}' if several else ''} ({points(line.robustness)})"
            for line in kinds[:_NAMED]
        ],
        tested=tested,
        above=sum(excess.lower > 0 for excess in tested),
        period=Period(report.first_at, report.last_at + 1).words,
        ratings=[f"{number(n)} ({scorer_words(scorer)})" for scorer, n in sorted(report.scorers.items())],
        failures=failures,
    )
    return page.splitlines()


@lru_cache(maxsize=1)
def _template() -> Template:
    made = environment("evenkeel.lab.report", one_line)
    words = (
        change_line, count, listing, number, points, points_text, reasons, share, usd, where,
    )  # fmt: skip
    made.globals |= {word.__name__: word for word in words}
    return made.get_template("summary.txt")


def change_line(change: ChangeReport) -> str:
    """A change in a sentence: when, what, and what it did."""
    text = f"{listing(change.routes)}: {change.said}; this coincided with {change.coincided}."
    if change.silent is not None:
        text = f"{text} {change.silent.summary}"
    return f"{date_and_time(change.at)}: {text}"


def where(line: ReportLine) -> str:
    """Say where a line is from, in a sentence: "support (helpdesk-1)"."""
    return f"{line.route} ({line.model})"


def _split(routes: Counter[str]) -> str:
    named = [f"{route} {number(times)}" for route, times in routes.most_common(_NAMED)]
    rest = len(routes) - len(named)
    return listing([*named, count(rest, "more route")] if rest > 0 else named)
