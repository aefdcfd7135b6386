"""What a run is told to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel.monitor.detect.gate import GateRules

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel.experiments.calibrate.calibration import Calibration
    from evenkeel.experiments.gate.edits import Edit
    from evenkeel.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateOptions:
    """What is to be shipped."""

    url: str | None = None
    """None = the routes' own upstreams."""
    model: str | None = None
    edit: Edit | None = None
    key_env: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceOptions:
    """What it is compared with."""

    url: str | None = None
    """None = the routes' own upstreams, or else the candidate's endpoint."""
    model: str | None = None
    """None = the goldens'."""
    key_env: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Files to write, each if wanted."""

    markdown: Path | None = None
    junit: Path | None = None
    json: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """Everything that a run needs to be told."""

    settings: Settings
    """Judge, prices, embeddings, qualities and routes."""
    has_routes: bool
    """Whether the settings name the routes' real upstreams."""
    files: tuple[Path, ...] = ()
    """Goldens; none = those in the store of the settings."""
    route: str | None = None
    """Only goldens of this route."""
    task: str | None = None
    """Of goldens that name none."""
    candidate: CandidateOptions
    reference: ReferenceOptions | None
    """None = the stated tolerance is all that is taken off."""
    key_header: str = "authorization"
    calibration: Calibration | None = None
    rated: bool = True
    """Whether answers are rated in two stages."""
    deciding: tuple[str, ...] = ()
    """Measures that can fail the gate; none = all but harmless ones."""
    rules: GateRules = field(default_factory=GateRules)
    repeats: int = 1
    seed: int = 0
    concurrency: int = 8
    timeout_s: float = 60.0
    cache: Path | None = None
    most_usd: float | None = None
    outputs: Outputs = field(default_factory=Outputs)
