"""The list of metrics, and what holds for every one of them."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.labels import label
from evenkeel.core.pair import AS_BEFORE, Answer, AnswerForm, Pair, ToolCall
from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.columns import heuristic_columns
from evenkeel.metrics import registry
from evenkeel.metrics.registry import (
    UnknownMetricError,
    heuristics,
    metric,
    metrics,
    publish_labels,
    refused,
)
from tests.kit.packages import install_package


def test_names_are_unique_labels_and_versions_count_from_one():
    """A name is a Prometheus label and belongs to one metric."""
    names = [listed.name for listed in metrics()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)
    assert all(listed.version >= 1 for listed in metrics())


def test_every_metric_that_needs_nothing_is_ready_for_use():
    """The list of heuristics holds exactly those."""
    assert [ready.name for ready in heuristics()] == [
        listed.name for listed in metrics() if listed.about.needs == "nothing"
    ]
    assert all(type(ready) is metric(ready.name).kind for ready in heuristics())


def test_every_metric_documents_its_range():
    """The docstring of its score says what comes back."""
    for listed in metrics():
        told = listed.kind.score.__doc__ or ""
        assert "Returns:" in told, listed.name
        assert "Failure" in told, listed.name


def test_metrics_are_akin_to_those_that_are_blind_to_the_same():
    """The steps' BLEU is blind to what BLEU is; looking for the longest sequence is another matter."""
    kin = {listed.name: listed.blind_as for listed in metrics()}
    assert kin["workflow_bleu"] == kin["workflow_gleu"] == "lexical"
    assert kin["workflow_tau"] == kin["workflow_tau_weighted"] == "order"
    assert kin["workflow_chain_f1"] == kin["workflow_graph_f1"] == "structural"
    assert kin["rouge_l"] == kin["likeness"] == "sequence"
    assert kin["workflow_bert_score"] == kin["bert_score"] == "semantic"


def test_an_unknown_name_suggests_the_nearest():
    """A typo is answered by the name, nonsense by all names."""
    with pytest.raises(UnknownMetricError, match="no metric 'Rogue-L'; did you mean rouge_l"):
        metric("Rogue-L")
    with pytest.raises(UnknownMetricError, match="there are bert_score, embeddings"):
        metric("zzzzzz")


ECHO = """
from evenkeel.metrics.protocol import About

class Echo:
    name = "{name}"
    version = 1
    about = About("surface", label="Echo of the answer")

    def score(self, pair):
        return float(pair.reference.text == pair.candidate.text)
"""


@pytest.fixture
def offered(monkeypatch, tmp_path):
    """Installs a distribution that offers metrics: `offered(entry_point=source of its module)`."""

    def install(**sources):
        install_package(tmp_path, monkeypatch, "evenkeel.metrics", "Echo", **sources)
        forget()

    def forget():
        registry._catalogue.cache_clear()
        heuristics.cache_clear()

    yield install
    monkeypatch.undo()
    forget()


def test_a_metric_of_another_package_is_found_by_its_entry_point(offered):
    """The metric is scored, named and calibrated as it declares, like one of ours."""
    offered(echo=ECHO.format(name="acme_echo"))
    found = metric("acme_echo")
    assert found.kind.__module__ == "acme_echo"
    assert found in metrics()
    echo = next(ready for ready in heuristics() if ready.name == "acme_echo")
    assert echo.score(Pair(Answer("a"), Answer("a"), "")) == 1.0
    publish_labels()
    assert label("acme_echo") == "Echo of the answer"
    assert "acme_echo" in {column.name for column in heuristic_columns()}


def test_other_packages_are_not_imported_before_somebody_asks_for_metrics(offered):
    """Importing the registry costs no import of another package."""
    offered(broken="raise SystemError('not now')")
    assert "acme_broken" not in sys.modules


def test_a_package_that_cannot_be_used_is_named_and_harms_nobody(offered, caplog):
    """A package may break at its import, be no metric, or take a name of ours."""
    offered(
        broken="raise OSError('no such disk')",
        odd="class Echo: pass",
        loud=ECHO.format(name="Not a label"),
        rouge_l=ECHO.format(name="rouge_l"),
    )
    assert metric("rouge_l").kind.__module__ == "evenkeel.metrics.similarity.sequence"
    assert {name: said.split(": ", 1)[0] for name, said in refused().items()} == {
        "broken": "'broken' of the package acme-package cannot be loaded",
        "odd": "'odd' of the package acme-package is refused",
        "loud": "'loud' of the package acme-package is refused",
        "rouge_l": "'rouge_l' of the package acme-package is refused",
    }
    assert "there is a metric 'rouge_l' already" in caplog.text
    with pytest.raises(UnknownMetricError, match=r"broken.*acme-package.*OSError: no such disk"):
        metric("broken")


def test_every_line_of_the_registry_is_a_metric_with_a_declaration():
    """The label of a metric stands in its own file. Those of other packages come behind ours."""
    for place, listed in zip(registry.BUILTIN, metrics(), strict=False):
        assert place == f"{listed.kind.__module__}:{listed.kind.__name__}"
        assert listed.kind.about is listed.about
        assert listed.label


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
SYNTAXES = ("json", "yaml", "xml", "html", "markdown")
WANTED = st.sampled_from((AS_BEFORE, *map(AnswerForm, SYNTAXES), AnswerForm("free", "de")))


@given(ANSWERS, ANSWERS, TEXTS, WANTED)
def test_no_answer_breaks_a_cheap_metric(reference, candidate, context, wanted):
    """Each gives a ratio or a failure with its own name and a label as reason; the same one each time."""
    one = Pair(reference, candidate, context, wanted=wanted)
    for each in heuristics():
        score = each.score(one)
        assert score == each.score(one)
        if isinstance(score, Failure):
            assert (score.metric, score.version) == (each.name, each.version)
            assert re.fullmatch(r"[a-z_]+", score.reason)
        else:
            assert 0 <= score <= 1


@given(ANSWERS, TEXTS)
def test_an_answer_is_like_itself_in_every_heuristic(answer, context):
    """1 wherever there is a number."""
    for each in heuristics():
        score = each.score(Pair(answer, answer, context))
        if not isinstance(score, Failure):
            assert score == pytest.approx(1.0), each.name
