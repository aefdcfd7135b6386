"""Which form of a workflow an answer has."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from evenkeel.metrics.structured.fences import fences
from evenkeel.metrics.structured.reading import read_structure
from evenkeel.metrics.structured.tree import LONGEST, UnreadableError
from evenkeel.metrics.workflow.reading.calls import read_calls
from evenkeel.metrics.workflow.reading.lists import read_list
from evenkeel.metrics.workflow.reading.mermaid import looks_like_mermaid, read_mermaid
from evenkeel.metrics.workflow.reading.node_edge import looks_like_node_edge, read_node_edge
from evenkeel.metrics.workflow.reading.trees import read_tree
from evenkeel.metrics.workflow.workflow import WorkflowError

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer
    from evenkeel.metrics.workflow.workflow import Workflow

WorkflowFormat = Literal["node_edge", "json", "yaml", "mermaid", "list"]

_MERMAID_FENCE = re.compile(r"^[ ]{0,3}(?:`{3,}|~{3,})[ \t]*mermaid\b", re.IGNORECASE | re.MULTILINE)


def read_answer(answer: Answer) -> Workflow:
    """The workflow of an answer: its text's, or that of its tool calls if it has no text.

    A text beside tool calls is what the model says about them, so the calls are the workflow then.

    Raises:
        WorkflowError: As `read_workflow` and `read_calls` do.
    """
    if answer.tool_calls:
        return read_calls(answer.tool_calls)
    return read_workflow(answer.text)


def read_workflow(text: str, form: WorkflowFormat | None = None) -> Workflow:
    """Read a workflow out of a text. Cached: an answer is read once for every metric.

    Args:
        text: Perhaps with a fence, or with prose around it.
        form: How it is written. None = the first of these that it looks like: Mermaid, Node:/Edge:,
            JSON or YAML, a list.

    Raises:
        WorkflowError: What is wrong, and where; "no_workflow" if it looks like none of them.
    """
    return _read(text, form)


@lru_cache(maxsize=256)
def _read(text: str, form: WorkflowFormat | None) -> Workflow:
    if len(text) > LONGEST:
        raise WorkflowError("too_large", f"{len(text)} characters")
    body = text.replace("\r\n", "\n").replace("\r", "\n")
    match form or _form(body):
        case "mermaid":
            return read_mermaid(_fenced(body, "mermaid"))
        case "node_edge":
            return read_node_edge(_unwrapped(body))
        case "json" | "yaml" as wanted:
            structure = read_structure(body, wanted)
            if isinstance(structure, UnreadableError):
                raise WorkflowError(structure.reason, str(structure))
            if structure is None or structure.format != wanted:
                raise WorkflowError("malformed", f"there is no {wanted.upper()} in the text")
            return read_tree(structure.tree)
        case "list":
            return read_list(_unwrapped(body))


def _form(text: str) -> WorkflowFormat:
    if _MERMAID_FENCE.search(text) or (looks_like_mermaid(text) and "-" in text):
        return "mermaid"
    if looks_like_node_edge(_unwrapped(text)):
        return "node_edge"
    structure = read_structure(text)
    if isinstance(structure, UnreadableError):
        raise WorkflowError(structure.reason, str(structure))
    if structure is not None and structure.format in ("json", "yaml"):
        return "json" if structure.format == "json" else "yaml"
    return "list"


def _fenced(text: str, language: str) -> str:
    """The first fenced block in a language; the whole text if there is none."""
    return next((fence.text for fence in fences(text) if fence.language == language), text)


def _unwrapped(text: str) -> str:
    """What stands in a fence around everything that matters; else the whole text."""
    whole = [fence.text for fence in fences(text) if fence.share > 0.5]  # noqa: PLR2004 - most of it
    return whole[0] if whole else text
