"""Degradations of data: JSON, YAML and XML by their values, at any depth.

`document` finds the data in an answer and writes them back (`json_form`, `yaml_form`, `xml_form`), `tree` is
what they are read into; `changing` and `choosing` say which values and items are touched. One degradation a
file. What comes out is always valid in its format.
"""

from evenkeel.experiments.calibrate.degrade.data.added import Added
from evenkeel.experiments.calibrate.degrade.data.compressed import Compressed
from evenkeel.experiments.calibrate.degrade.data.duplicated import Duplicated
from evenkeel.experiments.calibrate.degrade.data.missing import Missing
from evenkeel.experiments.calibrate.degrade.data.reordered import Reordered
from evenkeel.experiments.calibrate.degrade.data.reworded import Reworded
from evenkeel.experiments.calibrate.degrade.protocol import AnswerDegradation

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
