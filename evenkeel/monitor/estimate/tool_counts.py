"""Counts of how tool calls changed in a cell's trials, beside those of the controls of the same exchanges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from evenkeel.core.cells import ToolChange, ToolReport
from evenkeel.monitor.estimate.bounded_mean import proportion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenkeel.core.cells import Estimate
    from evenkeel.core.verdict import ToolStep, Verdict

CHOICE: Final = ("called", "tool")
"""Differences that are a change of tool choice."""
ARGUMENTS: Final = ("arguments",)
_NAMED: Final = frozenset((*CHOICE, *ARGUMENTS))
# Changes that are counted by name.
_MOST_CHANGES: Final = 64
# Arguments that a change names; a rewritten call differs in all of them.
_MOST_ARGUMENTS: Final = 3
_MOST_SHOWN: Final = 5


def choice_difference(verdict: Verdict) -> int | None:
    """Return 1 if only the trial calls other tools than the original, −1 if only its resend does, else 0.

    A resend without an outcome counts as one that calls others. None for a request without tools.
    """
    if verdict.tools is None:
        return None
    resend = verdict.control.tools
    return (verdict.tools.difference in CHOICE) - (resend is None or resend.difference in CHOICE)


class ToolCounts(Struct):
    """Trials whose request offers tools, by the first difference of their calls."""

    changed: dict[str, int] = field(default_factory=dict)
    """Steps by their difference."""
    control: dict[str, int] = field(default_factory=dict)
    """Controls of these trials by their own difference."""
    changes: list[ToolChange] = field(default_factory=list)

    def add(self, verdict: Verdict) -> None:
        """Count a trial, unless it only traces the shift of a group: then the group was counted."""
        if verdict.tools is None or verdict.selection.split_of:
            return
        self.changed[verdict.tools.difference] = self.changed.get(verdict.tools.difference, 0) + 1
        self._count(verdict.tools, trials=1)
        if verdict.control.tools is not None:
            again = verdict.control.tools.difference
            self.control[again] = self.control.get(again, 0) + 1
            self._count(verdict.control.tools, controls=1)

    def _count(self, step: ToolStep, *, trials: int = 0, controls: int = 0) -> None:
        if step.difference not in _NAMED:
            return
        argument = ", ".join(path.strip(".") for path in step.arguments[:_MOST_ARGUMENTS])
        key = (step.before, step.after, argument)
        for change in self.changes:
            if (change.before, change.after, change.argument) == key:
                break
        else:
            if len(self.changes) >= _MOST_CHANGES:
                return
            change = ToolChange(*key)
            self.changes.append(change)
        change.trials += trials
        change.controls += controls

    def share(
        self, differences: Iterable[str], *, alpha: float, min_trials: int, effect: float = 1.0
    ) -> Estimate | None:
        """Return the share of steps with one of these differences; None below `min_trials` steps."""
        return _share(self.changed, differences, alpha, min_trials, effect)

    def control_share(
        self, differences: Iterable[str], *, alpha: float, min_trials: int, effect: float = 1.0
    ) -> Estimate | None:
        """Return the same of the controls: the noise floor."""
        return _share(self.control, differences, alpha, min_trials, effect)

    def report(self) -> ToolReport | None:
        """Return the counts and the most frequent changes; None without steps."""
        if not self.changed:
            return None
        # What chance does as often comes last.
        frequent = sorted(self.changes, key=lambda change: change.controls - change.trials)
        shown = tuple(replace(change) for change in frequent[:_MOST_SHOWN])
        steps, pairs = sum(self.changed.values()), sum(self.control.values())
        return ToolReport(steps, pairs, dict(self.changed), dict(self.control), shown)


def _share(
    counts: Mapping[str, int],
    differences: Iterable[str],
    alpha: float,
    min_trials: int,
    effect: float,
) -> Estimate | None:
    changed = sum(counts.get(difference, 0) for difference in differences)
    return proportion(changed, sum(counts.values()), alpha=alpha, min_trials=min_trials, effect=effect)
