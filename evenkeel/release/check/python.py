"""`evenkeel check` as a function for Python and notebooks: `from evenkeel import check`."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenkeel.core.errors import UserError
from evenkeel.core.figures import listing
from evenkeel.llm.price import ModelPrice, Prices
from evenkeel.release.check.figures import FIRST, SECOND
from evenkeel.release.check.prompts import read_prompts
from evenkeel.release.check.run import CheckRequest, ModelAt, judge_beside, model_at
from evenkeel.release.check.service import kinds_by_category, make_check
from evenkeel.release.kit.arguments import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.release.check.run import CheckOutcome

log = logging.getLogger("evenkeel")


def check(
    prompt: str | Sequence[Mapping[str, Any]] | Mapping[str, Any],
    *,
    model: str,
    inputs: Sequence[Mapping[str, Any]] | None = None,
    against: str | None = None,
    base_url: str | None = None,
    api_key_env: str | None = None,
    judge: str | bool = True,
    perturbations: str | Sequence[str] = (),
    limit: float = 10.0,
    rounds: int = 200,
    budget_usd: float | None = 1.0,
    prices: Mapping[str, tuple[float, float]] | None = None,
    journal: str | Path | None = None,
    seed: int = 0,
) -> CheckOutcome:
    """Measure how much a model's answers to a prompt depend on its wording; see `evenkeel check --help`.

    Args:
        prompt: A text, a list of messages, or a request body; may hold `{{variables}}`.
        model: Name of the model.
        inputs: Values of the variables: a list of mappings, one per input.
        against: Second model, compared with the first.
        base_url: Endpoint. Default: `OPENAI_BASE_URL`, else the provider's.
        api_key_env: Variable with the key. Default: the provider's usual one.
        judge: Model that rates the answers; True = a small one of the same provider, False = none.
        perturbations: Names, categories or patterns, in a list or comma-separated. Default: general,
            positional, format, multilingual, and tools if the prompt is a request with tools.
        limit: Largest acceptable difference, in points above noise; above 0 and at most 100.
        rounds: Most rounds.
        budget_usd: Most that is spent; None = no limit. Calls to models without a price are not counted.
        prices: Model to US dollars per million tokens of prompts and of answers, for models without one.
        journal: File that keeps answers, so that a stopped check can continue. Default: none.
        seed: Seed of every choice.

    Returns: the outcome; `outcome.arms["first"]` has the figures of each category, and
        `evenkeel.release.check.report.as_json` writes it.
    Raises: UserError for arguments that cannot be used; UnusableError if the model cannot be asked.
    """
    if model == "simulated":
        raise UserError(
            "model: only the command line starts a simulated model; run `evenkeel simulate`, and give "
            'model="simulated-1" and its base_url'
        )
    if prompt is None or rounds < 1:
        raise UserError("prompt and rounds: a check needs a prompt, and at least one round")
    text = prompt if isinstance(prompt, str) else json.dumps(prompt, ensure_ascii=False)
    views = read_prompts(text, inputs, "prompt")
    first = model_at(model, os.environ, base_url=base_url, key_variable=api_key_env)
    models = {FIRST: first}
    if against is not None:
        models[SECOND] = ModelAt(against, first.base_url, first.api_key, first.key_variable)
    if not 0 < limit <= 100:  # noqa: PLR2004 - points of 100
        raise UserError(f"limit: must be above 0 and at most 100 points, not {limit:g}")
    kinds = words(perturbations) if isinstance(perturbations, str) else perturbations
    rater = judge_beside(first, judge if isinstance(judge, str) else None) if judge else None
    request = CheckRequest(
        prompts=dict.fromkeys(models, views),
        models=models,
        kinds=kinds_by_category(kinds, views, rewriter=rater is not None),
        judge=rater,
        limit=limit / 100,
        rounds=rounds,
        seed=seed,
        journal=None if journal is None else Path(journal),
        most_usd=budget_usd,
        prices=Prices({name: ModelPrice(*price) for name, price in (prices or {}).items()}),
    )
    unpriced = request.estimate().unpriced
    if unpriced and budget_usd is not None:
        log.warning("budget_usd: calls to %s are not counted; give the price in `prices`", listing(unpriced))
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return make_check(request)
    # A notebook has an event loop of its own, and a thread cannot run two.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(make_check, request).result()
