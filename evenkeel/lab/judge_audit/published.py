"""Import of the published rating files of SummEval, USR and LLMBar into the rows of the judge audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenkeel.lab.rows import InputRow, column_name, suggestion
from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_EXPERTS: Final = "expert_annotations"
# Column of ratings → name of a rater in it, before the rater's number.
_SUMMEVAL_RATERS: Final = {_EXPERTS: "expert", "turker_annotations": "turker"}
_SUMMEVAL_METRICS: Final = ("coherence", "consistency", "fluency", "relevance")
_SUMMEVAL_SCALE: Final = "1-5"

# Field of the file → name of the metric in the paper, and its scale.
_USR_METRICS: Final = {
    "understandable": ("understandable", "0-1"),
    "natural": ("natural", "1-3"),
    "maintains_context": ("maintains_context", "1-3"),
    "engaging": ("interesting", "1-3"),
    "uses_knowledge": ("uses_knowledge", "0-1"),
    "overall": ("overall", "1-5"),
}

_PAIR: Final = frozenset(("input", "output_1", "output_2", "label"))
_SIDES: Final = ("1", "2")
_BETTER: Final = "better_output"
# Order of the outputs in LLMBar's files → name of the strategy in the audit.
_ORDERS: Final = {"swap = False": "as_given", "swap = True": "swapped"}


def published_rows(rows: Sequence[InputRow], rater_columns: Sequence[str] = ()) -> list[InputRow]:
    """Return a row for each text and metric, with `ratings` by rater; empty if the format is none of these.

    SummEval (`model_annotations.aligned.jsonl`) has a line per summary. Its raters are the three experts
    unless `rater_columns` names other columns. The context is the article's text, which only the file that
    was paired with the articles contains. Cluster by `article` or `system`.

    USR (`tc_usr_data.json`, `pc_usr_data.json`) has an entry per dialogue, with several responses. The
    context is the dialogue and the fact. USR's "Engaging" is the metric `interesting`. Cluster by `dialogue`
    or `system`.

    LLMBar (`Natural.json`, `Adversarial_….json`) has an entry per pair of outputs. Its only rater says which
    output is better, 1 or 2.

    Raises: InputError with file, place and field.
    """
    first = rows[0].cells
    read: list[InputRow] = []
    for number, row in enumerate(rows, start=1):
        if _EXPERTS in first:
            read.extend(_summary(row, rater_columns or (_EXPERTS,)))
        elif isinstance(first.get("responses"), list):
            read.extend(_dialogue(row, number))
        elif _PAIR.issubset(first):
            read.append(_preference(row, number))
    return read


def recorded_preferences(rows: Sequence[InputRow]) -> list[InputRow]:
    """Return the ratings in a result file of LLMBar's judges, for both orders of each pair of outputs.

    A winner other than "1" or "2" becomes a failure. Returns: rows; empty for a file in another format.
    """
    input_rows: list[InputRow] = []
    for number, row in enumerate(rows, start=1):
        results = row.cells.get("results")
        if not _PAIR.issubset(row.cells) or not isinstance(results, list):
            return []
        # `results` can also hold the criteria that a judge wrote down before it judged.
        judged: dict[str, Any] = {}
        for part in results:
            if isinstance(part, dict) and _ORDERS.keys() <= part.keys():
                judged = part
                break
        for order, strategy in _ORDERS.items():
            winner = judged.get(order, {}).get("winner")
            rating = {"rating": winner} if winner in _SIDES else {"rating": None, "failure": "no_winner"}
            cells = {"item": f"pair {number}", "metric": _BETTER, "strategy": strategy, **rating}
            input_rows.append(InputRow(row.source, row.place, cells))
    return input_rows


def _preference(row: InputRow, number: int) -> InputRow:
    outputs = "\n\n".join(f"Output {side}:\n{row.text(f'output_{side}')}" for side in _SIDES)
    cells = {
        "item": f"pair {number}",
        "metric": _BETTER,
        "scale": "1-2",
        "text": outputs,
        "context": row.text("input"),
        "ratings": {"label": row.cells["label"]},
    }
    return InputRow(row.source, row.place, cells)


def _summary(row: InputRow, rater_columns: Sequence[str]) -> Iterator[InputRow]:
    by_rater: dict[str, dict[str, Any]] = {}
    for column in rater_columns:
        if column not in _SUMMEVAL_RATERS:
            raters = ", ".join(_SUMMEVAL_RATERS)
            hint = suggestion(column, _SUMMEVAL_RATERS)
            raise InputError(f'{row.source}: "{column}" is none of SummEval\'s {raters}{hint}')
        for number, summary in enumerate(_objects(row, column), start=1):
            by_rater[f"{_SUMMEVAL_RATERS[column]}_{number}"] = summary
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
                "ratings": {rater: summary.get(metric) for rater, summary in by_rater.items()},
                "article": article,
                "system": system,
            },
        )


def _dialogue(row: InputRow, number: int) -> Iterator[InputRow]:
    context, fact = row.text("context", "").strip(), row.text("fact", "").strip()
    for response_number, response in enumerate(_objects(row, "responses"), start=1):
        row_read = InputRow(
            row.source,
            f"{row.place}, response {response_number}",
            {column_name(field): value for field, value in response.items()},
        )
        for field, (metric, scale) in _USR_METRICS.items():
            if row_read.has(field):
                yield InputRow(
                    row_read.source,
                    row_read.place,
                    {
                        "item": f"{number}.{response_number}",
                        "metric": metric,
                        "scale": scale,
                        "text": row_read.text("response").strip(),
                        "context": f"{context}\n\nFact: {fact}" if fact else context,
                        "ratings": row_read.cells[field],
                        "dialogue": str(number),
                        "system": row_read.text("model", ""),
                    },
                )


def _objects(row: InputRow, field: str) -> list[dict[str, Any]]:
    value = row.cells.get(field)
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise row.error(field, "is not a list of objects")
    return value
