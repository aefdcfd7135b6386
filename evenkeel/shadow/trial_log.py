"""Log of trials: the outcome of each as a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel.core.verdict import (
    NO_CONTROL,
    Evidence,
    Failure,
    Scoring,
    Selection,
    ToolStep,
    TrialCost,
    Verdict,
)
from evenkeel.metrics.tool_calls import compared
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.core.exchange import Exchange
    from evenkeel.core.pair import Answer
    from evenkeel.core.verdict import Scorer
    from evenkeel.shadow.exchange_trial import TrialRun
    from evenkeel.shadow.original import Original
    from evenkeel.stores.verdict_log import VerdictLog


@dataclass(frozen=True, slots=True)
class Stamp:
    """Fields that all verdicts of a process share."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """Fingerprint of the process's settings, by route."""
    judge: str = ""
    """Model name of the judge, "" without a judge."""
    label_share: float = 0.0
    """Share of verdicts that are drawn at random for a person's label, in [0, 1]."""


class TrialLog:
    """Writes verdicts, and finds those that a dead worker left."""

    def __init__(
        self,
        verdicts: VerdictLog,
        scorer: Scorer,
        *,
        clock: Callable[[], float],
        stamp: Stamp | None = None,
        keep_reference: Callable[[Original, Verdict, Answer | None], None] | None = None,
        post_score: Callable[[Exchange, Verdict], None] | None = None,
    ) -> None:
        """Wire it.

        `keep_reference` keeps an exchange as a reference prompt, given the verdict of its identical resend
        and the answer to that. `post_score` sends a verdict to the user's own trace, and returns at once.
        Neither raises.
        """
        self._verdicts = verdicts
        self._scorer = scorer
        self._clock = clock
        self._stamp = stamp or Stamp()
        self._keep_reference = keep_reference
        self._post_score = post_score

    def of_exchange(self, exchange_id: str) -> list[Verdict]:
        """Return the logged verdicts of an exchange. Blocks on storage, as do all methods below."""
        return self._verdicts.of_exchange(exchange_id)

    def write(self, original: Original, run: TrialRun, control: Verdict | None) -> Verdict:
        """Log the verdict of a trial that was replayed.

        `control` is the verdict of the identical resend, None if this is it.
        """
        assert isinstance(run.prompt, PromptView)
        verdict = self._verdict(original, run, control)
        evidence = Evidence(
            original.view.text, run.prompt.text, original.answer, run.answer, original.view.asked
        )
        self._verdicts.append(verdict, evidence)
        if self._post_score is not None:
            self._post_score(original.exchange, verdict)
        # A reference needs a second answer to the same request; the resend is one, and has been paid for.
        if verdict.is_control and self._keep_reference is not None:
            self._keep_reference(original, verdict, run.answer)
        return verdict

    def _verdict(self, original: Original, run: TrialRun, control: Verdict | None) -> Verdict:
        trial, replay, judgement = run.trial, run.replay, run.judgement
        failure = replay if isinstance(replay, Failure) else None
        quality_failures: tuple[Failure, ...] = ()
        if judgement and judgement.rating is None and not judgement.unsure:
            # The replay worked, but nobody could rate it: that failure is the trial's.
            failure = judgement.failures[0]
        elif judgement:
            quality_failures = judgement.failures
        return Verdict(
            id=trial.id,
            exchange_id=original.exchange.id,
            scored_at=self._clock(),
            route=original.exchange.route,
            model=original.model,
            perturbation=trial.perturbation.name,
            perturbation_version=trial.perturbation.version,
            severity=trial.severity,
            seed=trial.seed,
            scoring=Scoring(
                judgement.scorer if judgement else self._scorer,
                explanation=judgement.explanation if judgement else "",
                details=judgement.details if judgement else {},
                rated_by=judgement.rated_by if judgement else "",
                judge_model=self._stamp.judge if judgement and judgement.rated_by else "",
            ),
            rating=judgement.rating if judgement else None,
            similarity=judgement.similarity if judgement else None,
            unsure=judgement.unsure if judgement else False,
            invalid=judgement.invalid if judgement else (),
            failure=failure,
            quality=judgement.quality if judgement else (),
            quality_failures=quality_failures,
            control=control.as_control if control else NO_CONTROL,
            tools=_tool_step(original, run),
            origin=original.origin,
            wanted=trial.perturbation.wanted,
            selection=Selection(
                path_weight=trial.path_weight,
                split_of=trial.split_of,
                label_share=self._stamp.label_share if judgement and not failure else 0.0,
            ),
            cost=TrialCost(
                tokens=run.spent.tokens,
                usd=run.spent.usd,
                replay_s=replay.duration_s if isinstance(replay, Replay) else 0.0,
            ),
            settings=self._stamp.settings.get(original.exchange.route, ""),
            trace_id=run.report.trace_id,
        )


def _tool_step(original: Original, run: TrialRun) -> ToolStep | None:
    """Return the comparison of the tool calls; None for a request without tools, or without an outcome."""
    judgement, answer = run.judgement, run.answer
    if judgement is None or answer is None or (judgement.rating is None and not judgement.unsure):
        return None
    offered = original.view.get("tools") or original.view.get("functions")
    if not offered and not original.answer.tool_calls and not answer.tool_calls:
        return None
    return compared(original.answer, answer, shifted=judgement.shifted)
