"""Answers made worse by a known amount, to see what a metric says of it.

`form` tells what an answer is made of: the steps of a `workflow`, the sentences or items of a `text`, the
values of `data`. Each form has a degradation for each failure mode: missing, compressed, reordered,
duplicated, added, and reworded, which is none: it must not cost anything. `severity` counts how many
units a share is, `registry` names all degradations, `variants` makes all variants of an answer, `by_model`
has a model reword and compress under checks.

A new degradation is one file, one line in the tuple of its form, one test.
"""

from evenkeel.experiments.calibrate.degrade.form import form_of
from evenkeel.experiments.calibrate.degrade.protocol import AnswerDegradation, Form, NotDegradableError
from evenkeel.experiments.calibrate.degrade.registry import BUILTIN, degradation, degradations
from evenkeel.experiments.calibrate.degrade.severity import SEVERITIES, units_touched
from evenkeel.experiments.calibrate.degrade.variants import Degraded, as_written, degrade

__all__ = [
    "BUILTIN",
    "SEVERITIES",
    "AnswerDegradation",
    "Degraded",
    "Form",
    "NotDegradableError",
    "as_written",
    "degradation",
    "degradations",
    "degrade",
    "form_of",
    "units_touched",
]
