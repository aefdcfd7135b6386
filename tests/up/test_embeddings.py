"""Embeddings by an endpoint: the simulated model, and `evenkeel up` that asks it."""

from __future__ import annotations

import asyncio
import json
import sqlite3

import pytest

from evenkeel.core.pair import Answer, Pair
from evenkeel.metrics.similarity.meaning import EndpointEmbeddings
from evenkeel.simulate import (
    EMBEDDINGS_MODEL,
    ModelState,
    Simulation,
)
from tests.llm.scripted import endpoint_of

pytestmark = pytest.mark.system

PROMPTS = range(12)
"""Twice as many pairs: half of them differ, by chance, so none does once in sixteen million times."""


def test_the_metric_reads_it(upstream):
    """Three words of four in common on both sides: 3 / 4."""

    async def score():
        async with endpoint_of(base_url=f"{upstream}/v1", model=EMBEDDINGS_MODEL, api_key="") as client:
            return await EndpointEmbeddings(client).score(
                Pair(Answer("the red lamp blinks"), Answer("the red lamp glows"), "")
            )

    assert asyncio.run(score()) == pytest.approx(0.75)


@pytest.fixture
def simulation():
    """A model that answers differently whenever the wording changes."""
    return Simulation([ModelState("simulated-1", fragility=1.0)])


def told(tmp_path):
    with sqlite3.connect(tmp_path / "data" / "evenkeel.db") as database:
        return dict(database.execute("SELECT kind, sum(tokens) FROM spend GROUP BY kind").fetchall())


def encoder(url, **more):
    return json.dumps({"base_url": f"{url}/v1", "model": EMBEDDINGS_MODEL} | more)


def test_verdicts_hold_the_endpoints_cosines_and_the_budget_their_price(start, upstream, tmp_path):
    """The key is sent, the log says that the cosines decide nothing, and tokens are booked as scoring's."""
    with start(
        *("--upstream", upstream, "--sampling-rate", "1"),
        environment={
            "EVENKEEL_EMBEDDINGS": encoder(upstream),
            "EVENKEEL_EMBEDDINGS_API_KEY": "any",
        },
    ) as running:
        running.ask(PROMPTS)
        running.settle()
        verdicts = running.get("/api/verdicts")["verdicts"]
        assert running.metric("evenkeel_embeddings_failures_total") == 0
        log = running.log.read_text()
    scores = [
        one["scoring"]["details"]["embeddings"]
        for one in verdicts
        if "embeddings" in one["scoring"]["details"]
    ]
    assert scores
    assert all(0 < score <= 1 for score in scores)
    assert told(tmp_path)["judge"] > 0
    assert f"cosines of {EMBEDDINGS_MODEL} (endpoint) count in the similarity" in log
