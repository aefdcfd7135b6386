"""The trials of one exchange, stage by stage.

The identical resend with what the plan says; then, in the adaptive plan, what follows from the answers to
groups of rewordings. The trials of a stage are judged together.
"""

from __future__ import annotations

import asyncio
import random
from collections import OrderedDict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.shadow.groups import (
    MOVED_WEIGHT,
    Looked,
    Standing,
    drawn_of,
    is_learning,
    is_split,
    is_suspected,
    plan_of,
    roots_of,
)
from evenkeel.shadow.perturbations import NotApplicable
from evenkeel.shadow.perturbations.control import Control
from evenkeel.shadow.perturbations.format.forms import FREE
from evenkeel.shadow.perturbations.together import Together
from evenkeel.shadow.planner import WHOLE, candidates, control_trial, trial_id, trial_of
from evenkeel.shadow.trials import Planned
from evenkeel.stores.verdict_log import readable_evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.core.verdict import Verdict
    from evenkeel.shadow.groups import ExchangePlan, Root
    from evenkeel.shadow.original import Original
    from evenkeel.shadow.perturbations import Perturbation
    from evenkeel.shadow.planner import Needs, Trial
    from evenkeel.shadow.trials import TrialMaker
    from evenkeel.stores.verdict_log import VerdictLog

    KeepReference = Callable[[Original, Verdict, Callable[[], Answer | None]], None]

_CONTROL: Final = Control()
_MOST_MODELS: Final = 256
"""Routes and models that are remembered."""


class TrialStages:
    """Makes the trials of exchanges, several exchanges at once."""

    def __init__(
        self,
        verdicts: VerdictLog,
        trials: TrialMaker,
        needs: Callable[[str, str], Needs],
        keep_reference: KeepReference | None = None,
    ) -> None:
        """Wire it.

        Args:
            verdicts: Where verdicts are found that a dead worker has left.
            trials: Makes trials.
            needs: Route and model → what is still to be learnt.
            keep_reference: As `Worker` takes it.
        """
        self._verdicts = verdicts
        self._trials = trials
        self._needs = needs
        self._keep_reference = keep_reference
        self._standings: OrderedDict[tuple[str, str], Standing] = OrderedDict()

    async def make(self, original: Original) -> int | Literal["budget", "settled"]:
        """Make what is missing of an exchange's trials.

        Returns: how many verdicts the exchange has now; why it has none: "budget" if nothing may be spent,
            "settled" if there is little to learn and chance left it out.
        """
        exchange, route = original.exchange, original.route
        run = await self._run(original)
        needs = self._standing_of(original).settled(self._needs(exchange.route, original.model))
        # Not for evidence on its way to an alert: that of drift comes far by chance where nothing changes.
        run.urgent = needs.urgent
        learning = is_learning(route.perturbations, route.trials_per_exchange, needs.cells)
        if learning or route.settled_rate is None:
            run.can_wait = not learning and not is_suspected(needs)
            await self._uniform(run, needs)
        else:
            plan = plan_of(
                exchange.id,
                roots_of(route.perturbations),
                needs.cells,
                route.settled_rate,
                urgent=needs.urgent,
            )
            run.can_wait = not is_suspected(needs)
            run.draw_severity()
            first = await asyncio.to_thread(self._first, run, plan)
            if not (first or plan.drawn or run.verdicts):
                return "settled"
            await self._make(run, first)
            if run.control is not None:
                await self._follow(run, plan.roots)
        return len(run.verdicts) or "budget"

    async def _run(self, original: Original) -> _Run:
        found = await asyncio.to_thread(self._verdicts.of_exchange, original.exchange.id)
        return _Run(original, {verdict.id: verdict for verdict in found})

    async def _uniform(self, run: _Run, needs: Needs) -> None:
        """As many rewordings as the route says, by need; one that does not apply costs nothing."""
        original = run.original
        count = original.route.trials_per_exchange - len(run.verdicts.keys() - {run.resend.id})
        trials = candidates(original.exchange.id, original.route, needs.cells)
        await self._make(run, await asyncio.to_thread(self._applicable, run, trials, count))

    def _first(self, run: _Run, plan: ExchangePlan) -> list[Planned]:
        """The roots of a plan, as far as they apply."""
        trials: list[Trial] = []
        for looked in plan.roots:
            if looked.whole:
                trials.append(run.trial(looked.root.perturbation))
            trials += (run.part(looked.root, kind) for kind in looked.alone)
        return self._applicable(run, trials, len(trials))

    async def _follow(self, run: _Run, roots: Sequence[Looked]) -> None:
        """What follows from the answers to groups, which are rewordings by themselves."""
        groups = [looked for looked in roots if looked.whole and looked.root.is_group]
        await self._try(run, [trial for looked in groups for trial in self._singles(run, looked)])

    def _singles(self, run: _Run, looked: Looked) -> Iterable[Trial]:
        """All rewordings of a group whose answer moved, if chance splits it; else the drawn one, if any."""
        root, exchange_id = looked.root, run.original.exchange.id
        drawn = drawn_of(exchange_id, root, looked.pace)
        group = run.of(root.perturbation)
        split = group is not None and bool(group.shifted) and is_split(exchange_id, root, looked.pace)
        for kind in root.kinds:
            if kind in looked.alone or not (split or kind is drawn):
                continue
            trial = run.part(root, kind)
            because = "" if kind is drawn or group is None else group.id
            yield replace(trial, path_weight=MOVED_WEIGHT if split else 1.0, split_of=because)

    async def _try(self, run: _Run, trials: Sequence[Trial]) -> None:
        if trials:
            await self._make(run, await asyncio.to_thread(self._applicable, run, trials, len(trials)))

    def _applicable(self, run: _Run, trials: Iterable[Trial], count: int) -> list[Planned]:
        """The first `count` of the trials that are not made yet and can be."""
        planned: list[Planned] = []
        for trial in trials:
            if len(planned) >= count:
                break
            if trial.id in run.verdicts:
                continue
            outcome = self._trials.outcome(run.original, trial)
            if isinstance(outcome, NotApplicable):
                self._trials.skip(trial, run.original.exchange.route, outcome.reason)
            else:
                planned.append(Planned(run.timed(trial), outcome))
        return planned

    async def _make(self, run: _Run, planned: Sequence[Planned]) -> None:
        """Make trials side by side; answers in a format wait for the free one, with which they compare."""
        original = run.original
        free_id = trial_id(original.exchange.id, FREE.name, WHOLE)
        with_free = free_id in run.verdicts or any(one.trial.id == free_id for one in planned)
        formats: list[Planned] = []
        others: list[Planned] = []
        for one in planned:
            waits = with_free and one.trial.perturbation.wanted.format not in {None, FREE.format}
            (formats if waits else others).append(one)
        if others or run.control is None:
            await self._together(run, others)
        if formats and run.control is not None:
            await self._together(run, formats, await self._free_answer(run.verdicts.get(free_id)))

    async def _together(self, run: _Run, planned: Sequence[Planned], free: Answer | None = None) -> None:
        """Make trials side by side; with the first ones the identical resend, if there is none yet."""
        original, is_new = run.original, run.control is None
        if is_new:
            planned = [Planned(run.timed(run.resend), original.view), *planned]
        for verdict in await self._trials.make(original, planned, run.control, free=free):
            run.add(verdict)
        run.control = run.verdicts.get(run.resend.id)
        if is_new and run.control is not None and self._keep_reference is not None:
            answer = partial(self._answer, run.control.id)
            await asyncio.to_thread(self._keep_reference, original, run.control, answer)

    async def _free_answer(self, verdict: Verdict | None) -> Answer | None:
        """The answer in plain prose; None if there is none, if it is no prose, or if it is no longer kept."""
        if verdict is None or verdict.invalid:
            return None
        return await asyncio.to_thread(self._answer, verdict.id)

    def _answer(self, verdict_id: str) -> Answer | None:
        """The answer that a verdict is about; None if there is none, or if it is no longer kept."""
        evidence = readable_evidence(self._verdicts, verdict_id)
        return evidence.candidate if evidence else None

    def _standing_of(self, original: Original) -> Standing:
        key = original.exchange.route, original.model
        standing = self._standings.setdefault(key, Standing())
        self._standings.move_to_end(key)
        if len(self._standings) > _MOST_MODELS:
            self._standings.popitem(last=False)
        return standing


class _Run:
    """One exchange, and the verdicts it has so far."""

    __slots__ = ("can_wait", "control", "original", "resend", "severity", "urgent", "verdicts")

    def __init__(self, original: Original, verdicts: dict[str, Verdict]) -> None:
        self.original = original
        self.verdicts = verdicts
        self.resend = control_trial(original.exchange.id, _CONTROL)
        self.control = verdicts.get(self.resend.id)
        self.severity = WHOLE
        self.can_wait = False
        self.urgent = False

    def draw_severity(self) -> None:
        """Choose one severity for all of its trials."""
        severities = self.original.route.severities
        self.severity = random.Random(f"{self.original.exchange.id}/severity").choice(severities)

    def add(self, verdict: Verdict | None) -> None:
        if verdict is not None:
            self.verdicts[verdict.id] = verdict

    def timed(self, trial: Trial) -> Trial:
        """A trial that says how urgent it is."""
        return replace(trial, can_wait=self.can_wait, urgent=self.urgent)

    def trial(self, perturbation: Perturbation) -> Trial:
        severity = self.severity if perturbation.graded else WHOLE
        return trial_of(self.original.exchange.id, perturbation, severity)

    def part(self, root: Root, kind: Perturbation) -> Trial:
        """A rewording by itself, with the choices that it makes in its group."""
        trial = self.trial(kind)
        whole = self.trial(root.perturbation)
        assert isinstance(root.perturbation, Together)
        return replace(trial, seed=root.perturbation.seed_of(kind, whole.seed))

    def of(self, perturbation: Perturbation) -> Verdict | None:
        return self.verdicts.get(self.trial(perturbation).id)
