"""The outcome as JSON."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from evenkeel import __version__
from evenkeel.core.verdict import Failure

if TYPE_CHECKING:
    from evenkeel.experiments.judge_audit.run import Outcome


def document(outcome: Outcome) -> str:
    """The whole outcome as indented JSON.

    Field names are those of the report's classes; an alpha or a tone that could not be measured is an
    object with "failure" and "detail" in its place.
    """
    return json.dumps({"evenkeel": __version__, **_plain(outcome)}, indent=2, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Failure):
        return {"failure": value.reason, "detail": value.detail}
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value
