"""Figures and lines in words, the same in every form of a report."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from evenkeel.console import wording
from evenkeel.core.figures import number, percent
from evenkeel.experiments.report.lines import RESEND
from evenkeel.experiments.report.period import date_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.cells import Estimate
    from evenkeel.experiments.report.sides import Difference

MISSING: Final = "–"
"""Where nothing was measured."""
POINTS: Final = 100
HEADINGS: Final = {
    "content_delta": "Content delta",
    "quality_delta": "Quality delta",
    "robustness": "Robustness",
    "noise_floor": "Noise floor",
    "excess": "Excess",
    "mean_of_categories": "Mean of categories",
}
GLOSSARY: Final = (
    ("Trial", "A request that was sent again with a small change that keeps its meaning, and its answer."),
    (
        "Content delta",
        "Trials out of 100 whose answer says something else than the original's. Lower is better.",
    ),
    (
        "Quality delta",
        "Of 100 answers whose content moved, those with another quality, faithfulness say. Lower is better.",
    ),
    ("Robustness", "Trials out of 100 whose answer kept its quality. Higher is better."),
    (
        "Noise floor",
        "The content delta of the very same request sent again: how much the model moves by itself.",
    ),
    ("Excess", "Content delta minus that of the identical resend of the same request: what the change does."),
    (
        "[lower, upper]",
        "There the true value lies with 95 % confidence, however often one looks. Few trials give no figure.",
    ),
)
"""What the figures mean."""

_RAISING: Final = frozenset(("content_delta", "quality_delta", "excess"))
"""Measures of which more is worse."""


def points(estimate: Estimate | None) -> str:
    """A ratio in points of 100: "88.8"."""
    return MISSING if estimate is None else number(estimate.value * POINTS, 1)


def span(estimate: Estimate | None) -> str:
    """Its interval in points of 100: "[86.3, 90.9]"."""
    if estimate is None:
        return ""
    return f"[{number(estimate.lower * POINTS, 1)},\u00a0{number(estimate.upper * POINTS, 1)}]"


def both(estimate: Estimate | None) -> str:
    """Value and interval: "88.8 [86.3, 90.9]"."""
    return f"{points(estimate)} {span(estimate)}".strip()


def moved(difference: Difference | None) -> str:
    """A difference in points of 100, with its sign: "+22.2"."""
    if difference is None:
        return MISSING
    return _signed(difference.value)


def moved_span(difference: Difference | None) -> str:
    """Its interval: "[+12.1, +33.0]"."""
    if difference is None:
        return ""
    return f"[{_signed(difference.lower)},\u00a0{_signed(difference.upper)}]"


def tone(measure: str, difference: Difference | None) -> str:
    """Where a measure has moved: "worse" or "better", else ""."""
    if difference is None or not difference.moved:
        return ""
    return "worse" if (difference.value > 0) == (measure in _RAISING) else "better"


def _signed(value: float) -> str:
    text = number(value * POINTS, 1)
    return text if text.startswith("−") or not text.strip("0.") else f"+{text}"


def line_name(name: str) -> str:
    """A line's name for people: "spelling", "format: yaml", "identical resend"."""
    if name in RESEND:
        return "identical resend"
    if not name:
        return "all perturbations"
    return wording.label(name).replace("_", " ") if "." in name else name


def short_name(name: str, table: str) -> str:
    """The same where the table says the category already: "yaml", "de", "de to en"."""
    if table == "formats":
        return wording.column_label(name)
    if table == "languages":
        category, _, kind = name.partition(".")
        return f"{kind.replace('_', ' ')} ({category})"
    return line_name(name)


def place(route: str, model: str) -> str:
    """Where a line is from: "support, helpdesk-1"."""
    if not route:
        return "all routes and models"
    return f"{route}, {model}" if model else f"{route}, all models"


def moment(at: float | None) -> str:
    """A time in UTC: "20 Nov 2026 21:53 UTC"."""
    if at is None:
        return MISSING
    then = datetime.fromtimestamp(at, UTC)
    return f"{date_words(then)} {then:%H:%M} UTC"


def day(number_of_day: int) -> str:
    """A UTC day, by its days since 1970."""
    return date_words(datetime.fromtimestamp(number_of_day * 86_400, UTC))


def reasons(counts: Mapping[str, int]) -> str:
    """Counts by reason, the most frequent first: "timeout 10, rate limited 2"."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{reason.replace('_', ' ')} {number(count)}" for reason, count in ordered if count)


def share(part: int, whole: int) -> str:
    """A part of a whole in percent."""
    return percent(part / whole, 1) if whole else MISSING


def count(n: int, noun: str, plural: str = "") -> str:
    """A number of things: "1 route", "3 routes"."""
    return f"{number(n)} {noun if n == 1 else plural or f'{noun}s'}"
