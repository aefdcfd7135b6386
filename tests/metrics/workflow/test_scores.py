"""Chain F1, graph F1 and Kendall's τ: hand-worked, against brute force, and at their limits."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, Pair, ToolCall
from evenkeel.core.verdict import Failure
from evenkeel.metrics.registry import heuristics
from evenkeel.metrics.workflow.alignment import ExactText
from evenkeel.metrics.workflow.chain import chain_f1, largest_antichain, longest_increasing
from evenkeel.metrics.workflow.diagrams import write_node_edge
from evenkeel.metrics.workflow.graph import graph_f1, published_graph_f1
from evenkeel.metrics.workflow.tau import inversions, kendall_tau
from evenkeel.metrics.workflow.workflow import Workflow, sequence, workflow

scipy_stats = pytest.importorskip("scipy.stats", reason="SKIPPED LOUDLY: scipy is not installed")

BUILTIN = [one for one in heuristics() if one.name.startswith("workflow_")]


def aligned(reference: Workflow, candidate: Workflow):
    return reference, candidate, ExactText().align(reference, candidate)


def test_chain_f1_of_a_missing_and_a_moved_step() -> None:
    """Five steps: without the last 2·4/9; with the first moved to the end four stay in order, 2·4/10."""
    gold = sequence("abcde")
    assert chain_f1(*aligned(gold, sequence("abcd"))).f1 == pytest.approx(8 / 9)
    moved = chain_f1(*aligned(gold, sequence("bcdea")))
    assert (moved.length, moved.f1, moved.orders) == (4, pytest.approx(0.8), "only")
    assert chain_f1(*aligned(gold, sequence("edcba"))).length == 1


def test_steps_that_may_be_exchanged_are_in_order_either_way() -> None:
    """B and c both follow a: "a c b" is as good as "a b c"."""
    gold = workflow("abc", [(0, 1), (0, 2)])
    free = chain_f1(*aligned(gold, sequence("acb")))
    assert (free.f1, free.orders) == (1.0, "all")


def test_too_many_conflicts_fall_back_to_the_canonical_order_and_say_so() -> None:
    """Two chains of 250 steps, reversed: 62,000 pairs are the wrong way round, which is not searched."""
    steps = [str(n) for n in range(500)]
    gold = workflow(steps, [(n, n + 2) for n in range(498)])
    found = chain_f1(*aligned(gold, sequence(reversed(steps))))
    assert (found.length, found.orders) == (1, "canonical")
    # With 40 steps it is: the best order puts one chain behind the other, and one step of each fits.
    gold = workflow(steps[:40], [(n, n + 2) for n in range(38)])
    found = chain_f1(*aligned(gold, sequence(reversed(steps[:40]))))
    assert (found.length, found.orders) == (2, "all")


def test_graph_f1_of_a_bridged_gap() -> None:
    """Without the middle step the edge (b, d) is new: b or d goes too, which leaves 3 of 5 and 4 steps."""
    gold = sequence("abcde")
    candidate = workflow("abde", [(0, 1), (1, 2), (2, 3)])
    found = graph_f1(*aligned(gold, candidate))
    assert (found.size, found.f1) == (3, pytest.approx(2 * 3 / 9))
    assert published_graph_f1(*aligned(gold, candidate)).f1 == pytest.approx(2 * 2 / 9)  # b and d both go
    assert graph_f1(*aligned(gold, workflow("abde", [(0, 1), (2, 3)]))).f1 == pytest.approx(8 / 9)


def test_pruning_takes_the_step_that_is_most_in_dispute() -> None:
    """Hub h is joined to five others on one side only: h goes and the others stay."""
    gold, candidate = workflow("habcde", [(0, n) for n in range(1, 6)]), workflow("habcde", [])
    found = graph_f1(*aligned(gold, candidate))
    assert found.size == 5


def test_an_edge_the_other_way_round_is_another_edge() -> None:
    """A before b against b before a: one of the two can stay."""
    assert graph_f1(*aligned(workflow("ab", [(0, 1)]), workflow("ab", [(1, 0)]))).size == 1


def test_tau_as_printed_does_not_see_what_is_missing() -> None:
    """A, b, d of a, b, c, d in order has τ 1, weighted 3/4; one exchange of three pairs has 1/3."""
    found = kendall_tau(*aligned(sequence("abcd"), sequence("abd")))
    assert (found.tau, found.coverage, found.weighted) == (1.0, 0.75, 0.75)
    assert kendall_tau(*aligned(sequence("abc"), sequence("acb"))).tau == pytest.approx(1 / 3)
    assert kendall_tau(*aligned(sequence("abc"), sequence("cba"))).weighted == -1.0
    one = kendall_tau(*aligned(sequence("abcd"), sequence("cx")))
    assert (one.tau, one.weighted) == (None, 0.25)


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [("", "", 1.0), ("", "ab", 0.0), ("ab", "", 0.0), ("ab", "xy", 0.0)],
)
def test_empty_and_foreign_workflows_have_defined_scores(reference, candidate, expected) -> None:
    """Two empty ones are the same; otherwise nothing is shared."""
    both = aligned(sequence(reference), sequence(candidate))
    assert chain_f1(*both).f1 == graph_f1(*both).f1 == kendall_tau(*both).weighted == expected


@st.composite
def cases(draw, most=6):
    """A small acyclic reference and a candidate made of some of its steps."""
    size = draw(st.integers(1, most))
    steps = [f"s{n}" for n in range(size)]

    def edges(among):
        pairs = list(itertools.combinations(among, 2))
        return draw(st.lists(st.sampled_from(pairs), unique=True, max_size=10)) if pairs else []

    gold = workflow(steps, edges(range(size)))
    chosen = draw(st.lists(st.sampled_from(range(size)), unique=True, min_size=1))
    return gold, workflow([steps[n] for n in chosen], edges(range(len(chosen))))


def _orders(given_: Workflow):
    for order in itertools.permutations(range(len(given_.steps))):
        place = {index: rank for rank, index in enumerate(order)}
        if all(place[edge.before] < place[edge.after] for edge in given_.edges):
            yield place


@given(cases())
@settings(max_examples=80, deadline=None)
def test_chain_length_is_that_of_the_best_of_all_orders(case) -> None:
    """The antichain agrees with listing every topological order of the reference."""
    gold, candidate, alignment = aligned(*case)
    best = max(
        longest_increasing([place[match.reference] for match in alignment.matched]) for place in _orders(gold)
    )
    found = chain_f1(gold, candidate, alignment)
    assert found.length == best
    assert found.orders in ("only", "all")


@given(cases())
@settings(max_examples=80, deadline=None)
def test_graph_size_is_never_beyond_the_largest_common_subgraph(case) -> None:
    """Against trying all subsets: pruning never gives more, and where one step has to go as much."""
    gold, candidate, alignment = aligned(*case)
    wanted, proposed = set(gold.edges), set(candidate.edges)
    best = 0
    for size in range(len(alignment) + 1):
        for kept in itertools.combinations(alignment.matched, size):
            if all(
                ((one.reference, other.reference) in wanted) == ((one.candidate, other.candidate) in proposed)
                for one, other in itertools.permutations(kept, 2)
            ):
                best = size
    size = graph_f1(gold, candidate, alignment).size
    assert size <= best
    assert size == best or size < len(alignment) - 1


@given(st.permutations(range(7)))
@settings(max_examples=50, deadline=None)
def test_tau_agrees_with_scipy(order) -> None:
    """And inversions with counting pairs, longest increasing runs with trying all."""
    gold = sequence([f"s{n}" for n in range(7)])
    found = kendall_tau(*aligned(gold, sequence([f"s{n}" for n in order]))).tau
    assert found == pytest.approx(scipy_stats.kendalltau(range(7), order).statistic)
    assert inversions(order) == sum(a > b for a, b in itertools.combinations(order, 2))
    assert longest_increasing(order) == max(
        size
        for size in range(1, 8)
        for kept in itertools.combinations(order, size)
        if list(kept) == sorted(kept)
    )


@given(cases(most=9))
@settings(max_examples=60, deadline=None)
def test_scores_stay_in_range_and_are_one_for_the_same(case) -> None:
    """All ratios are in [0, 1]; a workflow agrees with itself in everything."""
    both = aligned(*case)
    for found in (chain_f1(*both), graph_f1(*both)):
        assert 0 <= found.f1 <= 1
    same = aligned(case[0], case[0])
    assert chain_f1(*same).f1 == graph_f1(*same).f1 == kendall_tau(*same).weighted == 1.0


def test_the_largest_antichain_of_a_hand_drawn_order() -> None:
    """0 above 1 and 2, 1 and 2 above 3: the two in the middle; no relation at all: everything."""
    assert largest_antichain([[1, 2, 3], [3], [3], []]) == 2
    assert largest_antichain([[], [], []]) == 3
    assert largest_antichain([]) == 0


def _pair(reference: str, candidate: str) -> Pair:
    return Pair(Answer(reference), Answer(candidate), "")


def test_metrics_score_answers_whatever_form_they_are_written_in() -> None:
    """The same three steps as a list and as Node:/Edge: text agree in everything."""
    steps = ("open the tray", "add paper", "close the tray")
    listed = "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1))
    pair = _pair(write_node_edge(sequence(steps)), listed)
    assert {metric.name: metric.score(pair) for metric in BUILTIN} == {
        "workflow_chain_f1": 1.0, "workflow_graph_f1": 1.0, "workflow_tau": 1.0, "workflow_tau_weighted": 1.0,
        "workflow_bleu": 1.0, "workflow_gleu": 1.0,
    }  # fmt: skip


def test_an_answer_without_workflow_is_a_failure_that_names_the_side() -> None:
    """Prose on one side is no score of zero."""
    for metric in BUILTIN:
        found = metric.score(_pair("1. a\n2. b", "I would rather not."))
        assert isinstance(found, Failure)
        assert (found.metric, found.reason) == (metric.name, "no_workflow")
        assert "candidate" in found.detail


def test_tau_as_printed_fails_without_two_common_steps_and_is_cut_at_zero() -> None:
    """Order takes two steps; a reversed order is 0 for a metric, whose values are ratios."""
    by_name = {metric.name: metric for metric in BUILTIN}
    found = by_name["workflow_tau"].score(_pair("1. a\n2. b", "1. a\n2. x"))
    assert isinstance(found, Failure)
    assert found.reason == "too_few_aligned"
    assert by_name["workflow_tau_weighted"].score(_pair("1. a\n2. b", "1. a\n2. x")) == 0.5
    assert by_name["workflow_tau"].score(_pair("1. a\n2. b", "1. b\n2. a")) == 0.0


def test_tool_calls_are_compared_as_sequences() -> None:
    """Find, open, close against find, close: 2·2/5, whatever their arguments."""
    made = [Answer("", tuple(ToolCall(name, f'{{"n": {n}}}') for n, name in enumerate(names)))
            for names in (("find", "open", "close"), ("find", "close"))]  # fmt: skip
    chain = next(metric for metric in BUILTIN if metric.name == "workflow_chain_f1")
    assert chain.score(Pair(made[0], made[1], "")) == pytest.approx(0.8)


def test_five_thousand_steps_are_compared() -> None:
    """Reversed, with every second step free: nothing in it is cubic."""
    steps = [f"check valve {n}" for n in range(5000)]
    gold = workflow(steps, [(n, n + 2) for n in range(0, 4998, 2)])
    both = aligned(gold, sequence(reversed(steps)))
    chain, graph, tau = chain_f1(*both), graph_f1(*both), kendall_tau(*both)
    assert chain.length >= 1
    assert graph.size >= 1
    assert tau.tau == -1.0
