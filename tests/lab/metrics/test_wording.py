"""BLEU, GLEU and BERTScore of workflows."""

import pytest

from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics.compare import Both
from evenkeel.lab.metrics.wording import StepBertScore, workflow_bleu, workflow_gleu
from evenkeel.metrics.workflow.workflow import sequence, workflow


def test_words_are_compared_in_canonical_order():
    """A workflow listed backwards with edges forward reads the same."""
    gold = sequence(["open the tray.", "add paper."])
    turned = workflow(["add paper.", "open the tray."], [(1, 0)])
    assert workflow_bleu(gold, turned) == workflow_gleu(gold, turned) == 1.0


class PlantedScores:
    """Scores pairs of texts from a table; "broken" cannot be scored."""

    name = "planted"
    version = 3

    def __init__(self, **scores):
        self.scores = scores
        self.calls = 0

    def score(self, pair):
        return self.score_all([pair])[0]

    def score_all(self, pairs):
        self.calls += 1
        return [
            Failure(self.name, self.version, "too_large", "no")
            if pair.candidate.text == "broken"
            else self.scores[pair.reference.text + pair.candidate.text]
            for pair in pairs
        ]


def numbered(*steps):
    return Answer("\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1)))


def test_steps_are_scored_place_by_place_up_to_the_shorter_end():
    """A with a and b with c: the mean of 1 and .4; the third step has no partner and does not count."""
    planted = PlantedScores(aa=1.0, bc=0.4)
    metric = StepBertScore(planted)
    assert metric.score(Pair(numbered("a", "b", "c"), numbered("a", "c"), "")) == pytest.approx(0.7)
    assert planted.calls == 1


def test_a_step_that_cannot_be_scored_fails_the_workflow():
    """The failure has this metric's name, with the reason of the one inside; other pairs stand."""
    metric = StepBertScore(PlantedScores(aa=1.0))
    failed, fine = metric.means(
        [Both(sequence(["a"]), sequence(["broken"])), Both(sequence("a"), sequence("a"))]
    )
    assert (failed.metric, failed.version, failed.reason) == ("workflow_bert_score", 1, "too_large")
    assert fine == 1.0


def test_empty_workflows_have_defined_wording():
    """No step is scored: two empty ones are the same, one is not; prose is no workflow."""
    metric = StepBertScore(PlantedScores())
    empty, one = sequence([]), sequence(["a"])
    for both, expected in (((empty, empty), 1.0), ((empty, one), 0.0), ((one, empty), 0.0)):
        assert workflow_bleu(*both) == workflow_gleu(*both) == expected
        assert metric.means([Both(*both)]) == [expected]
    assert isinstance(metric.score(Pair(Answer("prose"), numbered("a"), "")), Failure)
