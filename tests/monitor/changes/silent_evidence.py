"""Evidence of silent changes, as the detector gives it, for tests."""

from evenkeel.monitor.changes.record import Silent
from evenkeel.monitor.detect.references import ReferenceEvidence


def references(at, since=None, after=None, model="m"):
    """References are answered differently since a time, 600 s earlier unless given."""
    since = at - 600 if since is None else since
    after = since if after is None else after
    return ReferenceEvidence(
        requested_model=model,
        models=("m1",),
        fingerprints=(),
        at=at,
        after=after,
        since=since,
        calls=20,
        evidence_log10=5.2,
        likeness=0.41,
        own=0.83,
        references=("r1",),
    )


def found(at, since=None, after=None, model="m"):
    """A finding."""
    return Silent(references(at, since, after, model))
