"""Chain F1, graph F1 and Kendall's τ: hand-worked, against brute force, and at their limits."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.lab.metrics.alignment import ExactText
from evenkeel.lab.metrics.graph import graph_f1
from evenkeel.lab.metrics.tau import inversions, kendall_tau
from evenkeel.metrics.registry import heuristics
from evenkeel.metrics.workflow.chain import chain_f1, longest_increasing
from evenkeel.metrics.workflow.workflow import sequence, workflow
from tests.cases import cases
from tests.lab.metrics.compass import pair

BUILTIN = [metric for metric in heuristics() if metric.name.startswith("workflow_")]


def aligned(reference, candidate):
    return reference, candidate, ExactText().align(reference, candidate)


@pytest.mark.parametrize(("reference", "candidate", "expected"), cases(__file__)["scores"])
def test_scores_of_hand_worked_workflows(reference, candidate, expected):
    """Steps in order, the common graph, and order alone, each told from what is missing."""
    both = aligned(
        *(sequence(side) if isinstance(side, str) else workflow(*side) for side in (reference, candidate))
    )
    chain, graph, tau = chain_f1(*both), graph_f1(*both), kendall_tau(*both)
    found = {
        "chain": chain.f1, "length": chain.length,
        "graph": graph.f1, "size": graph.size,
        "tau": tau.tau, "coverage": tau.coverage, "weighted": tau.weighted,
    }  # fmt: skip
    for name, value in expected.items():
        assert found[name] == (pytest.approx(value, abs=1e-6) if isinstance(value, float) else value)


def test_too_many_conflicts_fall_back_to_the_canonical_order():
    """Two chains of 250 steps, reversed: 62,000 pairs are the wrong way round, which is not searched."""
    steps = [str(n) for n in range(500)]
    gold = workflow(steps, [(n, n + 2) for n in range(498)])
    found = chain_f1(*aligned(gold, sequence(reversed(steps))))
    assert found.length == 1
    # With 40 steps it is: the best order puts one chain behind the other, and one step of each fits.
    gold = workflow(steps[:40], [(n, n + 2) for n in range(38)])
    found = chain_f1(*aligned(gold, sequence(reversed(steps[:40]))))
    assert found.length == 2


@st.composite
def drawn(draw, most=6):
    """A small acyclic reference and a candidate made of some of its steps."""
    size = draw(st.integers(1, most))
    steps = [f"s{n}" for n in range(size)]

    def edges(among):
        pairs = list(itertools.combinations(among, 2))
        return draw(st.lists(st.sampled_from(pairs), unique=True, max_size=10)) if pairs else []

    gold = workflow(steps, edges(range(size)))
    chosen = draw(st.lists(st.sampled_from(range(size)), unique=True, min_size=1))
    return gold, workflow([steps[n] for n in chosen], edges(range(len(chosen))))


def _orders(given_):
    for order in itertools.permutations(range(len(given_.steps))):
        place = {index: rank for rank, index in enumerate(order)}
        if all(place[edge.before] < place[edge.after] for edge in given_.edges):
            yield place


@given(drawn())
def test_chain_length_is_that_of_the_best_of_all_orders(case):
    """The antichain agrees with listing every topological order of the reference."""
    gold, candidate, alignment = aligned(*case)
    best = max(
        longest_increasing([place[match.reference] for match in alignment.matched]) for place in _orders(gold)
    )
    found = chain_f1(gold, candidate, alignment)
    assert found.length == best


@given(st.permutations(range(7)))
def test_tau_counts_pairs_out_of_order(order):
    """Inversions agree, of 21 pairs each; longest increasing runs agree with trying all."""
    gold = sequence([f"s{n}" for n in range(7)])
    found = kendall_tau(*aligned(gold, sequence([f"s{n}" for n in order]))).tau
    out_of_order = sum(a > b for a, b in itertools.combinations(order, 2))
    assert inversions(order) == out_of_order
    assert found == pytest.approx(1 - 2 * out_of_order / 21)
    assert longest_increasing(order) == max(
        size
        for size in range(1, 8)
        for kept in itertools.combinations(order, size)
        if list(kept) == sorted(kept)
    )


def test_an_answer_without_workflow_is_a_failure_that_names_the_side():
    """Prose on one side is no score of zero."""
    for metric in BUILTIN:
        found = metric.score(pair("1. a\n2. b", "I would rather not."))
        assert (found.metric, found.reason) == (metric.name, "no_workflow")
        assert "candidate" in found.detail


def test_tau_as_printed_fails_without_two_common_steps_and_is_cut_at_zero():
    """Order takes two steps; a reversed order is 0 for a metric, whose values are ratios."""
    by_name = {metric.name: metric for metric in BUILTIN}
    found = by_name["workflow_tau"].score(pair("1. a\n2. b", "1. a\n2. x"))
    assert found.reason == "too_few_aligned"
    assert by_name["workflow_tau_weighted"].score(pair("1. a\n2. b", "1. a\n2. x")) == 0.5
    assert by_name["workflow_tau"].score(pair("1. a\n2. b", "1. b\n2. a")) == 0.0


def test_two_thousand_steps_are_compared():
    """Reversed, with every second step free: nothing in it is cubic."""
    steps = [f"check valve {n}" for n in range(2000)]
    gold = workflow(steps, [(n, n + 2) for n in range(0, 1998, 2)])
    both = aligned(gold, sequence(reversed(steps)))
    chain, graph, tau = chain_f1(*both), graph_f1(*both), kendall_tau(*both)
    assert chain.length >= 1
    assert graph.size >= 1
    assert tau.tau == -1.0
