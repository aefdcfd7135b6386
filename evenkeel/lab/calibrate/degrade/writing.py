"""Workflows written back into the text that they came from, in its form."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

import yaml

from evenkeel.lab.calibrate.degrade.engine import NotDegradableError
from evenkeel.lab.calibrate.degrade.sentences import read_items
from evenkeel.metrics.structured.reading import Structure, fences, read_structure
from evenkeel.metrics.workflow.diagrams import looks_like_mermaid, looks_like_node_edge, write_node_edge
from evenkeel.metrics.workflow.reading import WorkflowFormat, read_workflow
from evenkeel.metrics.workflow.workflow import WorkflowError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.metrics.workflow.workflow import Workflow

_NODES: Final = re.compile(r"^[ \t>#*]*nodes?[ \t]*:?[*]*:?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_EDGES: Final = re.compile(r"^[ \t>#*]*edges?\b", re.IGNORECASE | re.MULTILINE)
_BULLETS: Final = re.compile(r"^[ \t]*[-*+•][ \t]", re.MULTILINE)
_NUMBERS: Final = re.compile(r"^[ \t]*\d{1,4}[.)]", re.MULTILINE)
_MAIN_SHARE = 0.5


class _Piece(NamedTuple):
    """The part of an answer that is the workflow, with what stands around it."""

    before: str
    text: str
    behind: str


def write_like(given: Workflow, text: str) -> str:
    """A workflow as the text that it came from is written.

    Mermaid, JSON, YAML, numbered and bulleted lists and Node:/Edge: stay what they are, but are written in
    one way: a chart as its nodes and then its edges, JSON and YAML as steps with ids and edges. Words around
    the workflow stay where it is fenced, listed or in the Node:/Edge: form. A list that is no chain any
    more, or steps that would not be read back the same, are written as Node: and Edge:.

    Args:
        given: The workflow, steps in canonical order.
        text: What `read_workflow` read before.
    """
    form = _form_of(text)
    piece = _piece(text, form)
    if form != "node_edge":
        written = _written(given, form, piece.text)
        for candidate in (piece.before + written + piece.behind, written):
            if _reads(candidate, given):
                return candidate
    written = write_node_edge(given)
    candidate = piece.before + written + piece.behind
    return candidate if form == "node_edge" and _reads(candidate, given) else written


def _form_of(text: str) -> WorkflowFormat:
    if looks_like_mermaid(text):
        return "mermaid"
    if looks_like_node_edge(_wrapped(text) or text):
        return "node_edge"
    found = read_structure(text)
    if isinstance(found, Structure) and found.format in ("json", "yaml"):
        return "json" if found.format == "json" else "yaml"
    return "list"


def _wrapped(text: str) -> str | None:
    return next((fence.text for fence in fences(text) if fence.share > _MAIN_SHARE), None)


def _piece(text: str, form: WorkflowFormat) -> _Piece:
    charts = [fence.text for fence in fences(text) if form == "mermaid" and fence.language == "mermaid"]
    fenced = charts[0] if charts else _wrapped(text)
    if fenced:
        return _Piece(*text.partition(fenced))
    if form == "list":
        return _listed(text)
    header = _NODES.search(text)
    if form != "node_edge" or header is None:
        return _Piece("", text, "")
    edges = _EDGES.search(text, header.end())
    end = text.find("\n\n", edges.end()) if edges else -1
    end = len(text) if end < 0 else end
    return _Piece(text[: header.start()], text[header.start() : end], text[end:])


def _listed(text: str) -> _Piece:
    """The lists of a text, and what stands before the first and behind the last."""
    try:
        stretches = read_items(text).stretches
    except NotDegradableError:
        return _Piece("", text, "")
    before = "" if stretches[0].items else stretches[0].text
    behind = "" if stretches[-1].items else stretches[-1].text
    last = next(stretch.items[-1] for stretch in reversed(stretches) if stretch.items)
    return _Piece(before, text[len(before) :], last.end + behind)


def _reads(text: str, wanted: Workflow) -> bool:
    try:
        return read_workflow(text) == wanted
    except WorkflowError:
        return False


def _written(given: Workflow, form: WorkflowFormat, like: str) -> str:
    match form:
        case "mermaid":
            return "\n".join(["flowchart TD", *_mermaid(given)])
        case "json":
            return json.dumps(_tree(given), ensure_ascii=False, indent=2)
        case "yaml":
            dumped: str = yaml.safe_dump(_tree(given), allow_unicode=True, sort_keys=False, width=1_000_000)
            return dumped.rstrip("\n")
        case "list" if given.linear:
            numbered = _NUMBERS.search(like) is not None or _BULLETS.search(like) is None
            return "\n".join(
                f"{number}. {step}" if numbered else f"- {step}" for number, step in enumerate(given.steps, 1)
            )
        case _:
            return write_node_edge(given)


def _mermaid(given: Workflow) -> Iterator[str]:
    for number, step in enumerate(given.steps, 1):
        said = step.replace('"', "#quot;")
        yield f'    s{number}["{said}"]'
    for before, after in given.edges:
        yield f"    s{before + 1} --> s{after + 1}"


def _tree(given: Workflow) -> dict[str, list[dict[str, str]]]:
    return {
        "steps": [{"id": str(number), "text": step} for number, step in enumerate(given.steps, 1)],
        "edges": [{"from": str(before + 1), "to": str(after + 1)} for before, after in given.edges],
    }
