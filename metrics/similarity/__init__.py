"""How close two answers are in what they say and how they say it: one metric a file."""

from evenkeel.metrics.similarity.content_words import ContentWords
from evenkeel.metrics.similarity.details import Details
from evenkeel.metrics.similarity.embeddings import Embeddings, EmbeddingsUnavailableError, load_embeddings
from evenkeel.metrics.similarity.normalised import NormalisedEquality
from evenkeel.metrics.similarity.sequence import EditSimilarity, RougeL

__all__ = [
    "ContentWords",
    "Details",
    "EditSimilarity",
    "Embeddings",
    "EmbeddingsUnavailableError",
    "NormalisedEquality",
    "RougeL",
    "load_embeddings",
]
