"""Workflows read out of answers: each form, its variants, and what cannot be read."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.metrics.workflow.diagrams import write_node_edge
from evenkeel.metrics.workflow.reading import read_answer, read_calls, read_workflow
from evenkeel.metrics.workflow.workflow import Workflow, WorkflowError, sequence, workflow

DIAMOND = workflow(
    ["unlock door", "switch on fan", "switch on light", "start press"], [(0, 1), (0, 2), (1, 3), (2, 3)]
)
THREE = sequence(["unlock door", "switch on fan", "start press"])


def refused(text, form=None):
    with pytest.raises(WorkflowError) as caught:
        read_workflow(text, form)
    return caught.value.reason, str(caught.value)


NODE_EDGE = """\
Here is the plan.

Node:
1: unlock door
2: switch on
   fan
3. switch on light
4) start press
Edge: (START,1) (1,2), (1, 3)
(2,4) (3,4): both are needed (really)
(4,END)

Step (9,9) is only talk."""

ARROWS = """\
Node:
1: unlock door
2: switch on fan
3: switch on light
4: start press
Edge: (START,1) -> (1,2) -> (2,4) -> (4,END)
Edge: (1,3)
- (3,4)"""


@pytest.mark.parametrize(
    "text",
    [
        NODE_EDGE,
        f"```\n{NODE_EDGE}\n```",
        NODE_EDGE.replace("Node:", "**Nodes:**").replace("Edge:", "Graph:\nEdges:"),
        NODE_EDGE.replace("\n", "\r\n"),
        ARROWS,
    ],
)
def test_node_edge_text_is_read(text) -> None:
    """With prose around it, in a fence, with other marks and line ends."""
    assert read_workflow(text) == DIAMOND


def test_node_edge_text_without_edges_is_a_sequence_and_with_none_it_is_parallel() -> None:
    """A missing header says nothing about the order; an empty list of edges does."""
    assert read_workflow("Node:\n1: a\n2: b") == sequence("ab")
    assert read_workflow("Node:\n1: a\n2: b\nEdge:") == workflow("ab", [])


def test_what_is_wrong_in_node_edge_text_is_named() -> None:
    """A step that is not there, an edge that was cut off, two steps of one number, a cycle."""
    head = "Node:\n1: a\n2: b\nEdge: (START,1) "
    assert refused(head + "(1,7)") == ("unknown_step", "an edge names '7', which is no step")
    assert refused(head + "(1,2) (2,") == ("malformed", "this is no edge: '(2,'")
    assert refused("Node:\n1: a\n1: b\nEdge: (1,1)") == ("malformed", "two steps have the id '1'")
    assert refused(head + "(1,2) (2,1)")[0] == "cycle"
    assert refused("Node:\nfirst do it\nEdge: (1,2)")[0] == "malformed"
    assert refused("Node:\n1: a\n2: b\nEdge: after one another")[0] == "malformed"


texts = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), min_size=1, max_size=20
).filter(str.split)


@given(st.lists(texts, max_size=6), st.data())
@settings(max_examples=60, deadline=None)
def test_what_is_written_as_node_edge_text_is_read_back(steps, data) -> None:
    """Any texts and any acyclic edges, spaces aside."""
    pairs = [(i, j) for i in range(len(steps)) for j in range(i + 1, len(steps))]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    made = workflow([" ".join(step.split()) for step in steps], edges)
    assert read_workflow(write_node_edge(made), "node_edge") == made


STEPS = list(DIAMOND.steps)
BY_ID = dict(zip("udlp", STEPS, strict=True))
JSON_DIAMONDS = {
    "texts and pairs, from 1": {"nodes": STEPS, "edges": [[1, 2], [1, 3], [2, 4], [3, 4]]},
    "with start and end": {"nodes": STEPS, "edges": [[0, 1], [1, 2], [1, 3], [2, 4], [3, 4], [4, 5]]},
    "from 0": {"nodes": STEPS, "edges": [[0, 1], [0, 2], [1, 3], [2, 3]]},
    "ids, from and to": {
        "nodes": [{"id": id_, "label": text} for id_, text in BY_ID.items()],
        "edges": [{"from": a, "to": b} for a, b in ("ud", "ul", "dp", "lp")],
    },
    "source and target, wrapped": {
        "workflow": {
            "nodes": [{"id": id_, "text": text} for id_, text in BY_ID.items()],
            "links": [{"source": a, "target": b} for a, b in ("ud", "ul", "dp", "lp")],
        }
    },
    "arrows": {"nodes": BY_ID, "edges": ["u -> d -> p", "u → l", "(l, p)"]},
    "adjacency": {"nodes": BY_ID, "edges": {"u": ["d", "l"], "d": "p", "l": "p"}},
    "waiting for ids": {
        "steps": [
            {"id": 1, "description": STEPS[0]},
            {"id": 2, "description": STEPS[1], "dependsOn": [1]},
            {"id": 3, "description": STEPS[2], "depends_on": [1]},
            {"id": 4, "description": STEPS[3], "depends_on": [2, 3]},
        ]
    },
    "waiting for texts": [
        {"task": STEPS[0]},
        {"task": STEPS[1], "after": STEPS[0]},
        {"task": STEPS[2], "after": [STEPS[0]]},
        {"task": STEPS[3], "after": [STEPS[1], STEPS[2]]},
    ],
    "next": [
        {"id": "u", "action": STEPS[0], "next": ["d", "l"]},
        {"id": "d", "action": STEPS[1], "next": "p"},
        {"id": "l", "action": STEPS[2], "next": "p"},
        {"id": "p", "action": STEPS[3], "next": "END"},
    ],
    "jobs": {
        "jobs": {
            "u": {"run": STEPS[0]},
            "d": {"run": STEPS[1], "needs": "u"},
            "l": {"run": STEPS[2], "needs": ["u"]},
            "p": {"run": STEPS[3], "needs": ["d", "l"]},
        }
    },
    "start and end as nodes": {
        "nodes": [{"id": 0, "text": "START"}, *({"id": n, "text": t} for n, t in enumerate(STEPS, 1)),
                  {"id": 9, "text": "End"}],
        "edges": [[0, 1], [1, 2], [1, 3], [2, 4], [3, 4], [4, 9]],
    },
}  # fmt: skip


@pytest.mark.parametrize("shape", JSON_DIAMONDS)
def test_json_shapes_are_read(shape) -> None:
    """Bare and in a fence with talk around it."""
    text = json.dumps(JSON_DIAMONDS[shape])
    assert read_workflow(text) == DIAMOND
    assert read_workflow(f"This should do:\n\n```json\n{text}\n```\n") == DIAMOND


@pytest.mark.parametrize(
    "value",
    [
        list(THREE.steps),
        {"steps": list(THREE.steps)},
        {"plan": {"steps": [{"step": n, "description": text} for n, text in enumerate(THREE.steps, 1)]}},
        {"step_1": THREE.steps[0], "step_2": THREE.steps[1], "step_3": THREE.steps[2]},
        [{"unlock": "unlock door"}, {"fan": "switch on fan"}, {"press": "start press"}],
    ],
)
def test_json_without_a_word_on_order_is_a_sequence(value) -> None:
    """Steps that name no dependency follow each other as listed."""
    assert read_workflow(json.dumps(value)) == THREE


def test_json_with_no_edges_is_parallel() -> None:
    """An empty list of edges says that nothing waits; so does one dependency for the steps without any."""
    assert read_workflow('{"nodes": ["a", "b"], "edges": []}') == workflow("ab", [])
    assert read_workflow('[{"text": "a"}, {"text": "b", "needs": []}]') == workflow("ab", [])
    assert read_workflow('{"nodes": [], "edges": []}') == sequence([])


def test_what_is_wrong_in_json_is_named() -> None:
    """Unknown and ambiguous ends, entries that are no step or no edge."""
    assert refused('{"nodes": ["a", "b"], "edges": [["a", "c"]]}') == (
        "unknown_step", "an edge names 'c', which is no step",
    )  # fmt: skip
    assert refused('{"nodes": ["a", "a", "b"], "edges": [["a", "b"]]}')[0] == "ambiguous_step"
    assert refused('{"nodes": ["a", "b"], "edges": [[1, 2, 3]]}')[0] == "malformed"
    assert refused('{"nodes": ["a", "b"], "edges": [{"weight": 1}]}')[0] == "malformed"
    assert refused('{"nodes": ["a", "b"], "edges": ["a b"]}')[0] == "malformed"
    assert refused('{"steps": [{"duration": 3, "unit": "s"}]}')[0] == "malformed"
    assert refused('{"name": "x", "owner": "y"}')[0] == "no_workflow"
    assert refused('{"nodes": ["a", ""], "edges": []}')[0] == "empty_step"
    assert refused("no braces at all", "json")[0] == "malformed"


def test_yaml_is_read() -> None:
    """Steps with ids and what they need."""
    text = """\
workflow:
  steps:
    - id: unlock
      description: unlock door
    - id: fan
      description: switch on fan
      needs: [unlock]
    - id: light
      description: switch on light
      needs: unlock
    - id: press
      description: start press
      needs: [fan, light]
"""
    assert read_workflow(text) == DIAMOND
    assert read_workflow(f"```yaml\n{text}```") == DIAMOND


MERMAID = """\
flowchart TD
    %% opens the shop
    S([Start]) --> U["unlock door"]
    U --> F[switch on fan] & L(switch on light):::bright
    subgraph machine
    F -->|when it turns| P{{start press}}
    end
    L -- when it is bright --> P
    P ==> E((End))
    classDef bright fill:#fff;
    style U fill:#eee
"""


@pytest.mark.parametrize(
    "text",
    [
        MERMAID,
        f"As a chart:\n```mermaid\n{MERMAID}```\nThat is all.",
        "graph LR; u[unlock door]-->f[switch on fan]-->p[start press]; l[switch on light] -.-> p; u --- l",
    ],
)
def test_mermaid_flowcharts_are_read(text) -> None:
    """Shapes, labels, groups and chains; Start and End are no steps."""
    found = read_workflow(text)
    named = {(found.steps[a], found.steps[b]) for a, b in found.edges}
    assert set(found.steps) == set(DIAMOND.steps)
    assert named == {(DIAMOND.steps[a], DIAMOND.steps[b]) for a, b in DIAMOND.edges}


def test_mermaid_nodes_without_text_are_called_by_their_id() -> None:
    """A later text for the same node stands; a loop is a cycle; what is no edge is named."""
    assert read_workflow("graph TD\nA --> B\nB[lift lid]") == sequence(["A", "lift lid"])
    assert refused("graph TD\nA --> B\nB --> A")[0] == "cycle"
    assert refused("graph TD\nA --> B\nB goes to C") == ("malformed", "this is no edge: 'B goes to C'")


@pytest.mark.parametrize(
    "text",
    [
        "1. unlock door\n2. switch on fan\n3. start press",
        "Do this:\n\n1) **unlock door**\n2) switch on `fan`\n3) start press\n\nGood luck!",
        "- unlock door\n* switch on fan\n- [ ] start press",
        "Step 1: unlock door\nStep 2: switch on fan\nStep 3: start press",
        "### Schritt 1: unlock door\n### Schritt 2: switch on fan\n### Schritt 3: start press",
        "步骤1\uff1aunlock door\n步骤2\uff1aswitch on fan\n步骤3\uff1astart press",
        "1\uff0eunlock door\n2\uff0eswitch on fan\n3\uff0estart press",
        "**Step 1:** unlock door\n**Step 2:** switch on fan\n**Step 3:** start press",
    ],
)
def test_lists_are_sequences(text) -> None:
    """Numbers, bullets and step headings in several languages."""
    assert read_workflow(text) == THREE


def test_what_is_indented_belongs_to_the_step_above() -> None:
    """Bullets beneath a number are details of it, and so is a second line."""
    text = "1. unlock door\n   - with the key\n2. switch on\n   fan\n\n3. start press"
    assert read_workflow(text).steps == ("unlock door with the key", "switch on fan", "start press")


def test_a_version_number_is_no_list_and_prose_no_workflow() -> None:
    """2.5 does not begin a step; an empty answer has none either."""
    assert refused("2.5 litres of oil are enough.")[0] == "no_workflow"
    assert refused("Just press the button.")[0] == "no_workflow"
    assert refused("")[0] == "no_workflow"
    assert refused("x" * 500_001)[0] == "too_large"


def test_endless_groups_of_edges_are_refused_before_they_are_made() -> None:
    """A thousand nodes joined with a thousand would be a million edges."""
    group = " & ".join(["A"] * 1000)
    assert refused(f"graph TD\n{group} --> {group}")[0] == "too_large"
    ends = json.dumps(["a"] * 1000)
    assert refused(f'{{"nodes": ["a"], "edges": [{{"from": {ends}, "to": {ends}}}]}}')[0] == "too_large"


def test_tool_calls_are_a_sequence_of_names() -> None:
    """Arguments do not count, and neither does what is said next to the calls."""
    calls = (ToolCall("find", '{"b": 1, "a": 2.0}'), ToolCall("open", "not json"))
    assert read_calls(calls) == sequence(["find", "open"])
    assert read_answer(Answer("1. talk about it", calls)) == sequence(["find", "open"])
    assert read_answer(Answer("1. find\n2. open")) == sequence(["find", "open"])


@given(st.text(max_size=300))
@settings(max_examples=80, deadline=None)
def test_any_text_is_read_or_refused(text) -> None:
    """Nothing but `WorkflowError` comes out, in any form."""
    for form in (None, "node_edge", "json", "yaml", "mermaid", "list"):
        for shown in (text, f"Node:\n1: a\nEdge: {text}", f"graph TD\n{text}"):
            with contextlib.suppress(WorkflowError):
                assert isinstance(read_workflow(shown, form), Workflow)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(0, 5) | st.sampled_from(["a", "b", "START", "1 -> 2", ""]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["nodes", "edges", "steps", "id", "text", "needs", "next", "from", "to", "x1"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_json)
@settings(max_examples=120, deadline=None)
def test_any_json_is_read_or_refused(value) -> None:
    """Whatever stands under the usual keys."""
    with contextlib.suppress(WorkflowError):
        assert isinstance(read_workflow(json.dumps(value), "json"), Workflow)
