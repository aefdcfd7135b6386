"""The cascade as a rater of pairs: equality, bands over cheap scores, judge."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenkeel.core.draw import draw
from evenkeel.core.provenance import BANDS_RATING, DECIDED_BY, STAGES
from evenkeel.core.verdict import Failure
from evenkeel.metrics.cascade.bands import DEFAULT_BANDS
from evenkeel.metrics.similarity.cheap import CROSS_LANGUAGE, CheapRater
from evenkeel.metrics.similarity.normalised import NormalisedEquality

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair
    from evenkeel.core.provenance import Stage
    from evenkeel.metrics.cascade.bands import Bands
    from evenkeel.metrics.similarity.protocol import Rater, Rating

_AUDIT = "cascade_audit"


class CascadeRater:
    """Rates as a judge does, and asks it only where cheap metrics leave a doubt.

    Which pairs of those that the bands decided are judged all the same is drawn from their content,
    so it has nothing to do with how they were rated, and a replay audits the same ones: the share
    on which both agree estimates how often an unaudited rating is the one the judge would have
    given.
    """

    name = "cascade"
    version = 1

    def __init__(
        self,
        cheap: CheapRater,
        judge: Rater,
        bands: Bands | None = None,
        *,
        audit_share: float = 0.05,
    ) -> None:
        """Put a cascade together.

        Args:
            cheap: Scores every pair. Give it a `language_of`, or pairs in two languages are not
                told from others.
            judge: Decides what the bands leave open.
            bands: Default: `DEFAULT_BANDS`.
            audit_share: Of the pairs the bands decide, those that the judge rates all the same, in
                [0, 1]. Its rating is then the rating.

        Raises:
            BandsError: The bands belong to another version of the cheap rater, or to another encoder.
            ValueError: The share is none.
        """
        if not 0 <= audit_share <= 1:
            raise ValueError(f"audit_share must be in [0, 1], not {audit_share}")
        self._cheap = cheap
        self._judge = judge
        self._bands = bands or DEFAULT_BANDS
        self._bands.check()
        self._bands.check_encoder(cheap.encoder)
        self._audit_share = audit_share

    async def rate(self, pair: Pair) -> Rating:
        """The rating, and in its details who decided it.

        Returns: a `Rating`. Its details hold the cheap scores, whatever the judge's rating holds,
            `DECIDED_BY`, and for an audited pair `BANDS_RATING`. A `Failure` "no_text" if neither
            side has text or a tool call, else those of the judge. If the judge fails on an audited
            pair, the bands' rating stands, as it would have without the audit.
        """
        cheap = await self._cheap.rate(pair)
        if isinstance(cheap.outcome, Failure) and cheap.outcome.reason != CROSS_LANGUAGE:
            return cheap
        if cheap.details.get(NormalisedEquality.name) == 1.0:
            return _decided(cheap, "equality")
        decided = self._bands.decide(cheap)
        if decided is None:
            return _judged(cheap, await self._judge.rate(pair))
        if draw(pair, _AUDIT) >= self._audit_share:
            return _decided(cheap, "bands")
        judged = await self._judge.rate(pair)
        if isinstance(judged.outcome, Failure):
            kept = _decided(cheap, "bands")
            return replace(kept, **_price(cheap, judged))
        audited = _judged(cheap, judged)
        return replace(audited, details=audited.details | {BANDS_RATING: float(decided)})


def _decided(cheap: Rating, stage: Stage) -> Rating:
    return replace(cheap, details=cheap.details | {DECIDED_BY: float(STAGES.index(stage))})


def _judged(cheap: Rating, judged: Rating) -> Rating:
    details = cheap.details | judged.details | {DECIDED_BY: float(STAGES.index("judge"))}
    return replace(judged, details=details, **_price(cheap, judged))


def _price(cheap: Rating, judged: Rating) -> dict[str, Any]:
    """Of both: the embeddings behind a cheap rating may cost something."""
    return {"tokens": cheap.tokens + judged.tokens, "cost_usd": cheap.cost_usd + judged.cost_usd}
