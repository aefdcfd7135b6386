"""Challengers and their pairs, on both stores."""

from dataclasses import replace

from evenkeel.core.challenge import Challenge, ChallengeAnswer, ChallengeLabel, ChallengePair, ChallengeTexts
from evenkeel.stores.challenges import ChallengeStore

FIRST = Challenge(route="support", model="small", started_at=10.0)
SECOND = Challenge(route="support", model="smaller", started_at=20.0)
ANSWER = ChallengeAnswer(characters=12, tool_calls=("lookup",), total_s=0.5, dollars=0.001)
PAIR = ChallengePair(
    challenge=FIRST.id, exchange="x1", time=11.0, served=ANSWER, again=ANSWER, candidate=ANSWER,
    preference=-1, both_orders=(-1, 1),
)  # fmt: skip


def store_of(backend):
    return ChallengeStore(backend.documents(backend.opened()), kept_s=100.0)


def test_a_route_has_one_challenger_at_a_time(backend):
    store = store_of(backend)
    assert store.running("support") is None
    store.start(FIRST)
    store.start(SECOND)
    assert store.running("support") == SECOND
    assert store.find(FIRST.id).stopped_at == 20.0
    store.stop(SECOND, 30.0)
    assert store.running("support") is None
    assert {challenge.id for challenge in store.all()} == {FIRST.id, SECOND.id}


def test_a_challenger_goes_on_where_it_was_stopped_and_takes_new_margins(backend):
    store = store_of(backend)
    store.start(FIRST)
    store.stop(FIRST, 15.0)
    store.start(replace(FIRST, started_at=40.0, worse=5.0))
    assert store.running("support") == replace(FIRST, worse=5.0)


def test_pairs_come_back_oldest_first_and_once(backend):
    store = store_of(backend)
    assert store.add(PAIR)
    assert store.add(replace(PAIR, exchange="x2"))
    assert not store.add(PAIR)
    assert [pair.exchange for pair in store.pairs(FIRST.id)] == ["x1", "x2"]
    assert store.pairs(FIRST.id)[0] == PAIR
    assert store.pairs(SECOND.id) == []


def test_texts_are_kept_for_their_time(backend):
    store = store_of(backend)
    texts = ChallengeTexts(
        challenge=FIRST.id, exchange="x1", time=11.0, question="q", served="a", again="b", candidate="c"
    )
    store.add_texts(texts)
    store.prune(now=50.0)
    assert store.texts(FIRST.id) == [texts]
    store.prune(now=112.0)
    assert store.texts(FIRST.id) == []


def test_the_last_label_of_a_pair_counts_and_is_new(backend):
    store = store_of(backend)
    before = store.revision()
    for place in (1, -1):
        store.label(ChallengeLabel(challenge=FIRST.id, exchange="x1", place=place, by="ann", at=1.0))
    assert store.labels(FIRST.id) == {"x1": -1}
    assert store.revision() != before
