"""What `evenkeel calibrate` can be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel.experiments.calibrate.threshold import Placement

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel.experiments.calibrate.degrade import Form
    from evenkeel.experiments.calibrate.rewriting import Rewriter
    from evenkeel.experiments.judge_audit.run import JudgeAddress
    from evenkeel.settings import Settings

JOURNAL = "calibration-journal.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateOptions:
    """The command line, read."""

    file: Path | None = None
    """Goldens; None takes those of the store."""
    stores: Settings | None = None
    """Say where the store is, for goldens and bands; None if it is not needed."""
    route: str | None = None
    """Only the store's goldens of this route."""
    form: Form | None = None
    out: Path
    """Folder for what is written."""
    journal: Path | None = None
    """None = `JOURNAL` in the folder."""
    metrics: tuple[str, ...] = ()
    """Only these; empty = all that apply."""
    embeddings: bool | None = None
    """None uses them if they are installed."""
    encoder: str | None = None
    """A sentence-transformers model; None = the packaged one."""
    vectors: Path | None = None
    """File in which vectors are kept; None = beside the journal."""
    bert_score: bool = False
    processes: int = 1
    placement: Placement = field(default_factory=Placement)
    resamples: int = 1000
    seed: int = 0
    judge: JudgeAddress | None = None
    judge_goldens: int | None = None
    """Ask the judge about a sample of so many goldens; None = all."""
    max_usd: float | None = None
    bands_from_store: bool = False
    rewriter: Rewriter | None = None
    """Rewords and compresses; None = by rule."""
    source: str | None = None
    """Name of the goldens in what is written; None = that of the file or the route."""
