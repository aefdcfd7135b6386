"""The cheap rating: 3, 2 or 1 from metrics alone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from metrics.pair import Answer, Pair, ToolCall
from metrics.similarity import CheapRater, Cutoffs, Embeddings, ToolCalls
from metrics.verdict import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

REFERENCE = (
    "The VPN client on host BER-12 stopped connecting at 09:40 after update 4.2.1. Support rolled the "
    "update back, and 35 users could work again by noon."
)


def rate(reference: Answer | str, candidate: Answer | str, rater: CheapRater | None = None) -> int | Failure:
    sides = [Answer(side) if isinstance(side, str) else side for side in (reference, candidate)]
    return (rater or CheapRater()).rate_now(Pair(*sides, context="")).outcome


def call(name: str, arguments: str, text: str = "") -> Answer:
    return Answer(text, (ToolCall(name, arguments),))


@pytest.mark.parametrize(
    ("candidate", "rating"),
    [
        (REFERENCE.upper(), 3),
        (
            REFERENCE.replace("stopped", "stoped")
            .replace("connecting", "conecting")
            .replace("users", "usesr"),
            3,
        ),
        (REFERENCE.replace("stopped connecting", "stoppedconnecting").replace("rolled the", "rolledthe"), 3),
        (
            (
                "At 09:40, after update 4.2.1, the VPN client on host BER-12 stopped to connect. By noon, "
                "support had rolled back the update and 35 users were working again."
            ),
            3,
        ),
        (REFERENCE.replace("35", "350"), 2),
        (REFERENCE.replace("BER-12", "BER-21"), 2),
        (REFERENCE.replace(", and 35 users could work again by noon", ""), 2),
        (REFERENCE.replace("could work", "could not work"), 2),
        ("Some people have trouble with their computers and nobody knows why.", 1),
        ("The printer on the third floor was out of paper; a colleague refilled it.", 1),
        ("", 1),
    ],
)
def test_ratings_follow_the_rubric(candidate: str, rating: int) -> None:
    """Spelling, case and order keep a 3; a changed specific or a negation makes a 2; another story a 1."""
    assert rate(REFERENCE, candidate) == rating


def test_json_answers_are_rated_by_their_values() -> None:
    """Shared keys are no shared content: another value is another answer, order of keys is nothing."""
    assert rate('{"answer": "B"}', '{"answer": "C"}') == 1
    assert rate('{"answer": "B", "unit": "days"}', '{"unit": "days", "answer": "b"}') == 3
    assert rate('{"site": "Berlin", "team": "network"}', '{"site": "Berlin", "team": "storage"}') == 2


def test_tool_calls_decide_where_text_is_missing() -> None:
    """Equal calls 3, other arguments 2, other tools 1, acting against talking 1."""
    reference = call("close", '{"id": 7, "note": "done"}')
    assert rate(reference, call("close", '{"note":"Done.","id":7}')) == 3
    assert rate(reference, call("close", '{"id": 8, "note": "done"}')) == 2
    assert rate(reference, call("open", '{"id": 7, "note": "done"}')) == 1
    assert rate(reference, "I closed ticket 7.") == 1
    assert rate(reference, call("close", '{"id": 7, "note": "done"}', "Closing it now.")) == 3


def test_of_text_and_tool_calls_the_worse_counts() -> None:
    """Equal talk does not excuse another action, nor an equal action another story."""
    reference = call("close", '{"id": 7}', REFERENCE)
    assert rate(reference, call("close", '{"id": 8}', REFERENCE)) == 2
    assert rate(reference, call("close", '{"id": 7}', "The printer was out of paper.")) == 1


def test_tool_call_score_of_a_hand_worked_pair() -> None:
    """Names and two arguments each, one argument differs: 2 * 2 / 6."""
    pair = Pair(call("f", '{"a": 1, "b": "x"}'), call("f", '{"a": 1, "b": "y"}'), "")
    assert ToolCalls().score(pair) == pytest.approx(4 / 6)


def test_tool_arguments_need_not_be_json_objects() -> None:
    """Arguments cut short, empty, nested or bare are compared as what they are."""
    for arguments in ('{"a": [1, {"b": []}], "c": {}}', '{"a": 1', "", "{}", "7"):
        assert rate(call("f", arguments), call("f", arguments + " ", "Calling f.")) == 3
    assert rate(call("f", '{"a": 1'), call("f", '{"a": 2')) == 2
    assert rate(call("f", '{"a": [1, 2]}'), call("f", '{"a": [2, 1]}')) == 2


def test_nothing_on_both_sides_is_a_failure() -> None:
    """Two empty answers give no rating, under the rater's own name."""
    outcome = rate("", " ")
    assert isinstance(outcome, Failure)
    assert (outcome.metric, outcome.reason) == ("cheap_rater", "no_text")


def test_symbols_alone_are_no_agreement() -> None:
    """Answers without words are the same only if they are equal."""
    assert rate("\U0001f44d", "\U0001f44e") == 1
    assert rate("\U0001f44d", "\U0001f44d") == 3


def test_the_rating_shows_its_reasons() -> None:
    """Every score is reported by name, and the explanation names what was lost and added."""
    rating = asyncio.run(
        CheapRater().rate(Pair(Answer(REFERENCE), Answer(REFERENCE.replace("35", "99")), ""))
    )
    assert rating.outcome == 2
    assert set(rating.details) == {"rouge_l", "edit", "content_words", "details"}
    assert "lost 35" in rating.explanation
    assert "added 99" in rating.explanation


class PlantedEncoder:
    """Vectors by first word, so that meaning is whatever the test says."""

    def __init__(self, vectors: dict[str, tuple[float, float]]) -> None:
        self.vectors = vectors

    def encode(self, texts: Sequence[str]) -> list[tuple[float, float]]:
        """The planted vector of each text."""
        return [self.vectors[text.split()[0]] for text in texts]


def test_embeddings_recognise_a_rewording_and_a_change_of_subject() -> None:
    """Close in meaning counts as close without shared words; far in meaning as far with some."""
    rater = CheapRater(
        Embeddings(PlantedEncoder({"Automobiles": (1, 0), "Cars": (0.99, 0.1), "Automatic": (0, 1)}))
    )
    assert rate("Automobiles need petrol", "Cars consume fuel") == 1
    assert rate("Automobiles need petrol", "Cars consume fuel", rater) == 3
    assert rate("Automobiles need petrol sometimes", "Automatic doors need oil sometimes") == 2
    assert rate("Automobiles need petrol sometimes", "Automatic doors need oil sometimes", rater) == 1


def test_an_encoder_that_fails_leaves_the_other_metrics_to_decide() -> None:
    """A broken model costs its score, not the rating."""
    rater = CheapRater(Embeddings(PlantedEncoder({})))
    rating = rater.rate_now(Pair(Answer(REFERENCE), Answer(REFERENCE.upper() + " Indeed."), ""))
    assert rating.outcome == 3
    assert "embeddings" not in rating.details


_STORY_TEXT = (
    "garden window copper lantern pebble mountain violin harvest sailor blanket "
    "pepper thunder cushion orchard whistle basket chimney marble feather gallop"
)
_OTHER_TEXT = (
    "zinc yodel jumbo quartz kiosk hyphen igloo umbra vortex nymph oxide rhubarb dwarf ebony fjord "
    "lagoon mosaic sphinx tulip wizard"
)
_STORY, _OTHER = _STORY_TEXT.split(), _OTHER_TEXT.split()


@pytest.mark.parametrize(("shared", "rating"), [(20, 3), (13, 3), (12, 2), (7, 2), (6, 1), (0, 1)])
def test_the_share_of_common_words_sets_the_rating(shared: int, rating: int) -> None:
    """Of twenty words in another order, thirteen in common (0.65) make a 3 and seven (0.35) a 2."""
    candidate = [*_OTHER[: 20 - shared], *_STORY[:shared][::-1]]
    assert rate(" ".join(_STORY), " ".join(candidate)) == rating


def test_cutoffs_can_be_set() -> None:
    """A stricter cut-off moves a 3 to a 2."""
    rewritten = (
        "VPN client stopped connecting on host BER-12, 09:40, update 4.2.1. Rolled back; 35 users work again."
    )
    assert rate(REFERENCE, rewritten) == 3
    assert rate(REFERENCE, rewritten, CheapRater(cutoffs=Cutoffs(same_words=0.99, same_letters=0.99))) == 2
