"""The outcome as JSON."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from evenkeel import __version__
from evenkeel.experiments.gate import wording

if TYPE_CHECKING:
    from evenkeel.experiments.gate.outcome import Outcome

SCHEMA: Final = 1


def document(outcome: Outcome) -> str:
    """The whole outcome as indented JSON; field names are those of the classes behind it.

    Shares are in [0, 1]; of goldens only id and version stand there, with the approved answer and the
    candidate's for those that were answered worse.
    """
    written = {
        "schema_version": SCHEMA,
        "evenkeel": __version__,
        "verdict": outcome.report.verdict.value,
        "headline": wording.headline(outcome.report),
        **_plain(outcome),
        "saved_calls": outcome.saved_calls,
        "fallen": [
            {
                "golden": fallen.golden.id,
                "version": fallen.golden.version,
                "differences": dict(fallen.differences),
                "rating": fallen.rating,
                "explanation": fallen.explanation,
                "approved": _plain(fallen.golden.answer),
                "answer": _plain(fallen.answer),
            }
            for fallen in outcome.fallen
        ],
    }
    return json.dumps(written, indent=2, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value
