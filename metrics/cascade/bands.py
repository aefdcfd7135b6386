"""Bands: where cheap scores leave no doubt what the judge would say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError

from evenkeel.metrics.similarity.cheap import CheapRater
from evenkeel.metrics.similarity.content_words import ContentWords
from evenkeel.metrics.similarity.details import Details
from evenkeel.metrics.similarity.embeddings import MINILM, Embeddings
from evenkeel.metrics.similarity.rouge_l import RougeL
from evenkeel.metrics.similarity.tool_calls import ToolCalls
from evenkeel.metrics.structured.json_rouge import JsonRouge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.metrics.similarity.protocol import Rating

_SAME, _OTHER = 3, 1


class BandsError(ValueError):
    """Bands cannot be read or do not fit the metrics. The message says what is wrong and what to do."""


@dataclass(frozen=True, slots=True)
class Band:
    """The clear ends of one score. A score between them decides nothing."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    metric: str
    """Name of a score in the cheap rater's details."""
    same_from: float | None = None
    """From here on the judge would say 3; None = this score never stands against a 3."""
    other_below: float | None = None
    """Below it the judge would say 1; None = this score never stands against a 1."""


@dataclass(frozen=True, slots=True)
class Bands:
    """When cheap scores decide in the judge's place, and on whose word.

    A rating of 3 (or 1) is decided where the cheap rater gives it and every band that has an end on
    that side holds; a side on which no band has an end is never decided. So bands can only narrow
    the cheap rater's own ratings down to the clear ones. A 2 is never decided: which details matter
    is what a judge is for.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    version: int
    """Raised by whoever writes new bands."""
    source: str
    """Where they come from: data, judge and encoder, in a line for people."""
    rater_version: int
    """Of the `CheapRater` whose scores they were set on: under another one they mean nothing."""
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

    def decide(self, cheap: Rating) -> int | None:
        """What the judge would say to a pair that the cheap rater rated so.

        Returns: 3 or 1; None if that is not clear: the judge has to be asked. A score that is
            missing, such as that of an encoder that failed, is never clear.
        """
        bands = self._of(cheap.details)
        if cheap.outcome == _SAME:
            wanted = [band for band in bands if band.same_from is not None]
            clear = bool(wanted) and all(_at_least(band, cheap.details) for band in wanted)
        elif cheap.outcome == _OTHER:
            wanted = [band for band in bands if band.other_below is not None]
            clear = bool(wanted) and all(_below(band, cheap.details) for band in wanted)
        else:
            return None
        return int(cheap.outcome) if clear else None

    def check(self) -> None:
        """Compare with the cheap rater there is.

        Raises:
            BandsError: They were set on the scores of another version.
        """
        if self.rater_version != CheapRater.version:
            raise BandsError(
                f"bands version {self.version} were set on cheap_rater version {self.rater_version}, "
                f"this is version {CheapRater.version}: calibrate again, or leave them out"
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
        "set by hand on GPT-4o's reruns of mathematics questions (python -m benchmarks.cascade): of 281 with the "
        "same conclusion 26 % are equal and 11 % decided, of 41 with another conclusion none"
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

_ADAPTER: Final = TypeAdapter(Bands)


def read_bands(text: str) -> Bands:
    """Read bands from YAML or JSON, as a calibration writes them.

    Raises:
        BandsError: It is neither, a field is missing, unknown or of another type, an end is out of
            range, or the bands belong to another version of the cheap rater.
    """
    try:
        bands = _ADAPTER.validate_python(yaml.safe_load(text), strict=False)
    except yaml.YAMLError as error:
        raise BandsError(f"bands are neither YAML nor JSON: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "bands"
        raise BandsError(f"{place}: {first['msg']}") from error
    bands.check()
    return bands


def bands_to_json(bands: Bands) -> str:
    """The bands as JSON, which `read_bands` reads."""
    return _ADAPTER.dump_json(bands, indent=2).decode()
