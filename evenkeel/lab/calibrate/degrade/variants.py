"""The form of an answer, the degradations of that form, and the layout in which they write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.degrade.data import DATA
from evenkeel.lab.calibrate.degrade.data_formats import read_document
from evenkeel.lab.calibrate.degrade.engine import NotDegradableError
from evenkeel.lab.calibrate.degrade.text import text_degradations
from evenkeel.lab.calibrate.degrade.workflow import PUBLISHED, WORKFLOWS
from evenkeel.lab.calibrate.forms import Form, form_of
from evenkeel.lab.calibrate.score_table import DEGRADED
from evenkeel.metrics.workflow.diagrams import write_node_edge
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import WorkflowError

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer
    from evenkeel.lab.calibrate.calibration import FailureMode
    from evenkeel.lab.calibrate.degrade.engine import Degradation


NAME: Final = "degrade"
VERSION: Final = 1

_BY_FORM: Final[dict[Form, tuple[Degradation[Answer], ...]]] = {
    "workflow": WORKFLOWS,
    "prose": text_degradations("prose"),
    "list": text_degradations("list"),
    "data": DATA,
}


def degradations(form: Form) -> tuple[Degradation[Answer], ...]:
    """The degradation of a form for each failure mode, in the order of `FailureMode`."""
    return _BY_FORM[form]


class Damage(NamedTuple):
    """Damage to goldens."""

    form: Form
    """Form of their answers."""
    modes: frozenset[FailureMode] = frozenset(DEGRADED)
    published: bool = False
    """True if the last steps of workflows are missing, as in WorkflowPerturb's tables, in place of any."""

    @property
    def degradations(self) -> tuple[Degradation[Answer], ...]:
        """The degradation for each of the modes, in the order of `FailureMode`."""
        every = PUBLISHED if self.published else degradations(self.form)
        return tuple(degradation for degradation in every if degradation.mode in self.modes)

    @property
    def versions(self) -> dict[str, int]:
        """Versions of all that could be done, by name: other modes do not change a mode's candidates."""
        every = self._replace(modes=frozenset(DEGRADED))
        return {degradation.name: degradation.version for degradation in every.degradations}


def as_written(answer: Answer, task: str | None = None) -> Answer | Failure:
    """The answer as a variant of it is written, but with nothing degraded.

    Texts are the same; data and workflows are laid out otherwise, which a metric that reads words or
    characters would take for damage. To score variants against this leaves the damage alone.

    Returns: the answer; a `Failure` if it has no form, or cannot be read or written in it.
    """
    form = form_of(answer, task)
    try:
        match form:
            case "data":
                document = read_document(answer.text)
                return replace(answer, text=document.written(document.root))
            case "workflow" if not answer.tool_calls:
                return replace(answer, text=write_node_edge(read_answer(answer).arranged()))
            case Failure():
                return form
            case _:
                return answer
    except (NotDegradableError, WorkflowError) as error:
        return Failure(NAME, VERSION, error.reason, str(error))
