"""Trouble that a loop outlives: told once, until it is over."""

import asyncio
import logging

import pytest

from evenkeel.core.trouble import Trouble

log = logging.getLogger("evenkeel.test")


def test_trouble_is_told_when_it_begins_and_when_it_comes_back(caplog):
    """Two failed turns, a good one and a failed one are two warnings."""
    trouble = Trouble(log, "nothing can be written (%s)")
    seen = []
    for error in (OSError("full"), OSError("still full"), None, ValueError("odd")):
        with trouble:
            if error:
                raise error
        seen.append(trouble.ongoing)
    assert seen == [True, True, False, True]
    assert caplog.messages == ["nothing can be written (full)", "nothing can be written (odd)"]
    assert {record.levelname for record in caplog.records} == {"WARNING"}


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_what_ends_a_process_or_a_task_passes(caplog, ending):
    trouble = Trouble(log, "never said (%s)")
    with pytest.raises(ending), trouble:
        raise ending
    assert not trouble.ongoing
    assert not caplog.records
