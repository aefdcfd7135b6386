"""Design effect: how many trials of a route's traffic tell as much as one independent trial.

Traffic depends on itself: a client tries again, a job sends one template all night. Every trial counts in
every rate, whatever it resembles, so a rate is a share of the traffic. What dependence changes is how much is
known. So consecutive trials form *stretches* of eighty, and the sums of neighbouring stretches are compared:
if trials were independent, these would differ by chance alone. The ratio of how much they do differ to that
is the design effect (Kish): 1 for independent trials, 80 if all trials of a stretch answer alike. Neighbours
are compared, not all stretches with their mean, so a rate that rises once is no dependence. A stretch is two
blocks long, so that a burst or a nightly batch of up to a block lies within one stretch more often than not.

Within a block of forty, anything may depend on anything. Between blocks exchangeability is assumed, and
wherever a rate of false alarms is stated, that condition belongs to it. Where the rate itself swings over
hundreds of trials, stretches differ for that reason: intervals widen and alerts wait, because nobody can know
then what the rate will be.

**Intervals** divide the logarithm of a gambler's capital by the effect. Of a new cell nothing is known, so it
starts at 12, as if four pairs of stretches had shown that, and its own trials take over. A cell of another
model starts with the effect of the cell before it: dependence is a property of the traffic, not of the model.

**Bets** against a limit are raised to the power of one over the effect. Of independent trials no bet then
wins on average (Jensen), as long as the effect is known before the trial. So the latest pair of stretches
does not count yet: a change must not look like dependence while it is being found. From the second stretch
on, bets start at 5, the effect of traffic a fifth of which is bursts of twenty; until then they are those of
independent trials, so that a cell that is broken from its first trial on is found after thirty of them. Bets
against former trials are less within bursts (`evenkeel.monitor.detect.drift`), so they start at 1.5.

**Sessions.** The steps of one run of an agent depend on each other wherever they are in the log: thirty runs
at once leave blocks of consecutive trials that look independent. So a session is a block as well, of effect
1 + (n - 1)·r (Kish): n is the mean size of a session over trials, and r says how much less a trial differs
from the one before it in its session than from the latest one of another. Until trials differ, r is taken
for 1.

Source: Kish 1965, "Survey Sampling"; the ratio of squared differences is von Neumann's. Measured:
`docs/research/detection.md`, `docs/design/0008-blocks.md`.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct, field

BLOCK: Final = 40
"""Trials of a block, within which anything may depend on anything."""
CONDITION: Final = f"if blocks of {BLOCK} exchanges are exchangeable"
"""Condition of every rate of false alarms and every interval; it is said wherever such a rate is."""
STRETCH: Final = 2 * BLOCK
"""Trials of a stretch. With stretches of forty, a batch of forty that starts anywhere raises 1.7 times as
many false alarms."""
# Design effect for bets of a cell that shows none. With 4, a nightly batch of forty that lies across two
# blocks raises an alert at the limit in 9,300 trials instead of 11,000 (docs/design/0008-blocks.md).
_UNKNOWN: Final = 5.0
# The same for bets against former trials, which are less within bursts. With 1, bursts of ten raise 1.3 times
# as many false alarms.
_UNKNOWN_ON_DRIFT: Final = 1.5
# The same for intervals, which nothing bounds within a block. With 8, intervals cover nightly batches of
# forty in 87 to 96 % of the logs instead of 97 %, and are 13 % narrower after 1,000 trials.
_DOUBTFUL: Final = 12.0
# Pairs of stretches that this counts for.
_WEIGHT: Final = 4
# Trials of a session at first.
_SESSION: Final = 20
# Trials that differ from another session's, but not within their own, that are taken for seen at first.
_DIFFERENCES: Final = 4.0
# Sessions that are remembered: steps further apart than so many sessions count as two sessions.
_MOST_OPEN: Final = 500
# Largest mean size of a session that counts.
_LARGEST_SESSION: Final = 100.0
# Smallest effect that bets take for one: below it, it may be chance.
_CHANCE: Final = 1.25


class SessionScale(Struct):
    """Blocks that are sessions, which may overlap."""

    latest: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Number of trials and last observation of each session, the longest idle first."""
    other: tuple[str, float] = ("", 0.0)
    """Session and observation of the latest trial before those of the running session."""
    last: tuple[str, float] = ("", 0.0)
    """Session and observation of the latest trial."""
    trials: int = _SESSION
    squares: int = _SESSION * _SESSION
    """Trials, and the sum over sessions of their number squared; as if one session of 20 had been seen."""
    inside: bool = False
    """True if any trial belonged to a session."""
    apart: float = _DIFFERENCES
    """Squared differences of trials to the latest one of another session; as if a few had been seen."""
    within: float = 0.0
    """Squared differences of the same trials to the one before in their session."""

    def add(self, observation: float, session: str) -> None:
        """Take a trial of a session, or of none ("")."""
        if self.last[0] != session or not session:
            self.other = self.last
        count, before = self.latest.pop(session, (0, 0.0)) if session else (0, 0.0)
        self.trials += 1
        self.squares += 2 * count + 1
        if count:
            self.within += (observation - before) ** 2
            self.apart += (observation - self.other[1]) ** 2
        if session:
            self.inside = True
            self.latest[session] = (count + 1, observation)
            if len(self.latest) > _MOST_OPEN:
                del self.latest[next(iter(self.latest))]
        self.last = session, observation

    @property
    def effect(self) -> float:
        """Design effect of all trials: at least 1."""
        if not self.inside:
            return 1.0
        size = min(_LARGEST_SESSION, self.squares / self.trials)
        return 1.0 + (size - 1.0) * max(0.0, 1.0 - self.within / self.apart)


class DesignEffect(Struct):
    """Design effect of one series of trials, in bounded memory. Not thread-safe."""

    trials: int = 0
    """Trials of the running stretch; their sum, and the sum of their squares."""
    total: float = 0.0
    squares: float = 0.0
    ended: tuple[float, float] | None = None
    """Sum and sum of squares of the stretch before it."""
    pairs: int = 0
    """Pairs of neighbouring stretches; how much their sums differed, and how much by chance."""
    between: float = 0.0
    within: float = 0.0
    latest: tuple[float, float] | None = None
    """The same of the latest pair, which bets do not know of yet."""
    usual: float = _DOUBTFUL
    """Design effect that intervals assume until stretches show one."""
    by_stretches: float = _DOUBTFUL
    """Design effect that all pairs of stretches show."""
    earlier: float = 1.0
    """Design effect that all but the latest pair show, for bets against a limit."""
    on_drift: float = 1.0
    """The same for bets against former trials."""
    sessions: SessionScale = field(default_factory=SessionScale)

    @classmethod
    def after(cls, other: DesignEffect) -> DesignEffect:
        """Return an empty series whose intervals start with the effect of another one of the same traffic."""
        return cls(usual=other.by_stretches, by_stretches=other.by_stretches)

    @property
    def is_observed(self) -> bool:
        """True after the first trial."""
        return self.trials > 0 or self.ended is not None

    @property
    def bets(self) -> float:
        """Design effect for bets against a limit, from what ended before the trial: at least 1."""
        return max(self.earlier, self.sessions.effect)

    @property
    def bets_on_drift(self) -> float:
        """Design effect for bets against former trials, which are less within bursts: at least 1."""
        return max(self.on_drift, self.sessions.effect)

    @property
    def intervals(self) -> float:
        """Design effect for intervals: at least 1."""
        return max(self.by_stretches, self.sessions.effect)

    @property
    def shown(self) -> float:
        """Design effect that the trials show by themselves, whatever is assumed at first: at least 1."""
        between, within = self.latest or (0.0, 0.0)
        between, within = self.between + between, self.within + within
        return max(1.0, between / within if within > 0 else 1.0, self.sessions.effect)

    def add(self, observation: float, session: str = "") -> None:
        """Take the next trial, of a session if any."""
        self.sessions.add(observation, session)
        self.trials += 1
        self.total += observation
        self.squares += observation * observation
        if self.trials < STRETCH:
            return
        before, self.ended = self.ended, (self.total, self.squares)
        if before is not None:
            self._compare(*before)
        self.trials, self.total, self.squares = 0, 0.0, 0.0

    def _compare(self, total: float, squares: float) -> None:
        """Compare the running stretch with the one before it, of this sum and sum of squares."""
        both = 2 * STRETCH
        mean = (total + self.total) / both
        between = (self.total - total) ** 2 / both
        within = (squares + self.squares - both * mean * mean) / (both - 1)
        if self.latest is not None:
            self.pairs += 1
            self.between += self.latest[0]
            self.within += self.latest[1]
        self.latest = between, max(within, 0.0)
        self.earlier = self._effect_of_bets(_UNKNOWN)
        self.on_drift = self._effect_of_bets(_UNKNOWN_ON_DRIFT)
        between, within = self.between + self.latest[0], self.within + self.latest[1]
        self.by_stretches = _effect(self.usual, self.pairs + 1, between, within)

    def _effect_of_bets(self, unknown: float) -> float:
        """Return the design effect of all pairs but the latest, 1 where it may be chance."""
        effect = _effect(unknown, self.pairs, self.between, self.within)
        return effect if effect >= _CHANCE else 1.0


def _effect(unknown: float, pairs: int, between: float, within: float) -> float:
    """Return the design effect that pairs of stretches show, if `_WEIGHT` others had shown `unknown`."""
    shown = between / within if within > 0 else 1.0
    effect = (shown * pairs + unknown * _WEIGHT) / (pairs + _WEIGHT)
    return min(float(STRETCH), max(1.0, effect))


class CellEffects(Struct):
    """Design effects of a cell's trials: of their content, and of their losses of similarity.

    With the first alone, similarities that depend on each other where contents do not raise an alert at the
    limit in 2,500 trials (bursts of twenty) or 1,500 (nightly batches of forty), not in 40,000 and 17,000.
    """

    content: DesignEffect = field(default_factory=DesignEffect)
    """Design effect of shifts, also for pairs: where the original is odd, or the prompt noisy, resend and
    rewording shift together, and pairs look independent although shifts are not."""
    loss: DesignEffect = field(default_factory=DesignEffect)

    @classmethod
    def after(cls, other: CellEffects) -> CellEffects:
        """Return the effects of a new cell that takes over the traffic of another one."""
        return cls(DesignEffect.after(other.content), DesignEffect.after(other.loss))

    @property
    def bets(self) -> float:
        """Design effect for bets on what pairs say: the larger one."""
        # Without similarities, or without a judge, one series stays empty and would be unknown for ever.
        if not self.loss.is_observed:
            return self.content.bets
        return max(self.content.bets, self.loss.bets) if self.content.is_observed else self.loss.bets

    @property
    def intervals(self) -> float:
        """Design effect for intervals: the larger one."""
        if not self.loss.is_observed:
            return self.content.intervals
        if not self.content.is_observed:
            return self.loss.intervals
        return max(self.content.intervals, self.loss.intervals)

    @property
    def shown(self) -> float:
        """Design effect that the trials show by themselves: the larger one."""
        return max(self.content.shown, self.loss.shown)
