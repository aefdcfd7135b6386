"""The cascade: a judge's ratings at a part of its price.

Heuristics decide what they can prove: a 3 where two answers are equal, a 1 where they are plainly about
something else. Everything unsure goes to the judge, and so does a proven difference: how much it matters is
what a judge is for. A random share of what the heuristics decide goes to the judge all the same; how often
the two agree is watched for as long as the cascade runs. What a rating's details say about this is named in
`evenkeel.core.verdict`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.pair import draw
from evenkeel.core.verdict import DECIDED_BY, HEURISTIC_RATING, STAGES, Failure, stage_of
from evenkeel.metrics.heuristic import CROSS_LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.core.verdict import Stage
    from evenkeel.metrics.heuristic import HeuristicRater
    from evenkeel.metrics.protocol import Rater, Rating


_DECIDES: Final[frozenset[Stage]] = frozenset(("equality", "heuristic"))
_AUDIT: Final = "cascade_audit"


class CascadeRater:
    """Rates as a judge does, and asks it only where heuristics leave a doubt.

    Which pairs of those that the heuristics decided are judged all the same is drawn from their content,
    so it has nothing to do with how they were rated, and a replay audits the same ones: the share
    on which both agree estimates how often an unaudited rating is the one the judge would have
    given.
    """

    name = "cascade"
    version = 2

    def __init__(self, heuristic: HeuristicRater, judge: Rater, *, audit_share: float = 0.05) -> None:
        """Put a cascade together.

        Args:
            heuristic: Rates every pair.
            judge: Decides what the heuristics leave open.
            audit_share: Of the pairs the heuristics decide, those that the judge rates all the same, in
                [0, 1]. Its rating is then the rating.

        Raises:
            ValueError: The share is none.
        """
        if not 0 <= audit_share <= 1:
            raise ValueError(f"audit_share must be in [0, 1], not {audit_share}")
        self._heuristic = heuristic
        self._judge = judge
        self._audit_share = audit_share

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        """The ratings in order, and in their details who decided them. The judge is asked once about all.

        Returns: for each pair a `Rating`. Its details hold the heuristic scores, whatever the judge's rating
            holds, `DECIDED_BY`, and for an audited pair `HEURISTIC_RATING`. What the heuristics decided
            carries the probability of an audit, audited or not. A `Failure` "no_text" if neither
            side has text or a tool call, else those of the judge. If the judge fails on an audited
            pair, the heuristics' rating stands, as it would have without the audit.
        """
        ratings = await self._heuristic.rate_all(pairs)
        asked = [place for place, pair in enumerate(pairs) if self._asks(pair, ratings[place])]
        judged = await self._judge.rate_all([pairs[place] for place in asked]) if asked else []
        by_place = dict(zip(asked, judged, strict=True))
        return [self._decide(heuristic, by_place.get(place)) for place, heuristic in enumerate(ratings)]

    def _asks(self, pair: Pair, heuristic: Rating) -> bool:
        """Whether the judge is asked about a pair: if the heuristics leave a doubt, or for an audit."""
        outcome = heuristic.outcome
        if isinstance(outcome, Failure):
            return outcome.reason == CROSS_LANGUAGE
        return not _is_decided(heuristic) or draw(pair, _AUDIT) < self._audit_share

    def _decide(self, heuristic: Rating, judged: Rating | None) -> Rating:
        if not _is_decided(heuristic):
            return heuristic if judged is None else _judged(heuristic, judged)
        heuristic = replace(heuristic, audit_share=self._audit_share)
        if judged is None:
            return heuristic
        if isinstance(judged.outcome, Failure):
            return replace(heuristic, **_price(heuristic, judged))
        audited = _judged(heuristic, judged)
        assert isinstance(heuristic.outcome, int)
        return replace(audited, details=audited.details | {HEURISTIC_RATING: float(heuristic.outcome)})


def _is_decided(heuristic: Rating) -> bool:
    """Whether the heuristics could prove their rating."""
    return isinstance(heuristic.outcome, int) and stage_of(heuristic.details) in _DECIDES


def _judged(heuristic: Rating, judged: Rating) -> Rating:
    details = heuristic.details | judged.details | {DECIDED_BY: float(STAGES.index("judge"))}
    return replace(
        judged,
        details=details,
        similarity=heuristic.similarity,
        audit_share=heuristic.audit_share,
        **_price(heuristic, judged),
    )


def _price(heuristic: Rating, judged: Rating) -> dict[str, Any]:
    """Of both: the embeddings behind a heuristic rating may cost something."""
    return {"tokens": heuristic.tokens + judged.tokens, "cost_usd": heuristic.cost_usd + judged.cost_usd}
