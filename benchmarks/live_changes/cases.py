"""What is changed in each case, and by what cause it must be named: `cases.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.live_changes.deployment import MODEL, OTHER_MODEL, Manner
from evenkeel.monitor.changes import Cause
from evenkeel.simulate import JUDGE_MODEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.monitor.changes.effects import Effect

SUMMARIES: Final = Manner({"case_summary": 0.9, "chat_summary": 0.1})
KINDS: Final = ("general.casing", "general.spelling")
MODELS: Final[dict[str, dict[str, Any]]] = {
    MODEL: {"fragility": 0.05, "noise": 0.05},
    OTHER_MODEL: {"fragility": 0.3, "noise": 0.05},
    JUDGE_MODEL: {"judge_noise": 0.03},
}
WORDY: Final[dict[str, dict[str, Any]]] = {
    MODEL: {"fragility": 0.02, "noise": 0.02, "closing_share": 1.0},
    JUDGE_MODEL: {"judge_noise": 0.03},
}
"""Answers end with one of eight polite sentences: most pairs say the same in other words, and a judge is
asked about nearly all of them."""
JUDGED_MORE: Final[dict[str, dict[str, Any]]] = {
    MODEL: {"fragility": 0.05, "noise": 0.35},
    JUDGE_MODEL: {"judge_noise": 0.03},
}
"""Good answers of the simulated model are equal to the letter, and no judge is asked about equal pairs. A
judge can only be watched where it is asked: with these states about half of the pairs differ."""
CHANGING: Final = "desk"
QUIET: Final = "mail"


@dataclass(frozen=True, slots=True)
class Case:
    """One change half-way through a run."""

    name: str
    cause: Cause
    effects: tuple[Effect, ...]
    """What may be said of the answers."""
    change: str
    """In words."""
    before: int
    """Exchanges of the changing route until then; the other has a third as many."""
    after: int
    """Exchanges of the changing route after it, at most."""
    manner: Manner = SUMMARIES
    """How the changing route asks after the change."""
    first: Manner = SUMMARIES
    """How it asks until then."""
    states: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """New states of simulated models."""
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MODELS)
    """States of the simulated models at the start."""
    whole: bool = False
    """Whether all exchanges are sent: what is said of the answers needs more of them than the cause."""
    everywhere: bool = False
    """Whether the change meets every route: all of them share the judge, and the provider."""


_MODELS: Final = {"usual": MODELS, "judged more": JUDGED_MORE, "wordy": WORDY}


def _case(row: dict[str, Any]) -> Case:
    manner = replace(SUMMARIES, **row.pop("manner", {}))
    first = replace(SUMMARIES, **row.pop("first", {}))
    models = _MODELS[row.pop("models", "usual")]
    made = {"cause": Cause(row["cause"]), "effects": tuple(row["effects"])}
    return Case(**{**row, **made}, manner=manner, first=first, models=models)


CASES: Final = tuple(
    _case(row)
    for row in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["case"]
)

QUIET_ROUTES: Final = {
    "cases": Manner({"case_summary": 1.0}),
    "chats": Manner({"chat_summary": 1.0}),
    "questions": Manner({"question_answering": 1.0}),
    "forms": Manner({"slot_filling": 1.0}),
}
QUIET_KINDS: Final = (
    "general.whitespace",
    "general.punctuation",
    "general.casing",
    "general.spelling",
    "general.tone",
    "compound.typos",
    "compound.hurried",
    "format.yaml",
    "format.html",
)
"""None needs a rewriter, all apply to every task; with the identical resend ten cells on each route."""


def settings(upstream: str, routes: tuple[str, ...], kinds: tuple[str, ...]) -> dict[str, Any]:
    """The settings of `evenkeel up`: as they are by default but for sampling, budget and canaries."""
    return {
        "routes": [
            {
                "name": route,
                "prefix": f"/{route}",
                "upstream": upstream,
                "sampling_rate": 1.0,
                "perturbations": list(kinds),
                "trials_per_exchange": len(kinds),
            }
            for route in routes
        ],
        "judge": {
            "base_url": f"{upstream}/v1",
            "model": JUDGE_MODEL,
            "concurrency": 8,
        },
        "scoring": {"embeddings": False},
        "shadow": {"concurrency": 16},
        "changes": {"canary_hours": 0},
        "budget": {"tokens_per_day": None, "usd_per_day": None},
        "simulated": True,
    }
