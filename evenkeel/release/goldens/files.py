"""Goldens in files: JSON lines that a person can write by hand.

The least that a line holds is an answer; one that can be asked again has a request too:

    {"id": "refund-1", "prompt": "May I return a used kettle?", "answer": "No: only unused ones."}

A request is one of `request` (the body), `messages` or `prompt`. The other fields: `version`, `route`,
`path`, `task`, `cluster`, `model`, `prompt_version`, `approved_by`, `approved_at`, `note`, `retired_by`,
`retired_at`.
Times are ISO 8601 (UTC where no offset stands) or Unix seconds.
The answer is text, an object with text and calls, or a whole response of an endpoint. Lines of WorFBench
(`source`, `conversations`) are read as they are published, and so are datasets of other tools
(`evenkeel.release.kit.datasets`): the expected answer is the approved one.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from dataclasses import dataclass, field
from dataclasses import fields as fields_of
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from evenkeel.core.exchange import API_HEADERS
from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.text import escaped
from evenkeel.llm.answer import UnreadableAnswer, text_of
from evenkeel.release.kit.arguments import InputError, read_text
from evenkeel.release.kit.datasets import DatasetRow, read_rows
from evenkeel.shadow.prompt import COMPLETIONS, api_of, api_of_answer
from evenkeel.stores.goldens import CHAT_COMPLETIONS, LONGEST_ID, Golden, GoldenError, is_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


# Members that are true of one call and say nothing about the answer.
_PASSING = frozenset({"streamed", "cached_tokens", "cache_write_tokens", "reasoning_tokens"})
# In the order of an answer; the first two, text and calls, are read by themselves.
_FIELDS = [field.name for field in fields_of(Answer)]
for _passing in _PASSING:
    _FIELDS.remove(_passing)
_COUNTS = ("prompt_tokens", "completion_tokens")
_SHAPES = (
    'is neither text, nor an object with "text" or "tool_calls", nor a response with "choices", "output" '
    'or "content"'
)
_NAMELESS = 'has a call without a "name"; write {"name": "…", "arguments": {…}}'


def read_approved(value: Any) -> Answer:
    """The answer that a JSON value says.

    Args:
        value: text; an object with `text`, `tool_calls` or both, and optionally the other fields of an
            answer; or a response as an endpoint returns it: chat completions, completions, responses,
            messages. Of several choices the first is taken.

    Raises: GoldenError without a place, for the caller to say where; an answer that says nothing and
        calls nothing is one too.
    """
    if isinstance(value, str):
        answer = Answer(value)
    elif not isinstance(value, dict):
        raise GoldenError(_SHAPES)
    # Before plain fields: a response of an endpoint may have a member "text" as well.
    elif (api := api_of_answer(value)) is not None:
        reader = api.answer_reader()
        try:
            reader.whole(value)
            answer = reader.answer()
        except UnreadableAnswer as error:
            raise GoldenError(f"is a response without an answer: {error.detail}") from error
        for call in answer.tool_calls:
            if not call.name:
                raise GoldenError(_NAMELESS)
    elif "text" in value or "tool_calls" in value:
        answer = _of_fields(value)
    else:
        raise GoldenError(_SHAPES)
    if not answer.text and not answer.tool_calls:
        raise GoldenError("is empty: there is no text and no call that later answers could be compared with")
    return answer


def written_answer(answer: Answer) -> Any:
    """A JSON value that `read_approved` reads as this answer: its text if there is nothing else."""
    content: dict[str, Any] = {"text": answer.text}
    if answer.tool_calls:
        calls = []
        for call in answer.tool_calls:
            calls.append({"name": call.name, "arguments": call.arguments})
        content["tool_calls"] = calls
    for name in _FIELDS[2:]:
        if getattr(answer, name) is not None:
            content[name] = getattr(answer, name)
    return content["text"] if len(content) == 1 else content


def _of_fields(value: dict[str, Any]) -> Answer:
    for name in value:
        if name not in _FIELDS:
            raise GoldenError(f'has an unknown field "{name}"; known are {", ".join(_FIELDS)}')
    calls = [] if value.get("tool_calls") is None else value["tool_calls"]
    if not isinstance(calls, list):
        raise GoldenError('"tool_calls" is not a list')
    rest: dict[str, Any] = {}
    for name in _FIELDS[2:]:
        rest[name] = value.get(name)
    for name, field_value in rest.items():
        wanted = int if name in _COUNTS else str
        if field_value is not None and (not isinstance(field_value, wanted) or isinstance(field_value, bool)):
            raise GoldenError(f'"{name}" is not {"a whole number" if wanted is int else "text"}')
    text = value.get("text")
    if text is not None and not isinstance(text, str | list):
        raise GoldenError('"text" is not text')
    return Answer(text_of(text), tuple(map(_call, calls)), **rest)


def _call(value: Any) -> ToolCall:
    """A call, as OpenAI writes it (under "function") or plainly."""
    call = value.get("function", value) if isinstance(value, dict) else None
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        raise GoldenError(_NAMELESS)
    arguments = call.get("arguments", "{}")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(call["name"], arguments)


_ASKED = ("request", "messages", "prompt")
_OWN = ("id", "version", *_ASKED, "answer")
_KNOWN = (*_OWN, *(field.name for field in fields_of(Golden) if field.name not in _OWN))
# Python refuses to read integers of more digits.
_LONGEST_INT = 4000
# Endings of datasets that are no lines.
_TABLES = frozenset({".csv", ".yaml", ".yml"})
# Line ends to some readers; in JSON they can only stand inside a string, where an escape says the same.
_BREAKS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})
# Half a pair cannot be written as UTF-8; the escape of JSON keeps it.
_SURROGATE = re.compile("[\ud800-\udfff]")


def load_goldens(path: Path) -> tuple[Golden, ...]:
    """All goldens of a file, compressed by gzip or not, or of a dataset of another tool; at least one.

    Raises: GoldenError naming file, line and field, or the limit if it unpacks to more than 256 MiB.
    """
    try:
        text = read_text(path)
        if path.suffix.lower() in _TABLES or text.lstrip().startswith("["):
            entries = []
            for row in read_rows(path):
                entries.append(_Line(row.place, row.cells))
        else:
            entries = list(_entries(text.split("\n"), str(path)))
    except InputError as error:
        raise GoldenError(str(error)) from error
    goldens = _goldens_of(entries)
    if not goldens:
        raise GoldenError(f'{path}: holds no goldens; write one JSON object a line, with an "answer"')
    return goldens


def read_goldens(lines: Iterable[str], where: str) -> tuple[Golden, ...]:
    """The goldens of lines, in their order; blank lines say nothing.

    Args:
        lines: with or without their ends; the first may begin with a byte order mark.
        where: names the file in errors.

    Raises: GoldenError naming `where`, line and field, and what to do; also for two different goldens of the
        same id and version.
    """
    return _goldens_of(_entries(lines, where))


def _entries(lines: Iterable[str], where: str) -> Iterator[_Line]:
    for number, line in enumerate(lines, start=1):
        text = line.removeprefix("\ufeff").strip()
        if text:
            location = f"{where}, line {number}"
            yield _Line(location, _object(text, location))


def _goldens_of(entries: Iterable[_Line]) -> tuple[Golden, ...]:
    goldens: list[Golden] = []
    seen: dict[tuple[str, int], tuple[Golden, str]] = {}
    for raw in entries:
        entry = _Line(raw.place, _of_dataset(raw.place, _of_worfbench(raw.cells)))
        golden = entry.golden()
        first, place = seen.setdefault((golden.id, golden.version), (golden, entry.place))
        # Datasets hold rows twice: that says nothing new, and whoever uses goldens takes each id once.
        if golden != first:
            named = f'"{golden.id}" in version {golden.version}'
            raise entry.fault(
                "id",
                f"{named} says something else on {place.rpartition(', ')[2]}; give it another "
                '"id" or "version"',
            )
        goldens.append(golden)
    return tuple(goldens)


def _of_dataset(location: str, cells: dict[str, Any]) -> dict[str, Any]:
    """Return a row of another tool's dataset as a golden; others as they are."""
    row = DatasetRow(location, cells)
    prompt, expected = row.prompt, row.expected
    if "answer" in cells or prompt is None or expected is None:
        return cells
    shape = "prompt" if isinstance(prompt, str) else "messages" if isinstance(prompt, list) else "request"
    line_cells: dict[str, Any] = {shape: prompt, "answer": expected}
    name = cells.get("id", cells.get("custom_id"))
    return line_cells if name is None else {"id": str(name), **line_cells}


def _of_worfbench(cells: dict[str, Any]) -> dict[str, Any]:
    """A row of WorFBench as a golden: of its conversations, or with `gold_text`; any other row as it is."""
    turns = cells.get("conversations")
    if isinstance(turns, list) and len(turns) > 1 and all(isinstance(turn, dict) for turn in turns):
        *before, answer = turns
        asked: dict[str, Any] = {"messages": before}
        text = answer.get("content")
    elif "gold_text" in cells:
        asked = {"prompt": cells.get("task")} if cells.get("task") else {}
        text = cells["gold_text"]
    else:
        return cells
    row = {**asked, "answer": text, "task": "workflow"}
    if cells.get("id") is None:
        return row
    # Ids are numbered within a source.
    source = cells.get("source")
    return {"id": str(cells["id"]) if source is None else f"{source}-{cells['id']}", **row}


def newest_versions(goldens: Iterable[Golden]) -> tuple[Golden, ...]:
    """The newest version of each golden, retired ones included."""
    newest: dict[str, Golden] = {}
    for golden in goldens:
        newest_version = newest.get(golden.id)
        if newest_version is None or golden.version > newest_version.version:
            newest[golden.id] = golden
    return tuple(newest.values())


def golden_lines(goldens: Iterable[Golden]) -> Iterator[str]:
    """Write one line of JSON a golden, without the line's end, that `read_goldens` reads as the same golden.

    Fields that say nothing are left out. Text stays readable: it is only escaped where UTF-8 has no bytes
    for it or where some readers would see the end of a line.
    """
    for golden in goldens:
        row = golden_row(golden)
        text = json.dumps(row, ensure_ascii=False)
        yield json.dumps(row) if _SURROGATE.search(text) else escaped(text.translate(_BREAKS))


def golden_row(golden: Golden) -> dict[str, Any]:
    """Return the fields of a golden's line, without those that say nothing."""
    row: dict[str, Any] = {"id": golden.id, "version": golden.version, "route": golden.route}
    if golden.path != CHAT_COMPLETIONS:
        row["path"] = golden.path
    if golden.request is not None:
        row["request"] = json.loads(golden.request)
    if golden.headers:
        row["headers"] = dict(golden.headers)
    row["answer"] = written_answer(golden.answer)
    if golden.model != golden.answer.model:
        row["model"] = golden.model  # null where the answer's own name is not to be taken
    for name in ("task", "cluster", "prompt_version", "approved_by", "note", "retired_by"):
        if getattr(golden, name):
            row[name] = getattr(golden, name)
    for name in ("approved_at", "retired_at"):
        if getattr(golden, name) is not None:
            row[name] = _written_time(getattr(golden, name))
    return row


def request_text(body: Any) -> str:
    """The body of a request as goldens hold it: compact JSON text.

    Raises: GoldenError without a place, if a number is none that JSON can say.
    """
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise GoldenError("holds a number that JSON cannot say; write one that is finite") from error


def default_id(request: str | None, answer: Answer) -> str:
    """The id of a golden that has no other: 16 hex digits, made of its request and its answer."""
    content = json.dumps([request, written_answer(answer)])
    return blake2b(content.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class _Line:
    """A line whose JSON has been read."""

    place: str
    cells: dict[str, Any] = field(repr=False)

    def fault(self, name: str, problem: str) -> GoldenError:
        """An error about one field."""
        return GoldenError(f'{self.place}, field "{name}": {problem}')

    def golden(self) -> Golden:
        """Read the golden of the line."""
        for name in self.cells:
            if name not in _KNOWN:
                near = difflib.get_close_matches(name, _KNOWN, n=1)
                hint = f'; did you mean "{near[0]}"?' if near else f"; known are {', '.join(_KNOWN)}"
                raise self.fault(name, f"is unknown{hint}")
        if "answer" not in self.cells:
            raise GoldenError(f'{self.place}: has no field "answer"; write the text that was approved')
        try:
            answer = read_approved(self.cells["answer"])
        except GoldenError as error:
            raise self.fault("answer", str(error)) from None
        path = self._path()
        request = self._request(path)
        return Golden(
            id=self._id() or default_id(request, answer),
            version=self._version(),
            route=self._word("route") or "default",
            path=path,
            request=request,
            headers=self._headers(),
            answer=answer,
            task=self._word("task") or None,
            cluster=self._word("cluster") or None,
            model=self._word("model") or None if "model" in self.cells else answer.model,
            prompt_version=self._word("prompt_version") or None,
            approved_by=self._word("approved_by"),
            approved_at=self._time("approved_at"),
            note=self._word("note"),
            retired_by=self._word("retired_by") or None,
            retired_at=self._time("retired_at"),
        )

    def _headers(self) -> tuple[tuple[str, str], ...]:
        value = self.cells.get("headers") or {}
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            raise self.fault("headers", "is not an object of texts")
        for name in value:
            if name not in API_HEADERS:
                raise self.fault("headers", f'holds "{name}"; known are {", ".join(API_HEADERS)}')
        return tuple(value.items())

    def _id(self) -> str:
        value = self.cells.get("id")
        # Other tools number their rows. A boolean is an int too, and no id.
        name = str(value) if type(value) is int else self._word("id")
        if name and not is_id(name):
            raise self.fault("id", f"is not a name; write at most {LONGEST_ID} characters on one line")
        return name

    def _version(self) -> int:
        value = self.cells.get("version", 1)
        if type(value) is not int or not 1 <= value < 2**31:
            raise self.fault("version", "is not a whole number from 1")
        return value

    def _word(self, name: str) -> str:
        value = self.cells.get(name)
        if value is not None and not isinstance(value, str):
            raise self.fault(name, "is not text; put it into double quotes")
        return value or ""

    def _path(self) -> str:
        path = self._word("path") or CHAT_COMPLETIONS
        if not path.startswith("/") or re.search(r"[\s\x00-\x1f\x7f]", path):
            raise self.fault("path", f"is not a path such as {CHAT_COMPLETIONS}")
        return path

    def _request(self, path: str) -> str | None:
        members = []
        for name in _ASKED:
            if self.cells.get(name) is not None:
                members.append(name)
        if not members:
            return None
        if len(members) > 1:
            raise self.fault(members[1], f'says the same as "{members[0]}"; keep one of them')
        body = self._body(members[0], path)
        try:
            return request_text(body)
        except GoldenError as error:
            raise self.fault(members[0], str(error)) from None

    def _body(self, name: str, path: str) -> dict[str, Any]:
        value = self.cells[name]
        api = api_of(path) or COMPLETIONS
        talks = "messages" in api.prompt_members
        if name == "prompt":
            text = self._word(name)
            if not text:
                raise self.fault(name, "is empty; write what was asked, or leave the field out")
            return api.ask(text)
        if name == "request":
            if not isinstance(value, dict):
                raise self.fault(name, "is not an object; put the body of the request there")
            if not talks:
                return value
            value = value.get("messages")
        if (
            not isinstance(value, list)
            or not value
            or not all(isinstance(message, dict) for message in value)
        ):
            written = '{"role": "user", "content": "…"}'
            raise self.fault(name, f"holds no list of messages; write at least one such as {written}")
        return self.cells[name] if name == "request" else {"messages": value}

    def _time(self, name: str) -> float | None:
        value = self.cells.get(name)
        if value is None:
            return None
        try:
            if isinstance(value, str):
                moment = datetime.fromisoformat(value)
                return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
            if isinstance(value, int | float) and not isinstance(value, bool):
                datetime.fromtimestamp(value, UTC)
                return float(value)
        except (ValueError, OverflowError, OSError):
            pass
        raise self.fault(name, "is not a time; write it as 2031-05-17T09:30:00Z or in Unix seconds")


def _object(text: str, location: str) -> dict[str, Any]:
    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # Python keeps the last of two members with one name, and nobody would notice the first.
        members_read: dict[str, Any] = {}
        for name, member in pairs:
            if name in members_read:
                raise GoldenError(f'{location}, field "{name}": stands twice in one object; keep one of them')
            members_read[name] = member
        return members_read

    def whole(digits: str) -> int | float:
        return int(digits) if len(digits) < _LONGEST_INT else math.inf

    try:
        value = json.loads(text, object_pairs_hook=members, parse_int=whole)
    except GoldenError:
        raise
    except RecursionError as error:
        raise GoldenError(f"{location}: is nested too deep to be read") from error
    except json.JSONDecodeError as error:
        raise GoldenError(
            f"{location}: is not JSON ({error.msg}, column {error.colno}); a golden is one object on one line"
        ) from error
    if not isinstance(value, dict):
        raise GoldenError(f'{location}: is not an object; write {{"prompt": "…", "answer": "…"}}')
    return value


def _written_time(moment: float) -> str | float:
    """ISO 8601 where that gives the very same number back, else the number."""
    text = datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
    return text if datetime.fromisoformat(text).timestamp() == moment else moment
