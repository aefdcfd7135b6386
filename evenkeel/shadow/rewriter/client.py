"""Rewriter: tasks in, valid texts out; each call is paid for, and each text passes the gate."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Self

from evenkeel.core.verdict import Failure
from evenkeel.llm.chat import ChatRequest
from evenkeel.llm.faults import UNHEALTHY, Fault
from evenkeel.metrics.judge.prompts import prompts_of
from evenkeel.shadow.perturbations.gate import FLAWS, Rejection, faults_of, may_stay, passages_to_keep
from evenkeel.shadow.perturbations.protocol import RewriteTask
from evenkeel.shadow.rewriter.prompts import RejectedText, cache_key, request_for, rewritten_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.budget import CallBudget
    from evenkeel.core.cache import Cache
    from evenkeel.llm.client import ModelClient
    from evenkeel.metrics.judge.client import Judge

_UNCHECKED: Final = "meaning_unknown"
# Reasons that another attempt with the same model cannot change; the endpoint's own were tried again already.
_HOPELESS: Final = UNHEALTHY | {
    "budget", "bad_request", "bad_schema", "too_long", "circuit_open", _UNCHECKED
}  # fmt: skip
MEANING: Final = prompts_of(__package__)["equal_meaning"]
"""Question to the judge whether a rewriting means the same as its original."""
# Tokens that a reply may have beyond the text itself: models that reason spend them first.
_HEADROOM_TOKENS: Final = 2_000
# First seed. Any fixed number will do: the same attempt at the same text should give the same words.
_FIRST_SEED: Final = 7
# Texts that the rewriter failed on are not sent again; prompts repeat.
_REMEMBERED: Final = 1_000
# Uses of a text that was given up before it is tried again. The number doubles each time.
_REST_USES: Final = 50
# The judge's highest rating, which alone counts as the same.
_SAME: Final = 3
_MEANING: Final = "It does not mean the same as the original."
_NO_TAGS: Final = "The reply has no text between <rewritten> and </rewritten>."
_NO_CONTRAST: Final = "It means the same as the original; the answer to it must be another one."

EqualMeaning = Callable[[str, str], Awaitable[bool | None]]
"""(original, rewritten) → whether both say the same; None if nobody could say."""

Count = Callable[[str], None]
"""Called with each outcome: "accepted", "cached", "shared", "rejected_<reason>"; and on the way there
"retried_<reason>"."""


class JudgedMeaning:
    """An `EqualMeaning`: a judge is asked once for each text, out of a budget of its own."""

    def __init__(self, judge: Judge, budget: CallBudget) -> None:
        self._judge = judge
        self._budget = budget

    async def __call__(self, original: str, rewritten: str) -> bool | None:
        """Return whether both say the same; None if the judge fails, or the budget forbids to ask it."""
        question = MEANING.fill({"ORIGINAL TEXT": original, "REWRITTEN TEXT": rewritten})
        reply = await self._judge.ask(question, budget=self._budget)
        return None if isinstance(reply.outcome, Failure) else reply.outcome.rating == _SAME


@cache
def _known_request() -> ChatRequest:
    task = RewriteTask("paraphrase", "The ferry leaves at noon.")
    return ChatRequest("rewriter", request_for(task, ()), limit_tokens=_HEADROOM_TOKENS)


@dataclass(slots=True)
class _GivenUp:
    """A text that failed to the end, and how long it rests."""

    rejection: Rejection
    rounds: int
    """Number of times that all attempts have failed."""
    left: int
    """Uses left until the next round."""


class Rewriter:
    """Rewrites texts with a model.

    Flow: cache → call → gate → up to `attempts` calls, each with feedback → `Rejection` with the last
    reason. A few words that come back unchanged twice, as names do, stay as they
    are. Tasks alike that are under way share one outcome. A text whose rewriting fails the gate to the end
    rests for 50 uses, then for 100, 200 and so on, so that it costs little and an instruction that all
    prompts share is not lost because a judge once erred. Of such texts the last 1,000 are remembered.

    Belongs to one event loop. Close it, or use it as an async context manager.
    """

    def __init__(
        self,
        model: ModelClient,
        *,
        cache: Cache,
        equal_meaning: EqualMeaning | None = None,
        attempts: int = 3,
        count: Count = lambda _outcome: None,
    ) -> None:
        """Wire the rewriter, which closes its endpoints when it is closed.

        Args:
            model: Asked.
            cache: Where accepted texts are kept.
            equal_meaning: Asked last about a text that has passed the gate. False rejects it, and None,
                unknown, leaves it out this time: a judge in trouble is no fault of the text. What passed is
                kept with the text, so each rewriting is checked once.
            attempts: Attempts at one text. While the endpoint is in trouble, its client repeats one of them.
            count: Called with each outcome.
        """
        self._model = model
        self._cache = cache
        self._equal_meaning = equal_meaning
        self._attempts = attempts
        self._count = count
        self._running: dict[str, asyncio.Task[str | Rejection]] = {}
        self._given_up: dict[str, _GivenUp] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Cancel rewrites in progress and close the connections."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._model.close()

    async def rewrite(self, task: RewriteTask, budget: CallBudget) -> str | Rejection:
        """Rewrite one text.

        Returns: a text that has passed the gate, or why there is none. Never raises for what a
            model or its endpoint does; errors of cache and budget come through.
        """
        key = cache_key(task, self._model.model)
        while key in self._running:
            # Shielded: who stops waiting does not take the text from the others.
            outcome = await asyncio.shield(self._running[key])
            # One route's used-up budget says nothing about another's.
            if isinstance(outcome, str) or outcome.reason != "budget":
                self._count("shared")
                return outcome
            # A task that has ended is forgotten only when the loop goes round: waiting for it never yields.
            await asyncio.sleep(0)
        running = asyncio.create_task(self._outcome(key, task, budget))
        self._running[key] = running
        running.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(running)

    async def _outcome(self, key: str, task: RewriteTask, budget: CallBudget) -> str | Rejection:
        cached = await asyncio.to_thread(self._cache.get, key)
        if cached is not None:
            self._count("cached")
            return zlib.decompress(cached).decode("utf-8", "surrogatepass")
        before = self._given_up.get(key)
        if before is not None and before.left > 0:
            before.left -= 1
            self._count(f"rejected_{before.rejection.reason}")
            return before.rejection
        rounds = before.rounds if before else 0
        outcome = await self._tried(task, budget, rounds)
        if isinstance(outcome, str):
            self._given_up.pop(key, None)
            body = zlib.compress(outcome.encode("utf-8", "surrogatepass"))
            await asyncio.to_thread(self._cache.put, key, body)
            self._count("accepted")
            return outcome
        if outcome.reason in FLAWS:
            self._given_up[key] = _GivenUp(outcome, rounds + 1, _REST_USES << rounds)
            if len(self._given_up) > _REMEMBERED:
                self._given_up.pop(next(iter(self._given_up)))
        self._count(f"rejected_{outcome.reason}")
        return outcome

    async def _tried(self, task: RewriteTask, budget: CallBudget, rounds: int) -> str | Rejection:
        rejection, feedback, patience = Rejection("empty"), None, 1
        for number in range(self._attempts):
            seed = rounds * self._attempts + number
            text, faults = await self._attempt(task, budget, feedback, patience, seed)
            if not faults:
                return text
            again = rejection.reason == faults[0].reason == "unchanged"
            if again and task.kind != "contrast" and await asyncio.to_thread(may_stay, task.text):
                return task.text
            rejection = faults[0]
            if rejection.reason in FLAWS:
                feedback = RejectedText(text, tuple(fault.detail for fault in faults))
            if rejection.reason == "truncated":
                patience *= 2
            if rejection.reason in _HOPELESS:
                break
            if number + 1 < self._attempts:
                self._count(f"retried_{rejection.reason}")
        return rejection

    async def _reply(self, request: ChatRequest, budget: CallBudget) -> str | Fault:
        """Return the text that the model writes, stripped, or the reason why there is none."""
        got = await self._model.chat(request, budget=budget, canary=_known_request())
        text = got if isinstance(got, Fault) else got.text
        if isinstance(text, Fault):
            return text
        return text.strip() or Fault("empty", "The reply is empty.")

    async def _attempt(
        self, task: RewriteTask, budget: CallBudget, feedback: RejectedText | None, patience: int, number: int
    ) -> tuple[str, Sequence[Rejection]]:
        """Return a text, and what is wrong with it, or why there is none."""
        keep = () if task.kind in ("blocks", "contrast") else passages_to_keep(task)
        request = ChatRequest(
            "rewriter",
            request_for(task, keep, feedback),
            # At temperature 0 a model tends to write the same again, whatever the feedback.
            temperature=0.0 if number == 0 else 0.5,
            seed=_FIRST_SEED + number,
            # A reply is taken to need at most three quarters of a token a byte.
            limit_tokens=(len(task.text.encode("utf-8", "replace")) * 3 // 4 + _HEADROOM_TOKENS) * patience,
        )
        reply = await self._reply(request, budget)
        if isinstance(reply, Fault):
            return "", [Rejection(reply.reason, reply.detail)]
        text = reply if task.kind == "blocks" else rewritten_in(reply)
        if text is None:
            # The model may also have declined, or answered the text.
            return reply, [Rejection("chatter", _NO_TAGS)]
        # In a thread: the first question about a language reads the model, which takes half a second.
        faults = await asyncio.to_thread(faults_of, task, text)
        # A list of blocks has no meaning to keep: it is checked by rule where it is used.
        if faults or self._equal_meaning is None or task.kind == "blocks":
            return text, faults
        same = await self._equal_meaning(task.text, text)
        if same is None:
            return text, [Rejection(_UNCHECKED, "The judge could not say whether it means the same.")]
        if same is (task.kind == "contrast"):
            return text, [Rejection("meaning", _NO_CONTRAST if same else _MEANING)]
        return text, ()
