"""Evidence of silent changes, as the detector gives it, for tests."""

from __future__ import annotations

from evenkeel.monitor.changes.silent import Silent
from evenkeel.monitor.detect.references import ReferenceEvidence


def references(at, since=None, after=None, model="m"):
    """References are answered differently since a time, 600 s earlier unless given."""
    since = at - 600 if since is None else since
    after = since if after is None else after
    return ReferenceEvidence(model, ("m1",), (), at, after, since, 20, 5.2, 0.41, 0.83, ("r1",))


def found(at, since=None, after=None, model="m"):
    """A finding."""
    return Silent(references(at, since, after, model))
