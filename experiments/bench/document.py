"""The outcome for machines: everything as JSON, each kind of each task as CSV, each trial as JSONL."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from evenkeel import __version__
from evenkeel.core.text import harmless, well_formed
from evenkeel.experiments.bench.prompts import VERSION
from evenkeel.experiments.bench.scores import scores

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel.experiments.bench.run import Outcome
    from evenkeel.experiments.bench.scores import Figure, ModelRow, Scores
    from evenkeel.experiments.bench.trials import Trial

SCHEMA: Final = 1
_COLUMNS: Final = (
    "model", "task", "category", "kind", "trials", "rated", "shifted", "quality_known", "quality_changed",
    "content_delta", "quality_delta", "robustness", "robustness_std", "robustness_lower", "robustness_upper",
)  # fmt: skip


def document(outcome: Outcome) -> str:
    """Everything as JSON, shares in [0, 1]."""
    found = {
        "schema": SCHEMA,
        "evenkeel": __version__,
        "prompts": VERSION,
        "source": outcome.source,
        "items": outcome.items,
        "tasks": outcome.tasks,
        "runs": outcome.runs,
        "severity": outcome.severity,
        "seed": outcome.seed,
        "scored_by": outcome.scored_by,
        "rewritten_by": outcome.rewritten_by,
        "duration_s": outcome.duration_s,
        "spent": {payee: asdict(account) for payee, account in outcome.ledger.accounts.items()},
        "estimates": {
            "thumb_usd": outcome.thumb_usd,
            "measured_usd": outcome.measured_usd,
            "spent_usd": outcome.spent_usd,
            "ratio": outcome.estimate_ratio,
        },
        "notes": outcome.notes,
        "unusable": outcome.unusable,
        "models": [_model(row) for row in outcome.tables.models],
        "difficulty": [asdict(row) for row in outcome.tables.difficulty],
    }
    return well_formed(json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def csv_lines(outcome: Outcome) -> Iterator[str]:
    """A head and a line for each model, task and kind."""
    yield _line(_COLUMNS)
    groups: dict[tuple[str, str, str], list[Trial]] = defaultdict(list)
    for trial in outcome.trials:
        groups[trial.model, trial.task, trial.kind].append(trial)
    for (model, task, kind), trials in groups.items():
        rated = [one for one in trials if one.rating is not None]
        found = scores([trials])
        robustness = found.robustness
        yield _line((
            model, task, trials[0].category, kind, len(trials), len(rated),
            sum(one.shifted for one in rated),
            sum(one.changed is not None for one in rated), sum(one.changed is True for one in rated),
            _value(found.content_delta), _value(found.quality_delta), _value(robustness),
            "" if robustness is None or robustness.std is None else robustness.std,
            "" if robustness is None else robustness.lower, "" if robustness is None else robustness.upper,
        ))  # fmt: skip


def trial_lines(outcome: Outcome) -> Iterator[str]:
    """A line of JSON for each trial."""
    for trial in outcome.trials:
        yield json.dumps(trial.row(), allow_nan=False) + "\n"


def _model(row: ModelRow) -> dict[str, Any]:
    def named(found: Mapping[str, Scores]) -> dict[str, Any]:
        return {name: asdict(one) for name, one in found.items()}

    return {
        "model": row.model,
        "overall": asdict(row.overall),
        "perturbed": asdict(row.perturbed),
        "categories": named(row.categories),
        "tasks": named(row.tasks),
        "languages": named(row.languages),
        "crosslingual_inputs": named(row.inputs),
        "crosslingual_answers": named(row.answers),
        "formats": named(row.formats),
        "kinds": named(row.kinds),
        "entities_f1": row.entities,
        "failures": dict(row.failures),
    }


def _value(figure: Figure | None) -> float | str:
    return "" if figure is None else figure.value


def _line(cells: tuple[object, ...]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerow(
        harmless(well_formed(cell)) if isinstance(cell, str) else cell for cell in cells
    )
    return written.getvalue()
