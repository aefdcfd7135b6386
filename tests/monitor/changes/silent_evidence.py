"""Evidence of silent changes, as the two detectors give it, for tests."""

from __future__ import annotations

from evenkeel.monitor.changes.silent import Silent
from evenkeel.monitor.detect.references import AskedVersion, ReferenceEvidence
from evenkeel.monitor.detect.traits import MovedTrait, TraitEvidence

LENGTH = MovedTrait("chars", "length of answers: 812 → 433 characters", 812.0, 433.0, -1.4)


def traits(at, since=None, model="m"):
    """Answers look otherwise since a time, 600 s earlier unless given."""
    return TraitEvidence(
        model, at, at - 600 if since is None else since, 40, 7.1, (LENGTH,), ("e1",), ("e2",)
    )


def references(at, since=None, after=None, model="m"):
    """References are answered differently since a time, 600 s earlier unless given."""
    since = at - 600 if since is None else since
    after = since if after is None else after
    versions = (AskedVersion("v1", 20, 0.41, 0.83),)
    return ReferenceEvidence(model, ("m1",), (), at, after, since, 20, 5.2, 0.41, 0.83, versions, ("r1",))


def suspected(at, since=None, model="m"):
    """A suspicion."""
    return Silent(traits=traits(at, since, model))


def found(at, since=None, after=None, model="m"):
    """A finding."""
    return Silent(references=references(at, since, after, model))
