"""The form above the trial explorer: what can be chosen, and what is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenkeel.console import links
from evenkeel.core import figures, rewordings
from evenkeel.monitor.changes.report import SAID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenkeel.console.trial_filter import TrialFilter
    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.changes.report import ChangeReport

_RATINGS: Final = (
    ("shifted", "moved (1 or 2)"),
    ("1", "1 different message"),
    ("2", "2 some details differ"),
    ("3", "3 same content"),
    ("failed", "not rated"),
)
_OUTCOMES: Final = (
    ("excess", "moved, and the resend did not"),
    ("noise", "the resend moved as well"),
    ("worse", "quality worse"),
    ("better", "quality better"),
    ("mixed", "quality mixed"),
    ("unchanged", "moved, quality the same"),
)
_LABELS: Final = (("disputed", "people disagree"), ("any", "labelled"), ("none", "not labelled"))
_SIDES: Final = (("after", "after it"), ("before", "before it"))
_MORE: Final = ("format", "language", "task", "reason", "change", "side", "since", "until", "labels")
"""Fields that are folded away until one of them is used."""
_NAMES: Final = {"text": "text", "side": "side of the change", "labels": "people"}
_CHANGES: Final = 30


@dataclass(frozen=True, slots=True)
class Option:
    """One entry of a list to choose from."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Field:
    """A list to choose from; the first entry, "any", is not among the options."""

    name: str
    label: str
    value: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Chip:
    """A choice that is in effect, with the link that undoes it."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class FilterForm:
    """All fields with their values."""

    fields: tuple[Field, ...]
    more: tuple[Field, ...]
    task: str
    reason: str
    since: str
    until: str
    text: str
    opened: bool
    """Whether a folded field is used."""
    chips: tuple[Chip, ...]


def filter_form(
    chosen: TrialFilter,
    reports: Sequence[CellReport],
    changes: Sequence[ChangeReport],
    now: float,
    *,
    labels: bool,
) -> FilterForm:
    """The form, with what the cells know as entries of its lists."""
    keys = [report.key for report in reports]
    perturbations = {key.perturbation for key in keys}
    kinds = _kinds(perturbations)
    fields = (
        _field(chosen, "route", "Route", _plain(key.route for key in keys)),
        _field(chosen, "model", "Model", _plain(key.model for key in keys)),
        _field(
            chosen,
            "category",
            "Category",
            _plain({rewordings.category(one).name for one in perturbations}, _rank),
        ),
        _field(chosen, "perturbation", "Change made", _perturbations(perturbations)),
        _field(chosen, "rating", "Rating", _options(_RATINGS)),
        _field(chosen, "outcome", "Outcome", _options(_OUTCOMES)),
    )
    more = [
        _field(chosen, "format", "Format asked for", _plain(kinds("format"))),
        _field(chosen, "language", "Language", _plain(kinds("language", "languages"))),
    ]
    if changes or chosen.change:
        listed = tuple(Option(one.id, _change(one, now)) for one in changes[:_CHANGES])
        more += [
            _field(chosen, "change", "Change of the route", listed),
            _field(chosen, "side", "Side of that change", _options(_SIDES)),
        ]
    if labels:
        more.append(_field(chosen, "labels", "People say", _options(_LABELS)))
    return FilterForm(
        fields,
        tuple(more),
        chosen.task,
        chosen.reason,
        chosen.since,
        chosen.until,
        chosen.text,
        opened=any(getattr(chosen, name) for name in _MORE),
        chips=_chips(chosen, (*fields, *more)),
    )


def _kinds(perturbations: Iterable[str]) -> Callable[..., tuple[str, ...]]:
    """The names behind the dot of those that ask for something, by what they ask for."""
    named = sorted(perturbations, key=rewordings.position)
    return lambda *asked: tuple(
        name.partition(".")[2] for name in named if rewordings.category(name).asks_for in asked
    )


def _field(chosen: TrialFilter, name: str, label: str, options: tuple[Option, ...]) -> Field:
    value: str = getattr(chosen, name)
    if value and value not in {option.value for option in options}:
        options = (*options, Option(value, value))  # of a link from elsewhere, or of what is over
    return Field(name, label, value, options)


def _plain(values: Iterable[str], rank: Callable[[str], Any] | None = None) -> tuple[Option, ...]:
    return tuple(Option(value, value) for value in sorted(set(values), key=rank) if value)


def _rank(category: str) -> tuple[int, str]:
    return rewordings.position(category)[:2]


def _perturbations(perturbations: Iterable[str]) -> tuple[Option, ...]:
    ordered = sorted(perturbations, key=rewordings.position)
    return tuple(Option(name, rewordings.label(name)) for name in ordered)


def _options(pairs: Sequence[tuple[str, str]]) -> tuple[Option, ...]:
    return tuple(Option(value, label) for value, label in pairs)


def _change(change: ChangeReport, now: float) -> str:
    return f"{change.route}, {figures.moment(change.at, now)}: {SAID[change.cause]}"


def _chips(chosen: TrialFilter, fields: Sequence[Field]) -> tuple[Chip, ...]:
    words = {
        (field.name, option.value): option.label
        for field in fields
        for option in field.options
        if option.value
    }
    found = []
    for name, value in chosen.parts().items():
        if value:
            undone = {name: ""} | ({"side": ""} if name == "change" else {})
            said = words.get((name, value), value.replace("T", " ") if name in {"since", "until"} else value)
            label = f"{_NAMES.get(name, name)}: {said}"
            found.append(Chip(label, links.trials_link(**chosen.parts(**undone))))
    return tuple(found)
