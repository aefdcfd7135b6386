"""Human ratings of SummEval and USR in the files that their authors published, as rows like any others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenkeel.lab.rows import InputRow, column_name, suggestion
from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_EXPERTS: Final = "expert_annotations"
_SUMMEVAL_RATERS: Final = {_EXPERTS: "expert", "turker_annotations": "turker"}
"""Column → what each of its raters is called."""
_SUMMEVAL_METRICS: Final = ("coherence", "consistency", "fluency", "relevance")
_SUMMEVAL_SCALE: Final = "1-5"

_USR_METRICS: Final = {
    "understandable": ("understandable", "0-1"),
    "natural": ("natural", "1-3"),
    "maintains_context": ("maintains_context", "1-3"),
    "engaging": ("interesting", "1-3"),
    "uses_knowledge": ("uses_knowledge", "0-1"),
    "overall": ("overall", "1-5"),
}
"""Field → the metric, by the name that the paper has for it, and its scale."""


def published_rows(rows: Sequence[InputRow], rater_columns: Sequence[str] = ()) -> list[InputRow]:
    """Return a row for each text and metric, with `ratings` by rater.

    SummEval (`model_annotations.aligned.jsonl`) has a line for each summary. The raters are its three
    experts unless `rater_columns` says otherwise, `article` and `system` may be clusters, and the context is
    the article's text, which only the file paired with the articles has. USR (`tc_usr_data.json`,
    `pc_usr_data.json`) has an entry for each dialogue, with several responses; `dialogue` and `system` may be
    clusters, and the context holds the fact as well. What USR's files call "Engaging" is `interesting`.

    Returns: nothing if the rows are of neither.
    Raises: InputError naming file, place and field.
    """
    first = rows[0].cells
    if _EXPERTS in first:
        return [row for each in rows for row in _summary(each, rater_columns or (_EXPERTS,))]
    if isinstance(first.get("responses"), list):
        return [row for number, each in enumerate(rows, start=1) for row in _dialogue(each, number)]
    return []


def _summary(row: InputRow, rater_columns: Sequence[str]) -> Iterator[InputRow]:
    by_rater: dict[str, dict[str, Any]] = {}
    for column in rater_columns:
        if column not in _SUMMEVAL_RATERS:
            known = ", ".join(_SUMMEVAL_RATERS)
            hint = suggestion(column, _SUMMEVAL_RATERS)
            raise InputError(f'{row.source}: "{column}" is none of SummEval\'s {known}{hint}')
        for place, said in enumerate(_objects(row, column), start=1):
            by_rater[f"{_SUMMEVAL_RATERS[column]}_{place}"] = said
    article, system = row.text("id"), row.text("model_id")
    for metric in _SUMMEVAL_METRICS:
        yield InputRow(
            row.source,
            row.place,
            {
                "item": f"{article} {system}",
                "metric": metric,
                "scale": _SUMMEVAL_SCALE,
                "text": row.text("decoded", ""),
                "context": row.text("text", ""),
                "ratings": {rater: said.get(metric) for rater, said in by_rater.items()},
                "article": article,
                "system": system,
            },
        )


def _dialogue(row: InputRow, number: int) -> Iterator[InputRow]:
    context, fact = row.text("context", "").strip(), row.text("fact", "").strip()
    for place, response in enumerate(_objects(row, "responses"), start=1):
        said = InputRow(
            row.source,
            f"{row.place}, response {place}",
            {column_name(field): value for field, value in response.items()},
        )
        for field, (metric, scale) in _USR_METRICS.items():
            if said.has(field):
                yield InputRow(
                    said.source,
                    said.place,
                    {
                        "item": f"{number}.{place}",
                        "metric": metric,
                        "scale": scale,
                        "text": said.text("response").strip(),
                        "context": f"{context}\n\nFact: {fact}" if fact else context,
                        "ratings": said.cells[field],
                        "dialogue": str(number),
                        "system": said.text("model", ""),
                    },
                )


def _objects(row: InputRow, field: str) -> list[dict[str, Any]]:
    value = row.cells.get(field)
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise row.error(field, "is not a list of objects")
    return value
