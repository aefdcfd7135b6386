"""A check from prompt to outcome: connects model, judge and rewriter, and makes the rounds.

This is what `evenkeel check` runs, and what `from evenkeel import check` gives to Python.
"""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

from evenkeel.core.languages import language_of
from evenkeel.core.verdict import CONTRAST
from evenkeel.llm.client import Model, ModelClient
from evenkeel.llm.price import estimate_tokens
from evenkeel.metrics.judge import Judge
from evenkeel.metrics.scoring import heuristic_scorer, judge_scorer
from evenkeel.release.check.figures import FIRST, SECOND
from evenkeel.release.check.rounds import RoundMaker, VariantMaker
from evenkeel.release.check.run import rewriter_beside, run_check
from evenkeel.release.kit.arguments import InputError
from evenkeel.release.kit.asking import AskedCall, Asker, UnusableError, advised, call_key
from evenkeel.release.kit.cost import Costs, RewriterBudget
from evenkeel.release.kit.journal import KEPT, Answers, opened_journal
from evenkeel.release.kit.service_watch import ServiceWatch
from evenkeel.shadow.perturbations import by_name, catalogue
from evenkeel.shadow.perturbations.contrast import question_of
from evenkeel.shadow.replay import Replayer
from evenkeel.shadow.rewriter import JudgedMeaning, Rewriter
from evenkeel.stores.cache import DocumentCache
from evenkeel.stores.sqlite.documents import SqliteDocuments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenkeel.core.pair import Answer, Pair
    from evenkeel.core.verdict import Failure, Judgement
    from evenkeel.release.check.run import CheckOutcome, CheckRequest, ModelAt
    from evenkeel.shadow.perturbations import Perturbation, RewriteTask
    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.rewriter import Rejection
    from evenkeel.stores.sqlite.database import Database

CATEGORIES: Final = ("general", "positional", "format", "multilingual")
"""Categories of a check unless others are named."""
# Pairs of a round that the judge rates in one call.
_GROUP: Final = 8
# Failures in a row of a model that has answered before, after which it is not asked again.
_PATIENCE: Final = 20


def kinds_by_category(
    patterns: Sequence[str], views: Iterable[PromptView], *, rewriter: bool
) -> dict[str, list[Perturbation]]:
    """Return the perturbations of some categories, names or patterns, without those that lack a rewriter.

    With a rewriter the contrasts come on top. () stands for `CATEGORIES`, and for tools if any prompt
    comes with tools.

    Raises: InputError for a pattern that names nothing.
    """
    perturbations = catalogue()
    usual = (*CATEGORIES, "tools") if any(view.get("tools") for view in views) else CATEGORIES
    try:
        chosen = by_name(patterns or usual, perturbations)
    except ValueError as error:
        raise InputError(f"--perturbations: {error}") from error
    by_category: dict[str, list[Perturbation]] = {}
    for kind in chosen:
        category = kind.rewording.category.name
        # The resend is in every round anyway, and contrasts are no rewordings.
        if category in ("baseline", CONTRAST) or ("rewriter" in kind.requires and not rewriter):
            continue
        by_category.setdefault(category, []).append(kind)
    if not by_category:
        raise InputError("--perturbations: all of these need a model that rewrites; name a --judge")
    if rewriter:
        by_category[CONTRAST] = [kind for kind in perturbations if kind.rewording.category.must_move]
    return by_category


def make_check(request: CheckRequest, *, progress: Callable[[], None] = lambda: None) -> CheckOutcome:
    """Make a check, calling `progress` after each round.

    Raises: UnusableError if the model cannot be asked; InputError.
    """
    return asyncio.run(_made(request, progress))


async def _made(request: CheckRequest, progress: Callable[[], None]) -> CheckOutcome:
    async with AsyncExitStack() as stack:
        database = stack.enter_context(opened_journal(request.journal, "--journal"))
        costs = Costs(request.most_usd)
        services = _Services(request, database, costs, stack)
        views = request.prompts[FIRST]
        # A file is often sorted, and its first rows alone may settle a category. Arms keep the same order.
        order = random.Random(f"{request.seed}/rows").sample(range(len(views)), len(views))
        prompts = {}
        for arm, of_arm in request.prompts.items():
            prompts[arm] = [of_arm[place] for place in order]
        maker = RoundMaker(
            services.ask,
            services.score,
            VariantMaker(
                request.kinds,
                request.severity,
                request.seed,
                services.rewrite if request.judge else None,
                tuple(dict.fromkeys(segment.text for view in views if (segment := question_of(view)))),
            ),
            prompts,
            request.task.value if request.task else None,
        )
        return await run_check(request, maker, costs, progress=progress)


class _Services:
    """Model under test, judge and rewriter of a check, connected."""

    def __init__(
        self, request: CheckRequest, database: Database, costs: Costs, stack: AsyncExitStack
    ) -> None:
        self._request = request
        self._costs = costs
        replayer = Replayer(concurrency=request.concurrency, timeout_s=request.timeout_s)
        stack.push_async_callback(replayer.close)
        self._asker = Asker(
            replayer, Answers(database), request.prices, costs, patience=_PATIENCE, give_up=self._give_up
        )
        self._budget = RewriterBudget(costs)
        self._scorer = heuristic_scorer()
        self._rewriter: Rewriter | None = None
        self._watch: ServiceWatch | None = None
        if request.judge is not None:
            documents = SqliteDocuments(database)
            rulings = DocumentCache(documents, "rulings", kept=KEPT)
            judge = Judge(self._endpoint(request.judge), cache=rulings, repairs=1)
            stack.push_async_callback(judge.close)
            name = f"the judge {request.judge.model}"
            self._watch = ServiceWatch(name, "--judge", self._advice(request.judge), costs)
            self._scorer = judge_scorer(judge, group=_GROUP, language_of=language_of)
            self._rewriter = Rewriter(
                self._endpoint(rewriter_beside(request.judge)),
                cache=DocumentCache(documents, "rewrites", kept=KEPT),
                equal_meaning=JudgedMeaning(judge, self._budget),
            )
            stack.push_async_callback(self._rewriter.close)

    async def ask(self, arm: str, view: PromptView, draw: str) -> Answer | Failure:
        """Put a prompt to the model of an arm; see `rounds.Ask`."""
        at = self._request.models[arm]
        body = view.with_members({"model": json.dumps(at.model)}).for_replay()
        target = at.target(view.api)
        if arm == SECOND and at == self._request.models[FIRST]:
            # Two prompts may be equal, and each arm needs answers of its own.
            draw = f"{arm} {draw}"
        key = call_key([target.url, target.unix_path, draw], body)
        tokens = estimate_tokens(view.text)
        return await self._asker.ask(AskedCall(at.model, target, body, key, at.model, tokens, view.api))

    async def score(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Rate pairs together; see `rounds.Score`."""
        self._costs.check()
        judgements = await self._scorer.score_all(pairs)
        if self._watch is not None:
            self._watch.see(judgements)
        return judgements

    async def rewrite(self, task: RewriteTask) -> str | Rejection:
        """Rewrite a text."""
        assert self._rewriter is not None
        outcome = await self._rewriter.rewrite(task, self._budget)
        if not isinstance(outcome, str) and outcome.reason == "budget":
            # The rewriter says that its part of the budget is used up; the run has to end for the same
            # reason.
            self._costs.check()
        return outcome

    def _endpoint(self, at: ModelAt) -> ModelClient:
        served = Model(
            base_url=at.base_url,
            name=at.model,
            api_key=at.api_key,
            timeout_s=self._request.timeout_s,
            concurrency=self._request.concurrency,
        )
        return ModelClient(served, price=self._request.prices.usd)

    def _give_up(self, call: AskedCall, failure: Failure) -> None:
        # Both models are behind one endpoint, so they have one key.
        advice = self._advice(self._request.models[FIRST])
        because = f"{advised(failure.reason, failure.detail, **advice)} ({call.target.url})"
        account = self._costs.of(call.payee)
        if account.tokens or account.remembered:
            raise UnusableError(f"{call.payee} does not answer any more: {because}")
        raise UnusableError(f"{call.payee} does not answer: {because}")

    def _advice(self, at: ModelAt) -> dict[str, str]:
        return {
            "variable": at.key_variable,
            "key_option": "--api-key-env",
            "url_option": "--base-url",
            "members": "such requests",
        }
