"""Design effect: how many trials of a route's traffic tell as much as one independent trial.

Traffic depends on itself: a client tries again, a job sends one template all night. Every trial counts in
every rate, whatever it resembles, so a rate is a share of the traffic. What dependence changes is how much is
known. So consecutive trials form *blocks*, and the sums of neighbouring blocks are compared: if trials were
independent, these would differ by chance alone. The ratio of how much they do differ to that is the design
effect (Kish): 1 for independent trials, 20 if all trials of a block of twenty answer alike. Neighbours are
compared, not all blocks with their mean, so a rate that rises once is no dependence.

Blocks of 20 see bursts, blocks of 100 a nightly batch; the larger effect counts. Within a block anything may
depend on anything. Between blocks exchangeability is assumed, and wherever a rate of false alarms is stated,
that condition belongs to it. Where the rate itself swings over hundreds of trials, blocks differ for that
reason: intervals widen and alerts wait, because nobody can know then what the rate will be.

**Intervals** divide the logarithm of a gambler's capital by the effect. Nothing is known of a new cell, so it
starts at 10, as if twice five blocks had shown that, and its own blocks take over.

**Bets** against a limit are raised to the power of one over the effect. Of independent trials no bet then
wins on average (Jensen), as long as the effect is known before the trial. So it is the effect of blocks that
ended five blocks ago: a change must not look like dependence while it is being found.

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

BLOCK: Final = 20
"""Trials of a block."""
BATCH: Final = 100
"""Trials of a block of the larger size."""
_LAG: Final = {BLOCK: 5, BATCH: 1}
"""Latest blocks that bets do not know of yet: a hundred trials."""
_UNKNOWN: Final = 10.0
"""Design effect of a cell of which nothing is known, for its intervals."""
_WEIGHT: Final = {BLOCK: 5, BATCH: 3}
"""Pairs of blocks that this counts for."""
_PATIENCE: Final = {BLOCK: 10, BATCH: 5}
"""Pairs of blocks that independence counts for in bets."""
_SESSION: Final = 20
"""Trials of a session at first."""
_DIFFERENCES: Final = 4.0
"""Trials that differ from another session's, but not within their own, that are taken for seen at first."""
_MOST_OPEN: Final = 500
"""Sessions that are remembered: steps further apart than so many sessions count as two sessions."""
_CHANCE: Final = 1.25
"""Smallest effect that bets take for one: below it, it may be chance."""


class BlockScale(Struct):
    """Blocks of one size."""

    size: int
    trials: int = 0
    """Trials of the running block; their sum, and the sum of their squares."""
    total: float = 0.0
    squares: float = 0.0
    ended: tuple[float, float] | None = None
    """Sum and sum of squares of the block before it."""
    count: int = 0
    """Pairs of neighbouring blocks; how much their sums differed, and how much by chance."""
    between: float = 0.0
    within: float = 0.0
    latest: list[tuple[float, float]] = field(default_factory=list)
    """The same of each of the latest pairs, which bets do not know of yet."""

    def add(self, observation: float) -> bool:
        """Take a trial; return whether it ends a block."""
        self.trials += 1
        self.total += observation
        self.squares += observation * observation
        if self.trials < self.size:
            return False
        block = self.total, self.squares
        if self.ended is not None:
            total, squares = self.ended
            mean = (total + self.total) / (2 * self.size)
            between = (self.total - total) ** 2 / (2 * self.size)
            within = (squares + self.squares - 2 * self.size * mean * mean) / (2 * self.size - 1)
            self.latest.append((between, max(within, 0.0)))
            if len(self.latest) > _LAG[self.size]:
                between, within = self.latest.pop(0)
                self.count += 1
                self.between += between
                self.within += within
        self.ended = block
        self.trials, self.total, self.squares = 0, 0.0, 0.0
        return True

    def effect(self, unknown: float, weight: int, *, lagged: bool) -> float:
        """Return the design effect, as if `weight` pairs of blocks had shown that of `unknown`."""
        count, between, within = self.count, self.between, self.within
        if not lagged:
            count += len(self.latest)
            between += sum(pair[0] for pair in self.latest)
            within += sum(pair[1] for pair in self.latest)
        shown = between / within if within > 0 else 1.0
        return min(float(self.size), max(1.0, (shown * count + unknown * weight) / (count + weight)))


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
    """Those of the same trials to the one before in their session."""

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
        size = min(float(BATCH), self.squares / self.trials)
        return 1.0 + (size - 1.0) * max(0.0, 1.0 - self.within / self.apart)


class DesignEffect(Struct):
    """Design effect of one series of trials, in bounded memory. Not thread-safe."""

    block: BlockScale = field(default_factory=lambda: BlockScale(BLOCK))
    batch: BlockScale = field(default_factory=lambda: BlockScale(BATCH))
    sessions: SessionScale = field(default_factory=SessionScale)
    ended: float = 1.0
    """Design effect by blocks that ended a while ago."""

    def add(self, observation: float, session: str = "") -> bool:
        """Take the next trial, of a session if any; return whether it ends a block."""
        self.sessions.add(observation, session)
        self.batch.add(observation)
        if not self.block.add(observation):
            return False
        effect = max(
            scale.effect(1.0, _PATIENCE[scale.size], lagged=True) for scale in (self.block, self.batch)
        )
        self.ended = effect if effect >= _CHANCE else 1.0
        return True

    @property
    def bets(self) -> float:
        """Design effect for bets on the next trial, from what ended before it."""
        return max(self.ended, self.sessions.effect)

    @property
    def intervals(self) -> float:
        """Design effect for intervals: at least 1."""
        return max(
            self.block.effect(_UNKNOWN, _WEIGHT[BLOCK], lagged=False),
            self.batch.effect(1.0, _WEIGHT[BATCH], lagged=False),
            self.sessions.effect,
        )


class CellEffects(Struct):
    """Design effects of a cell's trials: of their content, and of their losses of similarity."""

    content: DesignEffect = field(default_factory=DesignEffect)
    """Design effect of pairs where the resend is known, else of shifts."""
    loss: DesignEffect = field(default_factory=DesignEffect)

    @property
    def bets(self) -> float:
        """Design effect for bets on what pairs say."""
        return max(self.content.bets, self.loss.bets)

    @property
    def intervals(self) -> float:
        """Design effect for intervals: the larger one."""
        return max(self.content.intervals, self.loss.intervals)
