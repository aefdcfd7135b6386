"""`evenkeel up` as a user starts it, in front of a simulated model."""

from __future__ import annotations

import contextlib

from tests.kit.relaying import running


@contextlib.contextmanager
def up(folder, *arguments, environment=None, **options):
    """Start `evenkeel up` without embeddings: loading an encoder takes longer than most of these tests."""
    variables = {"EVENKEEL_EMBEDDINGS": "false", **(environment or {})}
    with running("up", folder, *arguments, admin=True, environment=variables, **options) as started:
        yield started
    assert "Fatal Python error" not in started.log.read_text()
    started.check_log()
