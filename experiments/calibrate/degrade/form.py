"""Which form an answer has, and with it which degradations it can take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.degrade.protocol import Form, NotDegradableError
from evenkeel.experiments.calibrate.degrade.text.items import read_items
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.structured.tree import LONGEST, UnreadableError
from evenkeel.metrics.workflow.diagrams import looks_like_mermaid, looks_like_node_edge
from evenkeel.metrics.workflow.reading import read_workflow
from evenkeel.metrics.workflow.workflow import WorkflowError

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer

NAME: Final = "degrade"
VERSION: Final = 1
DATA: Final = frozenset(("json", "yaml", "xml"))
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
    if isinstance(found, Structure) and found.format in DATA:
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
