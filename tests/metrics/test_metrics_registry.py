"""The list of metrics, and what holds for every one of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.pair import AS_BEFORE, Answer, Pair, ToolCall, Wanted
from evenkeel.core.verdict import Failure
from evenkeel.metrics.registry import HEURISTICS, METRICS, UnknownMetricError, metric


def test_names_are_unique_labels_and_versions_count_from_one() -> None:
    """A name is a Prometheus label and belongs to one metric."""
    names = [listed.name for listed in METRICS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)
    assert all(listed.version >= 1 for listed in METRICS)
    assert all(listed.languages for listed in METRICS)


def test_every_metric_that_needs_nothing_is_ready_for_use() -> None:
    """The list of heuristics holds exactly those."""
    assert [one.name for one in HEURISTICS] == [
        listed.name for listed in METRICS if listed.needs == "nothing"
    ]
    assert all(listed.cost == "microseconds" for listed in METRICS if listed.needs == "nothing")
    assert all(type(one) is metric(one.name).kind for one in HEURISTICS)


def test_every_metric_documents_its_range() -> None:
    """The docstring of its score says what comes back."""
    for listed in METRICS:
        told = listed.kind.score.__doc__ or ""
        assert "Returns:" in told, listed.name
        assert "Failure" in told, listed.name


def test_metrics_are_akin_to_those_that_are_blind_to_the_same() -> None:
    """The steps' BLEU is blind to what BLEU is; looking for the longest sequence is another matter."""
    kin = {listed.name: listed.blind_as for listed in METRICS}
    assert kin["workflow_bleu"] == kin["bleu"] == "lexical"
    assert kin["workflow_tau"] == kin["workflow_tau_weighted"] == "order"
    assert kin["workflow_chain_f1"] == kin["workflow_graph_f1"] == "structural"
    assert kin["rouge_l"] == kin["edit"] != kin["content_words"]
    assert kin["workflow_bert_score"] == kin["bert_score"] == "semantic"


def test_an_unknown_name_suggests_the_nearest() -> None:
    """A typo is answered by the name, nonsense by all names."""
    with pytest.raises(UnknownMetricError, match="no metric 'Rogue-L'; did you mean rouge_l"):
        metric("Rogue-L")
    with pytest.raises(UnknownMetricError, match="there are bert_score, bleu"):
        metric("zzzzzz")


TEXTS = st.one_of(
    st.text(max_size=60),
    st.text("{}[]<>/\"'`:,-#*| ab1\n", max_size=60),
    st.sampled_from(
        (
            '{"name": "disk", "value": "full"}',
            "a: 1\nb: 2\n",
            "<r><a>1</a></r>",
            "- x\n- y",
            "I can't help with that.",
        )
    ),
)
ANSWERS = st.builds(
    Answer,
    TEXTS,
    st.lists(st.builds(ToolCall, st.sampled_from(("get", "put")), TEXTS), max_size=2).map(tuple),
    finish_reason=st.sampled_from((None, "stop", "length")),
)
WANTED = st.sampled_from(
    (
        AS_BEFORE,
        Wanted("json"),
        Wanted("yaml"),
        Wanted("xml"),
        Wanted("html"),
        Wanted("markdown"),
        Wanted("free", "de"),
    )
)


@settings(max_examples=150, deadline=None)
@given(ANSWERS, ANSWERS, TEXTS, WANTED)
def test_no_answer_breaks_a_cheap_metric(
    reference: Answer, candidate: Answer, context: str, wanted: Wanted
) -> None:
    """Each gives a ratio or a failure with its own name and a label as reason; the same one each time."""
    one = Pair(reference, candidate, context, wanted=wanted)
    for each in HEURISTICS:
        score = each.score(one)
        assert score == each.score(one)
        if isinstance(score, Failure):
            assert (score.metric, score.version) == (each.name, each.version)
            assert re.fullmatch(r"[a-z_]+", score.reason)
        else:
            assert 0 <= score <= 1


@settings(max_examples=100, deadline=None)
@given(ANSWERS, TEXTS)
def test_an_answer_is_like_itself_in_every_heuristic(answer: Answer, context: str) -> None:
    """1 wherever there is a number, validity aside: two answers can be broken alike."""
    for each in HEURISTICS:
        score = each.score(Pair(answer, answer, context))
        if not isinstance(score, Failure) and metric(each.name).high_means == "alike":
            assert score == pytest.approx(1.0), each.name


def test_hostile_answers_cost_seconds_at_most() -> None:
    """Five megabytes, deep nesting, bombs: every heuristic of the new families comes back."""
    elsewhere = {"normalised", "rouge_l", "edit", "content_words", "details", "tool_calls"}
    texts = (
        "[" * 200_000,
        "x" * 5_000_000,
        "<a>" * 100_000,
        "a: &a [*a]\n" * 20_000,
        "`" * 300_000,
        '"' * 200_000,
    )
    for text in texts:
        call = (ToolCall("get", text),)
        for each in HEURISTICS:
            if each.name not in elsewhere:
                score = each.score(Pair(Answer(text, call), Answer(text[1:], call), text))
                assert isinstance(score, Failure) or 0 <= score <= 1
