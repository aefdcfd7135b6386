"""How close two answers are: one metric a file, and a rater that turns them into 3, 2 or 1.

A `Metric` gives a ratio or a `Failure`. `CheapRater` decides from them without a judge. A new
metric is one file, one line in `BUILTIN`, one test file.
"""

from evenkeel.metrics.similarity.cheap import CheapRater
from evenkeel.metrics.similarity.content_words import ContentWords
from evenkeel.metrics.similarity.cutoffs import Cutoffs
from evenkeel.metrics.similarity.details import Details
from evenkeel.metrics.similarity.edit import EditSimilarity
from evenkeel.metrics.similarity.embeddings import Embeddings, EmbeddingsUnavailableError, load_embeddings
from evenkeel.metrics.similarity.normalised import NormalisedEquality
from evenkeel.metrics.similarity.protocol import Metric, Rater, Rating
from evenkeel.metrics.similarity.rouge_l import RougeL
from evenkeel.metrics.similarity.tool_calls import ToolCalls

BUILTIN: tuple[Metric, ...] = (
    NormalisedEquality(),
    RougeL(),
    EditSimilarity(),
    ContentWords(),
    Details(),
    ToolCalls(),
)
"""Every metric that needs no model. Embeddings join by `load_embeddings`."""

__all__ = [
    "BUILTIN",
    "CheapRater",
    "ContentWords",
    "Cutoffs",
    "Details",
    "EditSimilarity",
    "Embeddings",
    "EmbeddingsUnavailableError",
    "Metric",
    "NormalisedEquality",
    "Rater",
    "Rating",
    "RougeL",
    "ToolCalls",
    "load_embeddings",
]
