import json

import pytest

from evenkeel.core.verdict import Failure
from evenkeel.lab.judge_audit.judgements import (
    AttackCondition,
    RatingSlot,
    RatingWithReason,
    Strategy,
    read_recorded,
    recorded_lines,
)
from evenkeel.lab.judge_audit.ratings import Item, Ratings, RatingScale
from evenkeel.release.kit.arguments import InputError
from tests.cases import cases

CASES = cases(__file__)

RATINGS = Ratings(
    tuple(Item(name, "fluency", RatingScale(1, 5), "", "", (3,)) for name in ("a", "b", "c")), ("x",)
)


def read(tmp_path, content):
    path = tmp_path / "judge.csv"
    path.write_text(content, encoding="utf-8")
    return read_recorded(path, RATINGS)


def slot(name, strategy=Strategy.KNOWLEDGE, condition=AttackCondition.PLAIN):
    return RatingSlot(name, "fluency", strategy, condition)


def test_columns_are_read_or_have_their_defaults(tmp_path):
    """A short file is plain knowledge; strategy, condition, justification and claim where they are given."""
    assert read(tmp_path, "item,metric,rating\na,Fluency,4\n") == {slot("a"): RatingWithReason(4, "")}
    head = "item,metric,strategy,condition,rating,justification,claim\n"
    found = read(tmp_path, head + "a,fluency,step-by-step,attacked,1,Poor.,1\n")
    assert found == {
        slot("a", Strategy.STEP_BY_STEP, AttackCondition.ATTACKED): RatingWithReason(1, "Poor.", 1)
    }
    failed = read(tmp_path, "item,metric,rating,failure\na,fluency,,Refused\nb,fluency,,\nc,fluency,7,\n")
    assert [each.reason for each in failed.values()] == ["refused", "empty", "out_of_scale"]


@pytest.mark.parametrize(("content", "part"), CASES["wrong files"])
def test_errors_name_line_and_field(tmp_path, content, part):
    """Errors guess what was meant."""
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    assert str(caught.value).startswith("judge.csv")
    assert part in str(caught.value)


def test_what_is_written_can_be_read(tmp_path):
    """A judge that was asked once need not be asked again."""
    judged = {
        slot("a"): RatingWithReason(2, "Fine – “so so”.\nReally."),
        slot("a", condition=AttackCondition.ATTACKED): RatingWithReason(5, "", 5),
        slot("b", Strategy.ZERO_SHOT): Failure("audit.zero_shot", 1, "refused", "As recorded."),
    }
    path = tmp_path / "judge.jsonl"
    path.write_text("".join(f"{line}\n" for line in recorded_lines(judged)))
    assert read_recorded(path, RATINGS) == judged
    assert json.loads(path.read_text().splitlines()[0])["strategy"] == "knowledge"
