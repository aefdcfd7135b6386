"""Alert with two states on one cell: raised by evidence of a measure over its limit, resolved once none is.

Every trial is observed by up to five *measures*: how much more often the content moved than that of the
identical resend, how much less alike the answer is, how much more often a quality got worse, and whether the
answer was invalid. Each measure i has an e-detector against its own limit, with evidence E_i; the alert's
evidence is Σ w_i·E_i, with weights w_i fixed in advance that sum to 1.

**False alarms.** Suppose that every measure's mean, given all trials before, is within its limit. A gambler
enters E_i at each trial that the measure is observed in, and no wealth grows on average, so E_i rises by 1 at
most on such a trial and stays as it is on others. Σ w_i·E_i then rises by Σ w_i = 1 at most on every trial:
it is itself a Shiryaev–Roberts e-detector. Expectations add up whatever the dependence, so it does not matter
that the measures look at the same answers. Evidence starts from nothing when the alert is raised, hence n
trials raise at most n/level alerts on average, and the first one comes after `level` trials or more.

Trials of real traffic depend on their neighbours. What that does to bets is in `e_detector`; nothing is left
out. A measure that is missing from a trial must be missing for a reason that has nothing to do with which
side did better; where it may, the caller observes the value that speaks against an alarm.

Exchanges that are not tried with the same chance weigh accordingly (`Verdict.exchange_weight`), and so do
bets: the limit is one for the mean over all exchanges.

A fifth measure is the content of the segments that people can name: see `evenkeel.monitor.detect.segments`.
"""

from __future__ import annotations

from enum import StrEnum
from math import log, log10
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct, field

from evenkeel.core.cells import Limit  # noqa: TC001 - msgspec reads the annotations
from evenkeel.monitor.detect.e_detector import DetectorRun, Watch, bets_against
from evenkeel.monitor.detect.segments import SegmentName, Segments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.monitor.detect.segments import Dimension


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
    SEGMENT = "segment"
    """Content in one client, prompt version, task, language or tool: −1, 0 or 1."""

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
    Measure.SIMILARITY: 0.25,
    Measure.QUALITY: 0.15,
    Measure.INVALID: 0.1,
    Measure.SEGMENT: 0.1,
}


class AlertRules(Struct, dict=True):
    """Rules by which an alert is raised and resolved."""

    limits: dict[Measure, Limit]
    """Limits of the watched measures, at least one."""
    mean_trials_between_false_alarms: float
    """Evidence at which the alert changes: the level."""

    def __post_init__(self) -> None:
        self.weights: dict[Measure, float] = {}
        """Weights of the watched measures; they sum to 1."""
        total = sum(measure.weight for measure in self.limits)
        for measure in self.limits:
            self.weights[measure] = measure.weight / total


class AlertChange(Struct, frozen=True):
    """Change of an alert: it was raised or resolved."""

    kind: Literal["raised", "resolved"]
    measure: Measure
    """Measure with most of the evidence; when resolved, the last one that came back within its limit."""
    limit: Limit
    run_trials: int
    """Observations of the measure since the change seems to have begun (see `DetectorRun`)."""
    run_mean: float
    """Mean of these observations, in the range of the measure."""
    clients: Mapping[str, int] = field(default_factory=dict)
    """Observations of the run by client, as far as clients are known."""
    segment: str = ""
    """Segment that is over its limit; "" if the traffic as a whole is."""


# Line of segments where they have no limit: it is never read.
_UNWATCHED: Final = 0.999
# Trials without a segment after which its alert ends.
_GONE_AFTER: Final = 1_000


class Alert(Struct):
    """Detector for measures over their limits, and afterwards for evidence that they are back within.

    A measure is *over* once it carried most of the evidence that reached the level. From then on an
    e-detector of its own looks for a mean within the limit, and the measure is over until that has
    evidence of the level as well. The alert is up while any measure is over: the others are watched
    for an excess all the time, so that it isn't resolved while the trouble has only changed its form.
    """

    rules: AlertRules
    over: list[Measure] = field(default_factory=list)
    """Measures that are over their limits, in the order in which they went over."""
    raised_at: float = 0.0
    """Evidence that raised it; 0 unless it is up."""
    watches: dict[Measure, Watch] = field(default_factory=dict)
    """Watches of the measures that were observed; most cells never observe quality or format."""
    segments: Segments = field(default_factory=lambda: Segments(_UNWATCHED))
    segment: SegmentName | None = None
    """Segment that is over its limit; None unless `over` has that measure."""

    def __post_init__(self) -> None:
        if not self.segments.trials:
            self.segments.line = self._segment_line

    @property
    def _segment_line(self) -> float:
        limit = self.rules.limits.get(Measure.SEGMENT)
        return limit.value if limit else _UNWATCHED

    def follow(self, rules: AlertRules) -> None:
        """Go on under rules that may be others.

        Evidence gathered under another limit says nothing under this one: that measure starts from
        nothing. An alert that is up stays up until evidence resolves it, under any rules.
        """
        self.rules, was_over = rules, self.over
        if was_over:
            kept = [measure for measure in was_over if measure in rules.limits]
            self.over = kept or [next(iter(rules.limits))]
            self.raised_at = max(self.raised_at, rules.mean_trials_between_false_alarms)
        for measure, watch in list(self.watches.items()):
            limit = rules.limits.get(measure)
            if limit is None or limit.value != watch.line or (measure in was_over) != (measure in self.over):
                del self.watches[measure]
        self.segments.move_line(self._segment_line)

    def _watch(self, measure: Measure) -> Watch:
        watch = self.watches.get(measure)
        if watch is None:
            side: Literal["above", "below"] = "below" if measure in self.over else "above"
            watch = Watch(self.rules.limits[measure].value, side, measure.low)
        return watch

    @property
    def up(self) -> bool:
        """True if a measure is over its limit, as far as the evidence shows."""
        return bool(self.over)

    @property
    def evidence(self) -> float:
        """Evidence that a measure is over its limit; while the alert is up, what it was when raised."""
        return self.raised_at if self.over else self._gathered()

    def _gathered(self) -> float:
        gathered, over, watches = 0.0, self.over, self.watches
        for measure, weight in self.rules.weights.items():
            if over and measure in over:
                continue
            if measure is Measure.SEGMENT:
                gathered += weight * self.segments.evidence
            elif measure in watches:
                gathered += weight * watches[measure].evidence
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
        segments: Mapping[Dimension, str] | None = None,
        weight: float = 1.0,
        effect: float = 1.0,
    ) -> AlertChange | None:
        """Take the observations of one trial; return the change of the alert, if any.

        Args:
            observations: By measure. One that could not be measured is left out; one without a limit is
                not watched.
            segments: Value of the trial in each dimension that is known.
            weight: Weight of the trial, in (0, 1].
            effect: Design effect of the trials before, at least 1.

        Raises:
            ValueError: if an observation is out of its measure's range; nothing has changed.
        """
        watches, watched = self.watches, self.rules.weights
        for measure, observed in observations.items():
            if not 0 <= observed <= 1 and measure in watched and not measure.low <= observed <= 1:
                raise ValueError(f"{measure} must lie in [{measure.low:g}, 1], got {observed}")
        client = ""
        if segments:
            client = self._observe_segments(segments, observations.get(Measure.CONTENT), weight, effect)
        for measure, observed in observations.items():
            if measure in watched:
                watch = watches.get(measure)
                if watch is None:
                    watch = watches[measure] = self._watch(measure)
                watch.update(observed, client, weight, effect)
        # Before anything is resolved: an alert that is up stays up if another measure is over by now.
        return self._raised() or (self._resolved() if self.over else None)

    def observe_unrated(self, effect: float = 1.0) -> None:
        """Take a trial that nobody could rate: what is over its limit may have been so in it, too.

        A judge that fails is missed where answers differ, so the others would look as if all were well again.
        """
        for measure in self.over:
            watch = self.watches.get(measure)
            if watch is not None:
                watch.update(1.0, "", 1.0, effect)

    def _observe_segments(
        self, segments: Mapping[Dimension, str], observed: float | None, weight: float, effect: float
    ) -> str:
        """Pass a trial to its segments; return its client if that has a place among them."""
        alarm = self.segments.observe(segments, observed, weight, effect)
        if self.segment in alarm and observed is not None:
            watch = self.watches.get(Measure.SEGMENT)
            if watch is None:
                watch = self.watches[Measure.SEGMENT] = self._watch(Measure.SEGMENT)
            watch.update(observed, "", weight, effect)
        return next((name.value for name in alarm if name.dimension == "client"), "")

    def _raised(self) -> AlertChange | None:
        gathered = self._gathered()
        if gathered < self.rules.mean_trials_between_false_alarms:
            return None
        measure = max(
            (measure for measure in self.rules.weights if measure not in self.over),
            key=lambda measure: self.rules.weights[measure] * self._evidence_of(measure),
        )
        change = self._change("raised", measure)
        was_up = self.up
        self.over.append(measure)
        if measure is Measure.SEGMENT:
            self.segment = self.segments.leading()
        self.segments.forget_evidence()
        # The alert is up already, so nobody is told again: this measure now has to come back as well.
        if was_up:
            self.watches.pop(measure, None)
            return None
        # From here on each watch looks for the way back of a measure, or for a further one that goes over.
        self.raised_at = gathered
        self.watches = {}
        return change

    def _evidence_of(self, measure: Measure) -> float:
        if measure is Measure.SEGMENT:
            return self.segments.evidence
        watch = self.watches.get(measure)
        return watch.evidence if watch else 0.0

    @property
    def _is_segment_gone(self) -> bool:
        segment = self.segments.find(self.segment)
        return segment is None or self.segments.trials - segment.last >= _GONE_AFTER

    def _resolved(self) -> AlertChange | None:
        """Mark measures as back within their limits if evidence says so; the last one ends the alert."""
        level = self.rules.mean_trials_between_false_alarms
        for measure in tuple(self.over):
            watch = self.watches.get(measure)
            gone = measure is Measure.SEGMENT and self._is_segment_gone
            if gone or (watch and watch.evidence >= level):
                change = self._change("resolved", measure)
                self.over.remove(measure)
                self.watches.pop(measure, None)
                if measure is Measure.SEGMENT:
                    self.segment = None
                    self.segments.forget_evidence()
                if not self.over:
                    return change
        return None

    def _change(self, kind: Literal["raised", "resolved"], measure: Measure) -> AlertChange:
        limit, watch, segment = self.rules.limits[measure], self.watches.get(measure), ""
        run, clients = (watch.run, watch.clients) if watch else (DetectorRun(), {})
        if measure is Measure.SEGMENT:
            name = self.segment or self.segments.leading()
            segment = str(name) if name else ""
            leading = self.segments.find(name)
            if kind == "raised" and name and leading:
                run = leading.run
                clients = {name.value: run.trials} if name.dimension == "client" else {}
        return AlertChange(kind, measure, limit, run.trials, run.mean, dict(clients), segment)

    def restart(self) -> bool:
        """Forget all evidence, because its subject is gone; return whether the alert was up."""
        was_up, self.over, self.watches, self.raised_at = self.up, [], {}, 0.0
        self.segment = None
        self.segments.forget_evidence()
        return was_up


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
    measures = set()
    for measure, mean in reach.items():
        if mean is not None and measure in rules.limits and _is_blind(rules, measure, mean):
            measures.add(measure)
    return frozenset(measures)


def _is_blind(rules: AlertRules, measure: Measure, mean: float) -> bool:
    bets = bets_against(rules.limits[measure].value, "above", measure.low, 1.0)
    growth = 0.0
    for hit, miss in zip(bets.factors(1), bets.factors(0), strict=True):
        growth = max(growth, mean * log(hit) + (1 - mean) * log(miss))
    wealth = rules.weights[measure] / len(bets.stakes)
    return growth * MOST_TRIALS < log(rules.mean_trials_between_false_alarms / wealth)
