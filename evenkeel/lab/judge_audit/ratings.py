"""Human ratings: what several people said of the same texts, one quality at a time, on a scale."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenkeel.lab.judge_audit.published import published_rows
from evenkeel.lab.rows import (
    InputRow,
    check_columns,
    column_name,
    columns_of,
    is_missing,
    metric_key,
    read_rows,
    suggestion,
)
from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


# "1-5", "-2 to 2", "[0, 1]": the first minus may be a sign, the second one a dash.
_WRITTEN = re.compile(r"\A\s*\[?\s*(-?\d{1,4})\s*(?:\.\.|,|;|to|[-\u2013])\s*(-?\d{1,4})\s*\]?\s*\Z")
# 0–100; structured output lists every rating that is allowed.
_MOST_STEPS = 101


@dataclass(frozen=True, slots=True)
class RatingScale:
    """Ratings from `low` (worst) to `high` (best). A judge gives whole numbers; people may give others."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not self.low < self.high < self.low + _MOST_STEPS:
            raise ValueError(f"a scale goes from a lower to a higher number, at most 100 apart, not {self}")

    def __str__(self) -> str:
        return f"{self.low}\u2013{self.high}"

    def __contains__(self, rating: float) -> bool:
        return self.low <= rating <= self.high

    @property
    def steps(self) -> tuple[int, ...]:
        """All whole ratings, ascending."""
        return tuple(range(self.low, self.high + 1))

    @classmethod
    def parse(cls, text: str) -> RatingScale:
        """Read "1-5", "1–5", "1..5", "1 to 5" or "[1, 5]"; ValueError says what is wrong."""
        written = _WRITTEN.match(text)
        if not written:
            raise ValueError(f'"{text}" is not a scale; write it like 1-5')
        return cls(int(written[1]), int(written[2]))


RATER_PREFIXES = ("rater_", "human_", "annotator_", "expert_")
"""Beginnings of the columns of a wide file, one column a person."""

_SHARED = ("item", "metric", "scale", "text", "context")
_LONG = ("rater", "rating")
_KNOWN = frozenset({*_SHARED, *_LONG, "ratings"})


@dataclass(frozen=True, slots=True)
class Item:
    """A text, a quality, and how people rated it."""

    id: str
    metric: str
    scale: RatingScale
    text: str
    """Text that is rated; "" where only recorded judge ratings will be compared."""
    context: str
    """Text that it answers or sums up; "" if nothing."""
    ratings: tuple[float | None, ...]
    """Rating of each rater of the whole file, None where that person did not rate this."""
    cluster: str = ""
    """Group that it shares with other items, e.g. the article summed up; "" if nothing was named."""

    @property
    def given(self) -> tuple[float, ...]:
        """The ratings that are there."""
        ratings: list[float] = []
        for rating in self.ratings:
            if rating is not None:
                ratings.append(rating)
        return tuple(ratings)


@dataclass(frozen=True, slots=True)
class Ratings:
    """A file of human ratings."""

    items: tuple[Item, ...]
    """Items in the file's order; (id, metric) is unique."""
    raters: tuple[str, ...]
    unused: tuple[str, ...] = ()
    """Columns of the file that mean nothing here."""


@dataclass(slots=True)
class _RatingRows:
    """Statements of the rows read so far of one item and metric."""

    row: InputRow
    scale: RatingScale
    texts: dict[str, str] = field(default_factory=dict)
    by_rater: dict[str, float | None] = field(default_factory=dict)


def read_ratings(
    path: Path,
    *,
    scales: Mapping[str, RatingScale] | None = None,
    rater_columns: Sequence[str] = (),
    cluster: str = "",
) -> Ratings:
    """Human ratings from a JSONL, JSON, CSV or TSV file in one of three layouts.

    Long: one row a rating, with `rater` and `rating`. Wide: one row an item and metric, and one
    column a person, named `rater_…` (see `RATER_PREFIXES`) or listed in `rater_columns`. Nested (JSON
    only): `ratings` is a list, or an object by rater. All have `item` and `metric`; `scale` ("1-5")
    unless `scales` has it; `text` and `context` where a judge will be asked. The files of SummEval and USR
    are read as they were published (see `published_rows`).

    Args:
        path: the file.
        scales: by metric, of those whose rows have none.
        rater_columns: where ratings are; of SummEval `expert_annotations`, `turker_annotations` or both.
        cluster: column whose value says which items belong together; "" = none.

    Raises: InputError naming file, line and field.
    """
    named = tuple(map(column_name, rater_columns))
    rows = read_rows(path)
    published = published_rows(rows, named)
    if published:
        # The columns named were those of the published layout, which is gone now.
        rows, named = published, ()
    grouped_by = (column_name(cluster),) if cluster else ()
    columns = columns_of(rows)
    wide = [c for c in columns if c in named or c.startswith(RATER_PREFIXES)]
    lacking = next((column for column in (*named, *grouped_by) if column not in columns), None)
    if lacking:
        raise InputError(f'{path.name}: no column "{lacking}"{suggestion(lacking, columns)}')
    layout = "nested" if "ratings" in columns else "wide" if wide else "long"
    needed = {"nested": ("ratings",), "wide": (), "long": _LONG}[layout]
    columns_known = _KNOWN.union(wide, grouped_by)
    check_columns(rows, required=("item", "metric", *needed), allowed=columns_known)
    unused = tuple(column for column in columns if column not in columns_known)
    _refuse_misspelt(rows[0], unused, columns)

    gathered: dict[tuple[str, str], _RatingRows] = {}
    first_scales: dict[str, tuple[RatingScale, str]] = {}
    for row in rows:
        key = (row.text("item").strip(), metric_key(row.text("metric")))
        scale = _scale(row, key[1], scales or {})
        known_scale, first_place = first_scales.setdefault(key[1], (scale, row.place))
        if scale != known_scale:
            raise row.error("scale", f"is {scale}, but {known_scale} at {first_place} for the same metric")
        entry = gathered.setdefault(key, _RatingRows(row, scale))
        _add_texts(row, entry, ("text", "context", *grouped_by))
        for rater, source, value in _said(row, layout, wide):
            rating = row.number(source, value)
            if rating is not None and rating not in scale:
                raise row.error(source, f"{rating} is not on the scale {scale}")
            if rater in entry.by_rater:
                raise row.error(source, f'"{rater}" rated item "{key[0]}" for {key[1]} before')
            entry.by_rater[rater] = rating
    raters: dict[str, None] = {}
    for entry in gathered.values():
        raters |= dict.fromkeys(entry.by_rater)
    items = []
    for (item, metric), entry in gathered.items():
        text, context = entry.texts.get("text", ""), entry.texts.get("context", "")
        given = tuple(map(entry.by_rater.get, raters))
        items.append(Item(item, metric, entry.scale, text, context, given, _cluster(entry, grouped_by)))
    return Ratings(tuple(items), tuple(raters), unused)


def _refuse_misspelt(row: InputRow, unused: Sequence[str], columns: Sequence[str]) -> None:
    """An optional column that is not there while one of nearly its name is: a slip, not an extra."""
    for column in unused:
        meant = suggestion(column, [name for name in ("scale", "text", "context") if name not in columns])
        if meant:
            raise row.error(column, f"is not known{meant}")


def _scale(row: InputRow, metric: str, scales: Mapping[str, RatingScale]) -> RatingScale:
    if not row.has("scale"):
        if metric in scales:
            return scales[metric]
        raise row.error("scale", f'is not there; add it ("1-5"), or give --scale {metric}=1-5')
    value = row.cells["scale"]
    try:
        return RatingScale.parse(json.dumps(value) if isinstance(value, list) else str(value))
    except ValueError as error:
        raise row.error("scale", str(error)) from error


def _cluster(entry: _RatingRows, grouped_by: Sequence[str]) -> str:
    for column in grouped_by:
        if column not in entry.texts:
            raise entry.row.error(column, "is empty, so the item belongs to no cluster")
        return entry.texts[column]
    return ""


def _add_texts(row: InputRow, entry: _RatingRows, names: Iterable[str]) -> None:
    for name in names:
        if row.has(name):
            text = row.text(name)
            if entry.texts.setdefault(name, text) != text:
                raise row.error(name, f"differs from that at {entry.row.place} for the same item")


def _said(row: InputRow, layout: str, wide: Sequence[str]) -> list[tuple[str, str, Any]]:
    """(rater, field, value) of all ratings in a row."""
    if layout == "long":
        return [(row.text("rater"), "rating", row.cells["rating"])]
    if layout == "wide":
        return [(column, column, row.cells.get(column)) for column in wide]
    value = row.cells["ratings"]
    if isinstance(value, dict):
        return [(str(rater), "ratings", rating) for rater, rating in value.items()]
    if isinstance(value, list):
        return [(f"rater_{number}", "ratings", rating) for number, rating in enumerate(value, start=1)]
    if is_missing(value):
        return []
    raise row.error("ratings", "is neither a list nor an object of ratings by rater")
