"""Which quality metrics a task is measured by."""

from __future__ import annotations

from typing import Literal

Quality = Literal["faithfulness", "completeness"]
"""A quality of an answer, whoever measures it: a judge, or a cheap stand-in."""

_SUMMARY: tuple[Quality, ...] = ("faithfulness", "completeness")
GENERIC: tuple[Quality, ...] = _SUMMARY

BUNDLES: dict[str, tuple[Quality, ...]] = {
    "case_summary": _SUMMARY,
    "chat_summary": _SUMMARY,
}
"""By task name. A task that is not listed is generic chat."""


def bundle(task: str | None) -> tuple[Quality, ...]:
    """The qualities of a task, in order; those of generic chat if it is None or unknown."""
    return BUNDLES.get(task or "", GENERIC)
