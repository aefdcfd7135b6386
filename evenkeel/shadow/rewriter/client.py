"""Rewriter: tasks in, valid texts out; each call is paid for, and each text passes the gate."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Self

from evenkeel.llm.chat import ChatRequest
from evenkeel.llm.faults import Fault
from evenkeel.shadow.perturbations.gate import FLAWS, Rejection, faults_of, may_stay, passages_to_keep
from evenkeel.shadow.perturbations.protocol import RewriteTask
from evenkeel.shadow.rewriter.prompts import RejectedText, cache_key, request_for, rewritten_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.budget import CallBudget
    from evenkeel.core.cache import Cache
    from evenkeel.llm.client import ModelClient
    from evenkeel.llm.observer import ObservedMessage

_UNCHECKED: Final = "meaning_unknown"
# Reasons that another attempt with the same model cannot change.
_HOPELESS: Final = frozenset(
    {"budget", "unauthorized", "bad_request", "too_long", "circuit_open", _UNCHECKED}
)
# Tokens that a reply may have beyond the text itself: models that reason spend them first.
_HEADROOM_TOKENS: Final = 2_000
# First seed. Any fixed number will do: the same attempt at the same text should give the same words.
_FIRST_SEED: Final = 7
# Texts that the rewriter failed on are not sent again; prompts repeat.
_REMEMBERED: Final = 1_000
# Uses of a text that was given up before it is tried again. The number doubles each time.
_REST_USES: Final = 50
# Longest pause for which a server may ask, in seconds. A call that needs a longer one fails.
_LONGEST_PAUSE_S: Final = 20.0
_MEANING: Final = "It does not mean the same as the original."
_NO_TAGS: Final = "The reply has no text between <rewritten> and </rewritten>."
_NO_CONTRAST: Final = "It means the same as the original; the answer to it must be another one."

EqualMeaning = Callable[[str, str], Awaitable[bool | None]]
"""(original, rewritten) → whether both say the same; None if nobody could say."""

Count = Callable[[str], None]
"""Called with each outcome: "accepted", "cached", "shared", "rejected_<reason>"; and on the way there
"retried_<reason>"."""


def rewrite_request(
    messages: Sequence[ObservedMessage],
    text: str,
    *,
    temperature: float,
    seed: int,
    patience: int = 1,
) -> ChatRequest:
    """A request for another wording of a text.

    Args:
        messages: What is asked.
        text: What is rewritten; the reply is taken to need at most three quarters of a token a byte.
        temperature: Of the reply.
        seed: Of the reply.
        patience: Multiplies the limit, after a reply that was cut off.
    """
    limit = (len(text.encode("utf-8", "replace")) * 3 // 4 + _HEADROOM_TOKENS) * patience
    return ChatRequest("rewriter", messages, temperature=temperature, seed=seed, limit_tokens=limit)


async def reply_to(endpoint: ModelClient, request: ChatRequest, budget: CallBudget) -> str | Fault:
    """Return the text that a model writes, stripped, or the reason why there is none.

    Nothing is repeated here: a 429 or 5xx only makes the next call wait, if a known text fails as well.
    """
    got = await endpoint.chat(
        request, budget=budget, retries=0, patience_s=_LONGEST_PAUSE_S, canary=_known_request()
    )
    text = got if isinstance(got, Fault) else got.text
    if isinstance(text, Fault):
        return text
    text = text.strip()
    return text or Fault("empty", "The reply is empty.")


@cache
def _known_request() -> ChatRequest:
    task = RewriteTask("paraphrase", "The ferry leaves at noon.")
    return rewrite_request(request_for(task, ()), task.text, temperature=0.0, seed=_FIRST_SEED)


def _uncounted(outcome: str) -> None:
    del outcome


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
        count: Count = _uncounted,
    ) -> None:
        """Wire the rewriter, which closes its endpoints when it is closed.

        Args:
            model: Asked.
            cache: Where accepted texts are kept.
            equal_meaning: Asked last about a text that has passed the gate. False rejects it, and None,
                unknown, leaves it out this time: a judge in trouble is no fault of the text. What passed is
                kept with the text, so each rewriting is checked once.
            attempts: Calls for one text.
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

    async def _attempt(
        self, task: RewriteTask, budget: CallBudget, feedback: RejectedText | None, patience: int, number: int
    ) -> tuple[str, Sequence[Rejection]]:
        """Return a text, and what is wrong with it, or why there is none."""
        keep = () if task.kind in ("blocks", "contrast") else passages_to_keep(task)
        # At temperature 0 a model tends to write the same again, whatever the feedback.
        request = rewrite_request(
            request_for(task, keep, feedback),
            task.text,
            patience=patience,
            temperature=0.0 if number == 0 else 0.5,
            seed=_FIRST_SEED + number,
        )
        reply = await reply_to(self._model, request, budget)
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
