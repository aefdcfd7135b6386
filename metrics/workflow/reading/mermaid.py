"""Mermaid flowcharts: nodes in brackets, edges as arrows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evenkeel.metrics.workflow.reading.assemble import NamedEdge, Node, assemble
from evenkeel.metrics.workflow.workflow import MOST_EDGES, WorkflowError

if TYPE_CHECKING:
    from evenkeel.metrics.workflow.workflow import Workflow

_HEADER = re.compile(r"^[ \t]*(?:graph|flowchart)(?:[ \t]+(?:TB|TD|BT|RL|LR))?[ \t]*(?:;|$)", re.MULTILINE)
_IGNORED = re.compile(
    r"(?:subgraph|end|direction|classDef|class|style|linkStyle|click|title|accTitle|accDescr)\b",
    re.IGNORECASE,
)
_ID = re.compile(r"[^\W][\w.]*(?:-[\w.]+)*")
_SHAPES: tuple[tuple[str, str], ...] = (
    ("(((", ")))"), ("([", "])"), ("((", "))"), ("[[", "]]"), ("[(", ")]"), ("[/", "/]"), ("[/", "\\]"),
    ("[\\", "\\]"), ("[\\", "/]"), ("{{", "}}"), ("{", "}"), ("[", "]"), ("(", ")"), (">", "]"),
)  # fmt: skip
_CLASS = re.compile(r":::[\w-]+")
_ARROW = re.compile(
    r"\s*(?:"
    r"<?(?:--+|==+)[ \t]+(?![->=])(?P<said>[^|\n]{1,200}?)[ \t]*(?:--+|==+)[>xo]?(?![->=])"
    r"|<?-\.[ \t]+[^|\n]{1,200}?[ \t]*\.->"
    r"|<?(?:--+|==+|-\.+-)[>xo]?(?![->=])"
    r"|~~~"
    r")(?:\s*\|[^|\n]*\|)?\s*"
)
_AND = re.compile(r"\s*&\s*")
_MARKS = re.compile(r"#\w{1,12};|[\";]")
"""What may end a statement, or looks like it: the semicolon of an entity does not."""
_BREAK = re.compile(r"<br\s*/?>|\\n", re.IGNORECASE)
_ENTITY = re.compile(r"#(?:quot|34);")
_SHOWN = 60


def looks_like_mermaid(text: str) -> bool:
    """Whether a text has a flowchart's first line."""
    return _HEADER.search(text) is not None


def read_mermaid(text: str) -> Workflow:
    """Read a flowchart.

    Nodes count in the order in which they first occur; one without brackets is called by its id. Every
    kind of line or arrow is an edge from left to right; what is written on it, subgraphs, styles and
    comments are ignored. Nodes of the text Start or End at the ends of the chart are no steps.

    Raises:
        WorkflowError: "no_workflow" without "graph" or "flowchart", "malformed" naming the line, and
            whatever `assemble` raises: a loop in the chart is a "cycle".
    """
    header = _HEADER.search(text)
    if header is None:
        raise WorkflowError("no_workflow", 'there is no line "flowchart" or "graph"')
    chart = _Chart()
    for line in text[header.end() :].split("\n"):
        if line.strip().startswith(("```", "~~~")):
            break
        for statement in _statements(line):
            if not _IGNORED.match(statement):
                chart.add(statement)
    return chart.workflow()


def _statements(line: str) -> list[str]:
    """A line without comment, split at semicolons outside of quotes."""
    if line.strip().startswith("%%"):
        return []
    parts: list[str] = []
    start, quoted = 0, False
    for mark in _MARKS.finditer(line):
        if mark[0] == '"':
            quoted = not quoted
        elif mark[0] == ";" and not quoted:
            parts.append(line[start : mark.start()])
            start = mark.end()
    parts.append(line[start:])
    return [part.strip() for part in parts if part.strip()]


class _Chart:
    """What was read so far."""

    def __init__(self) -> None:
        self._texts: dict[str, str | None] = {}
        self._edges: list[NamedEdge] = []

    def workflow(self) -> Workflow:
        """All of it."""
        nodes = [Node(id_, text or id_) for id_, text in self._texts.items()]
        return assemble(nodes, self._edges)

    def add(self, statement: str) -> None:
        """Read groups of nodes with arrows between."""
        at, before = self._group(statement, 0)
        while at < len(statement):
            arrow = _ARROW.match(statement, at)
            if arrow is None or arrow.end() == at:
                raise WorkflowError("malformed", f"this is no edge: {statement[:_SHOWN]!r}")
            at, after = self._group(statement, arrow.end())
            if len(self._edges) + len(before) * len(after) > MOST_EDGES:
                raise WorkflowError("too_large", f"more than {MOST_EDGES} edges")
            self._edges += [NamedEdge(one, other) for one in before for other in after]
            before = after

    def _group(self, statement: str, at: int) -> tuple[int, list[str]]:
        """Nodes joined by "&", and where they end."""
        found: list[str] = []
        while True:
            at, id_ = self._node(statement, at)
            found.append(id_)
            more = _AND.match(statement, at)
            if more is None:
                return len(statement) if not statement[at:].strip() else at, found
            at = more.end()

    def _node(self, statement: str, at: int) -> tuple[int, str]:
        name = _ID.match(statement, at)
        if name is None:
            raise WorkflowError("malformed", f"this is no node: {statement[at:][:_SHOWN]!r}")
        id_, at = name[0], name.end()
        text: str | None = None
        for opening, closing in _SHAPES:
            if statement.startswith(opening, at):
                end = _closing(statement, at + len(opening), closing)
                if end >= 0:
                    text = _plain(statement[at + len(opening) : end])
                    at = end + len(closing)
                    break
        # Later words on the same node stand, as they do for Mermaid.
        if text or id_ not in self._texts:
            self._texts[id_] = text
        if styled := _CLASS.match(statement, at):
            at = styled.end()
        return at, id_


def _closing(statement: str, at: int, closing: str) -> int:
    """Where a node's text ends: behind its quotes, if it has some."""
    if statement[at:].lstrip().startswith('"'):
        opened = statement.index('"', at)
        at = max(statement.find('"', opened + 1), opened)
    return statement.find(closing, at)


def _plain(text: str) -> str:
    text = _ENTITY.sub('"', _BREAK.sub(" ", text.strip().removeprefix('"').removesuffix('"')))
    return " ".join(text.strip("`").split())
