"""Embeddings as reference prompts: read, kept, asked again, and another model behind the name found."""

import base64
import json

import numpy as np
import pytest

from evenkeel.llm.price import ModelPrice, Prices
from evenkeel.monitor.changes.examples import both_sides
from evenkeel.monitor.detect.references import ReferenceTest
from evenkeel.shadow.answer import UnreadableAnswer, read_answer
from evenkeel.shadow.original import Reader, UnreadableExchange
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.prompt.apis.embeddings import EMBEDDINGS, as_text, cosine
from evenkeel.shadow.references.keeper import ReferenceKeeper
from evenkeel.shadow.replay import Replay
from tests.shadow.references.askers import LEVEL, START, Asking
from tests.stores.examples import exchange

JSON = {"content-type": "application/json"}
PRICES = Prices({"text-embed": ModelPrice(0.1, 0.0)})


def body(embedding, **more):
    data = [{"object": "embedding", "index": 0, "embedding": embedding}]
    usage = {"prompt_tokens": 8, "total_tokens": 8}
    return json.dumps({"object": "list", "data": data, "model": "e-1", "usage": usage} | more).encode()


def test_vectors_are_read_as_numbers_and_as_base64():
    """The SDK asks for base64; both are the same answer, whose usage is its prompt's."""
    vector = np.array([0.6, -0.8, 0.001], dtype=np.float32)
    plain = read_answer(JSON, body(vector.tolist()), EMBEDDINGS.answer_reader())
    packed = read_answer(JSON, body(base64.b64encode(vector.tobytes()).decode()), EMBEDDINGS.answer_reader())
    assert plain == packed
    assert (plain.model, plain.prompt_tokens, plain.completion_tokens) == ("e-1", 8, 0)
    assert cosine(plain.text, as_text(vector)) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    "embedding", [[], ["a"], [float("nan")], None, "no base64!", {"a": 1}, base64.b64encode(b"abc").decode()]
)
def test_what_is_no_vector_is_no_answer(embedding):
    """Empty lists, words, and bytes that are no numbers."""
    with pytest.raises(UnreadableAnswer):
        read_answer(JSON, body(embedding), EMBEDDINGS.answer_reader())


def test_cosines_by_hand():
    """3-4-5: 0.6 of the way; opposite and of another size are 0; texts have none."""
    one, other = as_text(np.array([1.0, 0.0])), as_text(np.array([3.0, 4.0]))
    assert cosine(one, other) == pytest.approx(0.6)
    assert cosine(one, as_text(np.array([-1.0, 0.0]))) == 0.0
    assert cosine(one, as_text(np.array([1.0, 0.0, 0.0]))) == 0.0
    assert cosine(one, as_text(np.array([0.0, 0.0]))) == 0.0
    assert cosine(one, "a text") is None


def embedded(number, given, **more):
    request = {"model": "text-embed", "input": given, "user": "u-7"} | more
    return exchange(
        number, route="shop", path="/team/v1/embeddings", request_body=json.dumps(request).encode(),
        request_headers=(), received_at=START,
    )  # fmt: skip


WORDS = ["refund harbour", "invoice lantern", "meadow pocket", "quarrel ribbon", "saddle timber",
         "umbrella velvet", "walnut yonder", "zephyr anchor"]  # fmt: skip


class Canary(Asking):
    """References of embeddings from the traffic, and an endpoint that answers with vectors."""

    def __init__(self, folder, noise=0.0):
        super().__init__(folder, self, PRICES, routes=("shop",))
        self.rng = np.random.default_rng(3)
        self.noise = noise
        self.model = 1
        keeper = ReferenceKeeper(self.store, {"shop": "/team"}, tally=self.tally, clock=lambda: self.now)
        plan = RoutePlan((), 1, None)
        self.reader = Reader({"shop": plan}, keep_embeddings=keeper.keep_embeddings)

    async def send(self, target, body, *, api, budget, quote):
        assert (target.url, api) == ("http://model/v1/embeddings", EMBEDDINGS)
        assert "u-7" not in body.decode()
        assert budget.reserve(quote.estimate)
        given = json.loads(body)["input"]
        seed = sum(map(ord, given if isinstance(given, str) else given[0])) + 1000 * self.model
        vector = np.random.default_rng(seed).normal(size=256) + self.rng.normal(size=256) * self.noise
        answer = read_answer(JSON, _answer(vector), api.answer_reader())
        budget.settle(quote.estimate, quote.proven(answer))
        return Replay(answer, 0.1)

    def ask(self, calls):
        """Let time pass until so many calls have been made, and return what is in the log."""
        made = 0
        while made < calls:
            made += self.step(1000.0)
        return self.noted()


def _answer(vector):
    return body(base64.b64encode(vector.astype("<f4").tobytes()).decode())


def test_a_few_requests_of_the_traffic_are_kept_without_their_answers(tmp_path):
    """Six of a model at most are kept, unlike each other, each of one text; nothing is tried."""
    canary = Canary(tmp_path)
    others = [
        embedded(90, ["a", "b"]),
        embedded(91, [1, 2]),
        embedded(92, "x" * 30_000),
        embedded(93, WORDS[0]),
    ]
    for request in (embedded(0, WORDS[0]), *others, *(embedded(n, [WORDS[n]]) for n in range(1, 8))):
        assert canary.reader.read(request) == UnreadableExchange("embeddings", dead=False)
    kept = canary.store.of_route("shop")
    assert sorted(
        json.loads(reference.request)["input"] for reference in kept if reference.id.endswith("0")
    ) == [WORDS[0]]
    assert len(kept) == 6
    assert all(reference.is_vector and not reference.answers for reference in kept)
    assert canary.tally.value("references_kept", route="shop") == 6
    assert canary.tally.value("worker_errors", where="references") == 0


@pytest.mark.parametrize("noise", [0.0, 0.001])
def test_another_model_behind_the_name_is_found_within_a_day(tmp_path, noise):
    """Against the endpoint's own noise, with none before; people are shown no vectors."""
    canary = Canary(tmp_path, noise)
    for number in range(6):
        canary.reader.read(embedded(number, WORDS[number]))
    before = canary.ask(36)
    test = ReferenceTest(LEVEL)
    assert not any(test.add(sighting) for sighting in before)
    canary.model = 2
    after = canary.ask(40)[len(before) :]
    calls = next((number for number, sighting in enumerate(after, 1) if (found := test.add(sighting))), None)
    assert calls is not None
    assert calls <= 30, calls

    assert found.likeness < 0.6 < found.own
    assert not any(both_sides(reference, found) for reference in canary.store.of_route("shop"))
