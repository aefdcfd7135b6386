"""What WorkflowPerturb reports: means and standard deviations at 10, 30 and 50 %."""

from __future__ import annotations

from typing import Final, NamedTuple

METRICS: Final = ("Graph F1", "Chain F1", "BLEU", "GLEU", "BERTScore", "Kendall's τ", "LLM-as-Judge")


class Spread(NamedTuple):
    """A mean over workflows and the standard deviation among them."""

    mean: float
    deviation: float


Row = tuple[Spread, Spread, Spread]


def _row(*figures: float) -> Row:
    first, second, third = (Spread(*figures[at : at + 2]) for at in (0, 2, 4))
    return first, second, third


MISSING: Final[dict[str, Row]] = {
    "Graph F1": _row(0.90, 0.06, 0.76, 0.06, 0.61, 0.06),
    "Chain F1": _row(0.90, 0.07, 0.76, 0.06, 0.61, 0.06),
    "BLEU": _row(0.79, 0.13, 0.52, 0.14, 0.29, 0.13),
    "GLEU": _row(0.80, 0.11, 0.58, 0.11, 0.42, 0.11),
    "BERTScore": _row(0.81, 0.26, 0.68, 0.28, 0.72, 0.30),
    "Kendall's τ": _row(0.81, 0.09, 0.61, 0.08, 0.44, 0.07),
    "LLM-as-Judge": _row(0.64, 0.21, 0.36, 0.08, 0.32, 0.10),
}
"""Table 2."""

COMPRESSED: Final[dict[str, Row]] = {
    "Graph F1": _row(0.86, 0.10, 0.66, 0.15, 0.45, 0.18),
    "Chain F1": _row(0.86, 0.10, 0.66, 0.15, 0.44, 0.18),
    "BLEU": _row(0.87, 0.14, 0.71, 0.17, 0.51, 0.20),
    "GLEU": _row(0.86, 0.12, 0.70, 0.15, 0.53, 0.17),
    "BERTScore": _row(0.41, 0.26, 0.36, 0.25, 0.32, 0.24),
    "Kendall's τ": _row(0.74, 0.14, 0.46, 0.16, 0.17, 0.19),
    "LLM-as-Judge": _row(0.64, 0.22, 0.41, 0.13, 0.37, 0.10),
}
"""Table 3."""

REWORDED: Final[dict[str, Row]] = {
    "Graph F1": _row(0.97, 0.08, 0.91, 0.12, 0.85, 0.16),
    "Chain F1": _row(0.96, 0.08, 0.91, 0.12, 0.85, 0.16),
    "BLEU": _row(0.85, 0.12, 0.66, 0.14, 0.50, 0.15),
    "GLEU": _row(0.86, 0.10, 0.67, 0.13, 0.52, 0.14),
    "BERTScore": _row(0.94, 0.20, 0.86, 0.21, 0.79, 0.21),
    "Kendall's τ": _row(1.00, 0.05, 0.99, 0.08, 0.99, 0.09),
    "LLM-as-Judge": _row(0.98, 0.08, 0.99, 0.07, 0.99, 0.06),
}
"""Table 4."""

SENSITIVITY: Final[dict[str, tuple[float, float, float]]] = {
    "Graph F1": (0.72, 1.04, 0.29),
    "Chain F1": (0.72, 1.04, 0.29),
    "BLEU": (1.23, 0.88, 0.88),
    "GLEU": (0.96, 0.84, 0.84),
    "BERTScore": (0.24, 0.23, 0.39),
    "Kendall's τ": (0.94, 1.42, 0.02),
    "LLM-as-Judge": (0.80, 0.70, -0.03),
}
"""Table 5: missing, compressed, description changes."""
