"""The Node:/Edge: form, in which WorFBench and WorkflowPerturb write workflows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evenkeel.metrics.workflow.reading.assemble import NamedEdge, Node, assemble
from evenkeel.metrics.workflow.workflow import WorkflowError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.metrics.workflow.workflow import Workflow

_HEADER = re.compile(r"^[ \t>#*]*nodes?[ \t]*:?[*]*:?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_EDGES = re.compile(r"^[ \t>#*]*edges?[ \t]*(?::[*]*|[*]*:|$)", re.IGNORECASE | re.MULTILINE)
_STEP = re.compile(r"[ \t]*(\d{1,9})[ \t]*[:.)][ \t]*(.*)")
_TITLE = re.compile(r"[ \t#*]*\w{1,20}[ \t]*:[ \t*]*$")
_PAIR = re.compile(r"[(\[]\s*([^\s,()\[\]]{1,40})\s*,\s*([^\s,()\[\]]{1,40})\s*[)\]]")
_LEAD = re.compile(r"(?:[\s,;*>\u2192-]+|edges?[ \t]*:)*+", re.IGNORECASE)
"""What may stand before an edge and between two; it always matches, if only nothing."""
_SHOWN = 60


def looks_like_node_edge(text: str) -> bool:
    """Whether a text has the form's first header."""
    return _HEADER.search(text) is not None


def read_node_edge(text: str) -> Workflow:
    """Read "Node:", a numbered step a line, "Edge:", and edges such as (START,1) (1,2) (2,END).

    Ignored are what stands before the first header, what stands behind an edge on its line and is none
    ("(1,2): needs the key"), and what comes after an empty line behind the edges. A line without
    a number goes on with the step above, up to an empty line or a title such as "Graph:". Without "Edge:"
    the steps follow each other.

    Raises:
        WorkflowError: "no_workflow" without a header, "malformed" (a line that belongs to no step, an
            edge that is none, with what it says), and whatever `assemble` raises.
    """
    header = _HEADER.search(text)
    if header is None:
        raise WorkflowError("no_workflow", 'there is no line "Node:"')
    edges = _EDGES.search(text, header.end())
    nodes = list(_nodes(text[header.end() : edges.start() if edges else len(text)]))
    return assemble(nodes, None if edges is None else list(_edges(text[edges.end() :])), by_id=True)


def write_node_edge(given: Workflow) -> str:
    """The form of a workflow; `read_node_edge` gives the same back, line breaks in steps aside."""
    size = len(given.steps)
    lines = [f"{number}: {' '.join(step.split())}" for number, step in enumerate(given.steps, 1)]
    has_before, has_after = {edge.after for edge in given.edges}, {edge.before for edge in given.edges}
    edges = [
        *(f"(START,{index + 1})" for index in range(size) if index not in has_before),
        *(f"({before + 1},{after + 1})" for before, after in given.edges),
        *(f"({index + 1},END)" for index in range(size) if index not in has_after),
    ]
    return "\n".join(["Node:", *lines, " ".join(["Edge:", *edges])])


def _nodes(text: str) -> Iterator[Node]:
    number = ""
    said: list[str] = []
    within = True
    for line in text.split("\n"):
        if found := _STEP.match(line):
            if number:
                yield Node(number, " ".join(said))
            number, said, within = found[1].lstrip("0") or "0", [found[2].strip()], True
        elif not line.strip() or _TITLE.match(line):
            within = within and not number
        elif not number:
            raise WorkflowError("malformed", f"this line is no numbered step: {line.strip()[:_SHOWN]!r}")
        elif within:
            said.append(line.strip())
    if number:
        yield Node(number, " ".join(said))


def _edges(text: str) -> Iterator[NamedEdge]:
    """The edges up to the first empty line behind one."""
    found, said = False, ""
    for line in text.split("\n"):
        if found and not line.strip():
            return
        at = _led_in(line, 0)
        while pair := _PAIR.match(line, at):
            found = True
            yield NamedEdge(pair[1], pair[2])
            at = _led_in(line, pair.end())
        rest = line[at:]
        if rest.startswith(("(", "[")):
            raise WorkflowError("malformed", f"this is no edge: {rest[:_SHOWN].strip()!r}")
        said = said or rest.strip().strip("`")
    if said and not found:
        raise WorkflowError("malformed", f'there are no edges behind "Edge:" but {said[:_SHOWN]!r}')


def _led_in(line: str, at: int) -> int:
    """Where an edge may begin, behind what leads to it."""
    lead = _LEAD.match(line, at)
    assert lead is not None  # nothing at all is a match too
    return lead.end()
