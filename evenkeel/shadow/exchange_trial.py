"""Trials of one exchange: the ones planned for it, and their verdicts so far.

All of it is decided here and nothing is sent. Every choice follows from the exchange's id, from what is known
of its route's cells and from the verdicts in the log, so another worker goes on where one has died.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.budget import NOTHING
from evenkeel.shadow.groups import (
    MOVED_WEIGHT,
    drawn_of,
    is_learning,
    is_split,
    is_suspected,
    plan_of,
    roots_of,
)
from evenkeel.shadow.observer import WorkReport
from evenkeel.shadow.perturbations import NotApplicable
from evenkeel.shadow.perturbations.compound import Together
from evenkeel.shadow.perturbations.control import IdenticalResend
from evenkeel.shadow.planner import SEVERITIES, WHOLE, candidates, contrasts_of, trial_of
from evenkeel.shadow.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from evenkeel.core.budget import BudgetAccount, Spend
    from evenkeel.core.pair import Answer
    from evenkeel.core.verdict import Failure, Judgement, Verdict
    from evenkeel.llm.price import Quote
    from evenkeel.shadow.groups import Root, RootTrials
    from evenkeel.shadow.original import Original
    from evenkeel.shadow.perturbations import Draft, Outcome, Perturbation
    from evenkeel.shadow.planner import Needs, Trial
    from evenkeel.shadow.prompt import PromptView

_CONTROL: Final = IdenticalResend()


@dataclass(slots=True)
class TrialRun:
    """A trial on its way: planned, then quoted and booked, then replayed, then judged."""

    trial: Trial
    prompt: PromptView | Draft
    """Variant of the prompt; a draft until its texts are rewritten."""
    report: WorkReport = field(default_factory=WorkReport)
    quote: Quote = field(init=False)
    replaying: BudgetAccount = field(init=False)
    """Budget of the replay."""
    replay: Replay | Failure | None = None
    """None until it is replayed."""
    judgement: Judgement | None = None
    """Judgement of the answer; None if the replay brought no answer."""
    judging: Spend = NOTHING
    """Cost of the judgement, with a share of what failed."""

    @property
    def answer(self) -> Answer | None:
        """Return the answer to the variant; None if there is none."""
        return self.replay.answer if isinstance(self.replay, Replay) else None

    @property
    def spent(self) -> Spend:
        """Return the cost of the trial."""
        return self.replaying.spent.plus(self.judging)


class ExchangeTrial:
    """Trials of one exchange in two rounds: `first`, then `follow`."""

    def __init__(
        self,
        original: Original,
        needs: Needs,
        verdicts: Iterable[Verdict] = (),
        *,
        outcome: Callable[[Trial], Outcome],
        skip: Callable[[Trial, str], None] = lambda _trial, _reason: None,
    ) -> None:
        """Start the trials of an exchange, some of whose verdicts may be in the log already.

        `outcome` applies a trial's perturbation to the prompt, without a call. `skip` is called with a trial
        that does not apply, and the reason.
        """
        self.original = original
        self.verdicts = {verdict.id: verdict for verdict in verdicts}
        self.resend: Replay | Failure | None = None
        """Replay of the identical resend; None if it was not made by this process."""
        self.control_trial = trial_of(original.exchange.id, _CONTROL, 0.0)
        self.urgent = needs.urgent
        """True if its calls may use the reserve of the budget, because its route has just changed or is
        suspected to have. Evidence on its way to an alert does not count: evidence of drift rises far by
        chance even if nothing changes."""
        route = original.route
        learning = is_learning(route.perturbations, route.trials_per_exchange, needs.cells)
        self.can_wait = not learning and not is_suspected(needs)
        """True if its calls may go to a cheaper tier."""
        self._needs = needs
        self._adaptive = not learning and route.settled_rate is not None
        self._outcome = outcome
        self._skip = skip
        self._severity = WHOLE
        if self._adaptive:
            chance = random.Random(f"{original.exchange.id}/severity")
            self._severity = chance.choice(SEVERITIES)
        self._roots: tuple[RootTrials, ...] = ()

    @property
    def control(self) -> Verdict | None:
        """Return the verdict of the identical resend; None while there is none."""
        return self.verdicts.get(self.control_trial.id)

    def first(self) -> list[TrialRun] | None:
        """Return the trials of the first round, led by the identical resend if it has no verdict yet.

        Returns: None if everything is settled and chance leaves the exchange out.
        """
        if self._adaptive:
            rewordings = self._roots_to_try()
            if rewordings is None:
                return None
        else:
            rewordings = self._by_need()
        rewordings += self._contrast()
        if self.control is None:
            return [TrialRun(self.control_trial, self.original.view), *rewordings]
        return rewordings

    def follow(self) -> list[TrialRun]:
        """Return the single rewordings to try, given the answers to the groups that contain them."""
        trials: list[Trial] = []
        for looked in self._roots:
            if looked.whole and looked.root.is_group:
                trials += self._singles(looked)
        return self._applicable(trials, len(trials))

    def _by_need(self) -> list[TrialRun]:
        """Return as many rewordings as the route allows, the least known first."""
        original = self.original
        left = original.route.trials_per_exchange
        for verdict in self.verdicts.values():
            if not (verdict.is_control or verdict.is_contrast):
                left -= 1
        trials = candidates(original.exchange.id, original.route, self._needs.cells)
        return self._applicable(trials, left)

    def _contrast(self) -> list[TrialRun]:
        """Return the contrast of this exchange, if it has one and none was made."""
        if any(verdict.is_contrast for verdict in self.verdicts.values()):
            return []
        drawn = list(contrasts_of(self.original.exchange.id, self.original.route))
        # Of several values in a learned template nobody knows which one the answer depends on.
        if not drawn or len(self.original.view.typed) != 1:
            return []
        for trial in drawn:
            outcome = self._outcome(trial)
            if not isinstance(outcome, NotApplicable):
                return [TrialRun(trial, outcome)]
        return []

    def _roots_to_try(self) -> list[TrialRun] | None:
        """Return the applicable trials of the adaptive plan; None if the exchange is left out."""
        original = self.original
        assert original.route.settled_rate is not None
        plan = plan_of(
            original.exchange.id,
            roots_of(original.route.perturbations),
            self._needs.cells,
            original.route.settled_rate,
            urgent=self.urgent,
        )
        trials: list[Trial] = []
        for looked in plan.roots:
            if looked.whole:
                trials.append(self._trial(looked.root.perturbation))
            trials += (self._part(looked.root, kind) for kind in looked.alone)
        trials_applicable = self._applicable(trials, len(trials))
        if not (trials_applicable or plan.drawn or self.verdicts):
            return None
        self._roots = plan.roots
        return trials_applicable

    def _singles(self, looked: RootTrials) -> Iterator[Trial]:
        """Yield all rewordings of a group that is split; else only the drawn one, if there is one."""
        root, exchange_id = looked.root, self.original.exchange.id
        drawn = drawn_of(exchange_id, root, looked.pace)
        group = self.verdicts.get(self._trial(root.perturbation).id)
        split = group is not None and bool(group.shifted) and is_split(exchange_id, root, looked.pace)
        for kind in root.kinds:
            if kind in looked.alone or not (split or kind is drawn):
                continue
            because = "" if kind is drawn or group is None else group.id
            weight = MOVED_WEIGHT if split else 1.0
            yield replace(self._part(root, kind), path_weight=weight, split_of=because)

    def _applicable(self, trials: Sequence[Trial], count: int) -> list[TrialRun]:
        """Return the first `count` trials that apply and have no verdict yet."""
        runs: list[TrialRun] = []
        for trial in trials:
            if len(runs) >= count:
                break
            if trial.id in self.verdicts:
                continue
            outcome = self._outcome(trial)
            if isinstance(outcome, NotApplicable):
                self._skip(trial, outcome.reason)
            else:
                runs.append(TrialRun(trial, outcome))
        return runs

    def _trial(self, perturbation: Perturbation) -> Trial:
        severity = self._severity if perturbation.graded else WHOLE
        return trial_of(self.original.exchange.id, perturbation, severity)

    def _part(self, root: Root, kind: Perturbation) -> Trial:
        """Return the trial of a rewording by itself, with the random choices it makes in its group."""
        assert isinstance(root.perturbation, Together)
        whole = self._trial(root.perturbation)
        return replace(self._trial(kind), seed=root.perturbation.seed_of(kind, whole.seed))
