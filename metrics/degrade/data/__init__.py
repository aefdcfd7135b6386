"""Degradations of data: JSON, YAML and XML by their values, at any depth.

`document` finds the data in an answer and writes them back (`json_form`, `yaml_form`, `xml_form`), `tree` is
what they are read into; `changing` and `choosing` say which values and items are touched. One degradation a
file. What comes out is always valid in its format.
"""

from metrics.degrade.data.added import Added
from metrics.degrade.data.compressed import Compressed
from metrics.degrade.data.duplicated import Duplicated
from metrics.degrade.data.missing import Missing
from metrics.degrade.data.reordered import Reordered
from metrics.degrade.data.reworded import Reworded
from metrics.degrade.protocol import AnswerDegradation

DATA: tuple[AnswerDegradation, ...] = (
    Missing(),
    Compressed(),
    Reworded(),
    Reordered(),
    Duplicated(),
    Added(),
)
"""One for each failure mode."""

__all__ = ["DATA", "Added", "Compressed", "Duplicated", "Missing", "Reordered", "Reworded"]
