"""Applies perturbations to a prompt and keeps what came of it."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from evenkeel.shadow.perturbations import Draft, NotApplicable, protected_spans, seed_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenkeel.core.pair import Wanted
    from evenkeel.shadow.perturbations import Perturbation, Protected, Requirement, RewriteTask
    from evenkeel.shadow.prompt import PromptView

Status = Literal["changed", "unchanged", "not_applicable", "needs_rewriter"]

_ALL: Final = 1.0
"""Severity of kinds that have no degrees."""
_PROMPT_MEMBERS: Final = frozenset({"messages", "input", "prompt", "instructions", "system"})
"""Members of a body that carry its text, which is compared as text."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What one perturbation makes of a prompt."""

    name: str
    version: int
    severity: float
    seed: int
    status: Status
    requires: tuple[Requirement, ...] = ()
    wanted: Wanted | None = None
    variant: PromptView | None = None
    reason: str = ""
    """Why it does not apply, in snake case."""
    detail: str = ""
    """The same as a sentence."""
    tasks: tuple[RewriteTask, ...] = ()
    """What a rewriter would be asked first."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A span that no change of the input touches."""

    segment: int
    span: Protected
    text: str


def try_all(view: PromptView, kinds: Iterable[Perturbation], severity: float, seed: str) -> tuple[Tried, ...]:
    """Apply each kind to a prompt, as the worker would.

    Args:
        view: The prompt.
        kinds: What to apply.
        severity: Of the kinds that have degrees; the others are tried at 1.
        seed: Stands for an exchange's id: the same seed gives the variants of that exchange.
    """
    return tuple(_try(view, kind, severity if kind.graded else _ALL, seed) for kind in kinds)


def _try(view: PromptView, kind: Perturbation, severity: float, seed: str) -> Tried:
    number = seed_for(seed, kind.name, severity, kind.version)
    outcome = kind.apply(view, severity, random.Random(number))
    known: dict[str, Any] = {
        "name": kind.name,
        "version": kind.version,
        "severity": severity,
        "seed": number,
        "requires": tuple(sorted(kind.requires)),
        "wanted": kind.wanted,
    }
    if isinstance(outcome, NotApplicable):
        return Tried(**known, status="not_applicable", reason=outcome.reason, detail=outcome.detail)
    if isinstance(outcome, Draft):
        return Tried(**known, status="needs_rewriter", reason="no_rewriter", tasks=outcome.tasks)
    same = outcome.body() == view.body()
    return Tried(**known, status="unchanged" if same else "changed", variant=outcome)


def kept_spans(view: PromptView) -> tuple[Kept, ...]:
    """The protected spans of the input, in order."""
    return tuple(
        Kept(segment.index, span, segment.text[span.start : span.end])
        for segment in view.segments
        if segment.kind == "input"
        for span in protected_spans(segment.text)
    )


def lines_of(view: PromptView) -> list[str]:
    """The prompt as lines for a diff: each message under its role."""
    lines: list[str] = []
    for message in view.messages:
        lines += [f"[{message.role}]", *message.text.split("\n")]
    return lines


def changed_members(before: PromptView, after: PromptView) -> dict[str, tuple[Any, Any]]:
    """Members of the body, besides those with the prompt's text, that differ: key → (old, new)."""
    old, new = _members(before.body()), _members(after.body())
    return {
        key: (old.get(key), new.get(key))
        for key in (*old, *(key for key in new if key not in old))
        if key not in _PROMPT_MEMBERS and old.get(key) != new.get(key)
    }


def _members(body: bytes) -> dict[str, Any]:
    read = json.loads(body.decode().removeprefix("\ufeff"))
    assert isinstance(read, dict)  # `PromptView.parse` takes nothing else
    return read


def statuses(tried: Sequence[Tried], status: Status) -> tuple[Tried, ...]:
    """Those of one status, in order."""
    return tuple(one for one in tried if one.status == status)
