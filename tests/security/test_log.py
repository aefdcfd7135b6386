"""Nothing that a client, an endpoint or a name says begins a line of the log or of the audit log."""

import io
import json
import logging

import pytest

from evenkeel import logs

FORGED = (
    "m\n12:00:00 evenkeel.audit: forged",
    "m\r\n12:00:00 evenkeel.audit: forged",
    "m\r12:00:00 evenkeel.audit: forged",
    "m\x85\u2028\u2029\x0b\x0cforged",
    "\x1b[2J\x1b]0;title\x07forged",
    "\u202eforged\u2066",
    "nul \x00",
)


@pytest.fixture
def logged(monkeypatch):
    """Writes one record as a command does, and returns what stands in the log."""
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace", newline="")

    def logged(*arguments, form="text", **more):
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setattr(logging.getLogger(), "handlers", [])
        with logs.collected():
            logs.configure(form=form)
            logging.getLogger("evenkeel").error(*arguments, **more)
        stream.flush()
        return stream.buffer.getvalue().decode()

    return logged


@pytest.mark.parametrize("forged", FORGED, ids=ascii)
def test_a_record_is_one_line_that_steers_no_terminal(logged, forged):
    """Line ends, controls and overrides of the writing direction are written as escapes."""
    written = logged("model %s has no price (%s)", forged, ValueError(forged))
    assert written.count("forged") in (0, 2)
    assert len(written.splitlines()) == 1
    assert written.rstrip("\n").isprintable()


@pytest.mark.parametrize("forged", FORGED, ids=ascii)
def test_an_event_as_json_is_one_line_with_its_traceback(logged, forged):
    """A text stays within its string."""
    written = logged("exchange %s failed", forged, form="json", exc_info=ValueError(forged))
    assert len(written.splitlines()) == 1
    assert written.rstrip("\n").isprintable()
    event = json.loads(written)
    assert (event["level"], event["logger"]) == ("error", "evenkeel")
    assert event["message"] == f"exchange {forged} failed"
    assert "ValueError" in event["exception"]


@pytest.mark.parametrize("forged", FORGED, ids=ascii)
def test_no_line_of_a_traceback_looks_like_a_record(logged, forged):
    """The message of an exception is set in, however many lines it has."""
    first, *lines = logged("exchange %s failed", "e1", exc_info=ValueError(forged)).splitlines()
    assert first.endswith("exchange e1 failed")
    assert lines
    assert all(line.startswith("  ") and line.isprintable() for line in lines)
