"""A check from prompt to outcome: connects model, judge and rewriter, and makes the rounds.

This is what `evenkeel check` runs, and what `from evenkeel import check` gives to Python.
"""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from evenkeel.core.budget import Spend
from evenkeel.core.endpoint import Upstream
from evenkeel.core.figures import number, rounded
from evenkeel.core.languages import language_of
from evenkeel.core.rewordings import category as category_named
from evenkeel.core.verdict import CONTRAST
from evenkeel.llm.client import Model, ModelClient
from evenkeel.llm.price import Prices, estimate_tokens
from evenkeel.llm.providers import small_model
from evenkeel.metrics.judge import Judge
from evenkeel.metrics.scoring import heuristic_scorer, judge_scorer
from evenkeel.release.check.figures import FIRST, SECOND
from evenkeel.release.check.rounds import RoundMaker, VariantMaker
from evenkeel.release.check.run import CheckOptions, run_check
from evenkeel.release.kit.arguments import InputError
from evenkeel.release.kit.asking import AskedCall, Asker, UnusableError, advised, call_key
from evenkeel.release.kit.cost import CostEstimate, Costs, RewriterBudget
from evenkeel.release.kit.journal import KEPT, Answers, opened_journal
from evenkeel.release.kit.service_watch import ServiceWatch
from evenkeel.shadow.perturbations import by_name, catalogue
from evenkeel.shadow.perturbations.contrast import question_of
from evenkeel.shadow.replay import Replayer, Target
from evenkeel.shadow.rewriter import JudgedMeaning, Rewriter
from evenkeel.stores.cache import DocumentCache
from evenkeel.stores.sqlite.documents import SqliteDocuments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from evenkeel.core.pair import Answer, Pair
    from evenkeel.core.verdict import Failure, Judgement
    from evenkeel.metrics.tasks import Task
    from evenkeel.release.check.run import CheckOutcome
    from evenkeel.shadow.perturbations import Perturbation, RewriteTask
    from evenkeel.shadow.prompt import Api, PromptView
    from evenkeel.shadow.rewriter import Rejection
    from evenkeel.stores.sqlite.database import Database

CATEGORIES: Final = ("general", "positional", "format", "multilingual")
"""Categories of a check unless others are named."""
# Length of an answer that is assumed; models that reason write several times as much.
_ANSWER_TOKENS: Final = 250
# Usual length of the judge's instructions, and of its ruling about an answer.
_JUDGE_PROMPT_TOKENS: Final = 900
_RULING_TOKENS: Final = 60
# Part of the most rounds that a category takes on average before it is settled.
_UNSETTLED_SHARE: Final = 0.6
# Pairs of a round that the judge rates in one call.
_GROUP: Final = 8
# Failures in a row of a model that has answered before, after which it is not asked again.
_PATIENCE: Final = 20
OPENAI: Final = "https://api.openai.com/v1"
ANTHROPIC: Final = "https://api.anthropic.com/v1"
KEY_VARIABLE: Final = "OPENAI_API_KEY"
"""Variable with the key of an endpoint whose provider nobody knows."""
SIMULATED_JUDGE: Final = "simulated-judge"
SIMULATED_REWRITER: Final = "simulated-rewriter"
SIMULATED: Final = "simulated-"


@dataclass(frozen=True, slots=True)
class ModelAt:
    """A model behind an endpoint that speaks an API evenkeel reads."""

    model: str
    """Name that the endpoint knows."""
    base_url: str
    """Up to and including the version, as in "https://api.openai.com/v1"."""
    api_key: str = field(default="", repr=False)
    key_variable: str = ""
    """Variable that the key was taken from, for messages."""

    def target(self, api: Api) -> Target:
        """Return where its requests of an API go, with the credential.

        Raises: InputError for a URL that is none.
        """
        upstream = _upstream(self.base_url)
        headers = list(api.headers)
        # Anthropic has the key in a header of its own.
        if api.name == "messages":
            headers.append(("x-api-key", self.api_key))
        elif self.api_key:
            headers.append(("authorization", f"Bearer {self.api_key}"))
        return Target(upstream.url(f"/v1/{api.path}"), tuple(headers), upstream.unix_path)


def _upstream(url: str) -> Upstream:
    try:
        return Upstream.parse(url)
    except ValueError as error:
        raise InputError(f"--base-url: {error}") from error


def model_at(
    name: str, environ: Mapping[str, str], *, base_url: str | None = None, key_variable: str | None = None
) -> ModelAt:
    """Return a model with its endpoint and key.

    Args:
        name: Name of the model.
        environ: Variables: `OPENAI_BASE_URL`, and the key's.
        base_url: Endpoint up to and including the version. Default: `OPENAI_BASE_URL`, else the provider's
            whose models have such names.
        key_variable: Variable with the key. Default: the one usual at the provider.

    Raises: InputError for a URL that is none, and if a provider that is known to want a key gets none.
    """
    # As the SDKs have it: the variable stands behind the option, and before the provider.
    url = base_url or environ.get("OPENAI_BASE_URL") or (ANTHROPIC if name.startswith("claude") else OPENAI)
    _upstream(url)
    usual = small_model(url)
    variable = key_variable or (usual.key_variable if usual else KEY_VARIABLE)
    key = environ.get(variable, "")
    # A server that nobody knows may want no key, so only known providers are refused before the first call.
    if usual is not None and not key:
        raise InputError(
            f"${variable} is not set: put the key of {urlsplit(url).hostname} into it, name another variable "
            "with --api-key-env, or try --model simulated"
        )
    return ModelAt(name, url, key, variable)


def judge_beside(model: ModelAt, name: str | None = None) -> ModelAt:
    """Return the judge at a model's endpoint: as named, else the provider's small model, else the model."""
    small = small_model(model.base_url)
    usual = small.model if small else model.model
    if model.model.startswith(SIMULATED):
        usual = SIMULATED_JUDGE
    return ModelAt(name or usual, model.base_url, model.api_key, model.key_variable)


def rewriter_beside(judge: ModelAt) -> ModelAt:
    """Return the model that rewords texts: the judge's; where it is simulated, the simulated rewriter."""
    return replace(judge, model=SIMULATED_REWRITER) if judge.model == SIMULATED_JUDGE else judge


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """A check to make. Without a judge there is nothing but similarity, and no text is rewritten."""

    prompts: Mapping[str, Sequence[PromptView]]
    """Prompts of each arm, in the same order."""
    models: Mapping[str, ModelAt]
    """Model of each arm."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Name of each arm in reports; {} = those of the models."""
    source: str = ""
    """Name of the prompt, for titles."""
    kinds: Mapping[str, Sequence[Perturbation]]
    """Perturbations by category; see `kinds_by_category`. Contrasts are asked where there are any."""
    judge: ModelAt | None
    """Rates answers. It also writes paraphrases, translations and contrasts."""
    limit: float
    """Largest difference between rewordings and resends that is tolerated, in (0, 1]."""
    rounds: int
    """Most rounds."""
    task: Task | None = None
    severity: float = 0.13
    seed: int = 0
    prices: Prices = field(default_factory=Prices)
    journal: Path | None = None
    """File that keeps every answer; None = in memory."""
    most_usd: float | None = None
    concurrency: int = 16
    timeout_s: float = 120.0

    @property
    def options(self) -> CheckOptions:
        """The part of it that decides when a category is settled."""
        rewordings = []
        for category in self.kinds:
            if category != CONTRAST:
                rewordings.append(category)
        rewordings.sort(key=lambda name: (category_named(name).order, name))
        return CheckOptions(
            models=self.names or {arm: at.model for arm, at in self.models.items()},
            categories=tuple(rewordings),
            limit=self.limit,
            rounds=self.rounds,
            prompts=len(self.prompts[FIRST]),
            judge=self.judge.model if self.judge else "",
            source=self.source,
        )

    def estimate(self) -> CostEstimate:
        """Return about what the check may cost."""
        views, prices, options = self.prompts[FIRST], self.prices, self.options
        prompt = sum(estimate_tokens(view.text) for view in views) // max(1, len(views))
        # Twice as it is, one variant of each category, and another question whose answer has to move.
        answers = 2 + len(options.categories) + 1
        rounds = options.rounds * _UNSETTLED_SHARE
        tokens, dollars = 0.0, 0.0
        for model in options.models.values():
            tokens += rounds * answers * (prompt + _ANSWER_TOKENS)
            dollars += rounds * answers * prices.usd(model, prompt, _ANSWER_TOKENS)
            if options.judge:
                question = _JUDGE_PROMPT_TOKENS + answers * _ANSWER_TOKENS
                ruled = answers * _RULING_TOKENS
                tokens += rounds * (question + ruled)
                dollars += rounds * prices.usd(options.judge, question, ruled)
        models = [at.model for at in self.models.values()]
        if self.judge:
            models += [self.judge.model, rewriter_beside(self.judge).model]
        most = options.rounds * answers * len(options.models)
        spend = Spend(rounded(round(tokens)), dollars)
        asked = f"up to {number(most)} answers{', and their ratings' if self.judge else ''}"
        return CostEstimate(asked, spend, ceiling=False, unpriced=prices.unknown(*models))


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
        return await run_check(request.options, maker, costs, progress=progress)


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
