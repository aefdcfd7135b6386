"""Small files in the formats of SummEval, USR and LLMBar, written for these tests."""

import json

import pytest

from evenkeel.lab.judge_audit.judgements import read_recorded
from evenkeel.lab.judge_audit.ratings import RatingScale, read_ratings
from evenkeel.release.kit.arguments import InputError
from tests.cases import cases
from tests.kit.commands import run_command

CASES = cases(__file__)


def said(coherence, fluency):
    return {"coherence": coherence, "consistency": 5, "fluency": fluency, "relevance": 3}


SUMMARIES = [
    {
        "id": f"dm-{article}",
        "model_id": system,
        "decoded": f"Summary of {article} by {system}.",
        "references": ["Another summary."],
        "expert_annotations": [said(1, 4), said(2, 4), said(1, 5)],
        "turker_annotations": [said(3, 3), said(4, 2)],
        "filepath": "story",
        **({"text": "The harbour is closed."} if article == "a" else {}),
    }
    for article in "ab"
    for system in ("M0", "M1")
]
DIALOGUES = CASES["dialogues"]


@pytest.fixture
def summaries(tmp_path):
    path = tmp_path / "model_annotations.aligned.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in SUMMARIES))
    return path


@pytest.fixture
def dialogues(tmp_path):
    path = tmp_path / "tc_usr_data.json"
    path.write_text(json.dumps(DIALOGUES))
    return path


def test_a_line_of_summeval_is_four_metrics_by_three_experts(summaries):
    """Ratings are 1 to 5; articles may be clusters; a paired source is the context."""
    ratings = read_ratings(summaries, cluster="article")
    assert ratings.raters == ("expert_1", "expert_2", "expert_3")
    assert len(ratings.items) == 4 * 4
    first = ratings.items[0]
    assert (first.id, first.metric, first.scale, first.ratings) == (
        "dm-a M0", "coherence", RatingScale(1, 5), (1, 2, 1),
    )  # fmt: skip
    assert (first.text, first.context) == ("Summary of a by M0.", "The harbour is closed.")
    assert ratings.items[-1].context == ""
    assert {item.cluster for item in ratings.items} == {"dm-a", "dm-b"}


def test_a_dialogue_of_usr_is_its_responses_on_their_scales(dialogues):
    """Answers "engaging" in the file are "interesting" here; the fact stands with the context."""
    ratings = read_ratings(dialogues, cluster="dialogue")
    found = {(item.id, item.metric): item for item in ratings.items}
    assert [metric for name, metric in found if name == "1.1"] == [
        "understandable", "natural", "maintains_context", "interesting", "uses_knowledge", "overall",
    ]  # fmt: skip
    assert [metric for name, metric in found if name == "1.2"] == ["understandable", "overall"]
    interesting = found["1.1", "interesting"]
    assert (interesting.scale, interesting.ratings) == (RatingScale(1, 3), (2, 2, 1))
    assert interesting.text == "They turn their heads a long way."
    assert interesting.context.endswith("Yes, owls.\n\nFact: Owls turn their heads by 270 degrees.")
    assert found["1.2", "understandable"].scale == RatingScale(0, 1)
    assert {item.cluster for item in ratings.items} == {"1"}


def test_faults_name_the_place(tmp_path):
    """The line of SummEval, the entry and response of USR."""
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({**SUMMARIES[0], "expert_annotations": "none"}))
    with pytest.raises(InputError, match=r's.jsonl, line 1, field "expert_annotations": is not a list'):
        read_ratings(path)
    path.write_text(json.dumps([{"context": "x", "responses": [{"response": "y", "Overall": [7]}]}]))
    with pytest.raises(InputError, match=r"entry 1, response 1.*7 is not on the scale 1–5"):
        read_ratings(path)


def test_people_alone_are_audited_from_the_published_file(summaries, tmp_path):
    """Alphas over articles are a table, and nothing is said about strategies, as no judge is named."""
    arguments = ["judge-audit", str(summaries), "--cluster", "article", "--json"]
    done = run_command(*arguments, "--resamples", "20", "--html", str(tmp_path / "a.html"))
    assert done.stderr.startswith("people\n")
    assert 'Intervals are drawn over the groups of "article"' in done.stderr
    assert "strateg" not in done.stderr
    metrics = {each["metric"]: each for each in json.loads(done.stdout)["ratings"]["metrics"]}
    # Coherence: ratings 1, 2, 1 of every item: 1 − 11 · 4 / (8 · 4) with the ordinal distance of two values.
    assert metrics["coherence"]["people"]["value"] == pytest.approx(1 - 11 * 8 / (2 * 8 * 4))
    assert metrics["consistency"]["people"]["failure"] == "no_variation"
    assert metrics["coherence"]["clusters"] == 2


def test_a_pair_of_llmbar_is_an_item_and_its_judges_are_read_in_both_orders(tmp_path):
    """The label is the people's rating; a judge without a winner is a failure, never a number."""
    pair = {"input": "Add 1 and 1.", "output_1": "2", "output_2": "3", "label": 1}
    results = {"swap = False": {"winner": "1"}, "swap = True": {"winner": "2"}}
    labels, judge = tmp_path / "Natural.json", tmp_path / "judge.json"
    labels.write_text(json.dumps([pair, pair]))
    judge.write_text(json.dumps([pair | {"results": ["looked at", results]}, pair | {"results": []}]))
    ratings = read_ratings(labels)
    assert [(item.id, item.metric, str(item.scale)) for item in ratings.items] == [
        ("pair 1", "better_output", "1–2"),
        ("pair 2", "better_output", "1–2"),
    ]
    judged = read_recorded(judge, ratings)
    assert {(slot.item, slot.strategy): getattr(found, "rating", None) for slot, found in judged.items()} == {
        ("pair 1", "as_given"): 1,
        ("pair 1", "swapped"): 2,
        ("pair 2", "as_given"): None,
        ("pair 2", "swapped"): None,
    }
