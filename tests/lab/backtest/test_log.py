"""Verdicts in a file: what each line says, and what is wrong with lines that say nothing."""

import gzip
import json

import pytest

from evenkeel.core.records import to_json
from evenkeel.core.verdict import BASELINE, Failure
from evenkeel.lab.backtest import LogError, read_lines, read_log
from tests.cases import cases
from tests.docs.documentation import DOCS, blocks_of
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

CASES = cases(__file__)

TRIAL = {"time": 1000, "perturbation": "general.typos", "rating": 3}


def read(*rows):
    """The verdicts of some lines."""
    return list(read_lines([json.dumps(row) for row in rows], "log.jsonl"))


def test_little_is_needed():
    """Time, perturbation and a rating make a trial that was judged, on a request of its own."""
    (found,) = read(TRIAL)
    assert (found.scored_at, found.perturbation, found.rating) == (1000.0, "general.typos", 3)
    assert (found.route, found.model, found.exchange_id) == ("default", "model", "line-1")
    assert (found.scoring.scorer, found.shifted, found.control.rating) == ("judge", False, None)


@pytest.mark.parametrize(("said", "at"), CASES["times"])
def test_times_are_unix_seconds_or_iso(said, at):
    """UTC unless a zone stands there."""
    assert read(TRIAL | {"time": said})[0].scored_at == at


def test_a_baseline_in_the_line_counts_a_control_before_it():
    """Once for each exchange, whose later control line is passed over."""
    paired = TRIAL | {"exchange": "e", "control_rating": 2, "control_similarity": 0.5, "similarity": 0.9}
    control = TRIAL | {"exchange": "e", "perturbation": "control", "rating": 2}
    found = read(paired, paired | {"perturbation": "general.casing"}, control)
    assert [verdict.perturbation for verdict in found] == [BASELINE, "general.typos", "general.casing"]
    assert (found[0].rating, found[0].similarity, found[0].control.rating) == (2, 0.5, None)
    assert {verdict.control.rating for verdict in found[1:]} == {2}
    assert len({verdict.id for verdict in found}) == 3


def test_a_control_line_gives_its_outcome_to_the_trials_after_it():
    """Other exchanges get none; its own quality says whether it got worse."""
    control = TRIAL | {"exchange": "e", "perturbation": "resend", "rating": 2, "quality": "worse"}
    found = read(control, TRIAL | {"exchange": "e"}, TRIAL | {"exchange": "f"})
    assert [verdict.control.rating for verdict in found] == [None, 2, None]
    assert [verdict.control.worse for verdict in found] == [None, True, None]


def test_names_of_clusters_change_nothing():
    """A log may name them; clients are a dimension of segments, and sessions are blocks."""
    named, plain = read(
        TRIAL | {"session": "s", "cluster": "c", "client": "acme", "id": "t"}, TRIAL | {"id": "t"}
    )
    assert (named.origin.client, named.origin.session) == ("acme", "s")
    assert altered(named, client="", session="", exchange_id="e") == altered(plain, exchange_id="e")


def test_outcomes_without_a_rating():
    """An invalid answer has moved; a failure is counted by its reason; a similarity alone says nothing."""
    invalid, failed, alike, other = read(
        {"time": 1, "perturbation": "p", "invalid": True},
        {"time": 1, "perturbation": "p", "failure": "timeout"},
        {"time": 1, "perturbation": "p", "similarity": 0.8},
        {"time": 1, "perturbation": "p", "similarity": 0.1},
    )
    assert (invalid.invalid, invalid.shifted, invalid.unsure) == (("format",), True, False)
    assert failed.failure == Failure("log", 1, "timeout")
    assert (alike.shifted, alike.unsure, other.shifted) == (None, True, None)


def test_an_invalid_answer_shows_that_answers_like_it_are_asked_for_in_a_form():
    """Those after it, of the same route and perturbation; so their share is that of the invalid ones."""
    invalid = {"time": 1, "perturbation": "p", "invalid": "format"}
    alike, other = TRIAL | {"perturbation": "p"}, TRIAL | {"perturbation": "q"}
    wanted = [verdict.wanted.format for verdict in read(alike, invalid, alike | {"time": 2}, other)]
    assert wanted == [None, "free", "free", None]


def test_a_missing_rating_among_ratings_is_one_that_nobody_could_give():
    """Judges fail where answers differ, so such a trial is not like the others; a sample is marked as one."""
    similar = TRIAL | {"similarity": 0.8}
    del similar["rating"]
    rated = TRIAL | {"rating": 2}
    resend = similar | {"perturbation": "control", "exchange": "another"}
    before, _, _, control, after, sampled, elsewhere, rare = read(
        similar,
        rated,
        rated,
        resend,
        similar,
        similar | {"stage": "unsure"},
        similar | {"route": "other"},
        similar,
    )
    assert after.failure == Failure("log", 1, "unrated")
    assert not after.unsure
    assert before.unsure
    assert control.unsure  # Controls are compared without the judge.
    assert sampled.unsure
    assert elsewhere.unsure
    assert rare.unsure  # Most have none: a sample is judged.


def test_a_line_may_be_a_stored_verdict():
    """Every member of it is read as it was written."""
    stored = altered(VERDICT, similarity=0.7, quality_failures=(Failure("m", 1, "timeout"),))
    assert list(read_lines([to_json(stored).encode()], "log.jsonl")) == [stored]


@pytest.mark.parametrize(("line", "said"), CASES["wrong lines"])
def test_a_wrong_line_is_named(line, said):
    """The message has its number, what is wrong, and what to do; empty lines count."""
    with pytest.raises(LogError) as caught:
        list(read_lines([json.dumps(TRIAL), "\n", line], "log.jsonl"))
    assert str(caught.value).startswith("log.jsonl: line 3: ")
    assert said in str(caught.value)


def test_a_line_that_is_repeated_counts_once():
    """Exports overlap; a line that names no exchange may be another trial with the same outcome."""
    named = TRIAL | {"exchange": "a"}
    assert len(read(named, named | {"id": "2"}, named)) == 2
    assert len(read(TRIAL, TRIAL)) == 2
    stored = to_json(read(named)[0])
    assert len(list(read_lines([stored, stored], "log"))) == 1


def test_a_file_may_be_compressed(tmp_path):
    """Known by its first bytes, whatever it is called."""
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(json.dumps(TRIAL).encode()))
    assert [verdict.rating for verdict in read_log(path)] == [3]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(LogError, match="cut off"):
        list(read_log(path))
    with pytest.raises(LogError, match="cannot be read: No such file"):
        list(read_log(tmp_path / "none"))


def test_the_example_of_the_page_is_read():
    """Five lines are six trials: the control of the fourth, but none of the last."""
    (block,) = [block for block in blocks_of(DOCS / "backtest.md") if block.language == "json"]
    found = list(read_lines(block.text.splitlines(), "backtest.md"))
    assert [verdict.perturbation for verdict in found] == [
        BASELINE, "general.spelling", "format.json", BASELINE, "general.spelling", "general.casing",
    ]  # fmt: skip
    assert [verdict.control.rating for verdict in found[1:3]] == [3, 3]
    assert found[4].direction == "worse"
    assert (found[-1].route, found[-1].failure) == ("support", Failure("log", 1, "timeout"))
