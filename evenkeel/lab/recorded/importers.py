"""Recorded answers, read from files: own JSON lines, and the formats of public collections.

A file is recognised by its content, plain or gzipped. Each format is a function and one entry in
`FORMATS`. A line that cannot be used is noted with its file and line, and the others are read.
"""

from __future__ import annotations

import ast
import csv
import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from evenkeel.lab.rows import numbered_objects
from evenkeel.release.kit.arguments import InputError, read_text
from evenkeel.simulate.model import PromptMessage
from evenkeel.simulate.requests import WireError, read_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

VersionFrom = Literal["model", "condition"]

# Suffixes of the files that are read in a folder, with or without `.gz`.
_SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".csv")
# Characters of a file that cannot be read in a message about it.
_SHOWN: Final = 60
# The csv module stops at 128 kB, which long prompts exceed.
_LONGEST_CELL: Final = 1 << 30


class RecordingError(InputError):
    """Recorded answers that cannot be read; the message says which, where, and what to do."""


@dataclass(frozen=True, slots=True)
class RecordedSample:
    """A recorded answer."""

    text: str
    temperature: float | None = None
    """Temperature at which it was given; None = not recorded."""
    finish_reason: str = "stop"
    """Reason as chat completions name it."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Answers of one version to one prompt, as one line of a file holds them."""

    messages: tuple[PromptMessage, ...]
    version: str
    samples: tuple[RecordedSample, ...]
    task: str | None = None


class SkippedPlace(NamedTuple):
    """A line that was not used, or a whole file."""

    file: str
    line: int | None
    """None = the file."""
    reason: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.reason}"


@dataclass(slots=True)
class Source:
    """A file that is read, and what of it could not be used."""

    name: str
    text: str
    version_from: VersionFrom = "model"
    skipped: list[SkippedPlace] = field(default_factory=list)

    def skip(self, line: int | None, reason: str) -> None:
        """Note a line that is not used."""
        self.skipped.append(SkippedPlace(self.name, line, reason))

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects of JSON lines, each with its line number; other lines are noted."""
        for number, row in numbered_objects(self.text):
            if isinstance(row, str):
                self.skip(number, row)
            else:
                yield number, row

    def rows(self, *needed: str) -> Iterator[tuple[int, dict[str, str]]]:
        """The rows of a table with a header, each with the number of its last line.

        Raises: RecordingError if the header lacks one of the `needed` columns.
        """
        csv.field_size_limit(_LONGEST_CELL)
        reader = csv.DictReader(io.StringIO(self.text, newline=""))
        lacking = []
        for name in needed:
            if name not in (reader.fieldnames or ()):
                lacking.append(name)
        if lacking:
            raise RecordingError(
                f"{self.name}:1: the header lacks {', '.join(lacking)}; is --format right for this file?"
            )
        try:
            for row in reader:
                yield reader.line_num, {name: cell or "" for name, cell in row.items() if name}
        except csv.Error as error:
            self.skip(reader.line_num, f"not CSV ({error}); the lines after it are not read")


class _RecordingLine(BaseModel):
    """A line of evenkeel's own format."""

    model_config = ConfigDict(extra="ignore", strict=True)

    prompt: str | list[dict[str, Any]] | None = None
    messages: list[dict[str, Any]] | None = None
    version: str | None = None
    model: str | None = None
    answer: str | None = None
    answers: list[str] | None = None
    temperature: float | None = None
    task: str | None = None
    finish_reason: str = "stop"


def read_own(source: Source) -> Iterator[Recording]:
    """Evenkeel's own JSON lines: `prompt` or `messages`, `version` or `model`, `answer` and/or `answers`."""
    for number, row in source.objects():
        try:
            line = _RecordingLine.model_validate(row)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            source.skip(number, f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}")
            continue
        version = line.version or line.model
        answers = [*([] if line.answer is None else [line.answer]), *(line.answers or ())]
        asked = line.prompt if line.messages is None else line.messages
        if not version or not answers or not asked:
            missing = (
                "version or model" if not version else "answer or answers" if asked else "prompt or messages"
            )
            source.skip(number, f"{missing} is missing")
            continue
        messages = _messages(source, number, asked)
        if messages:
            samples = tuple(RecordedSample(text, line.temperature, line.finish_reason) for text in answers)
            yield Recording(messages, version, samples, line.task)


@dataclass(frozen=True, slots=True)
class TableReader:
    """Reader of a table with a row for each answer, by the names of its columns."""

    prompt: str
    answer: str
    task: str

    def __call__(self, source: Source) -> Iterator[Recording]:
        """The recordings of a table. The version is its `model` without the vendor before a slash."""
        for number, row in source.rows("model", self.prompt, self.answer):
            version = row["model"].rsplit("/", 1)[-1]
            if not row[self.prompt].strip() or not version:
                what = "model is missing" if row[self.prompt].strip() else "prompt is empty"
                source.skip(number, f"the {what}")
                continue
            sample = RecordedSample(row[self.answer], _temperature(row.get("temperature")))
            messages = (PromptMessage("user", row[self.prompt]),)
            yield Recording(messages, version, (sample,), row.get(self.task) or None)


def read_llm_stability(source: Source) -> Iterator[Recording]:
    """The JSON lines of llm-stability: `model, task, condition, run, qid, response, prompt`.

    Only one of the runs needs the prompt. With the version from the condition, every condition answers the
    prompt of the first one in which the question occurs; where the file holds several models, a version is
    `model/condition`.
    """
    rows = []
    for number, row in source.objects():
        if _is_stability_row(source, number, row):
            rows.append((number, row))
    by_condition = source.version_from == "condition"
    several = len({row["model"] for _, row in rows}) > 1
    prompts: dict[tuple[str, ...], object] = {}
    for _, row in rows:
        if row.get("prompt"):
            prompts.setdefault(_question(row, by_condition=by_condition), row["prompt"])
    for number, row in rows:
        asked = prompts.get(_question(row, by_condition=by_condition))
        if asked is None:
            source.skip(number, f"no line of question {row['qid']!r} holds its prompt")
            continue
        messages = _messages(source, number, _literal(asked))
        version = row["model"]
        if by_condition:
            version = f"{row['model']}/{row['condition']}" if several else row["condition"]
        if messages:
            sample = RecordedSample(row["response"], _temperature(row.get("temperature")))
            yield Recording(messages, version, (sample,), row.get("task"))


def _is_stability_row(source: Source, number: int, row: dict[str, Any]) -> bool:
    for name in ("model", "qid", "condition", "response"):
        if not isinstance(row.get(name), str):
            source.skip(number, f"{name} is missing or not a string")
            return False
    return True


def _question(row: Mapping[str, Any], *, by_condition: bool) -> tuple[str, ...]:
    return (str(row.get("task")), row["qid"], *(() if by_condition else (row["condition"],)))


def _messages(source: Source, number: int, asked: str | list[Any]) -> tuple[PromptMessage, ...]:
    """A prompt as messages; none if it cannot be read, which is noted."""
    if isinstance(asked, str):
        return (PromptMessage("user", asked),)
    try:
        return read_messages(asked)
    except WireError as error:
        source.skip(number, str(error))
        return ()


def _literal(asked: object) -> str | list[Any]:
    """A list of messages, also where it was written as Python writes it."""
    if isinstance(asked, str) and asked.lstrip().startswith("["):
        try:
            read = ast.literal_eval(asked)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return asked
        return read if isinstance(read, list) else asked
    return asked if isinstance(asked, list) else str(asked)


def _temperature(raw: object) -> float | None:
    try:
        return float(raw) if isinstance(raw, str | int | float) else None
    except ValueError:
        return None


class Format(NamedTuple):
    """A format of recorded answers."""

    read: Callable[[Source], Iterator[Recording]]
    fields: str
    """Content of such a file, for a message."""
    recognises: Callable[[frozenset[str]], bool]
    """True if a row with these fields is of this format."""


FORMATS: Final[dict[str, Format]] = {
    "evenkeel": Format(
        read_own,
        "JSON lines with prompt or messages, version or model, answer or answers",
        lambda names: bool(names & {"prompt", "messages"} and names & {"answer", "answers"}),
    ),
    "llm_stability": Format(
        read_llm_stability,
        "JSON lines with model, condition, qid, response, prompt",
        lambda names: {"model", "condition", "qid", "response"} <= names,
    ),
    "llm_drift": Format(
        TableReader(prompt="query", answer="answer", task="dataset"),
        "CSV with model, query, answer",
        lambda names: {"model", "query", "answer"} <= names,
    ),
    "pbss": Format(
        TableReader(prompt="prompt", answer="output", task="origin"),
        "CSV with origin, model, temperature, prompt, output",
        lambda names: {"origin", "model", "prompt", "output"} <= names,
    ),
}
"""Formats that can be read, in the order in which a file is recognised."""


class ImportResult(NamedTuple):
    """Content of files."""

    recordings: list[Recording]
    skipped: list[SkippedPlace]


def import_files(
    paths: Sequence[Path], *, form: str | None = None, version_from: VersionFrom = "model"
) -> ImportResult:
    """Read files of recorded answers, and those in folders and their folders.

    Args:
        paths: files or folders, plain or gzipped. In a folder, those of no known format are skipped.
        form: one of `FORMATS` that all files have; None = each is recognised by its content.
        version_from: what of a line of llm_stability names the version.

    Raises: RecordingError if a path cannot be read, a named file has no known format, or nothing can be used.
    """
    recordings: list[Recording] = []
    skipped: list[SkippedPlace] = []
    for path in paths:
        files = _files(path) if path.is_dir() else [path]
        if not files:
            raise RecordingError(f"{path}: no {', '.join(_SUFFIXES)} in this folder, plain or with .gz")
        for file in files:
            source = Source(str(file), read_text(file), version_from)
            form_found = form or _recognise(source.text)
            if form_found is not None:
                recordings.extend(FORMATS[form_found].read(source))
            elif path.is_dir():
                source.skip(None, "no known format")
            else:
                raise RecordingError(_unknown(source))
            skipped.extend(source.skipped)
    if not recordings:
        first = f" The first: {skipped[0]}." if skipped else ""
        raise RecordingError(
            f"{', '.join(map(str, paths))}: no recorded answer; {len(skipped):,} lines or files were "
            f"skipped.{first} Known formats: docs/recorded.md"
        )
    return ImportResult(recordings, skipped)


def _files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for path in folder.rglob("*"):
        if path.is_file() and path.name.removesuffix(".gz").endswith(_SUFFIXES):
            found.append(path)
    return sorted(found)


def _recognise(text: str) -> str | None:
    """The format of a file, None if it is none of `FORMATS`."""
    names = _fields(text)
    for name, known in FORMATS.items():
        if known.recognises(names):
            return name
    return None


def _fields(text: str) -> frozenset[str]:
    begin = text.lstrip()
    if begin.startswith("["):
        try:
            rows = json.loads(begin)
        except (ValueError, RecursionError):
            return frozenset()
        return frozenset(rows[0]) if rows and isinstance(rows[0], dict) else frozenset()
    if begin.startswith("{"):
        objects = Source("", text).objects()
        return frozenset(next((row for _, row in objects), {}))
    try:
        return frozenset(next(csv.reader(io.StringIO(text, newline="")), ()))
    except csv.Error:
        return frozenset()


def _unknown(source: Source) -> str:
    begin = source.text.lstrip()[:_SHOWN]
    formats = "; ".join(f"{name}: {format_known.fields}" for name, format_known in FORMATS.items())
    return (
        f"{source.name}: no known format of recorded answers; it begins {begin!r}. Known formats: {formats}. "
        "Use --format to say which it is."
    )
