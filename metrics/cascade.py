"""The cascade: a judge's ratings at a part of its price.

`CascadeRater` decides in three stages: equality after normalisation (free), `Bands` over heuristic scores
where those leave no doubt what the judge would say, and the judge for the rest. A random share of
what the bands decide goes to the judge all the same; how often the two agree is watched for as long
as the cascade runs. What a rating's details say about this is named in `evenkeel.core.verdict`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pydantic import ConfigDict

from evenkeel.core.pair import draw
from evenkeel.core.verdict import BANDS_RATING, DECIDED_BY, STAGES, Failure
from evenkeel.metrics.heuristic import CROSS_LANGUAGE, HeuristicRater
from evenkeel.metrics.similarity.content_words import ContentWords
from evenkeel.metrics.similarity.details import Details
from evenkeel.metrics.similarity.embeddings import MINILM, Embeddings
from evenkeel.metrics.similarity.normalised import NormalisedEquality
from evenkeel.metrics.similarity.sequence import RougeL
from evenkeel.metrics.structured.json_rouge import JsonRouge
from evenkeel.metrics.tool_calls import ToolCalls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.pair import Pair
    from evenkeel.core.verdict import Stage
    from evenkeel.metrics.protocol import Rater, Rating


_SAME, _OTHER = 3, 1


class BandsError(ValueError):
    """Bands make no sense or do not fit the metrics. The message says what is wrong and what to do."""


@dataclass(frozen=True, slots=True)
class Band:
    """The clear ends of one score. A score between them decides nothing."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    metric: str
    """Name of a score in the heuristic rater's details."""
    same_from: float | None = None
    """From here on the judge would say 3; None = this score never stands against a 3."""
    other_below: float | None = None
    """Below it the judge would say 1; None = this score never stands against a 1."""


@dataclass(frozen=True, slots=True)
class Bands:
    """When heuristic scores decide in the judge's place, and on whose word.

    A rating of 3 (or 1) is decided where the heuristic rater gives it and every band that has an end on
    that side holds; a side on which no band has an end is never decided. So bands can only narrow
    the heuristic rater's own ratings down to the clear ones. A 2 is never decided: which details matter
    is what a judge is for.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    version: int
    """Raised by whoever writes new bands."""
    source: str
    """Where they come from: data, judge and encoder, in a line for people."""
    rater_version: int
    """Of the `HeuristicRater` whose scores they were set on: under another one they mean nothing."""
    text: tuple[Band, ...] = ()
    """For free text and documents."""
    structured: tuple[Band, ...] = ()
    """For answers of which at least one is data (JSON, YAML, XML)."""
    tool_calls: tuple[Band, ...] = ()
    """For answers that call tools."""
    encoder: str = MINILM
    """Whose cosines a band of `embeddings` is on: those of another one are on another scale."""
    agreement: float | None = None
    """Expected share of decided pairs on which the judge would say the same; None if unmeasured."""

    def __post_init__(self) -> None:
        for band in (*self.text, *self.structured, *self.tool_calls):
            low, high = band.other_below, band.same_from
            if any(end is not None and not 0 <= end <= 1 for end in (low, high)):
                raise BandsError(f"band of {band.metric}: ends must be ratios in [0, 1]")
            if low is not None and high is not None and low > high:
                raise BandsError(f"band of {band.metric}: other_below {low} is above same_from {high}")
        if self.agreement is not None and not 0 <= self.agreement <= 1:
            raise BandsError(f"agreement {self.agreement} is no share in [0, 1]")

    def decide(self, heuristic: Rating) -> int | None:
        """What the judge would say to a pair that the heuristic rater rated so.

        Returns: 3 or 1; None if that is not clear: the judge has to be asked. A score that is
            missing, such as that of an encoder that failed, is never clear.
        """
        bands = self._of(heuristic.details)
        if heuristic.outcome == _SAME:
            wanted = [band for band in bands if band.same_from is not None]
            clear = bool(wanted) and all(_at_least(band, heuristic.details) for band in wanted)
        elif heuristic.outcome == _OTHER:
            wanted = [band for band in bands if band.other_below is not None]
            clear = bool(wanted) and all(_below(band, heuristic.details) for band in wanted)
        else:
            return None
        return int(heuristic.outcome) if clear else None

    def check(self) -> None:
        """Compare with the heuristic rater there is.

        Raises:
            BandsError: They were set on the scores of another version.
        """
        if self.rater_version != HeuristicRater.version:
            raise BandsError(
                f"bands version {self.version} were set on cheap_rater version {self.rater_version}, "
                f"this is version {HeuristicRater.version}: calibrate again, or leave them out"
            )

    def check_encoder(self, encoder: str | None) -> None:
        """Compare with the encoder there is; one without a name is taken to be the right one.

        Raises:
            BandsError: A band of `embeddings` was set on another one's. Without an encoder there is nothing
                to object to: a score that is missing is never clear.
        """
        every = (*self.text, *self.structured, *self.tool_calls)
        if encoder and encoder != self.encoder and any(band.metric == Embeddings.name for band in every):
            raise BandsError(
                f"bands version {self.version} were set on embeddings by {self.encoder}, these are by "
                f"{encoder}: calibrate again, leave the bands of embeddings out, or say `encoder: {encoder}`"
            )

    def _of(self, scores: Mapping[str, float]) -> tuple[Band, ...]:
        if ToolCalls.name in scores:
            return self.tool_calls
        return self.structured if JsonRouge.name in scores else self.text


def _at_least(band: Band, scores: Mapping[str, float]) -> bool:
    return band.same_from is not None and scores.get(band.metric, -1.0) >= band.same_from


def _below(band: Band, scores: Mapping[str, float]) -> bool:
    return band.other_below is not None and scores.get(band.metric, 2.0) < band.other_below


_SAME_TEXT: Final = (
    Band(ContentWords.name, same_from=0.95),
    Band(RougeL.name, same_from=0.9),
    Band(Details.name, same_from=1.0),
)

DEFAULT_BANDS: Final = Bands(
    version=1,
    source=(
        "set by hand on GPT-4o's reruns of mathematics questions (python -m benchmarks.cascade): of 281 with "
        "the same conclusion 26 % are equal and 11 % decided, of 41 with another conclusion none"
    ),
    rater_version=3,
    text=_SAME_TEXT,
    structured=(
        Band(JsonRouge.name, same_from=0.95),
        Band(ContentWords.name, same_from=0.95),
        Band(Details.name, same_from=1.0),
    ),
    tool_calls=(Band(ToolCalls.name, same_from=1.0), *_SAME_TEXT),
)
"""Until a calibration has seen the judge there is.

They decide only a 3, and only next to equality: the same details, hardly a content word exchanged,
the order kept. No 1: an answer that is worded from scratch shares about as few words with the
reference as one about something else (PBSS in `docs/metrics-quality.md`).
"""

_AUDIT = "cascade_audit"


class CascadeRater:
    """Rates as a judge does, and asks it only where heuristics leave a doubt.

    Which pairs of those that the bands decided are judged all the same is drawn from their content,
    so it has nothing to do with how they were rated, and a replay audits the same ones: the share
    on which both agree estimates how often an unaudited rating is the one the judge would have
    given.
    """

    name = "cascade"
    version = 1

    def __init__(
        self,
        heuristic: HeuristicRater,
        judge: Rater,
        bands: Bands | None = None,
        *,
        audit_share: float = 0.05,
    ) -> None:
        """Put a cascade together.

        Args:
            heuristic: Scores every pair. Without a `language_of` it cannot see that a pair is in two
                languages.
            judge: Decides what the bands leave open.
            bands: Default: `DEFAULT_BANDS`.
            audit_share: Of the pairs the bands decide, those that the judge rates all the same, in
                [0, 1]. Its rating is then the rating.

        Raises:
            BandsError: The bands belong to another version of the heuristic rater, or to another encoder.
            ValueError: The share is none.
        """
        if not 0 <= audit_share <= 1:
            raise ValueError(f"audit_share must be in [0, 1], not {audit_share}")
        self._heuristic = heuristic
        self._judge = judge
        self._bands = bands or DEFAULT_BANDS
        self._bands.check()
        self._bands.check_encoder(heuristic.encoder)
        self._audit_share = audit_share

    async def rate(self, pair: Pair) -> Rating:
        """The rating, and in its details who decided it.

        Returns: a `Rating`. Its details hold the heuristic scores, whatever the judge's rating holds,
            `DECIDED_BY`, and for an audited pair `BANDS_RATING`. A `Failure` "no_text" if neither
            side has text or a tool call, else those of the judge. If the judge fails on an audited
            pair, the bands' rating stands, as it would have without the audit.
        """
        heuristic = await self._heuristic.rate(pair)
        if isinstance(heuristic.outcome, Failure) and heuristic.outcome.reason != CROSS_LANGUAGE:
            return heuristic
        if heuristic.details.get(NormalisedEquality.name) == 1.0:
            return _decided(heuristic, "equality")
        decided = self._bands.decide(heuristic)
        if decided is None:
            return _judged(heuristic, await self._judge.rate(pair))
        if draw(pair, _AUDIT) >= self._audit_share:
            return _decided(heuristic, "bands")
        judged = await self._judge.rate(pair)
        if isinstance(judged.outcome, Failure):
            kept = _decided(heuristic, "bands")
            return replace(kept, **_price(heuristic, judged))
        audited = _judged(heuristic, judged)
        return replace(audited, details=audited.details | {BANDS_RATING: float(decided)})


def _decided(heuristic: Rating, stage: Stage) -> Rating:
    return replace(heuristic, details=heuristic.details | {DECIDED_BY: float(STAGES.index(stage))})


def _judged(heuristic: Rating, judged: Rating) -> Rating:
    details = heuristic.details | judged.details | {DECIDED_BY: float(STAGES.index("judge"))}
    return replace(judged, details=details, **_price(heuristic, judged))


def _price(heuristic: Rating, judged: Rating) -> dict[str, Any]:
    """Of both: the embeddings behind a heuristic rating may cost something."""
    return {"tokens": heuristic.tokens + judged.tokens, "cost_usd": heuristic.cost_usd + judged.cost_usd}
