"""Logs: one line for each event, as text for people or as JSON for a log store.

Every event comes this way: evenkeel's own loggers, those of uvicorn, litestar and asyncio, Python's
warnings, and exceptions that nobody catches. The data plane logs no requests.

Only evenkeel's own loggers follow `telemetry.log_level`. Libraries log warnings and errors at any level: at
`debug` some of them log requests with their headers.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO, get_args

from evenkeel.core.text import UNWRITABLE, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["auto", "text", "json"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
LEVEL_VARIABLE: Final = "EVENKEEL_TELEMETRY__LOG_LEVEL"
FORMAT_VARIABLE: Final = "EVENKEEL_TELEMETRY__LOG_FORMAT"
"""Named as those of all settings."""

log = logging.getLogger("evenkeel")

# Attributes of every record; what else it has was given as `extra`.
_PLAIN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# Pattern of what looks like a credential. No message is meant to hold one, but libraries may quote one.
_SECRETS: Final = re.compile(
    r"(?P<before>://[^\s/@:]*:)[^\s/@]+(?=@)"  # the password in a URL
    r"|(?P<scheme>\b(?:bearer|basic)\s+)[\w.~+/=-]{16,}"
    r"|(?P<name>\b(?:x-)?(?:api[-_]?key|authorization|password|secret|token)[\"']?\s*[=:]\s*[\"']?)[\w.~+/-]{8,}"
    r"|(?P<kind>\b(?:sk|pk|xox[a-z]|gh[a-z])[-_])[\w-]{12,}",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """The text with `***` in place of what looks like a credential."""
    return _SECRETS.sub(lambda found: f"{found[found.lastgroup or 0]}***", text)


class TextLines(logging.Formatter):
    """A line for people: time, level, logger, message. A traceback follows on lines of its own, set in.

    Nothing in a message begins another line or steers a terminal.
    """

    def __init__(self, *, dated: bool) -> None:
        """Args: dated: Whether lines carry the date and UTC, for a file, instead of the local time of day."""
        super().__init__(
            "%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%SZ" if dated else "%H:%M:%S"
        )
        self.converter = time.gmtime if dated else time.localtime

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """The line, with escapes for line ends and controls."""
        return _one_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        """The traceback, set in."""
        return "\n".join("  " + _one_line(line) for line in super().formatException(ei).split("\n"))


class JsonLines(logging.Formatter):
    """A JSON object on one line, with the same names in every process.

    `time` (RFC 3339, UTC), `level`, `logger`, `message`; `process` under a supervisor; `trace_id` and
    `span_id` within a span; what the event is about, such as `route` and `exchange`; and `exception`, a whole
    traceback.
    """

    def __init__(self, process: str = "") -> None:
        """Args: process: Name of the process among those of its supervisor; "" = alone."""
        super().__init__()
        self._process = {"process": process} if process else {}

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        entry: dict[str, Any] = {
            "time": f"{seconds}.{int(record.created % 1 * 1_000_000):06d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": masked(record.getMessage()),
            **self._process,
            **_span_ids(),
        }
        for name, value in vars(record).items():
            if name not in _PLAIN and value not in (None, ""):
                entry[name] = masked(value) if isinstance(value, str) else value
        if record.exc_info:
            entry["exception"] = masked(self.formatException(record.exc_info))
        if record.stack_info:
            entry["stack"] = masked(record.stack_info)
        return escaped(json.dumps(entry, ensure_ascii=False, default=str))


def _one_line(text: str) -> str:
    return UNWRITABLE.sub(lambda found: ascii(found[0])[1:-1], masked(text))


def _span_ids() -> dict[str, str]:
    """Ids of the span that is going on, in processes with traces."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return {}
    context = api.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to standard error as it is at the time of each event: it may be guarded by then."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.process = ""

    @property
    def stream(self) -> TextIO:
        """Standard error."""
        return sys.stderr

    @stream.setter
    def stream(self, value: TextIO) -> None:
        # The base class has a setter; here standard error is looked up each time, so nothing can be set.
        raise NotImplementedError


_handler: Final = _StandardError()


def configure(
    level: Level = "info", form: Format = "auto", *, process: str | None = None, serving: bool = True
) -> None:
    """Set the level and the format of this process; the last call counts.

    Args:
        level: Of evenkeel's own events.
        form: "auto" is text at a terminal, and for a command that ends by itself; else JSON.
        process: Name of this process among those of its supervisor; None = as before.
        serving: Whether it runs until it is stopped.
    """
    terminal = sys.stderr.isatty()
    as_json = form == "json" or (form == "auto" and serving and not terminal)
    _handler.process = _handler.process if process is None else process
    _handler.setFormatter(JsonLines(_handler.process) if as_json else TextLines(dated=not terminal))
    root = logging.getLogger()
    if _handler not in root.handlers:
        return  # a program that runs this one has its own levels
    threshold = logging.getLevelNamesMapping()[level.upper()]
    root.setLevel(max(threshold, logging.WARNING))
    log.setLevel(threshold)


def from_environment(*, serving: bool) -> None:
    """Configure by the variables of level and format; ignore values that do not exist."""
    level, form = os.environ.get(LEVEL_VARIABLE), os.environ.get(FORMAT_VARIABLE)
    configure(
        next((known for known in LEVELS if known == level), "info"),
        next((known for known in FORMATS if known == form), "auto"),
        serving=serving,
    )


def is_json() -> bool:
    """True if events are JSON."""
    return isinstance(_handler.formatter, JsonLines)


@contextmanager
def collected() -> Iterator[None]:
    """Log to standard error while the block runs; also warnings, and exceptions that end a thread.

    Where a program that runs this one has handlers of its own, as pytest does, events go to those.
    """
    root = logging.getLogger()
    if root.handlers:
        yield
        return
    levels, hook = (root.level, log.level), threading.excepthook
    root.addHandler(_handler)
    logging.captureWarnings(capture=True)
    threading.excepthook = _thread_failed
    try:
        yield
    finally:
        root.setLevel(levels[0])
        log.setLevel(levels[1])
        root.removeHandler(_handler)
        logging.captureWarnings(capture=False)
        threading.excepthook = hook


def _thread_failed(args: threading.ExceptHookArgs) -> None:
    if args.exc_type is SystemExit:
        return
    name = args.thread.name if args.thread else "?"
    log.critical("thread %s ended with %s", name, args.exc_type.__name__, exc_info=args.exc_value)
