"""Workflows made worse by a known amount, to see what a metric says of it.

`severity` counts how many steps a share is. One degradation a file: `missing`, `compressed`,
`reordered`, `duplicated`, `added`, and `reworded`, which is none: it must not cost anything. `by_model` lets
a model do the rewording, under checks. A new one is one file, one line in `BUILTIN`, one test.
"""

from metrics.structural.degrade.added import Added
from metrics.structural.degrade.by_model import reworded_by
from metrics.structural.degrade.compressed import Compressed
from metrics.structural.degrade.duplicated import Duplicated
from metrics.structural.degrade.missing import Missing
from metrics.structural.degrade.protocol import Degradation
from metrics.structural.degrade.reordered import Reordered
from metrics.structural.degrade.reworded import Reworded
from metrics.structural.degrade.severity import SEVERITIES, steps_touched

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
    "SEVERITIES",
    "Added",
    "Compressed",
    "Degradation",
    "Duplicated",
    "Missing",
    "Reordered",
    "Reworded",
    "reworded_by",
    "steps_touched",
]
