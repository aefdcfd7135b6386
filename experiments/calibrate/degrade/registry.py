"""All degradations, by form and by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.experiments.calibrate.degrade.data import DATA
from evenkeel.experiments.calibrate.degrade.text import LISTS, PROSE
from evenkeel.experiments.calibrate.degrade.workflow.answers import WORKFLOWS
from evenkeel.experiments.calibrate.score_table import DEGRADED

if TYPE_CHECKING:
    from evenkeel.experiments.calibrate.degrade.protocol import AnswerDegradation, Form

BUILTIN: Final[tuple[AnswerDegradation, ...]] = (*WORKFLOWS, *PROSE, *LISTS, *DATA)
"""All that need no model; of each form and mode the default comes first."""
_BY_NAME: Final = {each.name: each for each in BUILTIN}


def degradations(form: Form) -> tuple[AnswerDegradation, ...]:
    """The default degradation of a form for each failure mode, in the order of `FailureMode`."""
    found = {}
    for mode in DEGRADED:
        found[mode] = next(each for each in BUILTIN if each.form == form and each.mode is mode)
    return tuple(found.values())


def degradation(name: str) -> AnswerDegradation:
    """The degradation of a name, defaults and others.

    Raises: KeyError naming those that there are.
    """
    if name not in _BY_NAME:
        raise KeyError(f"no degradation {name!r}; there are {', '.join(_BY_NAME)}")
    return _BY_NAME[name]
