"""Messages and gauges of challengers."""

import asyncio
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from evenkeel.core.challenge import ChallengeTexts
from evenkeel.release.challenge.board import ChallengeBoard, ChallengeCollector, ChallengeWatch
from evenkeel.stores.challenges import ChallengeStore
from tests.release.challenge.test_challenge_figures import CHALLENGE, PAIR, WORSE


@pytest.fixture
def board(documents):
    store = ChallengeStore(documents, kept_s=100.0)
    store.start(replace(CHALLENGE, started_at=5.0))
    return ChallengeBoard(store, lambda: 0.0)


def fill(board, *parts):
    """Store so many pairs of each kind, half a minute of requests apart."""
    pairs = [pair for count, pair in parts for _ in range(count)]
    known = len(board.store.pairs(CHALLENGE.id))
    for number, pair in enumerate(pairs, start=known):
        board.store.add(replace(pair, exchange=str(number), time=30.0 * number, judged=True))


class Inbox:
    """A service that keeps what it is told."""

    def __init__(self):
        self.told = []

    def tell(self, message):
        self.told.append(message)
        return True


def watch(board, inbox):
    return ChallengeWatch(board, lambda: [inbox], lambda found: f"https://console/challengers#{found.id}")


def test_a_settled_decision_is_sent_once_and_pages_nobody(board):
    inbox = Inbox()
    fill(board, (40, PAIR))
    assert asyncio.run(watch(board, inbox).step()) == 0
    fill(board, (300, PAIR), (100, WORSE))
    later = ChallengeBoard(board.store, lambda: 100.0)
    assert asyncio.run(watch(later, inbox).step()) == 1
    assert asyncio.run(watch(later, inbox).step()) == 0
    (message,) = inbox.told
    assert message.title.startswith("small must not take over on support: its answers are worse, ")
    assert f"https://console/challengers#{CHALLENGE.id}" in message.body
    assert message.good


def test_a_message_says_what_is_saved_a_month(board):
    inbox = Inbox()
    fill(board, (1200, PAIR))
    asyncio.run(watch(board, inbox).step())
    # 1,200 pairs, 2 % of the requests, in ten hours: some 144,000 requests a day at 0.0015 dollars.
    assert inbox.told[0].title == "small may take over on support."
    assert "A thousand requests would cost 75" in inbox.told[0].body
    assert "a month less for all of today's traffic" in inbox.told[0].body


def test_gauges_have_the_decision_and_each_measure_with_its_interval(board):
    fill(board, (50, PAIR), (10, WORSE))
    registry = CollectorRegistry()
    registry.register(ChallengeCollector(board.states))
    text = generate_latest(registry).decode()
    assert 'evenkeel_challenger_decision{challenger="small",decision="not_yet",route="support"} 1.0' in text
    assert 'evenkeel_challenger_pairs{challenger="small",route="support"} 60.0' in text
    for end in ("", "_lower", "_upper"):
        assert f'evenkeel_challenger_difference{end}_ratio{{challenger="small",measure="worse"' in text
    board.store.stop(CHALLENGE, 9.0)
    assert "evenkeel_challenger_pairs{" not in generate_latest(registry).decode()


def test_texts_are_forgotten_in_time_while_everything_runs(board):
    """The store keeps them for 100 seconds; the watch looks once an hour."""
    texts = ChallengeTexts(
        challenge=CHALLENGE.id, exchange="0", time=10.0, question="q", served="a", again="a", candidate="b"
    )
    board.store.add_texts(texts)
    clock = iter((50.0, 60.0, 3_700.0))
    looking = ChallengeBoard(board.store, lambda: next(clock))
    for kept in (1, 1, 0):
        looking.forget_old_texts()
        assert len(board.store.texts(CHALLENGE.id)) == kept
