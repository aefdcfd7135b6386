"""What a run is told to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel.experiments.bench.items import Item
    from evenkeel.experiments.bench.protocol import Protocol
    from evenkeel.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Files to write, each if wanted."""

    json: Path | None = None
    csv: Path | None = None
    html: Path | None = None
    trials: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """Everything that a run needs to be told."""

    settings: Settings
    """Judge, rewriter, prices, embeddings."""
    protocol: Protocol
    items: tuple[Item, ...]
    """In the order in which they are put."""
    source: str
    """Where the issues come from."""
    not_measured: dict[str, int] = field(default_factory=dict)
    """What is missing ("judge", "rewriter") → kinds that were asked for and need it."""
    journal: Path
    concurrency: int = 8
    timeout_s: float = 120.0
    most_usd: float | None = None
    outputs: Outputs = field(default_factory=Outputs)
