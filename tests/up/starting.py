"""`evenkeel up` as a user starts it, in front of a simulated model."""

import contextlib

from tests.kit.relaying import running


@contextlib.contextmanager
def up(folder, *arguments, environment=None, **options):
    """Start `evenkeel up`, and check its log when it ends."""
    with running("up", folder, *arguments, admin=True, environment=environment, **options) as started:
        yield started
    assert "Fatal Python error" not in started.log.read_text()
    started.check_log()
