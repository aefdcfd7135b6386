"""Every degradation by its name, and what it makes of a text."""

from __future__ import annotations

import random
from typing import get_args

from evenkeel.core.pair import Answer
from evenkeel.lab.calibrate.degrade import NotDegradableError, degradations
from evenkeel.lab.calibrate.forms import Form

DEGRADATIONS = {each.name: each for form in get_args(Form) for each in degradations(form)}


def applied(name, text, severity, seed=1):
    """The degraded text."""
    return DEGRADATIONS[name].apply(Answer(text), severity, random.Random(seed)).text


def done(each, text, severity, seed):
    """The degraded text, the same whenever it is made; or the reason why there is none, in brackets."""
    try:
        found = [each.apply(Answer(text), severity, random.Random(seed)).text for _ in range(2)]
    except NotDegradableError as error:
        return [error.reason]
    assert found[0] == found[1]
    return found[0]


def refused(name, text, severity=0.5):
    """Why a text cannot be degraded so."""
    (reason,) = done(DEGRADATIONS[name], text, severity, 1)
    return reason
