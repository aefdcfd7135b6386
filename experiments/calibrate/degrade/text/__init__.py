"""Degradations of texts: prose by its sentences, lists by their items.

`sentences` and `items` divide a text (`units` says which), and put it together again from other units; the
rest of the text stays as it is. One degradation a file.
"""

from evenkeel.experiments.calibrate.degrade.protocol import AnswerDegradation
from evenkeel.experiments.calibrate.degrade.text.added import Added
from evenkeel.experiments.calibrate.degrade.text.compressed import Compressed
from evenkeel.experiments.calibrate.degrade.text.duplicated import Duplicated
from evenkeel.experiments.calibrate.degrade.text.missing import Missing
from evenkeel.experiments.calibrate.degrade.text.reordered import Reordered
from evenkeel.experiments.calibrate.degrade.text.reworded import Reworded
from evenkeel.experiments.calibrate.degrade.text.units import TextForm


def _all(form: TextForm) -> tuple[AnswerDegradation, ...]:
    return (
        Missing(form),
        Compressed(form),
        Reworded(form),
        Reordered(form),
        Duplicated(form),
        Added(form),
        Missing(form, "last"),
        Missing(form, "inner"),
    )


PROSE: tuple[AnswerDegradation, ...] = _all("prose")
"""The defaults, one for each failure mode, then what else there is."""
LISTS: tuple[AnswerDegradation, ...] = _all("list")

__all__ = ["LISTS", "PROSE", "Added", "Compressed", "Duplicated", "Missing", "Reordered", "Reworded"]
