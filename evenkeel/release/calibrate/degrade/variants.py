"""The form of an answer, the degradations of that form, and the layout in which they write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.verdict import Failure
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.structured.tree import LONGEST, UnreadableError
from evenkeel.metrics.workflow.diagrams import looks_like_mermaid, looks_like_node_edge
from evenkeel.metrics.workflow.reading import read_answer, read_workflow
from evenkeel.metrics.workflow.workflow import WorkflowError
from evenkeel.release.calibrate.degrade.data import DATA
from evenkeel.release.calibrate.degrade.data_formats import read_document
from evenkeel.release.calibrate.degrade.engine import Form, NotDegradableError
from evenkeel.release.calibrate.degrade.sentences import read_items
from evenkeel.release.calibrate.degrade.text import text_degradations
from evenkeel.release.calibrate.degrade.workflow import PUBLISHED, WORKFLOWS
from evenkeel.release.calibrate.degrade.writing import write_like
from evenkeel.release.calibrate.score_table import DEGRADED, FailureMode

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer
    from evenkeel.release.calibrate.degrade.engine import Degradation


NAME: Final = "degrade"
VERSION: Final = 1
_DATA_FORMATS: Final = frozenset(("json", "yaml", "xml"))
_OPENING: Final = frozenset("{[<")
"""What data begin with that are not text."""
_LEAST_CALLS = 2
_LEAST_ITEMS = 2
_MAIN_SHARE = 0.5


def form_of(answer: Answer, task: str | None) -> Form | Failure:
    """What an answer is made of.

    In this order: "workflow" if the task says so and a workflow can be read, if at least two tools are
    called, or if the text is in the Node:/Edge: form or a Mermaid chart; "data" if it is JSON, YAML or XML,
    alone, fenced or with a little talk around it; "list" if items make up at least half of it; else "prose".

    Returns: the form; a `Failure` "empty" without text and calls, "too_large" or "too_deep" beyond the limits
        of the readers, "single_call" for one tool call without text: nothing in it could be missing.
    """
    if len(answer.tool_calls) >= _LEAST_CALLS:
        return "workflow"
    if answer.tool_calls and not answer.text.strip():
        return Failure(NAME, VERSION, "single_call", "One tool call has no parts to degrade.")
    return _form_of_text(answer.text, named=task == "workflow")


def _form_of_text(text: str, *, named: bool) -> Form | Failure:
    if not text.strip():
        return Failure(NAME, VERSION, "empty", "The answer has no text.")
    found = read_structure(text)
    if isinstance(found, UnreadableError) and (len(text) > LONGEST or text.lstrip()[0] in _OPENING):
        return Failure(NAME, VERSION, found.reason, f"The answer cannot be read: {found}.")
    if _is_workflow(text, named=named):
        return "workflow"
    if isinstance(found, Structure) and found.format in _DATA_FORMATS:
        return "data"
    # Markdown beyond what metrics read as a tree can still be divided.
    return "list" if _is_list(text) else "prose"


def _is_list(text: str) -> bool:
    try:
        items = read_items(text)
    except NotDegradableError:
        return False
    return len(items.units) >= _LEAST_ITEMS and items.share >= _MAIN_SHARE


def _is_workflow(text: str, *, named: bool) -> bool:
    if not named and not looks_like_node_edge(text) and not looks_like_mermaid(text):
        return False
    try:
        return bool(read_workflow(text).steps)
    except WorkflowError:
        return False


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
    """What is done to goldens."""

    form: Form
    """Of their answers."""
    modes: frozenset[FailureMode] = frozenset(DEGRADED)
    published: bool = False
    """Whether the last steps of workflows are missing, as in WorkflowPerturb's tables, in place of any."""

    @property
    def degradations(self) -> tuple[Degradation[Answer], ...]:
        """The degradation for each of the modes, in the order of `FailureMode`."""
        every = PUBLISHED if self.published else degradations(self.form)
        return tuple(one for one in every if one.mode in self.modes)

    @property
    def versions(self) -> dict[str, int]:
        """Versions of all that could be done, by name: other modes do not change a mode's candidates."""
        every = self._replace(modes=frozenset(DEGRADED))
        return {one.name: one.version for one in every.degradations}


def as_written(answer: Answer, task: str | None = None) -> Answer | Failure:
    """The answer as a variant of it is written, but with nothing degraded.

    Texts are the same; data and workflows may be laid out otherwise, which a metric that reads words or
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
                return replace(answer, text=write_like(read_answer(answer).arranged(), answer.text))
            case Failure():
                return form
            case _:
                return answer
    except (NotDegradableError, WorkflowError) as error:
        return Failure(NAME, VERSION, error.reason, str(error))
