"""What came of the perturbations, for programs: `evenkeel perturb --json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkeel.cli.perturbing.trying import changed_members, kept_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.cli.perturbing.trying import Tried
    from evenkeel.shadow.prompt import PromptView


def record(view: PromptView, tried: Sequence[Tried]) -> dict[str, Any]:
    """Everything the page says, and the whole body of each variant, as values for JSON.

    Lone surrogates, which a body may hold, stay: write it with escapes.
    """
    return {
        "api": view.api,
        "segments": [
            {"index": one.index, "role": one.role, "kind": one.kind, "type": one.type, "text": one.text}
            for one in view.segments
        ],
        "protected": [
            {
                "segment": kept.segment,
                "start": kept.span.start,
                "end": kept.span.end,
                "rule": kept.span.rule,
                "text": kept.text,
            }
            for kept in kept_spans(view)
        ],
        "perturbations": [_one(view, one) for one in tried],
    }


def _one(view: PromptView, tried: Tried) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": tried.name,
        "version": tried.version,
        "severity": tried.severity,
        "seed": tried.seed,
        "status": tried.status,
        "requires": list(tried.requires),
    }
    if tried.wanted is not None:
        found["wanted"] = {"format": tried.wanted.format, "language": tried.wanted.language}
    if tried.reason:
        found |= {"reason": tried.reason, "detail": tried.detail}
    if tried.tasks:
        found["tasks"] = [
            {"kind": task.kind, "target": task.target, "text": task.text} for task in tried.tasks
        ]
    if tried.variant is not None:
        found["members"] = {
            key: {"before": before, "after": after}
            for key, (before, after) in changed_members(view, tried.variant).items()
        }
        found["body"] = tried.variant.body().decode()
    return found
