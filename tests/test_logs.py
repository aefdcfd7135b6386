"""Logs: what an event looks like, which events there are, and what is never in one."""

import json
import logging
import subprocess
import sys
import threading

import pytest

from evenkeel import logs


@pytest.fixture
def events(monkeypatch, capsys):
    """Collects logs as a process of its own does; call it for what was logged since, line by line."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with logs.collected():
        logs.configure(form="json", process="")
        yield lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_an_event_has_time_level_logger_and_message(events):
    """The time is RFC 3339 in UTC with microseconds."""
    record = logging.makeLogRecord(
        {
            "levelno": 20,
            "levelname": "INFO",
            "name": "evenkeel.worker",
            "msg": "%d trials",
            "args": (3,),
            "created": 1e9 + 0.25,
        }
    )
    logging.getLogger("evenkeel.worker").handle(record)
    assert events() == [
        {
            "time": "2001-09-09T01:46:40.250000Z",
            "level": "info",
            "logger": "evenkeel.worker",
            "message": "3 trials",
        }
    ]


def test_an_event_says_what_it_is_about(events):
    """Route, exchange and the supervisor's name of the process stand beside the message; never empty ones."""
    logs.configure(form="json", process="worker")
    logging.getLogger("evenkeel").warning("odd", extra={"route": "support", "exchange": "e1", "trace_id": ""})
    (event,) = events()
    assert (event["route"], event["exchange"], event["process"]) == ("support", "e1", "worker")
    assert "trace_id" not in event


@pytest.mark.parametrize("logger", ["uvicorn.error", "litestar", "asyncio"])
def test_libraries_log_the_same_way_but_only_warnings(events, logger):
    """The level `debug` shows none either: some of them log requests with their headers."""
    # A server of another test in this process may have set a level of its own.
    logging.getLogger(logger).setLevel(logging.NOTSET)
    logs.configure("debug", "json")
    logging.getLogger(logger).info("nothing to see")
    logging.getLogger(logger).error("broken")
    assert [event["message"] for event in events() if event["logger"] == logger] == ["broken"]


def test_an_exception_that_ends_a_thread_is_an_event(events):
    """The line has its traceback and the thread's name."""

    def fail():
        raise LookupError("lost")

    thread = threading.Thread(target=fail, name="publisher")
    thread.start()
    thread.join()
    (event,) = events()
    assert (event["level"], event["message"]) == ("critical", "thread publisher ended with LookupError")
    assert event["exception"].endswith("LookupError: lost")


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("redis://:hunter2@cache:6379/0 refused", "redis://:***@cache:6379/0 refused"),
        ("postgres://ann:hunter2@db/x", "postgres://ann:***@db/x"),
        ("Authorization: Bearer abcdefghijklmnop.qrs", "Authorization: Bearer ***"),
        ("api_key=0123456789abcdef given", "api_key=*** given"),
        ("{'x-api-key': '0123456789abcdef'}", "{'x-api-key': '***'}"),
        ("Incorrect API key provided: sk-proj-abcdefghijkl", "Incorrect API key provided: sk-***"),
        ("the token is in the file admin-token", "the token is in the file admin-token"),
        ("5,000,000 tokens: 12345678 used", "5,000,000 tokens: 12345678 used"),
    ],
)
def test_what_looks_like_a_credential_is_masked(events, said, written):
    """The message, what the event is about and tracebacks show none, as text as well as JSON."""
    logging.getLogger("evenkeel").error("%s", said, extra={"detail": said}, exc_info=ValueError(said))
    (event,) = events()
    assert (event["message"], event["detail"]) == (written, written)
    assert event["exception"] == f"ValueError: {written}"
    record = logging.makeLogRecord({"msg": said, "name": "evenkeel"})
    assert logs.TextLines(dated=True).format(record).endswith(f"evenkeel: {written}")


@pytest.mark.parametrize(
    ("form", "serving", "terminal", "as_json"),
    [
        ("auto", True, False, True),
        ("auto", True, True, False),
        ("auto", False, False, False),
        ("text", True, False, False),
        ("json", False, True, True),
    ],
)
def test_where_events_are_json(monkeypatch, form, serving, terminal, as_json):
    """JSON is for roles that write to a file or a pipe; terminals, and commands that end, have text."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    logs.configure(form=form, serving=serving)
    assert logs.is_json() is as_json


def test_a_role_that_cannot_start_says_so_as_an_event(tmp_path):
    """The error that a person would read, with exit code 2, and nothing else on either stream."""
    done = subprocess.run(
        [sys.executable, "-m", "evenkeel", "up", "--log-format", "json"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    event = json.loads(line)
    assert (event["level"], event["logger"]) == ("error", "evenkeel")
    assert "no upstream to forward to" in event["message"]


def test_a_role_writes_nothing_but_events(tmp_path):
    """Its start, what it finds wrong, what its children do: each is a line of JSON."""
    ports = ("--port", "0", "--admin-port", "0", "--data-dir", str(tmp_path / "data"))
    command = [sys.executable, "-m", "evenkeel", "up", "--upstream", "http://127.0.0.1:9", *ports]
    out, err = tmp_path / "out", tmp_path / "err"
    with (
        out.open("wb") as to_out,
        err.open("wb") as to_err,
        subprocess.Popen([*command, "--log-format", "json"], stdout=to_out, stderr=to_err) as process,
    ):
        while "monitor started" not in err.read_text():
            assert process.poll() is None, err.read_text()
        process.terminate()
    events = [json.loads(line) for line in err.read_text().splitlines()]
    assert out.read_text() == ""
    assert all({"time", "level", "logger", "message"} <= event.keys() for event in events)
    assert "base URL" in events[0]["message"]
    assert "cannot be reached" in events[1]["message"]
    said = [event["message"] for event in events]
    assert said[-1] == "stopped"
    assert said.count("stopping: what is under way is finished first") == 1
