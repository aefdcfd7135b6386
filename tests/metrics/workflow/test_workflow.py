"""Workflows, and what is refused as one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.metrics.workflow.workflow import MOST_STEPS, Edge, WorkflowError, sequence, workflow


def test_the_listed_order_is_canonical_where_the_edges_allow_it():
    """Two free middle steps stay as listed; a step listed before what it waits for moves behind it."""
    assert workflow("abcd", [(0, 1), (0, 2), (1, 3), (2, 3)]).chain == ("a", "b", "c", "d")
    assert workflow("abc", [(2, 0)]).chain == ("b", "c", "a")


def test_a_sequence_is_linear_and_a_fork_is_not():
    """Only an edge between all neighbours leaves a single order; no steps and one step have one."""
    assert sequence("abc").linear
    assert sequence("abc").edges == (Edge(0, 1), Edge(1, 2))
    assert not workflow("abc", [(0, 1), (0, 2)]).linear
    assert sequence("a").linear
    assert sequence("").linear


@pytest.mark.parametrize(
    ("steps", "edges", "reason", "said"),
    [
        ("ab", [(0, 4)], "unknown_step", "an edge names step 5; there are 2"),
        ("ab", [(-1, 0)], "unknown_step", ""),
        (["a", " "], [], "empty_step", "step 2 has no text"),
        (["a"] * (MOST_STEPS + 1), [], "too_large", ""),
        ("abcde", [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)], "cycle", "in a circle"),
        ("a", [(0, 0)], "cycle", ""),
    ],
)
def test_what_is_no_workflow_names_the_steps(steps, edges, reason, said):
    """Edges to no step, steps without text, and those that wait for each other, by their numbers."""
    with pytest.raises(WorkflowError) as caught:
        workflow(steps, edges)
    assert caught.value.reason == reason
    assert str(caught.value).endswith(said)


def test_arranging_keeps_the_graph():
    """Steps are listed in canonical order, and edges name them by their new place."""
    arranged = workflow("abc", [(2, 0), (0, 1)]).arranged()
    assert arranged == workflow("cab", [(0, 1), (1, 2)])
    assert arranged.arranged() is arranged


@given(st.integers(0, 8), st.data())
def test_every_edge_points_forward_in_the_canonical_order(size, data):
    names = data.draw(st.permutations(range(size)))
    pairs = [(names[i], names[j]) for i in range(size) for j in range(i + 1, size)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    made = workflow([f"step {n}" for n in range(size)], edges)
    place = {index: rank for rank, index in enumerate(made.order)}
    assert sorted(made.order) == list(range(size))
    assert all(place[edge.before] < place[edge.after] for edge in made.edges)
