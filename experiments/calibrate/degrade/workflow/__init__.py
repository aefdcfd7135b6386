"""Workflows made worse by a known amount, to see what a metric says of it.

One degradation a file: `missing`, `compressed`, `reordered`, `duplicated`, `added`, and `reworded`, which is
none: it must not cost anything. `answers` reads the workflow out of an answer and has `writing` put it
back. A new one is one file, one line in `BUILTIN` and in `answers.WORKFLOWS`, one test.
"""

from evenkeel.experiments.calibrate.degrade.workflow.added import Added
from evenkeel.experiments.calibrate.degrade.workflow.compressed import Compressed
from evenkeel.experiments.calibrate.degrade.workflow.duplicated import Duplicated
from evenkeel.experiments.calibrate.degrade.workflow.missing import Missing
from evenkeel.experiments.calibrate.degrade.workflow.protocol import Degradation
from evenkeel.experiments.calibrate.degrade.workflow.reordered import Reordered
from evenkeel.experiments.calibrate.degrade.workflow.reworded import Reworded

BUILTIN: tuple[Degradation, ...] = (
    Missing("last"),
    Missing("random"),
    Missing("inner"),
    Compressed(),
    Reworded(),
    Reordered(),
    Duplicated(),
    Added(),
)
"""All that need no model."""

__all__ = [
    "BUILTIN",
    "Added",
    "Compressed",
    "Degradation",
    "Duplicated",
    "Missing",
    "Reordered",
    "Reworded",
]
