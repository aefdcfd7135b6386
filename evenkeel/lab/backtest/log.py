"""Verdicts in a file: JSON lines, each a trial in a few words, or a stored verdict as it is.

`docs/backtest.md` describes the members. A line of a trial may name its control in two ways, and both are
read the same: by `control_rating` and the like, or as a line of its own of the same exchange that comes
before. Either way the fold sees one verdict of the control for each exchange, as it does live.
"""

from __future__ import annotations

import contextlib
import difflib
import gzip
import re
import sys
from collections import Counter, OrderedDict
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from evenkeel.core.errors import UserError
from evenkeel.core.pair import AnswerForm, Format
from evenkeel.core.records import from_json
from evenkeel.core.verdict import (
    BASELINE,
    DECIDED_BY,
    SAME_CONTENT,
    STAGES,
    Control,
    Failure,
    Obligation,
    Origin,
    QualityScore,
    Scoring,
    Stage,
    Verdict,
)
from evenkeel.stores.verdict_log import LoggedNote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkeel.stores.verdict_log import Entry, VerdictLog

CONTROLS: Final = frozenset((BASELINE, "control", "identical", "resend"))
"""Names under which a file may call the identical resend."""
# Exchanges whose control is remembered.
_REMEMBERED: Final = 4096
# msgspec puts the place behind the problem; people read the member first.
_AT: Final = re.compile(r"^(?P<what>.*?) - at `\$\.?(?P<member>[^`]*)`$")
_UNKNOWN: Final = re.compile(r"^Object contains unknown field `(?P<member>.*)`$")
# Entries of a store that are in memory at a time.
_BATCH: Final = 2_000
_GZIP: Final = b"\x1f\x8b"

Rating: TypeAlias = Annotated[int, Meta(ge=1, le=3)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Quality: TypeAlias = Literal["worse", "better", "mixed", "same"]

_QUALITIES: Final[dict[Quality, tuple[QualityScore, ...]]] = {
    "same": (QualityScore("quality", 1, 3, 3),),
    "worse": (QualityScore("quality", 1, 3, 2),),
    "better": (QualityScore("quality", 1, 2, 3),),
    "mixed": (QualityScore("quality", 1, 3, 2), QualityScore("second_quality", 1, 2, 3)),
}
_OBLIGATIONS: Final[tuple[Obligation, ...]] = ("format", "language")


class LogError(UserError, ValueError):
    """A file cannot be read as a log. The message says which line, what is wrong, and what to do."""


class LogLine(msgspec.Struct, forbid_unknown_fields=True):
    """The members of a line; `docs/backtest.md` says what each means."""

    time: float | str
    perturbation: str
    route: str = "default"
    model: str = "model"
    requested_model: str | None = None
    system_fingerprint: str | None = None
    prompt_version: str | None = None
    task: str | None = None
    parameters: str = ""
    settings: str = ""
    exchange: str | None = None
    client: str = ""
    session: str = ""
    cluster: str = ""
    """Read so that a log may have it: no figure depends on it."""
    rating: Rating | None = None
    similarity: Share | None = None
    quality: Quality | None = None
    invalid: Obligation | list[Obligation] | bool = False
    control_rating: Rating | None = None
    control_similarity: Share | None = None
    control_quality: Quality | None = None
    failure: str | None = None
    stage: Stage | None = None
    judge: str = ""
    judge_wording: str = "log@1"
    severity: Share = 0.3
    wanted_format: Format | None = None
    wanted_language: str | None = None
    prompt_chars: int = 0
    prompt_language: str | None = None
    template_share: Share | None = None
    explanation: str = ""
    id: str = ""


_DECODER: Final = msgspec.json.Decoder(LogLine)


def read_log(path: Path | str) -> Iterator[Verdict]:
    """The verdicts of a file of JSON lines, maybe compressed by gzip; "-" is standard input.

    Raises: LogError if it cannot be read; while iterating, with the number of the first line that is wrong.
    """
    if str(path) == "-":
        yield from read_lines(_plain(sys.stdin.buffer), "standard input")
        return
    try:
        with Path(path).open("rb") as file:
            yield from read_lines(_plain(file), str(path))
    except OSError as error:
        raise LogError(f"{path}: cannot be read: {error.strerror or error}") from error
    except EOFError as error:
        raise LogError(f"{path}: is cut off in the middle; compress it again") from error


def read_store(log: VerdictLog) -> Iterator[Entry]:
    """The entries of a store, oldest first, as far as they are kept. Writes nothing."""
    after = 0
    while entries := log.entries_after(after, _BATCH):
        for entry in entries:
            yield entry.note if isinstance(entry, LoggedNote) else entry.verdict
        after = entries[-1].offset


def _plain(file: IO[bytes]) -> IO[bytes]:
    """A binary file without its compression, if it has any."""
    peeked = file.peek(len(_GZIP)) if hasattr(file, "peek") else b""
    return gzip.open(file) if peeked.startswith(_GZIP) else file  # type: ignore[return-value]


def read_lines(lines: Iterable[bytes | str], name: str) -> Iterator[Verdict]:
    """Yield the verdicts of JSON lines, without the empty lines.

    Args:
        lines: In the order in which the trials were scored.
        name: Of the file, for messages.

    Raises: LogError with the number of the first line that is wrong.
    """
    reader = _Reader()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield from reader.verdicts(line, number)
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, RecursionError) as error:
            raise LogError(f"{name}: line {number}: {_advice(error)}") from error


def _advice(error: ValueError | RecursionError | msgspec.MsgspecError) -> str:
    """Say what is wrong with a line and what to do, in one sentence."""
    problem = str(error)
    unknown = _UNKNOWN.fullmatch(problem.partition(" - at ")[0])
    if unknown:
        near = difflib.get_close_matches(unknown["member"], LogLine.__struct_fields__, n=1)
        advice = f'did you mean "{near[0]}"?' if near else "leave it out, or see docs/backtest.md"
        return f'evenkeel knows no "{unknown["member"]}"; {advice}'
    location = _AT.fullmatch(problem)
    if location:
        return f'"{location["member"]}": {location["what"].replace("`", "").lower()}'
    if isinstance(error, UnicodeDecodeError):
        return "is not UTF-8; save the file as UTF-8"
    if isinstance(error, msgspec.DecodeError) and not isinstance(error, msgspec.ValidationError):
        return f"is not JSON: {problem.removeprefix('JSON is malformed: ')}"
    return problem.replace("`", '"')


class _Control(msgspec.Struct, frozen=True):
    """Outcome of an exchange's identical resend."""

    rating: int | None
    similarity: float | None
    quality: Quality | None
    written: bool
    """True if it has a line of its own."""


class _Reader:
    """State that lines need of those before them."""

    def __init__(self) -> None:
        self._controls: OrderedDict[str, _Control] = OrderedDict()
        # Lines of each route and model, controls apart, and those of them with a rating.
        self._lines: Counter[tuple[str, str, bool]] = Counter()
        self._rated: Counter[tuple[str, str, bool]] = Counter()
        # Hashes of the lines that name a trial or an exchange.
        self._seen: set[int] = set()
        # Those whose answers somebody judges: who compares texts alone knows equal ones only.
        self._judged: set[tuple[str, str, bool]] = set()
        # Routes and perturbations of which a line was invalid: their answers are asked for in some form.
        self._formed: set[tuple[str, str]] = set()

    def verdicts(self, text: bytes | str, number: int) -> Iterator[Verdict]:
        """Yield a line's trial, before it maybe its exchange's control."""
        try:
            line = _DECODER.decode(text)
        except msgspec.ValidationError:
            stored = _stored(text)
            if stored is None:
                raise
            if not self._is_repeated(text):
                yield stored
            return
        _check(line)
        if (line.id or line.exchange) and self._is_repeated(text):
            return
        line = self._asked(self._failed(line))
        exchange = line.exchange or f"line-{number}"
        at = _time(line.time)
        name = line.id or f"line-{number}"
        control = self._controls.get(exchange)
        if line.perturbation in CONTROLS:
            if control is None or control.written:
                verdict = _control(line, exchange, at, name)
                if control is None:
                    self._remember(exchange, _said_of(line))
                yield verdict
            return
        own = _said_of_baseline(line)
        if own.rating is None and own.similarity is None:
            own = control or own
        elif control is None:
            self._remember(exchange, own)
            resend = msgspec.structs.replace(
                line, rating=own.rating, similarity=own.similarity, quality=own.quality, invalid=False,
                failure=None, wanted_format=None, wanted_language=None, stage=None,
            )  # fmt: skip
            yield _control(resend, exchange, at, f"line-{number}.control")
        yield _variant(line, own, exchange, at, name)

    def _is_repeated(self, text: bytes | str) -> bool:
        """Return whether the same line was there before: exports overlap, and queues deliver twice."""
        before = len(self._seen)
        self._seen.add(hash(text))
        return len(self._seen) == before

    def _failed(self, line: LogLine) -> LogLine:
        """Return the line; as a failure if it lacks the rating that most others have.

        Where most lines lack one, only a sample was judged.
        """
        judge = line.route, line.model, line.perturbation in CONTROLS
        self._lines[judge] += 1
        self._rated[judge] += line.rating is not None
        if line.rating is not None and line.rating < SAME_CONTENT:
            self._judged.add(judge)
        told = line.rating is not None or line.failure is not None or line.invalid or line.stage == "unsure"
        if told or judge not in self._judged or 2 * self._rated[judge] < self._lines[judge]:
            return line
        return msgspec.structs.replace(line, failure="unrated")

    def _asked(self, line: LogLine) -> LogLine:
        """Return the line, with a form that was asked for where others like it were invalid."""
        if line.invalid:
            self._formed.add((line.route, line.perturbation))
        is_stated = line.wanted_format is not None or line.wanted_language is not None
        if is_stated or (line.route, line.perturbation) not in self._formed:
            return line
        return msgspec.structs.replace(line, wanted_format="free")

    def _remember(self, exchange: str, control: _Control) -> None:
        self._controls[exchange] = control
        if len(self._controls) > _REMEMBERED:
            self._controls.popitem(last=False)


def _said_of(line: LogLine) -> _Control:
    """Read what a control line says of its exchange's resend."""
    return _Control(line.rating, line.similarity, line.quality, written=True)


def _said_of_baseline(line: LogLine) -> _Control:
    """Read what a trial's line says of it."""
    return _Control(line.control_rating, line.control_similarity, line.control_quality, written=False)


def _stored(text: bytes | str) -> Verdict | None:
    """The verdict of a verdict log; None if the line does not look like one."""
    raw = msgspec.json.decode(text)
    if not isinstance(raw, dict) or not {"exchange_id", "scored_at"} <= raw.keys():
        return None
    try:
        return from_json(text, Verdict)
    except msgspec.MsgspecError as error:
        raise ValueError(f"looks like a stored verdict, but is none: {error}") from error


def _check(line: LogLine) -> None:
    """Raise ValueError unless the line has an outcome and does not contradict itself."""
    if line.rating is None and line.similarity is None and not line.invalid and line.failure is None:
        raise ValueError('has no outcome; give "rating", "similarity", "invalid" or "failure"')
    if line.failure is not None and line.rating is not None:
        raise ValueError('has a rating and a failure; leave "failure" out if the trial was rated')
    if not line.perturbation.strip():
        raise ValueError('"perturbation" is empty; name what was done to the prompt')
    if line.rating == SAME_CONTENT and line.quality not in {None, "same"}:
        raise ValueError(f'a rating of 3 says the same as before; leave quality "{line.quality}" out')


def _time(value: float | str) -> float:
    """Unix seconds.

    Raises: ValueError if that is no time.
    """
    at = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError as error:
            with contextlib.suppress(ValueError):
                return _time(float(value))
            raise ValueError(
                f'"time": "{value}" is no time; write Unix seconds, or 2026-11-01T14:30:00Z'
            ) from error
        at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not isinstance(at, float | int) or not isfinite(at):
        raise ValueError('"time" is not finite; write Unix seconds, or 2026-11-01T14:30:00Z')
    return float(at)


def _control(line: LogLine, exchange: str, at: float, name: str) -> Verdict:
    """The verdict of the identical resend that a line describes."""
    nothing = _Control(None, None, None, written=False)
    plain = msgspec.structs.replace(line, perturbation=BASELINE, severity=0.0)
    return _variant(plain, nothing, exchange, at, name)


def _variant(line: LogLine, control: _Control, exchange: str, at: float, name: str) -> Verdict:
    rated = line.rating is not None
    unsure = not rated and line.failure is None
    stage: Stage = line.stage or ("judge" if line.judge or rated else "unsure")
    details = {DECIDED_BY: float(STAGES.index(stage))} if rated or unsure else {}
    judged = rated and stage == "judge"
    return Verdict(
        id=name,
        exchange_id=exchange,
        scored_at=at,
        route=line.route,
        model=line.model,
        perturbation=line.perturbation,
        perturbation_version=1,
        severity=line.severity,
        seed=0,
        scoring=Scoring(
            "judge" if judged or line.judge else "metrics",
            explanation=line.explanation,
            details=details,
            rated_by=line.judge_wording if judged and line.judge else "",
            judge_model=line.judge if judged else "",
        ),
        rating=line.rating,
        similarity=line.similarity,
        unsure=unsure and not line.invalid,
        invalid=_obligations(line.invalid),
        failure=None if line.failure is None else Failure("log", 1, line.failure),
        quality=() if line.rating == SAME_CONTENT or line.quality is None else _QUALITIES[line.quality],
        control=Control(control.rating, control.similarity, _worse(control)),
        origin=Origin(
            task=line.task,
            prompt_version=line.prompt_version,
            requested_model=line.requested_model,
            system_fingerprint=line.system_fingerprint,
            parameters=line.parameters,
            prompt_chars=line.prompt_chars,
            template_share=line.template_share,
            prompt_language=line.prompt_language,
            client=line.client,
            session=line.session,
        ),
        wanted=AnswerForm(line.wanted_format, line.wanted_language),
        settings=line.settings,
    )


def _worse(control: _Control) -> bool | None:
    """Tell whether the control's quality got worse; an answer that did not shift did not get worse."""
    if control.quality is not None:
        return control.quality == "worse"
    return False if control.rating == SAME_CONTENT else None


def _obligations(value: Obligation | list[Obligation] | bool) -> tuple[Obligation, ...]:  # noqa: FBT001 - as in the file
    if isinstance(value, bool):
        return _OBLIGATIONS[:1] if value else ()
    return (value,) if isinstance(value, str) else tuple(value)
