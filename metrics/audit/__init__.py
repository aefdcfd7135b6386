"""How far a judge can be believed: against people, against a false hint, against itself.

`ratings` and `pairs` (what people said; read from files) → `strategies` and `attack` (what the judge is
asked) → `calls` (asking, at most once a question) or `recorded` (what a judge said earlier) →
`agreement`, `shares`, `sentiment` and `swap` (the measures) → `report` (all of it, one metric at a time).

`live` is the light form for production: a few judged pairs are judged again.

Source: Chaudhary et al., "Towards Understanding the Robustness of LLM-based Evaluations under
Perturbations" (strategies, agreement, inverted ratings); Zeng et al., LLMBar (accuracy and swaps).
"""

from metrics.audit.agreement import Agreement, krippendorff_alpha
from metrics.audit.attack import claimed_rating
from metrics.audit.live import LiveAudit, LiveReport
from metrics.audit.report import AuditReport, audit
from metrics.audit.rows import InputError
from metrics.audit.swap import PairwiseReport, pairwise_report

__all__ = [
    "Agreement",
    "AuditReport",
    "InputError",
    "LiveAudit",
    "LiveReport",
    "PairwiseReport",
    "audit",
    "claimed_rating",
    "krippendorff_alpha",
    "pairwise_report",
]
