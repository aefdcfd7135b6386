"""Closeness in wording: tokens and n-grams that two answers share.

ROUGE-L and edit similarity live in `evenkeel.metrics.similarity`, where the cheap rater uses them; they are
named here so that the whole family can be had from one place.
"""

from evenkeel.metrics.lexical.bleu import Bleu
from evenkeel.metrics.lexical.gleu import Gleu
from evenkeel.metrics.similarity.edit import EditSimilarity
from evenkeel.metrics.similarity.rouge_l import RougeL

__all__ = ["Bleu", "EditSimilarity", "Gleu", "RougeL"]
