"""The budget is a ceiling: what an upstream counts never passes it, whatever becomes of the calls."""

from __future__ import annotations

import asyncio
import json
import random
import threading

import httpx2
import pytest

from evenkeel.core.budget import Budget, Spend, booked
from evenkeel.core.exchange import Exchange
from evenkeel.core.pair import Answer
from evenkeel.llm.limits import Breaker
from evenkeel.llm.price import ASSUMED, ModelPrice, Prices, Quote
from evenkeel.llm.wire import Wire
from evenkeel.metrics.judge.client import Judge
from evenkeel.metrics.scoring import heuristic_scorer, judge_scorer
from evenkeel.shadow.original import Reader
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.replay import Replayer, Target
from evenkeel.shadow.worker import Worker
from evenkeel.stores.counters import Tally
from evenkeel.stores.sqlite.budget import SqliteCostTracker
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.llm.scripted import endpoint_of
from tests.shadow.trial_makers import trial_maker

JSON = (("content-type", "application/json"),)
FAULTS = ("none", "none", "silent", "hang", "cut", "garbage", 400, 408, 429, 500, 503)
PRICES = Prices({"m": ModelPrice(1.0, 2.0)})
KINDS = by_name(["general.whitespace", "general.punctuation", "general.casing", "general.spelling"])


class Upstream:
    """Answers with faults drawn by chance, and counts every request on which it did any work."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.calls = 0
        self.tokens = 0
        self.tasks = set()
        self.usd = 0.0

    def count(self, prompt, said):
        self.tokens += prompt + said
        self.usd += PRICES.usd("m", prompt, said)

    async def serve(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = int(head.split("content-length:")[1].split("\r\n")[0])
                await self.answer(json.loads(await reader.readexactly(length)), reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, asked, reader, writer):
        self.calls += 1
        fault = self.chance.choice(FAULTS)
        prompt = sum(len(one["content"]) for one in asked["messages"]) // 4 + 10
        said = self.chance.randint(1, asked.get("max_tokens", 200))
        if fault not in {400, 429}:
            self.count(prompt, said)
        if fault == "hang":
            await reader.read()  # until the client gives up
            raise ConnectionError
        text = '{"explanation": "They differ.", "rating": 2}' if "seed" in asked else "Ferries leave at noon."
        message = {"role": "assistant", "content": text + self.chance.choice(("", " "))}
        body = {
            "id": "1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said},
        }  # fmt: skip
        if fault == "silent":
            del body["usage"]
        raw = b"<html>" if fault == "garbage" else json.dumps(body).encode()
        status = fault if isinstance(fault, int) else 200
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}\r\n\r\n"
        writer.write(head.encode() + (raw[:-10] if fault == "cut" else raw))
        if fault == "cut":
            raise ConnectionError
        await writer.drain()


def exchange(number):
    """A request for at most 40 tokens, and its answer."""
    text = f"Question {number}: please tell me when the ferry to the island leaves on Sunday, and from where."
    asked = {"model": "m", "max_tokens": 40, "messages": [{"role": "user", "content": text}]}
    answer = {
        "model": "m",
        "choices": [
            {"message": {"role": "assistant", "content": "It leaves at nine."}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": len(text) // 4 + 10, "completion_tokens": 6},
    }
    return Exchange(
        *(f"{number:016x}", "default", 1000.0, 0.1, "POST", "/v1/chat/completions", 200),
        *(JSON, json.dumps(asked).encode(), JSON, json.dumps(answer).encode()),
    )


async def worked(folder, upstream, budget, prices=PRICES, *, judged=True, tally=None):
    """Let a worker loose on four exchanges; what it booked."""
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    now = [1000.0]

    async def sleep(seconds):
        now[0] += seconds
        await asyncio.sleep(0)

    database = Database(folder / "evenkeel.db")
    queue, log = SqliteExchangeQueue(database, lambda: 1000.0), SqliteVerdictLog(database)
    costs = SqliteCostTracker(database, budget, lambda: 1000.0)
    endpoint = endpoint_of(base_url=url, model="m", api_key="", timeout_s=0.05, price=prices.usd, sleep=sleep,
                        breaker=Breaker(failures=1000))  # fmt: skip
    replayer = Replayer(concurrency=8, timeout_s=0.05, clock=lambda: now[0], sleep=sleep)
    judge = Judge(endpoint)
    trials = trial_maker(
        *(log, judge_scorer(judge) if judged else heuristic_scorer(), replayer, costs),
        lambda exchange: Target(url.removesuffix("/v1") + exchange.path),
        prices=prices,
        tally=tally,
    )
    reader = Reader({"default": RoutePlan(KINDS, (0.3,), 4, "short_qa")})
    queue.put([exchange(number) for number in range(4)])
    try:
        await Worker(queue, reader, trials, tally=tally or Tally()).drain()
    finally:
        server.close()
        await replayer.close()
        await judge.close()
        await asyncio.gather(*upstream.tasks)
        booked = costs.today()
        database.close()
    return booked


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_faults_of_every_kind_never_pass_the_limit(tmp_path, first):
    """Timeouts, cut and unreadable answers, errors, answers without usage: the upstream counts no more."""
    spent = 0
    for seed in range(first, first + 20):
        chance, upstream = random.Random(seed), Upstream(seed)
        tokens = chance.randint(500, 6_000)
        budget = Budget(tokens_per_day=tokens, usd_per_day=chance.choice((None, tokens * 1e-6)))
        folder = tmp_path / str(seed)
        folder.mkdir()
        booked = asyncio.run(worked(folder, upstream, budget, judged=bool(seed % 2)))
        assert upstream.tokens <= booked.tokens <= tokens
        assert budget.usd_per_day is None or upstream.usd <= booked.usd + 1e-12 <= budget.usd_per_day + 1e-12
        spent += upstream.tokens
    assert spent


def test_a_model_without_a_price_is_not_replayed_where_dollars_are_limited(tmp_path, caplog):
    """Counted, and said in the log once."""
    upstream, tally = Upstream(1), Tally()
    unpriced = Prices(required=True, assumed=ASSUMED)
    booked = asyncio.run(
        worked(tmp_path, upstream, Budget(usd_per_day=1.0), unpriced, judged=False, tally=tally)
    )
    assert (upstream.calls, booked) == (0, Spend(0, 0.0))
    assert tally.value("trials_skipped", reason="unpriced") == 4 * 5
    assert caplog.text.count("m has no known price") == 1


@pytest.mark.parametrize(
    ("body", "prompt", "estimate", "limit"),
    [
        (b'{"max_tokens": 40}', 100, 200 + 256 + 40, None),  # twice 100 tokens are more than 18 bytes
        (b'{"max_completion_tokens": 9}', None, 28 + 256 + 9, None),
        (b'{"max_tokens": true, "a": "b"}', 100, 200 + 256 + 3 * 6 + 1024, 3 * 6 + 1024),
        (b'{"a": 1}', None, 8 + 256 + 1042, 1042),
        (b'{"tools": [{}], "max_tokens": 1}', None, 32 + 1024 + 1, None),
        # what a server may go by instead, and thoughts that come on top
        (b'{"max_tokens": 4, "max_new_tokens": 5000}', 200, 400 + 256 + 5000, None),
        (b'{"options": {"num_predict": 5000}}', 100, 200 + 256 + 5000, 1042),
        (b'{"max_tokens": 4, "thinking_budget": 700}', 200, 400 + 256 + 4 + 700, None),
        (b'{"n_predict": -1}', 100, 200 + 256 + 10**12, 1042),
    ],
)
def test_a_quote_is_a_bound(body, prompt, estimate, limit):
    """A token a byte or twice the earlier prompt; the greatest limit stated, else three times 6 and 1,024."""
    quote = Quote(PRICES, ["m"], body, prompt, 6)
    assert (quote.estimate.tokens, quote.limit_tokens) == (estimate, limit)


def test_what_is_written_to_a_cache_costs_more():
    """A quarter more for minutes, twice as much for an hour: 1,000 tokens at a dollar a million."""
    for mark, usd in (
        ("", 0.001),
        ('"cache_control": {}', 0.00125),
        ('"cache_control": {"ttl": "1h"}', 0.002),
    ):
        quote = Quote(PRICES, ["m"], b"{%b}" % mark.encode(), None, 6)
        assert quote.proven(Answer("", prompt_tokens=1000, completion_tokens=0)).usd == pytest.approx(usd)


@pytest.mark.parametrize(
    ("taken", "sent"),
    [
        ({"max_tokens"}, ["max_tokens", "max_tokens"]),
        ({"max_completion_tokens"}, ["max_tokens", "max_completion_tokens", "max_completion_tokens"]),
        (set(), ["max_tokens", "max_completion_tokens", None, None]),
    ],
)
def test_an_answer_is_bounded_under_the_name_that_the_upstream_takes(taken, sent):
    """A 400 that names the limit costs nothing, and what works is remembered."""
    seen = []

    def answer(request):
        asked = json.loads(request.content)
        limits = set(asked) & {"max_tokens", "max_completion_tokens"}
        seen.append(next(iter(limits), None))
        assert not limits or asked[seen[-1]] == 1042
        if limits - taken:
            status, body = 400, {"error": {"message": f"Unsupported parameter: {seen[-1]}"}}
        else:
            choice = {"message": {"role": "assistant", "content": "Nine."}, "finish_reason": "stop"}
            status, body = 200, {"choices": [choice], "usage": {"prompt_tokens": 9}}
        return httpx2.Response(status, headers=dict(JSON), stream=Pieces(json.dumps(body).encode()))

    async def twice():
        replayer = Replayer(concurrency=1, timeout_s=5)
        replayer._wire = Wire(transport=httpx2.MockTransport(answer))
        budget = Noted()
        for _ in range(2):
            quote = Quote(PRICES, ["m"], b'{"messages": []}', None, 6)
            got = await replayer.send(Target("http://up/v1"), b'{"messages": []}', budget=budget, quote=quote)
            assert got.answer.text == "Nine."
        return budget, quote.estimate

    budget, estimate = asyncio.run(twice())
    assert seen == sent
    assert budget.spent == [Spend(0, 0.0)] * (len(sent) - 2) + [estimate] * 2


class Pieces(httpx2.AsyncByteStream):
    """A body that comes piece by piece."""

    def __init__(self, body):
        self.body = body

    async def __aiter__(self):
        yield self.body


class Noted:
    """A budget without a limit."""

    def __init__(self):
        self.spent = []
        self.held = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()

    def reserve(self, estimate):
        self.held.set()
        return self.goes_on.wait(240)

    def settle(self, estimate, spent):
        self.spent.append(spent)


def test_who_is_cancelled_while_a_budget_is_asked_gives_back():
    """Nobody is left who would."""

    async def scene():
        budget = Noted()
        budget.goes_on.clear()

        async def send():
            raise AssertionError("nothing is sent")

        calling = booked(budget, Spend(5, 1.0), send, lambda _: Spend(0, 0.0))
        asking = asyncio.create_task(calling)
        await asyncio.to_thread(budget.held.wait, 240)
        asking.cancel()
        await asyncio.sleep(0)
        budget.goes_on.set()
        await asyncio.gather(asking, return_exceptions=True)
        return asking.cancelled(), budget.spent

    assert asyncio.run(scene()) == (True, [Spend(0, 0.0)])
