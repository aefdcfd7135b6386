"""Reports on cells (route × model × perturbation) and on roll-ups of cells."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.verdict import Scorer


OTHER_MODEL: Final = "other"
"""Name shared by all models that have no cells of their own."""


@dataclass(frozen=True, slots=True)
class CellKey:
    """A cell: the unit of every estimate, gauge and alert."""

    route: str
    model: str
    perturbation: str

    @property
    def parts(self) -> tuple[str, str, str]:
        """Route, model and perturbation."""
        return self.route, self.model, self.perturbation


@dataclass(frozen=True, slots=True)
class Estimate:
    """A rate or a difference of rates with its interval.

    `lower ≤ value ≤ upper`. The interval covers the truth with the stated probability at all
    times of looking together, not only at one (a confidence sequence).
    """

    value: float
    lower: float
    upper: float
    n: int
    """Observations behind it: rated trials, shifted trials, pairs or second ratings, as the estimate says."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Largest mean of a measure that is tolerated."""

    value: float
    """Value in (lowest value of the measure, 1)."""
    source: str = "default"
    """Source of the limit, for people: "settings", "calibrated on 120 goldens, 2026-11-20" …"""


@dataclass(frozen=True, slots=True)
class WindowEstimates:
    """A cell's estimates from a part of its trials; each is None below the minimum number of observations."""

    trials: int
    """Observed trials with a rating."""
    content_delta: Estimate | None
    robustness: Estimate | None
    excess: Estimate | None


Standing = Literal["within", "over", "unknown", "unmeasured"]
"""Standing of a cell on content: its points above noise are within the limit, over it, not known yet, or
not measured (no judge, no rated resend, or resends that move too often for any excess to show)."""

STANDINGS: Final[dict[Standing, str]] = {
    "within": "within its limit",
    "over": "over its limit",
    "unknown": "not known yet",
    "unmeasured": "unmeasured",
}
"""Words for people."""

QUALITY_PREFIX: Final = "quality_"
"""Prefix of the reason of a trial that has a rating but lacks quality scores."""
# Reasons of trials that no judge was asked about: neither side answered with a text, or another model did.
_NOT_ASKED: Final = frozenset({"no_text", "model_changed"})


def is_unrated(reason: str) -> bool:
    """Return whether a trial that failed for this reason was to be rated, and nobody could."""
    return reason not in _NOT_ASKED and not reason.startswith(QUALITY_PREFIX)


def unrated(failures: Mapping[str, int]) -> int:
    """Return the number of failed trials, by reason, that nobody could rate."""
    return sum(count for reason, count in failures.items() if is_unrated(reason))


# Further trials beyond which there is no telling how many a cell needs.
_MOST_TRIALS: Final = 20_000
# Share of the trials without a rating above which further ones do not narrow an interval.
_MOST_UNRATED: Final = 0.05
# Numbers of further trials are told in steps of so many: they are estimates.
_FEWEST_STEP: Final = 20
# Trials for which an assumed design effect counts: as many as four pairs of stretches, less the first.
_ASSUMED_TRIALS: Final = 240


@dataclass(frozen=True, slots=True)
class RollupEstimates:
    """Estimates over several cells; each is None below the minimum number of trials."""

    trials: int
    """Rated perturbed trials."""
    content_delta: Estimate | None
    quality_delta: Estimate | None
    quality_worse: Estimate | None
    quality_better: Estimate | None
    robustness: Estimate | None
    noise_floor: Estimate | None
    excess: Estimate | None


@dataclass(frozen=True, slots=True)
class RollupReport:
    """Report on one model of a route, over all its cells of single rewordings."""

    route: str
    model: str
    trials: int
    """Rated perturbed trials."""
    last_scored_at: float | None
    scorer: Scorer
    """Scorer of the latest rating."""
    windows: dict[Literal["all", "since_change"], RollupEstimates]


@dataclass(frozen=True, slots=True)
class ChangeMark:
    """A change of a route: answers after it are another population."""

    kind: str
    """Kind of change, as listed in `evenkeel.monitor.changes.kinds`: "model", "prompt_version" …"""
    before: str
    after: str
    at: float
    """Unix time in seconds of the first verdict after it."""
    offset: int
    """Place of that verdict in the log."""
    run: int = 0
    """Exchanges before the mark that already seem to belong to the change; trials of a cell for shares that
    moved."""
    began: float | None = None
    """Unix time in seconds of the earliest moment at which it may have come about; None = at `at`."""

    @property
    def begun_at(self) -> float:
        """Unix time in seconds of the earliest moment at which it may have come about."""
        return self.at if self.began is None else self.began


@dataclass(frozen=True, slots=True)
class RouteChanges:
    """Changes of one route."""

    route: str
    counts: dict[str, int]
    """Number of changes so far, by kind."""
    latest: tuple[ChangeMark, ...]
    """Marks of the latest four changes, oldest first."""


@dataclass(frozen=True, slots=True)
class DriftReport:
    """Comparison of a cell's content delta with its own baseline."""

    state: str
    """State by the evidence: "level", "risen" or "fallen"."""
    baseline: float
    """Content delta of the baseline."""
    trials: int
    """Number of trials behind the baseline."""
    provisional: bool
    """True if the baseline is made of the first trials since the last change and nobody approved it."""
    lower: float
    """Lower of the two lines beyond which the content delta counts as moved."""
    upper: float
    evidence_log10: float
    """log10 of the evidence that the content delta has moved; 0 without evidence, held while the alert is
    up."""


@dataclass(frozen=True, slots=True)
class CellCounts:
    """Numbers of trials of a cell, by outcome."""

    trials: int
    """Trials with a rating."""
    effective: int = 0
    """Independent trials that would tell as much: the trials over their design effect."""
    effect_shown: float = 1.0
    """Design effect that the trials show by themselves, without what is assumed of few trials."""
    failures: dict[str, int] = field(default_factory=dict)
    """Trials without a rating, by reason."""
    ratings: dict[int, int] = field(default_factory=dict)
    """Number of times each rating (1, 2, 3) was given; 0 = unsure."""
    qualities: dict[str, int] = field(default_factory=dict)
    """Shifted trials by outcome of the quality: same, worse, better, mixed or unscored."""
    pairs: dict[int, int] = field(default_factory=dict)
    """Pairs by difference: 1 = only the trial shifted, −1 = only the resend, 0 = both or neither."""
    invalids: dict[str, int] = field(default_factory=dict)
    """Answers that ignore a requirement on their form, by requirement: format, language."""


@dataclass(frozen=True, slots=True)
class CellEstimates:
    """Estimates of a cell from all its observations; each is None below the minimum number of them."""

    content_delta: Estimate | None = None
    """P(content shifted), see `Verdict.shifted`."""
    quality_delta: Estimate | None = None
    """P(any quality metric changed | content shifted), either direction; n counts shifted trials."""
    quality_worse: Estimate | None = None
    """P(quality changed for the worse only | content shifted)."""
    quality_better: Estimate | None = None
    """P(quality changed for the better only | content shifted)."""
    robustness: Estimate | None = None
    """1 − P(shift that changed quality) = 1 − content delta × quality delta."""
    excess: Estimate | None = None
    """Content delta minus the baseline's on the same exchanges, in [−1, 1]; None for the baseline."""
    unsure: Estimate | None = None
    """P(the answers are not identical, and no judge was asked)."""
    invalid: Estimate | None = None
    """P(the answer ignores the format or language asked for)."""
    similarity: Estimate | None = None
    """Mean similarity of the trials that have one, in [0, 1]."""
    control_similarity: Estimate | None = None
    """Mean similarity of the resends of the same exchanges."""
    loss: Estimate | None = None
    """Mean graded loss (`Verdict.graded_loss`) over the pairs that have one, in [−1, 1]."""
    tool_choice: Estimate | None = None
    """P(a tool is called or not, or another tool, unlike in the original); of requests that offer tools."""
    tool_choice_noise: Estimate | None = None
    """The same of the controls of the same exchanges."""
    tool_arguments: Estimate | None = None
    """P(the same tools in the same order, with other arguments); of requests that offer tools."""
    tool_arguments_noise: Estimate | None = None
    """The same of the controls of the same exchanges."""


@dataclass(slots=True)
class ToolChange:
    """Way in which tool calls change, and how often."""

    before: str
    """Tool that the original calls; "" if it calls none."""
    after: str
    """Tool that is called instead; the same one if only arguments differ."""
    argument: str
    """Arguments of that tool that differ; "" if the tool does."""
    trials: int = 0
    """Number of trials in which it happened."""
    controls: int = 0
    """Number of their controls in which it happened as well."""


@dataclass(frozen=True, slots=True)
class ToolReport:
    """Changes in the tool calls of a cell since the last change of its route."""

    steps: int
    """Trials whose request offers tools."""
    pairs: int
    """Steps whose control was compared as well."""
    changed: dict[str, int]
    """Steps by the first difference of their calls (`evenkeel.core.verdict.ToolDifference`)."""
    control: dict[str, int]
    """Controls of these steps by their own difference."""
    changes: tuple[ToolChange, ...] = ()
    """Changes of tool or arguments, those first that rewordings cause most beyond the controls."""


@dataclass(frozen=True, slots=True)
class SegmentReport:
    """Part of a cell's traffic that people can name."""

    dimension: Literal["client", "prompt_version", "task", "language", "tool"]
    value: str
    trials: int
    excess: Estimate
    """Points above noise of the segment, as a share."""
    over: bool
    """True if it is what the cell's alert is about."""

    @property
    def name(self) -> str:
        """Name for people, such as "prompt version v2"."""
        return f"{self.dimension.replace('_', ' ')} {self.value}"


@dataclass(frozen=True, slots=True)
class JudgeEstimates:
    """Estimates for the judge of one route and model; each is None with too few observations."""

    noise: Estimate | None = None
    """P(different rating when the same pair is judged again)."""
    swap_consistency: Estimate | None = None
    """P(same rating with the sides swapped); includes the judge's noise."""
    group_agreement: Estimate | None = None
    """P(same rating for a pair alone as in one call with others); includes the judge's noise."""
    decided: dict[str, int] = field(default_factory=dict)
    """Number of ratings by the stage that decided them; empty without a judge."""


@dataclass(frozen=True, slots=True)
class Detection:
    """State of a cell's detectors."""

    alert: bool = False
    """True if an excess, a loss or a worse quality is over its limit."""
    over: tuple[str, ...] = ()
    """Measures over their limits, by the evidence; empty unless the alert is up."""
    evidence_log10: float = 0.0
    """log10 of the detector's e-value against "excess ≤ threshold"."""
    alarm_log10: float = 0.0
    """Evidence at which the alert is raised: log10 of the mean trials between false alarms."""
    threshold: float = 0.0
    """Largest excess that is tolerated."""
    limits: dict[str, Limit] = field(default_factory=dict)
    """Limits by measure ("content", "similarity", "quality", "invalid"), and for "drift" in either
    direction."""
    blind: tuple[str, ...] = ()
    """Measures that cannot detect even a model that changes every variant completely, because the identical
    resends change too."""
    drift: DriftReport | None = None
    """Drift from the baseline; None while there is no baseline."""
    suspicion: float = 0.0
    """Log of the likelihood ratio of a content delta that has just risen by ten points, in
    [0, `MOST_SUSPICION`]."""


@dataclass(frozen=True, slots=True)
class CellReport:
    """Report on one cell."""

    key: CellKey
    scorer: Scorer
    """Scorer of the latest rating."""
    counts: CellCounts
    last_scored_at: float | None = None
    retired: bool = False
    """True if the cell's model no longer answers on the route."""
    estimates: CellEstimates = CellEstimates()
    since_change: WindowEstimates | None = None
    """Estimates from the trials since the route's last change; None if that is not known."""
    noise_floor: Estimate | None = None
    """Content delta of the identical resend on the same route and model."""
    judge: JudgeEstimates = JudgeEstimates()
    detection: Detection = Detection()
    clients: dict[str, float] = field(default_factory=dict)
    """Share of each client in about the latest 1,000 trials, the largest first; only of known ones."""
    tools: ToolReport | None = None
    """Changes in tool calls; None if no request offered tools since the last change."""
    segment: SegmentReport | None = None
    """Client, prompt version, task, language or tool that is over its limit, else the one that moves most."""
    revision: int | None = None
    """Number that rises with every verdict of the cell and with every other change of the report. None if
    unknown: such reports are rendered anew each time."""

    @property
    def current(self) -> WindowEstimates:
        """Return the estimates since the last change, or of all trials where too few came since."""
        since, whole = self.since_change, self.estimates
        if since is not None and (since.content_delta or since.excess or since.robustness):
            return since
        return WindowEstimates(self.counts.trials, whole.content_delta, whole.robustness, whole.excess)

    def flat(self) -> dict[str, Any]:
        """Return every figure by its name in the API, whatever part of the report holds it."""
        # Flat, so that programs need not know which part of a report holds a figure.
        figures = {part.name: getattr(self, part.name) for part in fields(self)}
        for name in ("counts", "estimates", "judge", "detection"):
            part = figures.pop(name)
            for figure in fields(part):
                figures[_API_NAMES.get(figure.name, figure.name)] = getattr(part, figure.name)
        return figures | {"standing": self.standing, "more_trials": self.more_trials}

    @property
    def standing(self) -> Standing:
        """Return what the points above noise since the last change, or an alert, say of the cell's limit.

        What came before a change is no evidence of what holds since.
        """
        excess, limit = (self.since_change or self.estimates).excess, self._content_limit
        # An alert stands until its detector ends it, though the interval may be below the limit again.
        if self.detection.alert or (excess is not None and excess.lower > limit):
            return "over"
        if self.is_blind:
            return "unmeasured"
        if excess is None:
            return "unknown" if sum(self.counts.pairs.values()) else "unmeasured"
        return "within" if excess.upper <= limit else "unknown"

    @property
    def standing_words(self) -> str:
        """Words for its standing. The value may be below the limit again while an alert is up."""
        if self.standing == "unmeasured":
            return f"unmeasured ({self.unmeasured_because})"
        excess, segment = self.current.excess, self.segment
        if self.standing != "over" or (excess is not None and excess.lower >= self._content_limit):
            return STANDINGS[self.standing]
        if segment is not None and segment.over:
            return f"over its limit for {segment.name}"
        return "over its limit when its alert was raised"

    @property
    def unmeasured_because(self) -> str:
        """Return the reason why a cell says nothing of its limit, in a word or two."""
        if self.is_blind:
            return "blind"
        # A few failures are usual; only where most trials fail are they the reason.
        failed = sum(self.counts.failures.values())
        if failed > self.counts.trials:
            reason = max(self.counts.failures, key=self.counts.failures.__getitem__)
            return f"failing: {reason.replace('_', ' ')}"
        if self.scorer == "metrics" and self.counts.trials:
            return "no judge"
        return "no rated control" if self.counts.trials else "no trial yet"

    @property
    def more_trials(self) -> int | None:
        """Return about how many further trials an unknown standing needs; None if known, or past telling.

        The interval narrows with the square root of the trials over their design effect. So it ends at the
        limit once these are as many times what they are now as its reach is of the value's distance from the
        limit, squared. What is assumed of the effect at first fades as trials show it.
        """
        if self.standing != "unknown":
            return None
        excess, limit = self.current.excess, self._content_limit
        pairs = sum(self.counts.pairs.values())
        if excess is None:
            return _FEWEST_STEP * max(1, 5 - pairs // _FEWEST_STEP)
        distance = abs(limit - excess.value)
        reach = (excess.upper if excess.value <= limit else 2 * excess.value - excess.lower) - excess.value
        if not distance or self._unrated_share > _MOST_UNRATED:
            return None
        needed = excess.n / self._effect_after(0) * (reach / distance) ** 2
        since = self.since_change
        made = excess.n if since is None or since.excess is not None else since.trials
        steps = range(_FEWEST_STEP, _MOST_TRIALS + 1, _FEWEST_STEP)
        at = bisect_left(steps, needed, key=lambda more: (made + more) / self._effect_after(more))
        return steps[at] if at < len(steps) else None

    def _effect_after(self, more: int) -> float:
        """Return the design effect after further trials that depend on each other as those so far."""
        trials, shown, effective = self.counts.trials, self.counts.effect_shown, self.counts.effective
        assumed = max(0.0, trials / effective - shown) if effective else 0.0
        return shown + assumed * (trials + _ASSUMED_TRIALS) / (trials + more + _ASSUMED_TRIALS)

    @property
    def _unrated_share(self) -> float:
        """Return the share of the trials that nobody could rate, in [0, 1]."""
        failed = unrated(self.counts.failures)
        return failed / max(1, failed + self.counts.trials)

    @property
    def _content_limit(self) -> float:
        limit = self.detection.limits.get("content")
        return limit.value if limit else self.detection.threshold

    @property
    def is_blind(self) -> bool:
        """Return whether no change in the content of answers could raise the alert."""
        seeing = "similarity" if self.estimates.control_similarity is not None else "content"
        return "content" in self.detection.blind and seeing in self.detection.blind


_API_NAMES: Final = {"noise": "judge_noise"}
