"""How close two answers are: one metric a file, and a rater that turns them into 3, 2 or 1.

A `Metric` gives a ratio or a `Failure`. `CheapRater` decides from them without a judge. A new
metric is one file, one line in `BUILTIN`, one test file.
"""

from metrics.similarity.cheap import CheapRater
from metrics.similarity.content_words import ContentWords
from metrics.similarity.cutoffs import Cutoffs
from metrics.similarity.details import Details
from metrics.similarity.edit import EditSimilarity
from metrics.similarity.embeddings import Embeddings, EmbeddingsUnavailableError, load_embeddings
from metrics.similarity.normalised import NormalisedEquality
from metrics.similarity.protocol import Metric, Rater, Rating
from metrics.similarity.rouge_l import RougeL
from metrics.similarity.tool_calls import ToolCalls

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
