"""Tables as Grafana makes them of instant answers: merged, renamed, sorted, or turned into a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grafana.preview.scene import Answer

Row: TypeAlias = dict[str, Any]
"""Fields by name: text of labels, numbers of values; what is missing is empty."""


def table(panel: Mapping[str, Any], answers: Sequence[tuple[str, list[Answer]]]) -> list[Row]:
    """The rows of a table panel, after its transformations.

    Args:
        panel: its JSON.
        answers: of each of its queries, with the letter.
    """
    frames = [
        [
            {**answer.labels, "Value" if len(answers) == 1 else f"Value #{letter}": answer.points[-1][1]}
            for answer in found
        ]
        for letter, found in answers
    ]
    rows = [row for frame in frames for row in frame]
    for step in panel.get("transformations", ()):
        rows = _STEPS[step["id"]](rows, step["options"])
    return rows


def _merge(rows: list[Row], _: Mapping[str, Any]) -> list[Row]:
    merged: dict[tuple[tuple[str, str], ...], Row] = {}
    for row in rows:
        key = tuple(sorted((name, text) for name, text in row.items() if not name.startswith("Value")))
        merged.setdefault(key, {}).update(row)
    return list(merged.values())


def _organize(rows: list[Row], options: Mapping[str, Any]) -> list[Row]:
    order, titles = options["indexByName"], options["renameByName"]
    unseen = {name for name, hidden in options["excludeByName"].items() if hidden}
    last = len(order)
    return [
        {
            titles.get(name, name): row.get(name)
            for name in sorted({*row, *titles} - unseen, key=lambda name: (order.get(name, last), name))
        }
        for row in rows
    ]


def _sorted(rows: list[Row], options: Mapping[str, Any]) -> list[Row]:
    by = options["sort"][0]
    known = [row for row in rows if row.get(by["field"]) is not None]
    rest = [row for row in rows if row.get(by["field"]) is None]
    return sorted(known, key=lambda row: row[by["field"]], reverse=by.get("desc", False)) + rest


def _limited(rows: list[Row], options: Mapping[str, Any]) -> list[Row]:
    return rows[: int(options["limitField"])]


def _matrix(rows: list[Row], options: Mapping[str, Any]) -> list[Row]:
    down, across, value = options["rowField"], options["columnField"], options["valueField"]
    corner = f"{down}\\{across}"
    columns = list(dict.fromkeys(row[across] for row in rows))
    found: dict[str, Row] = {}
    for row in rows:
        made = found.setdefault(row[down], {corner: row[down], **dict.fromkeys(columns)})
        made[row[across]] = row[value]
    return list(found.values())


_STEPS = {
    "merge": _merge,
    "organize": _organize,
    "sortBy": _sorted,
    "limit": _limited,
    "groupingToMatrix": _matrix,
}
