"""The report on a change that nobody announced: when, where, how far, what it was not."""

from dataclasses import replace

import pytest

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes import Cause, ChangeRecord, kinds
from evenkeel.monitor.changes.record import ChangeTally, Silent
from evenkeel.monitor.changes.report import GoldenHistory, reports_of
from evenkeel.monitor.detect.references import ReferenceEvidence
from evenkeel.stores.changes import AnswerScores, ScoredReference
from tests.monitor.changes.tallies import shifts

NOTHING = GoldenHistory({}, {})
NOON = 1_786_536_000.0
"""12 Aug 2026 12:00 UTC."""
REFERENCES = ReferenceEvidence(
    requested_model="gpt-4o",
    models=("gpt-4o-2026-05",),
    fingerprints=("fp_2",),
    at=NOON + 1800,
    after=NOON - 600,
    since=NOON + 600,
    calls=18,
    evidence_log10=5.1,
    likeness=0.41,
    own=0.78,
    references=("r1", "r2"),
)
FOUND = Silent(REFERENCES)


def record(silent, *marks, name="c1", route="chat", at=NOON + 1200):
    own = ChangeMark(kinds.REFERENCES, "alike by 78%", "alike by 41%", at, 7)
    return ChangeRecord(name, route, (own, *marks), ChangeTally(), ChangeTally(), 30, silent)


def only(*records, scores=None):
    (report,) = reports_of(records, NOTHING, scores=scores)
    return report


def test_a_finding_says_when_where_and_how_far():
    """References show it: a difference by a silent change of the provider."""
    report = only(record(FOUND))
    assert (report.cause, report.effect) == (Cause.PROVIDER, "different")
    assert report.title == "chat: a silent change by the provider"
    assert report.finding_lines == [
        (
            "Different: Reference prompts: new answers are 41% like the earlier ones, which are 78% like "
            "each other (18 calls)."
        )
    ]


@pytest.mark.parametrize(
    ("after", "since", "said"),
    [
        (NOON - 60, NOON, "between 12 Aug 2026 11:59 UTC and 12 Aug 2026 12:00 UTC"),
        (NOON + 5, NOON + 50, "about 12 Aug 2026 12:00 UTC"),
        (NOON, NOON, "about 12 Aug 2026 12:00 UTC"),
    ],
)
def test_the_interval_is_as_short_as_it_can_be_said(after, since, said):
    """Within a minute it is a time."""
    silent = replace(FOUND, references=replace(REFERENCES, after=after, since=since))
    assert only(record(silent)).silent.when == said


def test_a_stated_model_is_named_and_references_measure_it():
    """The endpoint gave another name when answers began to move: no silent change, though they are others."""
    named = ChangeMark(kinds.MODEL, "gpt-4o-2026-05", "gpt-4o-2026-08", NOON + 1200, 8)
    changed = record(replace(FOUND, references=replace(REFERENCES, models=("gpt-4o-2026-08",))), named)
    assert only(changed).among == (Cause.MODEL, Cause.PROVIDER), "nothing says when they did"
    changed.around = shifts(named.at)
    report = only(changed)
    assert (report.cause, report.effect) == (Cause.MODEL, "different")
    assert dict(report.silent.facts)["Returned model"] == ("“gpt-4o-2026-05” before, “gpt-4o-2026-08” since")


def test_what_it_was_not_names_prompt_parameters_traffic_judge_and_noise():
    """Each has one sentence, and the stated values that stayed are listed."""
    report = only(record(FOUND))
    begins = [line.partition(":")[0] for line in report.ruled_out]
    assert begins[:5] == [
        "Your prompt", "Request parameters", "Other traffic", "A judge that rates differently", "Noise",
    ]  # fmt: skip
    assert "prompt version" in report.ruled_out[5]
    edited = ChangeMark(kinds.PROMPT, "v2", "v3", NOON + 1200, 8)
    assert "did not change" not in only(record(FOUND, edited)).ruled_out[0]


def scores(worse, better, *, judged=True):
    moves = ["worse"] * worse + ["better"] * better + ["same"] * (12 - worse - better)
    results = tuple(
        ScoredReference(f"r{number}", {"faithfulness": move}) for number, move in enumerate(moves)
    )
    return {"c1": AnswerScores("c1", "chat", NOON, judged, results)}


@pytest.mark.parametrize(
    ("worse", "better", "effect"),
    # Two-sided sign tests: 8 to 1 is 2 * 10/512 = 3.9 %, 7 to 1 is 2 * 9/256 = 7 %, 6 to 0 is 2/64 = 3.1 %.
    [(8, 1, "worse"), (7, 1, "different"), (0, 6, "better"), (0, 0, "different")],
)
def test_a_judge_says_worse_or_better_only_beyond_chance(worse, better, effect):
    """The answers that differ in a quality must lean to one side."""
    report = only(record(FOUND), scores=scores(worse, better))
    found = [finding.effect for finding in report.findings if "faithfulness" in finding.text]
    assert found == ([effect] if worse + better else [])
    assert report.effect == (effect if effect == "worse" else "better" if effect == "better" else "different")


def test_heuristics_never_say_worse():
    report = only(record(FOUND), scores=scores(12, 0, judged=False))
    assert report.effect == "different"
    assert report.finding_lines[1] == (
        "Different: faithfulness, by the heuristics: worse in 12 and better in 0 of 12 reference prompts."
    )
