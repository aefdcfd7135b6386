"""Drift of a rate from what it was, by prompt version and judge.

A prompt version or a judge is something that people can name and change, so trials of each form a *stratum*
and are compared with former trials of the same one. Nothing else divides traffic: every further stratum has
to learn its own rate first, and a fall that is common to all of them waits for that. A new prompt version
borrows: its rate is that of all versions under the same judge, until it has trials of its own. A new judge
borrows nothing.

**The test.** A stratum with k hits in n trials predicts its next trial by (k + 20 r)/(n + 20), with r the
rate of all versions; the only version of a judge by r itself, (k + ½)/(n + 1). Gamblers bet on each trial
against that, some on a rise and some on a fall; evidence is the wealth of all, of which 1 enters with each
trial (`evenkeel.monitor.detect.e_detector`). All strata share the wealth, so a shift that is common to them
adds up. The line is no estimate frozen at some time, it follows all trials, so the baseline works from early
on and gets better with every trial, and its error is part of the bet.

**False alarms.** For one stratum the line is the exact probability of a hit, given all trials before, if its
rate was drawn from Jeffreys' prior and has not changed since. No bet wins on average then, and the number of
trials to an alarm is at least the level, averaged over that prior. For a single rate, or several strata, it
is no theorem: `python -m benchmarks.detection` measures it for rates from .02 to .5. Whatever is done below
is decided before the next trial is seen or takes wealth away, so it changes nothing about that.

**Bursts.** Trials that depend on their neighbours are bet on less, and while the latest ten hold four hits
more than expected, bets on a rise are a twentieth. So a burst or a batch that moves as a whole is worth a few
bets, a rise of less than that keeps most of its trials, and a larger one is found by its first trials. Bets
on a fall cannot do so, because trials without a hit are the rule: their wealth grows fifteenfold at most
within a block of forty.

**Unrated trials.** A judge that fails is missed where answers differ, since identical ones need none. So the
share of hits is that of the rated trials, or more if unrated ones were hits. A rise of the one has to leave
all that the other may have been before, and a fall of the other all that the one was. Replays that failed
are none of them: they say nothing about how answers are rated.

**The run** of a side is what CUSUM takes for the time since the change: the trials since the sum of
(x − before − tolerance/2) was last at its lowest, `before` being the stratum's rate without the run. An
alarm also needs the run's mean to be the tolerance away from what was expected of it; until then evidence is
held below the level. That keeps out most shifts that are too small to matter, it is no guarantee: the run of
an alarm is a chance high.

**Suspicion** is CUSUM with a likelihood ratio: how much better the trials since it was last 0 fit a risen
rate (a tenth higher, or twice the odds if that is more) than one that is what it was. It comes and goes by
chance within some dozens of trials, so no alert is raised for it; it is for those who choose what to look at
next. Source: Page 1954.

After an alarm the run is taken out of the strata: their rates are those before the change, and stay frozen
until the alert is over. An e-detector then looks for a rate within the tolerance of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from msgspec import Struct, field

from evenkeel.core.suspicion import MOST_SUSPICION, risen_log_ratio
from evenkeel.monitor.detect.e_detector import BlockLimit
from evenkeel.monitor.estimate.blocks import BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SHARES: Final = tuple(0.04 * (0.6 / 0.04) ** (number / 5) for number in range(6))
"""Bets as shares of the largest that cannot go broke. Measured against the eight of a fixed line, which begin
at 0.06: a rise from 0.05 to 0.15 after 200 trials is missed in 9 % instead of 14 %."""
# Factors that a lost bet leaves of each gambler's wealth.
_KEPT: Final = tuple(1 - share for share in SHARES)
# Wealth that enters with each trial on each bet on a rise, on a fall, and on the way back. With 0.8 on a
# rise, 40 points are found three trials sooner, and twice as many alarms come without a cause.
_ON_RISE: Final = 0.3 / len(SHARES)
_ON_FALL: Final = 0.2 / len(SHARES)
_ON_RETURN: Final = 1 / len(SHARES)
# Latest trials that are looked at for a burst, the hits above the expected ones that make one, and the effect
# by which bets on a rise are less then. docs/design/0008-blocks.md says what other numbers cost.
_LATEST: Final = 10
_UNEXPECTED: Final = 4
_IN_BURST: Final = 20
# Trials in other strata after which the traffic of an alert counts as gone.
_GONE_AFTER: Final = 100
MOST_STRATA: Final = 64
"""Most strata remembered for a cell; the least recently seen is forgotten first."""
# Jeffreys' prior of a rate: Beta(½, ½).
_PRIOR: Final = 0.5
# Trials of all versions that the rate of one version borrows.
_BORROWED: Final = 20
# Trials of a version after which it is compared, if there are others.
_FAMILIAR: Final = 10
# Share of trials of known versions above which a new one is an exception, and waits for these trials.
_MOSTLY: Final = 0.5
# Trials over which that share is averaged.
_RECENT: Final = 100
# Longest run, as a multiple of the trials of its stratum outside the run (taken as at least a tenth of a
# provisional baseline). If these few trials are by chance far from the rate, the run would otherwise never
# end.
_LONGEST_RUN: Final = 4
# Share of the level at which evidence is held for a shift within the tolerance.
_HELD: Final = 0.999
# Smallest rise that trials are suspected of.
_SUSPECTED_RISE: Final = 0.1
# Lowest rate for which a rise is suspected: few trials say little about rare hits.
_LEAST_RATE: Final = 0.05
# Factor by which the wealth of bets on a fall, or on the way back, grows within a block at most.
_BLOCK_GAIN: Final = 15.0
# Distance from 0 and 1 that a line for the way back keeps.
_END: Final = 0.001


@dataclass(frozen=True, slots=True)
class Baseline:
    """Baseline of a rate: approved, or provisional until one is approved."""

    mean: float
    n: int
    """Number of trials behind it."""
    provisional: bool = False
    """True if it was taken from earlier trials and nobody approved it."""


@dataclass(frozen=True, slots=True)
class DriftRules:
    """Rules by which a rate counts as moved."""

    tolerance: float
    """Distance from the baseline that raises no alert, at least 0."""
    mean_trials_between_false_alarms: float
    """Evidence at which the alert changes: the level."""
    provisional_after: int = 100
    """Trials of a judge from which on they are compared with former ones, if no baseline is approved."""


Side = Literal["risen", "fallen"]
DriftState = Literal["unknown", "level", "risen", "fallen"]
"""Position of the rate relative to its baseline, as far as the evidence shows; "unknown" while no stratum has
a baseline."""


@dataclass(frozen=True, slots=True)
class DriftChange:
    """Change of a rate that left its baseline or came back to it."""

    kind: Literal["risen", "fallen", "recovered"]
    baseline: Baseline
    """Expected rate of the run's trials; `n` counts the trials before the run in their strata."""
    line: float
    """Line that the mean crossed."""
    run_trials: int
    """Trials since the change seems to have begun."""
    run_mean: float
    """Share of hits among them; chosen in hindsight, so it errs towards the change."""


class Stratum(NamedTuple):
    """Trials that are compared with each other."""

    judge: str
    """Judge of the route at the time, and its wording."""
    version: str
    """Version of the prompt."""


ALL: Final = Stratum("", "")
"""Stratum of trials of which neither is known."""


class StratumTally(Struct):
    """Trials of a stratum, all or those of a run."""

    stratum: Stratum
    trials: int = 0
    hits: float = 0.0
    """Number of hits; whole unless a baseline was approved."""
    unrated: int = 0
    """Number of trials that may be hits or not."""
    approved: Baseline | None = None

    def add(self, hit: int | None) -> None:
        """Count a trial, None for an unrated one."""
        self.trials += 1
        if hit is None:
            self.unrated += 1
        else:
            self.hits += hit

    def counted(self, *, at_most: bool) -> tuple[int, float]:
        """Return trials and hits, of rated trials alone or with all unrated ones as hits."""
        if at_most:
            return self.trials, self.hits + self.unrated
        return self.trials - self.unrated, self.hits

    def join(self, other: StratumTally, sign: int = 1) -> None:
        """Add another count, or take it away with the sign −1."""
        self.trials += sign * other.trials
        self.hits += sign * other.hits
        self.unrated += sign * other.unrated


def _find(tallies: Sequence[StratumTally], stratum: Stratum) -> StratumTally | None:
    # The one that was seen last is mostly the one that is seen next.
    for tally in reversed(tallies):
        if tally.stratum == stratum:
            return tally
    return None


def _under(tallies: Iterable[StratumTally], judge: str) -> StratumTally:
    """Return the count of all trials under a judge."""
    whole = StratumTally(Stratum(judge, ""))
    for tally in tallies:
        if tally.stratum.judge == judge:
            whole.join(tally)
    return whole


def _at_most(hit: int | None) -> int:
    """Return 1 for a trial that is a hit or may be one, else 0."""
    return 1 if hit is None else hit


class DriftRun(Struct):
    """Wealth of one side's gamblers, and the trials since the change seems to have begun."""

    wealth: list[float] = field(default_factory=lambda: [0.0] * len(SHARES))
    step: float = 0.0
    """Sum of the steps towards the change, above 0 unless the run is empty."""
    expected: float = 0.0
    """Expected number of hits, from the strata's rates before the run."""
    trials: int = 0
    hits: float = 0.0
    counts: list[StratumTally] = field(default_factory=list)
    """Trials of the run by stratum."""

    def clear(self) -> None:
        """Start a new run with the next trial; the wealth stays."""
        self.step, self.expected, self.trials, self.hits, self.counts = 0.0, 0.0, 0, 0.0, []

    @property
    def shift(self) -> float:
        """Mean of the run minus what was expected."""
        return (self.hits - self.expected) / self.trials if self.trials else 0.0

    @property
    def mean(self) -> float:
        """Share of hits, 0 if the run is empty."""
        return self.hits / self.trials if self.trials else 0.0

    def bet(self, entering: float, odds: float, effect: float, *, wins: bool) -> None:
        """Let new gamblers enter with a stake on each bet, and settle one trial for everybody.

        A gambler who stakes all they have would win `odds` times as much or lose it; what is won or lost is
        raised to the power of one over the design effect.
        """
        factors: Sequence[float] = [1 + share * odds for share in SHARES] if wins else _KEPT
        if effect > 1:
            power = 1 / effect
            factors = [factor**power for factor in factors]
        # Strict zips cost as much as what is computed, and all have one number per bet.
        self.wealth = [(entering + wealth) * factor for wealth, factor in zip(self.wealth, factors)]  # noqa: B905

    def scale(self, factor: float) -> None:
        """Take wealth away from everybody alike."""
        self.wealth = [wealth * factor for wealth in self.wealth]

    def add(self, stratum: Stratum, hit: int | None, expected: float, step: float) -> None:
        """Add a trial to the run, an unrated one as a hit; the run ends when its sum of steps falls to 0."""
        self.step += step
        if self.step > 0:
            self.expected += expected
            self.trials += 1
            self.hits += _at_most(hit)
            tally = _find(self.counts, stratum)
            if tally is None:
                tally = StratumTally(stratum)
                self.counts.append(tally)
            tally.add(hit)
        elif self.trials:
            self.clear()
        else:
            self.step = 0.0


_EMPTY: Final = StratumTally(ALL)


class DriftAlert(Struct):
    """Detector that watches a rate for a rise and a fall by stratum, and for recovery after an alarm."""

    rules: DriftRules
    strata: list[StratumTally] = field(default_factory=list)
    """Strata, the most recently seen last."""
    recurring: float = 0.0
    """Share of the latest trials whose version was there before."""
    approved: Baseline | None = None
    """Baseline that was approved, until the next trial names its stratum."""
    side: Side | None = None
    """Side on which the rate has left its baseline; None while it has not."""
    raised_at: float = 0.0
    """Evidence that raised the alert."""
    raised_in: list[Stratum] = field(default_factory=list)
    """Strata that were compared when the alert was raised; empty unless it is up."""
    strayed: int = 0
    """Trials since the last one in those strata."""
    suspicion: float = 0.0
    """Log of the likelihood ratio of a rise by a tenth, at least 0; 0 while the alert is up."""
    rise: DriftRun = field(default_factory=DriftRun)
    fall: DriftRun = field(default_factory=DriftRun)
    back: DriftRun = field(default_factory=DriftRun)
    latest: int = 0
    """Latest trials that were rated, a bit each, 1 for a hit."""
    limit: BlockLimit = field(default_factory=lambda: BlockLimit(_BLOCK_GAIN, BLOCK))

    def follow(self, rules: DriftRules) -> None:
        """Go on under rules that may be others.

        Baselines and an alert that is up outlive another tolerance, evidence does not.
        """
        if rules.tolerance != self.rules.tolerance:
            self._forget_evidence()
        if self.side is not None:
            self.raised_at = max(self.raised_at, rules.mean_trials_between_false_alarms)
        self.rules = rules

    def approve(self, baseline: Baseline) -> None:
        """Compare with this baseline from now on; an alert against the previous one ends.

        It belongs to the stratum of the next trial. All others are forgotten, since a figure of all together
        says nothing of each.
        """
        self.strata, self.approved = [], baseline
        self.close()

    def close(self) -> None:
        """End the alert, and start without evidence; the baselines stay."""
        self.side, self.raised_at, self.raised_in, self.strayed = None, 0.0, [], 0
        self.suspicion = 0.0
        self._forget_evidence()

    def _forget_evidence(self) -> None:
        self.rise, self.fall, self.back = DriftRun(), DriftRun(), DriftRun()
        self.limit = BlockLimit(_BLOCK_GAIN, BLOCK)

    @property
    def state(self) -> DriftState:
        """State of the rate."""
        return self.side or ("unknown" if self.baseline is None else "level")

    @property
    def up(self) -> bool:
        """True if the rate has left its baseline."""
        return self.side is not None

    @property
    def has_strayed(self) -> bool:
        """True if the prompts in which an alert was raised are gone."""
        return self.strayed >= _GONE_AFTER

    @property
    def baseline(self) -> Baseline | None:
        """Baseline of the most recently seen stratum that has one; frozen while the alert is up."""
        if self.approved is not None:
            return self.approved
        for tally in reversed(self.strata):
            if tally.approved is not None:
                return tally.approved
            whole = _under(self.strata, tally.stratum.judge)
            if self._is_compared(tally, whole):
                rated, hits = tally.counted(at_most=False)
                mean = hits / rated if rated else self._rate(tally, whole)
                return Baseline(mean, tally.trials, provisional=True)
        return None

    @property
    def evidence(self) -> float:
        """Evidence that the rate has left the baseline; while the alert is up, what it was when raised."""
        return self.raised_at if self.up else sum(self.rise.wealth) + sum(self.fall.wealth)

    @property
    def evidence_log10(self) -> float:
        """log10 of `evidence`, and 0 while that is below 1."""
        return log10(self.evidence) if self.evidence > 1 else 0.0

    def observe(
        self, observation: int | None, stratum: Stratum = ALL, effect: float = 1.0
    ) -> DriftChange | None:
        """Take one trial; return the change of the alert, if any.

        Args:
            observation: 1 for a hit, else 0; None for a trial that nobody could rate.
            stratum: Who judges, and which version of the prompt was asked.
            effect: Design effect of the trials before.

        Raises:
            ValueError: if the observation is none of these; nothing has changed.
        """
        if observation not in {0, 1, None}:
            raise ValueError(f"a trial is 0, 1 or None, got {observation}")
        hit = None if observation is None else int(observation)
        tally = self._seen(stratum)
        # Before the trial is counted: what it is compared with must not depend on it.
        self.recurring += ((tally.trials > 0) - self.recurring) / _RECENT
        whole = _under(self.strata, stratum.judge)
        if self.side is not None:
            # Its baselines are frozen while it is up: traffic of other prompts can never end it.
            self.strayed = 0 if stratum in self.raised_in else self.strayed + 1
        elif hit is not None:
            self._suspect(self._rate(tally, whole), hit)
        compared = self._is_compared(tally, whole)
        if compared and self.side is not None:
            return self._bet_back(tally, whole, hit, effect)
        if compared:
            self._bet(tally, whole, hit, effect)
        if hit is not None:
            self.latest = (self.latest << 1 | hit) & ((1 << _LATEST) - 1)
        tally.add(hit)
        return self._reached() if compared else None

    def _suspect(self, rate: float, hit: int) -> None:
        gained = risen_log_ratio(max(rate, _LEAST_RATE), _SUSPECTED_RISE, hit=bool(hit))
        self.suspicion = min(MOST_SUSPICION, max(0.0, self.suspicion + gained))

    def _seen(self, stratum: Stratum) -> StratumTally:
        tally = _find(self.strata, stratum)
        if tally is None:
            tally, approved = StratumTally(stratum, approved=self.approved), self.approved
            if approved is not None:
                tally.trials, tally.hits, self.approved = approved.n, approved.mean * approved.n, None
            self.strata.append(tally)
            del self.strata[:-MOST_STRATA]
        elif tally is not self.strata[-1]:
            self.strata.remove(tally)
            self.strata.append(tally)
        return tally

    def _is_compared(self, tally: StratumTally, whole: StratumTally) -> bool:
        """Return whether trials of a stratum are compared with former ones.

        Where most trials are of versions that were there before, a new one may be other traffic. Its first
        trials are only counted. Where versions come and go all the time, waiting would mean to see nothing.
        """
        if tally.approved is not None:
            return True
        if whole.trials < self.rules.provisional_after:
            return False
        return tally.trials >= _FAMILIAR or self.recurring <= _MOSTLY

    def _rate(
        self, tally: StratumTally, whole: StratumTally, run: DriftRun | None = None, *, at_most: bool = True
    ) -> float:
        """Return the rate predicted for a stratum, in (0, 1).

        Args:
            tally: Its trials before.
            whole: Those of all strata of its judge.
            run: Its trials are left out, if given.
            at_most: Whether unrated trials count as hits; else they do not count.
        """
        is_alone = tally.trials == whole.trials
        trials, hits = tally.counted(at_most=at_most)
        of_all, hits_of_all = whole.counted(at_most=at_most)
        if run is not None:
            own = _find(run.counts, tally.stratum) or _EMPTY
            own_trials, own_hits = own.counted(at_most=at_most)
            judged, judged_hits = _under(run.counts, tally.stratum.judge).counted(at_most=at_most)
            trials, hits = trials - own_trials, hits - own_hits
            of_all, hits_of_all = of_all - judged, hits_of_all - judged_hits
        rate = (hits_of_all + _PRIOR) / (of_all + 2 * _PRIOR)
        return rate if is_alone else (hits + _BORROWED * rate) / (trials + _BORROWED)

    def _bet(self, tally: StratumTally, whole: StratumTally, hit: int | None, effect: float) -> None:
        most, least = self._rate(tally, whole), self._rate(tally, whole, at_most=False)
        margin = self.rules.tolerance / 2
        rise, fall = self.rise, self.fall
        if hit is not None:
            is_burst = self.latest.bit_count() >= _LATEST * most + _UNEXPECTED
            rise.bet(_ON_RISE, (1 - most) / most, effect * _IN_BURST if is_burst else effect, wins=hit == 1)
        fall.bet(_ON_FALL, least / (1 - least), effect, wins=hit == 0)
        factor = self.limit.excess(sum(fall.wealth))
        if factor < 1:
            fall.scale(factor)
        for run, sign in ((rise, 1), (fall, -1)):
            before = most if sign > 0 else least
            if run.counts:
                if run.trials > _LONGEST_RUN * max(
                    whole.trials - run.trials, self.rules.provisional_after / 10
                ):
                    run.clear()
                else:
                    before = self._rate(tally, whole, run, at_most=sign > 0)
            if hit is not None or sign < 0:
                run.add(tally.stratum, hit, before, sign * (_at_most(hit) - before) - margin)

    def _reached(self) -> DriftChange | None:
        """Raise the alert if there is evidence of a shift that matters; else hold it below the level."""
        # Not the property: this is asked after every trial.
        evidence = sum(self.rise.wealth) + sum(self.fall.wealth)
        level = self.rules.mean_trials_between_false_alarms
        if evidence < level:
            return None
        side: Side = "risen" if sum(self.rise.wealth) >= evidence / 2 else "fallen"
        run, sign = (self.rise, 1) if side == "risen" else (self.fall, -1)
        if sign * run.shift < self.rules.tolerance:
            self.rise.scale(_HELD * level / evidence)
            self.fall.scale(_HELD * level / evidence)
            self.suspicion = 0.0  # what it shows is tolerated
            return None
        for own in run.counts:
            tally = _find(self.strata, own.stratum)
            if tally is not None:
                tally.join(own, -1)
        change = self._change(side, run, sign)
        self.close()
        self.side, self.raised_at = side, evidence
        for tally in self.strata:
            if self._is_compared(tally, _under(self.strata, tally.stratum.judge)):
                self.raised_in.append(tally.stratum)
        return change

    def _bet_back(
        self, tally: StratumTally, whole: StratumTally, hit: int | None, effect: float
    ) -> DriftChange | None:
        """Bet against a rate that is still beyond the tolerance."""
        sign = 1 if self.side == "risen" else -1
        if hit is None and sign < 0:
            return None
        before = self._rate(tally, whole, at_most=sign > 0)
        line = min(max(before + sign * self.rules.tolerance, _END), 1 - _END)
        odds = line / (1 - line)
        self.back.bet(_ON_RETURN, odds if sign > 0 else 1 / odds, effect, wins=hit == (sign < 0))
        factor = self.limit.excess(sum(self.back.wealth))
        if factor < 1:
            self.back.scale(factor)
        self.back.add(tally.stratum, hit, before, sign * (line - _at_most(hit)))
        if sum(self.back.wealth) < self.rules.mean_trials_between_false_alarms:
            return None
        change = self._change("recovered", self.back, sign)
        self.close()
        return change

    def _change(self, kind: Literal["risen", "fallen", "recovered"], run: DriftRun, sign: int) -> DriftChange:
        mean = run.expected / run.trials if run.trials else 0.0
        # One that came and went since the run began is forgotten by now.
        found = [_find(self.strata, own.stratum) for own in run.counts]
        tallies = [tally for tally in found if tally is not None]
        approved = [tally.approved for tally in tallies if tally.approved is not None]
        baseline = Baseline(mean, sum(tally.trials for tally in tallies), provisional=not approved)
        if len(run.counts) == 1 and approved:
            baseline = approved[0]
        line = min(max(baseline.mean + sign * self.rules.tolerance, 0.0), 1.0)
        return DriftChange(kind, baseline, line, run.trials, run.mean)
