"""A worker among real stores that replays into a script: nothing it is given may break it."""

import asyncio
import random
import zlib
from collections import Counter

from evenkeel.core.verdict import BASELINE, Failure
from evenkeel.llm.encodings import UnreadableBody
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.shadow.answer import read_answer
from evenkeel.shadow.perturbations import BUILTIN
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.prompt import PromptView, UnreadablePrompt, api_of, refusal
from evenkeel.shadow.replay import Replay, Target
from evenkeel.shadow.rewriter import Rejection
from tests.shadow.planes import Plane
from tests.shadow.wild_exchanges import QUIET_ROUTES, WildExchanges

_PAIRS_OF_LANGUAGES = "crosslingual."
_SOME_PAIRS = ("crosslingual.en_to_de", "crosslingual.fr_to_en", "crosslingual.ja_to_ja")
KINDS = tuple(
    kind
    for kind in BUILTIN
    if kind.name != BASELINE and (kind.name in _SOME_PAIRS or not kind.name.startswith(_PAIRS_OF_LANGUAGES))
)
"""Every kind there is, but of the many pairs of languages, which would crowd out the others, three."""
_FAILED = Failure("replay", 1, "timeout", "no answer in time")


class WildReplayer:
    """Answers each body with a wild response that follows from it."""

    async def send(self, target, body, **_options):
        """Return an answer, or the failure, as the real one does."""
        api = api_of(target.url)
        assert api is not None
        await asyncio.to_thread(_check_sent, body, api)
        rng = random.Random(zlib.crc32(body))
        if rng.random() < 0.1:
            return _FAILED
        headers, answered = WildExchanges(rng).response(api)
        try:
            return Replay(read_answer(dict(headers), answered, api.answer_reader()), 0.1)
        except UnreadableBody as error:
            return Failure("replay", 1, error.reason, error.detail)


def _check_sent(body, api):
    """Check that a variant can be read again and has no effect but its answer."""
    try:
        sent = PromptView.parse(body, api=api)
    except UnreadablePrompt as unreadable:
        if unreadable.reason == "too_deep":  # which depends on how much of the stack is used already
            return
        raise
    assert refusal(sent) is None
    assert not sent.get("store")


class WildRewriter:
    """Rewrites each text into another, or not at all."""

    async def rewrite(self, task, _purse):
        """A text that follows from the task."""
        rng = random.Random(zlib.crc32(task.text.encode("utf-8", "surrogatepass")))
        match rng.randrange(4):
            case 0:
                return Rejection("timeout")
            case 1:
                return " ".join(reversed(task.text.split()))
            case 2:
                return task.text.upper()
            case _:
                return f"{task.kind}: {task.text}"


class WildPlane(Plane):
    """Takes exchanges in, has them tried, and says what became of them."""

    def __init__(self, folder, trials_per_exchange=3):
        super().__init__(folder)
        self._worker = self.worker(
            dict.fromkeys(("busy", *QUIET_ROUTES), RoutePlan(KINDS, trials_per_exchange, "case_summary")),
            *(heuristic_scorer(), WildReplayer(), self.costs()),
            lambda exchange: Target(exchange.path),
            rewriter=WildRewriter(),
        )

    async def work(self, exchanges):
        """Queue the exchanges and work until none is left."""
        taken = self.queue.put(exchanges)
        assert taken == len(exchanges)
        await self._worker.drain()

    def outcomes(self):
        """Count the ends of exchanges and the outcomes of trials."""
        found = Counter()
        for name, labels, number in self.tally.snapshot()["counters"]:
            detail = labels.get("reason") or labels.get("outcome") or labels.get("where") or ""
            found[f"{name} {detail}".strip()] += int(number)
        return found

    def close(self):
        self.database.close()
