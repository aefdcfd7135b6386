"""Values in answers: reads numbers, dates, times, durations, quantities and currency amounts.

In nine languages. `canonical` proves that texts are equal though their values are written differently;
`differing_values` proves that they differ.
"""

from evenkeel.metrics.similarity.values.atoms import Reading
from evenkeel.metrics.similarity.values.comparison import canonical, differing_values
from evenkeel.metrics.similarity.values.lexicon import told_language
from evenkeel.metrics.similarity.values.reading import ReadValues, Span, Value, read_values

__all__ = [
    "ReadValues",
    "Reading",
    "Span",
    "Value",
    "canonical",
    "differing_values",
    "read_values",
    "told_language",
]
