"""Embeddings by an endpoint, and what all embeddings share."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.languages import base_tag
from evenkeel.core.pair import AnswerForm, Pair
from evenkeel.core.verdict import Failure
from evenkeel.llm.client import TextVectors
from evenkeel.llm.faults import Fault
from evenkeel.metrics.languages import Coverage, languages_of
from evenkeel.metrics.similarity.embeddings import Embeddings
from evenkeel.metrics.similarity.meaning import EndpointEmbeddings
from evenkeel.metrics.similarity.vectors import VectorCache, cosine, pieces, pool, unit
from tests.metrics.similarity.compass import Compass, by_mark, direction, pair, reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.budget import CallBudget
    from evenkeel.metrics.similarity.meaning import MeaningScore


class Pretended:
    """An endpoint that embeds by direction, at a cent a token, and remembers what it was asked."""

    model = "compass"
    concurrency = 4

    def __init__(self, *replies: Fault | list[list[float]], tokens: int = 1, hang: bool = False) -> None:
        self.replies = list(replies)
        """What is answered in turn; afterwards directions."""
        self.tokens = tokens
        self.hang = hang
        self.asked: list[list[str]] = []

    async def embed(self, texts: Sequence[str], *, budget: CallBudget | None) -> TextVectors:
        """As `Endpoint.embed`."""
        self.asked.append(list(texts))
        if self.hang:
            await asyncio.Event().wait()
        vectors = self.replies.pop(0) if self.replies else [direction(text) for text in texts]
        if isinstance(vectors, Fault):
            return TextVectors(vectors)
        return TextVectors(vectors, self.tokens, self.tokens / 100)


def measure(endpoint: Any, pairs: Sequence[Pair], **options: Any) -> list[MeaningScore]:
    """What each pair has, and what it cost."""
    return asyncio.run(EndpointEmbeddings(endpoint, **options).measure_all(pairs))


def ask(endpoint: Any, pairs: Sequence[Pair], **options: Any) -> list[float | Failure]:
    return [measured.outcome for measured in measure(endpoint, pairs, **options)]


def test_the_score_is_the_cosine_of_the_endpoints_vectors() -> None:
    """45 degrees give 0.7071, an opposite 0, equal texts 1 without being sent."""
    endpoint = Pretended()
    scores = ask(endpoint, [pair("north", "north east"), pair("north", "south"), pair("west", "west")])
    assert scores == [pytest.approx(math.sqrt(0.5)), 0.0, 1.0]
    assert endpoint.asked == [["north", "north east", "south"]]


def test_many_texts_go_in_batches_and_none_twice() -> None:
    """Five texts by two are three requests, and a second call with the same cache is none."""
    cache, endpoint = VectorCache(), Pretended()
    pairs = [pair("north", f"east {i}") for i in range(4)]
    first = ask(endpoint, pairs, batch=2, cache=cache)
    second = ask(endpoint, pairs, batch=2, cache=cache)
    assert [len(texts) for texts in endpoint.asked] == [2, 2, 1]
    assert first == second == [0.0, 0.0, 0.0, 0.0]


def test_faults_of_the_endpoint_are_values() -> None:
    """Each has its reason, and pairs that need no vector keep their score."""
    pairs = [pair("north", "east"), pair("north", "north")]
    failed, same = ask(Pretended(*[Fault("rate_limited", "Slow down.")] * 3), pairs)
    assert failed == Failure("endpoint_embeddings", 1, "rate_limited", "Slow down.")
    assert same == 1.0
    failed, same = ask(Pretended(hang=True), pairs, deadline_s=0.01)
    assert (reason(failed), same) == ("timeout", 1.0)


def test_a_change_of_the_vectors_length_between_two_replies_is_a_failure() -> None:
    """A kept vector of two numbers is not compared with a new one of three."""
    cache, endpoint = VectorCache(), Pretended()
    ask(endpoint, [pair("north", "east")], cache=cache)
    endpoint.replies = [[[1.0, 0.0, 0.0]]]
    assert reason(ask(endpoint, [pair("north", "south")], cache=cache)[0]) == "bad_schema"


def test_each_text_is_paid_once_by_the_first_pair_that_needs_it() -> None:
    """10 tokens for 5 + 4 + 5 + 6 characters: 10·9/20 = 4.5 rounds to 4, 10·14/20 is 7, the last has 3."""
    both = ("north", "east"), ("north", "south"), ("north", "north"), ("", "east"), ("east", "n east")
    endpoint = Pretended(tokens=10)
    found = measure(endpoint, [pair(*one) for one in both])
    assert endpoint.asked == [["north", "east", "south", "n east"]]
    assert [one.tokens for one in found] == [4, 3, 0, 0, 3]
    assert [one.cost_usd for one in found] == pytest.approx([0.045, 0.025, 0, 0, 0.03])


def test_what_was_paid_before_a_failure_is_booked_and_kept() -> None:
    """The second of two requests fails: its pair fails, the first pair's score and price stand."""
    cache = VectorCache()
    endpoint = Pretended([direction("north"), direction("east")], Fault("server_error", "Oops."))
    first, second = measure(
        endpoint, [pair("north", "east"), pair("south", "south east")], batch=2, cache=cache
    )
    assert (first.outcome, first.tokens) == (0.0, 1)
    assert (reason(second.outcome), second.tokens, second.cost_usd) == ("server_error", 0, 0.0)
    assert len(cache) == 2


def test_missing_text_is_not_sent() -> None:
    """A side without text is a failure of its own."""
    endpoint = Pretended()
    assert reason(ask(endpoint, [pair("", "north")])[0]) == "no_text"
    assert not endpoint.asked


def test_long_texts_go_in_pieces_whatever_they_are_written_in() -> None:
    """In pieces of 300 words or 1,800 characters, 2,500 words are nine and 13,000 characters eight."""
    endpoint = Pretended()
    ask(endpoint, [pair("north " * 2500, "再" * 13_000)])
    assert [len(texts) for texts in endpoint.asked] == [17]


def test_a_request_has_at_most_so_many_characters() -> None:
    """Two texts of 150,000 characters, in pieces of 6,000, are two requests and not one of 50 texts."""
    endpoint = Pretended()
    ask(endpoint, [pair("北" * 150_000, "南" * 150_000)], piece_words=1000)
    assert [sum(map(len, texts)) for texts in endpoint.asked] == [198_000, 102_000]


# --- vectors


def test_the_cache_drops_what_was_used_least_recently() -> None:
    """Of three texts in a cache of two, the one not asked for again is gone; models do not mix."""
    cache = VectorCache(2)
    cache.put("m", "a", (1.0,))
    cache.put("m", "b", (2.0,))
    assert cache.get("m", "a") is not None
    cache.put("m", "c", (3.0,))
    assert cache.get("m", "b") is None
    assert list(cache.get("m", "a") or ()) == [1.0]
    assert cache.get("other", "a") is None
    assert len(cache) == 2


def test_pieces_are_pooled_by_their_length() -> None:
    """Three words north and one east: (1, 3) / sqrt(10), whatever the vectors' lengths were."""
    assert pieces("a b c d e", 3) == ["a b c", "d e"]
    assert pieces("a\nb", 3) == ["a\nb"]
    pooled = pool(["n n n", "e"], [(0.0, 9.0), (0.5, 0.0)])
    assert pooled == pytest.approx((1 / math.sqrt(10), 3 / math.sqrt(10)))


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
)
def test_cosine_is_a_symmetric_ratio(left: list[float], right: list[float]) -> None:
    """Never below 0 or above 1, and a vector is like itself."""
    one, other = unit(left), unit(right)
    assert 0 <= cosine(one, other) <= 1
    assert cosine(one, other) == cosine(other, one)
    assert not any(one) or cosine(one, one) == pytest.approx(1.0)


# --- languages


@pytest.mark.parametrize("candidate", ["nord", "east", "north"])
@pytest.mark.parametrize("wanted", [None, "de-AT", "en"])
def test_pairs_in_two_languages_are_unscorable_for_an_english_encoder(
    candidate: str, wanted: str | None
) -> None:
    """What the text shows counts first, what was asked for next; an unknown language is compared."""
    refused = candidate == "nord" or (candidate == "east" and wanted == "de-AT")
    one = pair("north", candidate, AnswerForm(language=wanted))
    english = Coverage(frozenset(("en",)), by_mark)
    both = Coverage(frozenset(("en", "de")), by_mark)
    score = Embeddings(Compass(), coverage=english).score(one)
    assert (isinstance(score, Failure) and score.reason == "cross_language") == refused
    assert not isinstance(Embeddings(Compass(), coverage=both).score(one), Failure)
    assert not isinstance(Embeddings(Compass()).score(one), Failure)
    told = ask(Pretended(), [one], coverage=english)[0]
    assert (isinstance(told, Failure) and told.reason == "cross_language") == refused


def test_language_tags_are_compared_by_their_base() -> None:
    """Regions and scripts do not count."""
    assert [base_tag(tag) for tag in ("de-AT", "pt_BR", "EN", "zh-Hans-CN")] == ["de", "pt", "en", "zh"]
    assert languages_of(pair("north", "x", AnswerForm(language="fr-CA")), by_mark) == ("en", "fr")
