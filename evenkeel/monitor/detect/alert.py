"""Alert with two states on one cell: raised by evidence of a measure over its limit, resolved once none is.

Every trial is observed by up to four *measures*: how much more often the content moved than that of the
identical resend, how much less alike the answer is, how much more often a quality got worse, and whether the
answer was invalid. Each measure i has an e-detector against its own limit, with evidence E_i; the alert's
evidence is Σ w_i·E_i, with weights w_i fixed in advance that sum to 1.

**False alarms.** Suppose that every measure's mean, given all trials before, is within its limit. A gambler
enters E_i at each trial that the measure is observed in, and no wealth grows on average, so E_i rises by 1 at
most on such a trial and stays as it is on others. Σ w_i·E_i then rises by Σ w_i = 1 at most on every trial:
it is itself a Shiryaev–Roberts e-detector. Expectations add up whatever the dependence, so it does not matter
that the measures look at the same answers. Evidence starts from nothing when the alert is raised, hence n
trials raise at most n/level alerts on average, and the first one comes after `level` trials or more.

The assumption is about *trials*: those of a burst of near-equal prompts are not draws of their own, and have
to be thinned before they are observed (`Verdict.cluster`). A measure that is missing from a trial must be
missing for a reason that has nothing to do with which side did better; where it may, the caller observes the
value that speaks against an alarm.

Exchanges that are not tried with the same chance weigh accordingly (`Verdict.exchange_weight`), and so do
bets: the limit is one for the mean over all exchanges.

No client alone raises an alert while others are there: see `evenkeel.monitor.detect.clients`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from math import log, log10
from typing import TYPE_CHECKING, Any, Final, Literal

from evenkeel.monitor.detect.clients import TRAFFIC, Clients
from evenkeel.monitor.detect.e_detector import EDetector, Watch, bets_against

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.cells import Limit
    from evenkeel.monitor.detect.e_detector import Bets


class Measure(StrEnum):
    """Quantity observed in a trial; higher is worse."""

    CONTENT = "content"
    """Moved(variant) − moved(resend): −1, 0 or 1."""
    SIMILARITY = "similarity"
    """Similarity to the original lost by the variant's answer beyond the loss of the resend, in [−1, 1]."""
    QUALITY = "quality"
    """Worse(variant) − worse(resend): −1, 0 or 1."""
    INVALID = "invalid"
    """Answer that ignored the requested format or language: 0 or 1."""

    @property
    def low(self) -> float:
        """Smallest observation there can be; the largest is 1."""
        return 0.0 if self is Measure.INVALID else -1.0

    @property
    def weight(self) -> float:
        """Share of the alert's evidence if all measures are observed."""
        return _WEIGHTS[self]


_WEIGHTS: Final = {
    Measure.CONTENT: 0.4,
    Measure.SIMILARITY: 0.3,
    Measure.QUALITY: 0.2,
    Measure.INVALID: 0.1,
}


@dataclass(frozen=True, slots=True)
class AlertRules:
    """Rules by which an alert is raised and resolved."""

    limits: Mapping[Measure, Limit]
    """Limits of the watched measures, at least one."""
    mean_trials_between_false_alarms: float
    """Evidence at which the alert changes: the level."""
    others: float = 0.0
    """Share of the way to the level, in logarithms, that evidence without any one client must have gone;
    it shrinks with that client's share of the trials. 0 = no such condition."""
    weights: dict[Measure, float] = field(init=False, repr=False, compare=False)
    """Weights of the watched measures; they sum to 1."""
    rest: float = field(init=False, repr=False, compare=False)
    """Evidence after many trials with observations of 0, at most the level."""

    def __post_init__(self) -> None:
        total = sum(measure.weight for measure in self.limits)
        weights = {measure: measure.weight / total for measure in self.limits}
        object.__setattr__(self, "weights", weights)
        rest = sum(
            weights[one] * _rest(bets_against(self.limits[one].value, "above", one.low)) for one in weights
        )
        object.__setattr__(self, "rest", min(rest, self.mean_trials_between_false_alarms))


def _rest(bets: Bets) -> float:
    """Return the wealth at which what enters balances what an observation of 0 takes, over all gamblers."""
    kept = bets.factors(0)
    return sum(factor / (1 - factor) for factor in kept) / len(kept)


@dataclass(frozen=True, slots=True)
class Change:
    """Change of an alert: it was raised or resolved."""

    kind: Literal["raised", "resolved"]
    measure: Measure
    """Measure with most of the evidence; when resolved, the last one that came back within its limit."""
    limit: Limit
    run_trials: int
    """Observations of the measure since the change seems to have begun (see `Run`)."""
    run_mean: float
    """Mean of these observations, in the range of the measure."""
    clients: Mapping[str, int] = field(default_factory=dict)
    """Observations of the run by client, as far as clients are known."""


_LET_GO: Final = 0.1
"""Share of the level below which an alert is no longer held because of a client."""
_HELD: Final = 0.999
"""Share of the level to which evidence is held down while it rests on one client alone."""


class Alert:
    """Detector for measures over their limits, and afterwards for evidence that they are back within.

    A measure is *over* once it carried most of the evidence that reached the level. From then on an
    e-detector of its own looks for a mean within the limit, and the measure is over until that has
    evidence of the level as well. The alert is up while any measure is over: the others are watched
    for an excess all the time, so that it isn't resolved while the trouble has only changed its form.
    """

    __slots__ = ("_raised_at", "_watches", "_weights", "_without", "held_by", "over", "rules")

    def __init__(self, rules: AlertRules) -> None:
        self.rules = rules
        self._raised_at = 0.0
        self._weights = rules.weights
        self.over: list[Measure] = []
        """Measures that are over their limits, in the order in which they went over."""
        self._watches: dict[Measure, Watch] = {}
        """Watches of the measures that were observed; most cells never observe quality or format."""
        self._without: dict[str, dict[Measure, EDetector]] = {}
        """Detectors by client and measure that leave out the client's trials; empty while the alert is up."""
        self.held_by = ""
        """Client without whose trials there is too little evidence for an alert; "" if there is none."""

    def _watch(self, measure: Measure) -> Watch:
        watch = self._watches.get(measure)
        if watch is None:
            side: Literal["above", "below"] = "below" if measure in self.over else "above"
            watch = Watch(self.rules.limits[measure].value, side, measure.low, 1.0)
        return watch

    @property
    def up(self) -> bool:
        """True if a measure is over its limit, as far as the evidence shows."""
        return bool(self.over)

    @property
    def evidence(self) -> float:
        """Evidence that a measure is over its limit; while the alert is up, what it was when raised."""
        return self._raised_at if self.over else self._gathered()

    def _gathered(self) -> float:
        """Evidence of the measures that are not over already."""
        gathered, over, watches = 0.0, self.over, self._watches
        for measure, weight in self._weights.items():
            if measure in watches and (not over or measure not in over):
                gathered += weight * watches[measure].detector.evidence
        return gathered

    @property
    def evidence_log10(self) -> float:
        """log10 of `evidence`, and 0 while that is below 1.

        At or above the alarm level exactly while the alert is up.
        """
        evidence = self.evidence
        return log10(evidence) if evidence > 1 else 0.0

    @property
    def alarm_log10(self) -> float:
        """log10 of the evidence that raises the alert."""
        return log10(self.rules.mean_trials_between_false_alarms)

    def observe(
        self,
        observations: Mapping[Measure, float],
        client: str = "",
        clients: Clients | None = None,
        weight: float = 1.0,
    ) -> Change | None:
        """Take the observations of one trial; return the change of the alert, if any.

        Args:
            observations: By measure. One that could not be measured is left out; one without a limit is
                not watched.
            client: Client of the trial under its name in `clients`; "" if it is not known.
            clients: Clients of the latest trials, this one included.
            weight: Weight of the trial, in (0, 1].

        Raises:
            ValueError: if an observation is out of its measure's range; nothing has changed.
        """
        watches, watched = self._watches, self._weights
        for measure, observed in observations.items():
            if not 0 <= observed <= 1 and measure in watched and not measure.low <= observed <= 1:
                raise ValueError(f"{measure} must lie in [{measure.low:g}, 1], got {observed}")
        if client and clients is not None and not self.over:
            self._leave_out(client, clients)
        for measure, observed in observations.items():
            if measure in watched:
                watch = watches.get(measure)
                if watch is None:
                    watch = watches[measure] = self._watch(measure)
                watch.update(observed, client, weight)
                for name, others in self._without.items():
                    if name != client:
                        self._observe_without(others, measure, observed, weight)
        # Before anything is resolved: an alert that is up stays up if another measure is over by now.
        return self._raised(clients) or (self._resolved() if self.over else None)

    def _leave_out(self, client: str, clients: Clients) -> None:
        """Gather evidence without a client's trials from now on; forget clients who are gone."""
        for name in [one for one in self._without if one not in clients]:
            others = self._without.pop(name)
            # Else it could come back later as somebody new, with its own evidence taken for that of others.
            for measure, watch in self._watches.items():
                left = others.get(measure) or self._watch_of(measure)
                if left.evidence < watch.detector.evidence:
                    watch.detector = left
        if client not in self._without:
            self._without[client] = {
                measure: watch.detector.copy() for measure, watch in self._watches.items()
            }

    def _watch_of(self, measure: Measure) -> EDetector:
        return Watch(self.rules.limits[measure].value, "above", measure.low, 1.0).detector

    def _observe_without(
        self, others: dict[Measure, EDetector], measure: Measure, observed: float, weight: float
    ) -> None:
        detector = others.get(measure)
        if detector is None:
            detector = others[measure] = self._watch_of(measure)
        level = self.rules.mean_trials_between_false_alarms
        if detector.update(observed, weight) > level:
            detector.scale(level / detector.evidence)

    def _alone(self, clients: Clients | None) -> str:
        """Return the client without whose trials there is too little evidence; "" if there is none."""
        if clients is None or len(self._without) < _SEVERAL or not self.rules.others:
            return ""
        shares, rules = clients.shares, self.rules
        gain = rules.mean_trials_between_false_alarms / rules.rest
        for name, others in self._without.items():
            gathered = sum(self._weights[measure] * detector.evidence for measure, detector in others.items())
            share = shares.get(name, 0.0)
            if share < TRAFFIC and gathered < rules.rest * gain ** (rules.others * (1 - share)):
                return name
        return ""

    def _raised(self, clients: Clients | None) -> Change | None:
        """Mark the measure with the most evidence as over if all measures together have enough."""
        gathered, level = self._gathered(), self.rules.mean_trials_between_false_alarms
        if gathered < level:
            if gathered < _LET_GO * level:
                self.held_by = ""
            return None
        if not self.over and (alone := self._alone(clients)):
            self.held_by = alone
            for watch in self._watches.values():
                watch.detector.scale(_HELD * level / gathered)
            return None
        measure = max(
            (one for one in self._weights if one in self._watches and one not in self.over),
            key=lambda one: self._weights[one] * self._watches[one].detector.evidence,
        )
        change = self._change("raised", measure, self._watches[measure])
        was_up = self.up
        self.over.append(measure)
        if was_up:
            del self._watches[measure]
            return None
        self._raised_at = gathered
        self._watches, self._without, self.held_by = {}, {}, ""
        return change

    def _resolved(self) -> Change | None:
        """Mark measures as back within their limits if evidence says so; the last one ends the alert."""
        for measure in tuple(self.over):
            watch = self._watches.get(measure)
            if watch and watch.detector.evidence >= self.rules.mean_trials_between_false_alarms:
                self.over.remove(measure)
                del self._watches[measure]
                if not self.over:
                    return self._change("resolved", measure, watch)
        return None

    def _change(self, kind: Literal["raised", "resolved"], measure: Measure, watch: Watch) -> Change:
        limit, run = self.rules.limits[measure], watch.run
        return Change(kind, measure, limit, run.trials, run.mean, dict(watch.clients))

    def restart(self) -> bool:
        """Forget all evidence, because its subject is gone; return whether the alert was up."""
        was_up, self.over, self._watches, self._raised_at = self.up, [], {}, 0.0
        return was_up

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON values; floats survive exactly."""
        return {
            "over": [measure.value for measure in self.over],
            "raised_at": self._raised_at,
            "watches": {
                measure.value: [limit.value, self._watch(measure).to_json()]
                for measure, limit in self.rules.limits.items()
            },
            "held_by": self.held_by,
            "without": {
                name: {measure.value: detector.wealth for measure, detector in others.items()}
                for name, others in self._without.items()
            },
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any], rules: AlertRules) -> Alert:
        """Read what `to_json` wrote.

        Evidence gathered under another limit says nothing under this one: that measure starts from
        nothing. An alert that is up stays up until evidence resolves it, under any rules.
        """
        over = [Measure(name) for name in raw["over"]]
        alert = cls(rules)
        alert.over = [measure for measure in over if measure in rules.limits]
        if over and not alert.over:
            alert.over = [next(iter(rules.limits))]
        for name, (limit, watch) in raw["watches"].items():
            measure = Measure(name)
            here = rules.limits.get(measure)
            if here is not None and here.value == limit and (measure in over) == (measure in alert.over):
                alert._watches[measure] = alert._watch(measure).resume(watch)
        alert.held_by = raw.get("held_by", "")
        for name, others in raw.get("without", {}).items():
            alert._without[name] = {
                Measure(one): EDetector(watch.detector.bets, wealth)
                for one, wealth in others.items()
                if (watch := alert._watches.get(Measure(one))) and len(wealth) == len(watch.detector.wealth)
            }
        alert._raised_at = max(raw["raised_at"], rules.mean_trials_between_false_alarms) if over else 0.0
        return alert


_SEVERAL: Final = 2
MOST_TRIALS: Final = 2_000
"""Observations within which the largest possible change must be found; else a measure is blind."""


def blind_measures(
    rules: AlertRules, *, floor_rate: float | None, control_similarity: float | None
) -> frozenset[Measure]:
    """Return the measures that could not detect even a model that moves every variant as far as possible.

    Content can then move in 1 − `floor_rate` more of the variants than of the resends, and similarity fall
    by `control_similarity` on average. A measure is blind if the best of its bets on such a mean would still
    take more than 2,000 observations to reach the level. Of all distributions with that mean the one of 0 and
    1 is taken, on which bets grow most slowly.

    Args:
        rules: Rules of the alert.
        floor_rate: Share of identical resends whose content moved, in [0, 1]; None if it is not known.
        control_similarity: Mean similarity of the identical resends, in [0, 1]; None if it is not known.

    Returns: those of content and similarity that are blind; a cell in which both are, is blind. A measure of
        which nothing is known is not among them.
    """
    reach = {
        Measure.CONTENT: None if floor_rate is None else 1 - floor_rate,
        Measure.SIMILARITY: control_similarity,
    }
    return frozenset(
        measure
        for measure, mean in reach.items()
        if mean is not None and measure in rules.limits and _is_blind(rules, measure, mean)
    )


def _is_blind(rules: AlertRules, measure: Measure, mean: float) -> bool:
    bets = bets_against(rules.limits[measure].value, "above", measure.low, 1.0)
    growth = max(
        mean * log(hit) + (1 - mean) * log(miss)
        for hit, miss in zip(bets.factors(1), bets.factors(0), strict=True)
    )
    wealth = rules.weights[measure] / len(bets.stakes)
    return growth * MOST_TRIALS < log(rules.mean_trials_between_false_alarms / wealth)
