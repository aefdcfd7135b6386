"""Workflows read out of answers: each form, its variants, and what cannot be read."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.lab.metrics.workflow_judge import write_node_edge
from evenkeel.metrics.workflow.reading import read_answer, read_calls, read_workflow
from evenkeel.metrics.workflow.workflow import Workflow, WorkflowError, sequence, workflow
from tests.cases import cases

CASES = cases(__file__)
NODE_EDGE, YAML = CASES["node_edge"], CASES["yaml"]
DIAMOND = workflow(
    ["unlock door", "switch on fan", "switch on light", "start press"], [(0, 1), (0, 2), (1, 3), (2, 3)]
)
THREE = sequence(["unlock door", "switch on fan", "start press"])


def refused(text):
    with pytest.raises(WorkflowError) as caught:
        read_workflow(text)
    return caught.value.reason, str(caught.value)


@pytest.mark.parametrize(("text", "reason", "said"), [(*case, "")[:3] for case in CASES["refused"]])
def test_what_is_wrong_is_named(text, reason, said):
    """Ends that no step has, edges cut off, cycles, entries that are no step, and prose."""
    found, detail = refused(text)
    assert found == reason
    assert not said or detail == said


def test_a_text_has_its_limit():
    assert refused("x" * 500_001)[0] == "too_large"


@pytest.mark.parametrize(
    "text",
    [
        NODE_EDGE,
        f"```\n{NODE_EDGE}\n```",
        NODE_EDGE.replace("Node:", "**Nodes:**").replace("Edge:", "Graph:\nEdges:"),
        NODE_EDGE.replace("\n", "\r\n"),
        CASES["arrows"],
        YAML,
        f"```yaml\n{YAML}```",
    ],
)
def test_node_edge_text_and_yaml_are_read(text):
    """Prose around it, a fence, other marks and line ends change nothing."""
    assert read_workflow(text) == DIAMOND


def test_node_edge_text_without_edges_is_a_sequence_and_with_none_it_is_parallel():
    """A missing header says nothing about the order; an empty list of edges does."""
    assert read_workflow("Node:\n1: a\n2: b") == sequence("ab")
    assert read_workflow("Node:\n1: a\n2: b\nEdge:") == workflow("ab", [])


texts = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), min_size=1, max_size=20
).filter(str.split)


@given(st.lists(texts, max_size=6), st.data())
def test_what_is_written_as_node_edge_text_is_read_back(steps, data):
    """Any texts and any acyclic edges, spaces aside."""
    pairs = [(i, j) for i in range(len(steps)) for j in range(i + 1, len(steps))]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    made = workflow([" ".join(step.split()) for step in steps], edges)
    assert read_workflow(write_node_edge(made)) == made


@pytest.mark.parametrize("shape", CASES["diamonds in JSON"].values(), ids=CASES["diamonds in JSON"])
def test_json_shapes_are_read(shape):
    """Bare and in a fence with talk around it."""
    text = json.dumps(shape)
    assert read_workflow(text) == DIAMOND
    assert read_workflow(f"This should do:\n\n```json\n{text}\n```\n") == DIAMOND


def test_json_with_no_edges_is_parallel():
    """An empty list of edges says that nothing waits; so does one dependency for the steps without any."""
    assert read_workflow('{"nodes": ["a", "b"], "edges": []}') == workflow("ab", [])
    assert read_workflow('[{"text": "a"}, {"text": "b", "needs": []}]') == workflow("ab", [])
    assert read_workflow('{"nodes": [], "edges": []}') == sequence([])


@pytest.mark.parametrize("text", [*CASES["sequences in lists"], *map(json.dumps, CASES["sequences in JSON"])])
def test_what_does_not_speak_of_order_is_a_sequence(text):
    """Steps of a list, or in JSON without any dependency, follow each other as listed."""
    assert read_workflow(text) == THREE


def test_what_is_indented_belongs_to_the_step_above():
    """Bullets beneath a number are details of it, and so is a second line."""
    text = "1. unlock door\n   - with the key\n2. switch on\n   fan\n\n3. start press"
    assert read_workflow(text).steps == ("unlock door with the key", "switch on fan", "start press")


def test_endless_groups_of_edges_are_refused_before_they_are_made():
    """A thousand nodes joined with a thousand would be a million edges."""
    ends = json.dumps(["a"] * 1000)
    assert refused(f'{{"nodes": ["a"], "edges": [{{"from": {ends}, "to": {ends}}}]}}')[0] == "too_large"


def test_tool_calls_are_a_sequence_of_names():
    """Arguments do not count, and neither does what is said next to the calls."""
    calls = (ToolCall("find", '{"b": 1, "a": 2.0}'), ToolCall("open", "not json"))
    assert read_calls(calls) == sequence(["find", "open"])
    assert read_answer(Answer("1. talk about it", calls)) == sequence(["find", "open"])
    assert read_answer(Answer("1. find\n2. open")) == sequence(["find", "open"])


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text):
    """Nothing but `WorkflowError` comes out, whatever form it has."""
    for shown in (text, f"Node:\n1: a\nEdge: {text}", f"graph TD\n{text}", f"1. a\n2. {text}"):
        with contextlib.suppress(WorkflowError):
            assert isinstance(read_workflow(shown), Workflow)


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
def test_any_json_is_read_or_refused(value):
    with contextlib.suppress(WorkflowError):
        assert isinstance(read_workflow(json.dumps(value)), Workflow)
