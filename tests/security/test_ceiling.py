"""Bills stay within the limit, whatever an upstream, the network and the processes do.

A scripted upstream keeps its own books, by true time. Replays, reference prompts, judge and
rewriter spend together. Out of scope is an upstream that reports less than it bills, or ignores the limit
it was given.
"""

import asyncio
import json
import logging
import random
from collections import Counter
from functools import partial
from itertools import count

import httpx2
import pytest

from evenkeel.core.budget import Budget, RouteBudget
from evenkeel.llm.limits import Breaker, Pauses
from evenkeel.llm.price import ModelPrice, Prices
from evenkeel.llm.wire import Wire
from evenkeel.metrics.judge.client import Judge
from evenkeel.metrics.scoring import heuristic_scorer, judge_scorer
from evenkeel.shadow.exchange_trial import ExchangeTrial
from evenkeel.shadow.original import Reader
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import Needs, RoutePlan
from evenkeel.shadow.references.asker import AskerSettings, MonitorFindings, ReferenceAsker
from evenkeel.shadow.references.caller import ReferenceCaller
from evenkeel.shadow.references.pace import Pace
from evenkeel.shadow.replay import Replayer, Target
from evenkeel.shadow.rewriter import JudgedMeaning, Rewriter
from evenkeel.stores.budget import SharedCostTracker
from evenkeel.stores.counters import Tally
from evenkeel.stores.redis.documents import RedisDocuments
from evenkeel.stores.references import KeptAnswer, Reference, ReferenceStore
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.kit.records import altered
from tests.llm.scripted import endpoint_of
from tests.shadow.trial_makers import trial_maker
from tests.stores.examples import exchange

DAY_S = 86_400
START = 20_000 * DAY_S + 40_000.0
PRICES = Prices(
    {
        "m": ModelPrice(1.0, 4.0),
        "judge": ModelPrice(3.0, 9.0),
        "writer": ModelPrice(2.0, 2.0),
    }
)
KINDS = by_name(["general.whitespace", "general.casing", "general.spelling", "general.paraphrase"])
CHAT = "/v1/chat/completions"
JSON = (("content-type", "application/json"),)
SCRIPTS = (
    "When does the ferry leave on Sunday?",
    "日曜日の船はいつ出ますか。",
    "🚢⛴️ 7301 9942 aGVsbG8gd29ybGQ=?",
)

FAULTS = (
    *("none",) * 6, "silent", "odd usage", "inflated", "unreachable", "lost", "lost unbilled", "late", "cut",
    "html", "two hundred and an error", 400, 401, 408, 408.5, 429, 500, 500.5, 502, 503.5,
)  # fmt: skip
"""Half a status more: an error that was billed all the same."""
ODD = (-5, 10**15, "12", 1.5, float("nan"), None, True, [1], {}, 0)


class Body(httpx2.AsyncByteStream):
    """A body, the end of which may be missing."""

    def __init__(self, body, *, cut=False):
        self.body = body[: len(body) // 2] if cut else body
        self.cut = cut

    async def __aiter__(self):
        yield self.body
        if self.cut:
            raise httpx2.ReadError("cut")


class Upstream(httpx2.AsyncBaseTransport):
    """Answers every model, with faults drawn by chance, and keeps books by the true day."""

    def __init__(self, world, process):
        self.world = world
        self.process = process

    async def handle_async_request(self, request):
        chance, world = self.world.chance, self.world
        await world.breathe()
        if not self.process.alive:
            raise httpx2.ConnectError("killed")
        asked = json.loads(await request.aread())
        fault = chance.choice(FAULTS)
        if fault == "unreachable":
            raise chance.choice((httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout))("no")
        limit = asked.get("max_tokens") or asked.get("max_completion_tokens")
        refused = self.refusal(asked, limit, fault)
        if refused is not None:
            return refused
        texts = asked["input"] if "input" in asked else [message["content"] for message in asked["messages"]]
        longest = sum(len(text.encode()) + 10 for text in texts)
        prompt = chance.choice((longest, longest // 4 + 1))
        most = limit or 60
        said = (
            0
            if "input" in asked
            else chance.choice((most, chance.randint(0, min(most, 40)), 20 % (most + 1)))
        )
        world.bill(asked["model"], prompt, said)
        await world.breathe()
        if fault == "lost":
            raise httpx2.RemoteProtocolError("lost")
        if fault == "late":
            raise httpx2.ReadTimeout("late")
        if isinstance(fault, float):
            return self.error(int(fault), "billed")
        body = self.body(asked, texts, prompt, said, fault)
        body = Body(b"<html>" if fault == "html" else body, cut=fault == "cut")
        return httpx2.Response(200, headers=dict(JSON), stream=body)

    def refusal(self, asked, limit, fault):
        """Return the answer to a request that costs no work; None if it has to be done."""
        if "input" not in asked and self.world.picky == "new" and "max_tokens" in asked:
            return self.error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.")
        if "input" not in asked and self.world.picky == "short" and limit is not None:
            return self.error(400, "max_tokens is too large: this model's maximum context length is 60.")
        if fault == "lost unbilled":
            raise httpx2.RemoteProtocolError("lost")
        if isinstance(fault, int):
            return self.error(fault, "no", {"retry-after": "0"} if fault == 429 else {})
        return None

    def body(self, asked, texts, prompt, said, fault):
        chance = self.world.chance
        if fault == "two hundred and an error":
            return b'{"error": {"message": "overloaded"}}'
        usage = {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}
        if fault == "odd usage":
            usage |= {name: chance.choice(ODD) for name in chance.sample(sorted(usage), chance.randint(1, 3))}
            # A number that is too small would be a lie, unless it makes no sense.
            usage = {k: v for k, v in usage.items() if v is not True}
        if fault == "inflated":
            usage = {name: 3 * tokens + 50 for name, tokens in usage.items()}
        rating = json.dumps({"explanation": "They differ.", "rating": chance.choice((2, 3, 9, "?"))})
        if '"ratings"' in texts[-1]:
            ratings = [{"pair": pair, "rating": chance.choice((2, 3, "?"))} for pair in range(1, 4)]
            rating = json.dumps({"ratings": ratings})
        text = {"judge": rating, "writer": texts[-1][-60:]}.get(asked["model"], "It leaves at nine.")
        choice = {"index": 0, "finish_reason": chance.choice(("stop", "stop", "length"))}
        choice["message"] = {"role": "assistant", "content": text}
        answered = {"id": "1", "object": "chat.completion", "created": 1, "model": asked["model"]}
        answered |= {"choices": [choice]}
        return json.dumps(answered if fault == "silent" else answered | {"usage": usage}).encode()

    def error(self, status, message, headers=None):
        body = json.dumps({"error": {"message": message}}).encode()
        return httpx2.Response(status, headers=dict(JSON) | (headers or {}), stream=Body(body))


class Nowhere:
    """A verdict log that keeps nothing."""

    def append(self, verdict, evidence):
        pass

    def note(self, sighting):
        pass

    def latest(self, *_, **__):
        return {}


class World:
    """True time, the upstream's books, and chance."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.now = START
        self.waited_s = 0.0
        self.judged = seed % 3 == 0
        self.picky = self.chance.choice(("", "", "new", "short"))
        self.tokens, self.usd = Counter(), Counter()

    def clock(self):
        return self.now

    def bill(self, model, prompt, said):
        self.tokens[self.now // DAY_S] += prompt + said
        self.usd[self.now // DAY_S] += PRICES.usd(model, prompt, said)

    async def breathe(self):
        for _ in range(self.chance.randint(0, 4)):
            await asyncio.sleep(0)

    def monotonic(self):
        return self.waited_s

    async def sleep(self, seconds):
        self.waited_s += seconds
        await asyncio.sleep(0)


class Process:
    """A worker with everything that spends. Once it is killed, nothing of it reaches store or upstream."""

    def __init__(self, world, costs, originals, names, documents):
        self.alive = True
        self.world, self.originals, self.names, self.documents = world, originals, names, documents
        self.tasks = []
        self.costs = costs
        for name in ("reserve", "settle"):
            setattr(costs, name, self.mortal(getattr(costs, name)))
        transport = Upstream(world, self)
        self.judge = Judge(self.endpoint("judge", transport), repairs=1)
        self.writer = self.endpoint("writer", transport)
        self.replayer = Replayer(concurrency=4, timeout_s=60, clock=world.monotonic, sleep=world.sleep)
        self.replayer._wire = Wire(transport=transport)
        meaning = JudgedMeaning(self.judge, RouteBudget(costs, "", "rewriter"))
        self.trials = trial_maker(
            Nowhere(),
            judge_scorer(self.judge, group=6) if world.judged else heuristic_scorer(),
            self.replayer,
            costs,
            lambda exchange: Target("http://up" + exchange.path),
            prices=PRICES,
            clock=world.clock,
            rewriter=Rewriter(self.writer, cache=NoCache(), equal_meaning=meaning),
        )

    def mortal(self, act):
        def done(*given, **named):
            if not self.alive:
                raise SystemError("killed")
            return act(*given, **named)

        return done

    def endpoint(self, model, transport):
        made = endpoint_of(
            base_url="http://up/v1",
            model=model,
            api_key="",
            price=PRICES.usd,
            sleep=self.world.sleep,
            breaker=Breaker(failures=10_000),
            pauses=Pauses(clock=self.world.monotonic, sleep=self.world.sleep),
            budget=RouteBudget(self.costs, "", "judge"),
        )
        made._wire = Wire(transport=transport)
        return made

    def spawn(self):
        chance = self.world.chance
        work = chance.choice((*(self.trial,) * 4, self.reference, self.reference, self.check))
        self.tasks.append(asyncio.create_task(work()))

    async def trial(self):
        original, urgent = self.world.chance.choice(self.originals), self.world.chance.random() < 0.4
        original = altered(
            original,
            exchange=altered(original.exchange, id=f"{next(self.names)}"),
            route=altered(original.route, trials_per_exchange=self.world.chance.randint(1, 3)),
        )
        state = ExchangeTrial(original, Needs(urgent=urgent), outcome=partial(self.trials.perturb, original))
        await self.trials.carry_out(state, state.first())

    async def reference(self):
        store = ReferenceStore(self.documents)
        original = self.world.chance.choice(self.originals)
        answer = original.answer
        kept = tuple(KeptAnswer(answer, self.world.clock() - at, "m", "original") for at in (2, 1))
        store.add(
            Reference(
                id=f"{next(self.names)}", route="shop", requested_model="m", prompt_version="p1",
                path=original.exchange.path, request=original.exchange.request_body.decode(),
                taken_at=self.world.clock() - 2, answers=kept,
            )
        )  # fmt: skip
        asker = ReferenceAsker(
            store,
            Nowhere(),
            ReferenceCaller(self.replayer, self.costs, PRICES, lambda _: Target(f"http://up{CHAT}")),
            AskerSettings(Pace(96, 60, 0.5), routes=("shop",), level=10.0),
            noticed=MonitorFindings,
            tally=Tally(),
            clock=self.world.clock,
        )
        await asker.step()

    async def check(self):
        await self.judge.check()

    async def finished(self):
        for outcome in await asyncio.gather(*self.tasks, return_exceptions=True):
            assert outcome is None or isinstance(outcome, asyncio.CancelledError | SystemError), outcome
        self.tasks.clear()

    def kill(self):
        self.alive = False
        for task in self.tasks:
            task.cancel()


class NoCache:
    """Remembers no text."""

    def get(self, key):
        return None

    def put(self, key, body):
        pass


@pytest.fixture(scope="module")
def originals():
    """Exchanges, one for each script, with and without a limit of the answer."""
    reader = Reader({"shop": RoutePlan(KINDS, 4, "short_qa")})
    read = []
    for number, text in enumerate(SCRIPTS * 2):
        asked = {"model": "m", "messages": [{"role": "user", "content": text}]}
        asked |= {"max_tokens": 40} if number % 2 else {}
        message = {"role": "assistant", "content": "It leaves at nine."}
        answer = {
            "model": "m",
            "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": len(text), "completion_tokens": 6},
        }
        bodies = {"request_body": json.dumps(asked).encode(), "response_body": json.dumps(answer).encode()}
        read.append(reader.read(exchange(number, route="shop", response_headers=JSON, task=None, **bodies)))
    return read


@pytest.fixture(autouse=True)
def in_one_thread(monkeypatch):
    """Do at once what goes to a thread, so that a seed is the same every time."""

    async def at_once(act, *given, **named):
        await asyncio.sleep(0)
        outcome = act(*given, **named)
        await asyncio.sleep(0)
        return outcome

    monkeypatch.setattr(asyncio, "to_thread", at_once)
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


class Life:
    """Two processes for two days, with all that befalls them."""

    def __init__(self, seed, originals, documents, open_costs):
        self.world = World(seed)
        self.given = originals, count(), documents
        self.open_costs = open_costs
        chance = self.chance = self.world.chance
        tokens = round((12_000 if self.world.judged else 1_500) * 6 ** chance.random())
        usd, reserve = chance.choice((None, tokens * 3e-6)), chance.choice((0.0, 0.2))
        self.most = Budget(tokens, usd, spread=chance.random() < 0.2, reserve=reserve)
        self.own = {"shop": Budget(round(tokens * 0.8), reserve=reserve)} if chance.random() < 0.3 else {}
        self.processes = [self.begun() for _ in range(chance.choice((1, 2)))]

    def begun(self, share=1.0):
        usd = self.most.usd_per_day and self.most.usd_per_day * share
        budget = altered(self.most, tokens_per_day=round(self.most.tokens_per_day * share), usd_per_day=usd)
        costs = self.open_costs(budget, self.world.clock, self.own)
        return Process(self.world, costs, *self.given)

    async def run(self):
        events = [self.work] * 11
        events += [self.kill, self.restart, self.reload, self.cancel, self.later, self.night]
        for _ in range(24):
            await self.chance.choice(events)(self.chance.randrange(len(self.processes)))
            await self.world.breathe()
        await self.finished()

    async def finished(self):
        for process in self.processes:
            await process.finished()

    async def work(self, place):
        for _ in range(self.chance.randint(1, 4)):
            self.processes[place].spawn()

    async def kill(self, place):
        self.processes[place].kill()
        await self.processes[place].finished()
        self.processes[place] = self.begun()

    async def restart(self, place):
        for task in self.processes[place].tasks:
            task.cancel()
        await self.processes[place].finished()
        self.processes[place] = self.begun()

    async def reload(self, place):
        """Calls under way go on with the tracker that they have."""
        tasks = self.processes[place].tasks
        self.processes[place] = self.begun(self.chance.uniform(0.3, 1.0))
        self.processes[place].tasks = tasks

    async def cancel(self, place):
        tasks = self.processes[place].tasks
        if tasks:
            self.chance.choice(tasks).cancel()

    async def later(self, _place):
        """Let more time pass than a call takes."""
        await self.finished()
        self.world.now += self.chance.uniform(0, 3_600)

    async def night(self, place):
        """A call is under way at midnight."""
        await self.finished()
        self.world.now = (self.world.now // DAY_S + 1) * DAY_S - 30
        self.processes[place].spawn()
        await self.world.breathe()
        self.world.now += 60


def check(seed, originals, database, open_costs):
    async def lived():
        life = Life(seed, originals, SqliteDocuments(database), open_costs)
        await life.run()
        return life.world, life.most

    world, most = asyncio.run(lived())
    for day, tokens in world.tokens.items():
        assert tokens <= most.tokens_per_day, (seed, day)
        assert most.usd_per_day is None or world.usd[day] <= most.usd_per_day + 1e-9, (seed, day)
    return sum(world.tokens.values()) / most.tokens_per_day


def test_no_fault_passes_the_limit(tmp_path, originals):
    """Two processes on one file; between 0 and 3 days' budgets are spent."""
    shares = []
    for seed in range(20):
        database = Database(tmp_path / f"{seed}.db")
        shares.append(check(seed, originals, database, partial(SharedCostTracker, SqliteDocuments(database))))
        database.close()
    assert sum(shares) > 0.5  # the budgets are used


@pytest.mark.service("redis-server")
def test_no_fault_passes_the_limit_on_redis(tmp_path, on_redis, originals):
    database = Database(tmp_path / "evenkeel.db")
    for seed in range(10):
        on_redis.place.client.flushall()
        check(seed, originals, database, partial(SharedCostTracker, RedisDocuments(on_redis.place)))
    database.close()
