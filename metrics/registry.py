"""Every metric over a pair of answers: what it is called, what a high value says, what it costs."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evenkeel.metrics.entity import SlotMatch, SlotRouge
from evenkeel.metrics.similarity.bert_score import BertScore
from evenkeel.metrics.similarity.content_words import ContentWords
from evenkeel.metrics.similarity.details import Details
from evenkeel.metrics.similarity.embeddings import Embeddings
from evenkeel.metrics.similarity.endpoint_embeddings import EndpointEmbeddings
from evenkeel.metrics.similarity.ngrams import Bleu, Gleu
from evenkeel.metrics.similarity.normalised import NormalisedEquality
from evenkeel.metrics.similarity.sequence import EditSimilarity, RougeL
from evenkeel.metrics.structured.json_rouge import JsonRouge
from evenkeel.metrics.structured.json_similarity import JsonSimilarity
from evenkeel.metrics.structured.validity import FormatValidity
from evenkeel.metrics.surface.language import LanguageMatch
from evenkeel.metrics.surface.length import LengthRatio
from evenkeel.metrics.surface.refusal import RefusalAgreement
from evenkeel.metrics.surface.truncation import TruncationAgreement
from evenkeel.metrics.tool_calls import ToolArguments, ToolCalls, ToolNames, ToolOrder
from evenkeel.metrics.workflow import BUILTIN as STRUCTURAL
from evenkeel.metrics.workflow.chain import ChainF1
from evenkeel.metrics.workflow.graph import GraphF1
from evenkeel.metrics.workflow.judge import WorkflowJudge
from evenkeel.metrics.workflow.meaning import StepBertScore
from evenkeel.metrics.workflow.tau import Tau, WeightedTau
from evenkeel.metrics.workflow.wording import WorkflowBleu, WorkflowGleu

if TYPE_CHECKING:
    from evenkeel.metrics.metric import AsyncMetric, Metric

Family = Literal[
    "equality",
    "lexical",
    "sequence",
    "vocabulary",
    "semantic",
    "structured",
    "structural",
    "order",
    "entity",
    "tools",
    "surface",
    "judge",
]
"""What a metric looks at: "structured" is data in an answer, "structural" are the steps of a workflow,
"order" is their order. Of the lexical ones, those that look for the longest "sequence" see what moved, those
that look at the "vocabulary" alone do not, and n-grams lie between."""
Cost = Literal["microseconds", "model", "judge"]
"""What a pair costs: some 10 to 1,000 microseconds, a pass of an encoder, or a call of a judge."""
HighMeans = Literal["alike", "better"]
"""The direction: a high value says that the answers are alike, or that the candidate is good."""
Needs = Literal["nothing", "language_identifier", "encoder", "client", "token_matcher", "judge"]

ANY = ("*",)
"""Languages of a metric that reads all of them, as far as the model behind it does."""
_ENGLISH_BEST = ("en",)
_REFUSAL_LANGUAGES = ("en", "de", "es", "fr", "it", "ja", "nl", "pt", "zh")


@dataclass(frozen=True, slots=True)
class Listed:
    """A metric and what one must know to choose it. All values are ratios in [0, 1]."""

    kind: type[Metric | AsyncMetric]
    """Its class, to be built with what it needs."""
    name: str
    version: int
    family: Family
    cost: Cost = "microseconds"
    high_means: HighMeans = "alike"
    languages: tuple[str, ...] = ANY
    """Base tags of the languages it was made for, `ANY` for all."""
    needs: Needs = "nothing"
    """What its constructor asks for; metrics that need nothing are in `HEURISTICS`."""
    akin: Family | None = None
    """Family whose blind spots it shares, if that is another one than its own."""

    @property
    def blind_as(self) -> Family:
        """Family in a calibration, where primary and secondary metric must not share their blind spots."""
        return self.akin or self.family


class UnknownMetricError(LookupError):
    """There is no metric of that name. The message names the nearest ones."""


def _listed(
    kind: type[Metric | AsyncMetric],
    family: Family,
    *,
    cost: Cost = "microseconds",
    high_means: HighMeans = "alike",
    languages: tuple[str, ...] = ANY,
    needs: Needs = "nothing",
    akin: Family | None = None,
) -> Listed:
    # The protocol declares both as properties, the classes as constants.
    name, version = str(kind.name), int(kind.version)  # type: ignore[call-overload]
    return Listed(kind, name, version, family, cost, high_means, languages, needs, akin)


METRICS: tuple[Listed, ...] = (
    _listed(NormalisedEquality, "equality"),
    _listed(RougeL, "lexical", akin="sequence"),
    _listed(Bleu, "lexical"),
    _listed(Gleu, "lexical"),
    _listed(EditSimilarity, "lexical", akin="sequence"),
    _listed(ContentWords, "lexical", languages=_ENGLISH_BEST, akin="vocabulary"),
    _listed(Details, "lexical", languages=_ENGLISH_BEST, akin="entity"),
    _listed(Embeddings, "semantic", cost="model", needs="encoder"),
    _listed(EndpointEmbeddings, "semantic", cost="model", needs="client"),
    _listed(BertScore, "semantic", cost="model", needs="token_matcher"),
    _listed(JsonRouge, "structured"),
    _listed(JsonSimilarity, "structured", cost="model", needs="encoder"),
    _listed(FormatValidity, "structured", high_means="better"),
    _listed(ChainF1, "structural"),
    _listed(GraphF1, "structural"),
    _listed(Tau, "structural", akin="order"),
    _listed(WeightedTau, "structural", akin="order"),
    _listed(WorkflowBleu, "structural", akin="lexical"),
    _listed(WorkflowGleu, "structural", akin="lexical"),
    _listed(StepBertScore, "structural", cost="model", needs="token_matcher", akin="semantic"),
    _listed(WorkflowJudge, "judge", cost="judge", needs="judge"),
    _listed(SlotMatch, "entity"),
    _listed(SlotRouge, "entity"),
    _listed(ToolCalls, "tools"),
    _listed(ToolNames, "tools"),
    _listed(ToolArguments, "tools"),
    _listed(ToolOrder, "tools"),
    _listed(RefusalAgreement, "surface", languages=_REFUSAL_LANGUAGES),
    _listed(LanguageMatch, "surface", high_means="better", needs="language_identifier"),
    _listed(LengthRatio, "surface"),
    _listed(TruncationAgreement, "surface"),
)
"""All of them, by what they read. A new metric is one file and one line here."""

HEURISTICS: tuple[Metric, ...] = (
    NormalisedEquality(),
    RougeL(),
    Bleu(),
    Gleu(),
    EditSimilarity(),
    ContentWords(),
    Details(),
    JsonRouge(),
    FormatValidity(),
    *STRUCTURAL,
    SlotMatch(),
    SlotRouge(),
    ToolCalls(),
    ToolNames(),
    ToolArguments(),
    ToolOrder(),
    RefusalAgreement(),
    LengthRatio(),
    TruncationAgreement(),
)
"""Those that need nothing, ready for use: pure, and safe to call from threads."""


def metric(name: str) -> Listed:
    """The metric of a name.

    Raises:
        UnknownMetricError: There is none; the message suggests up to three like it.
    """
    for listed in METRICS:
        if listed.name == name:
            return listed
    names = [listed.name for listed in METRICS]
    near = difflib.get_close_matches(name.lower().replace("-", "_"), names, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(sorted(names))}"
    raise UnknownMetricError(f"no metric {name!r}; {hint}")
