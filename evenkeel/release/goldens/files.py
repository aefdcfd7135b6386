"""Goldens in files: JSON lines that a person can write by hand.

The least that a line holds is an answer; one that can be asked again has a request too:

    {"id": "refund-1", "prompt": "May I return a used kettle?", "answer": "No: only unused ones."}

A request is one of `request` (the body), `messages` or `prompt`. The other fields are those of `_Line`.
Times are ISO 8601 (UTC where no offset stands) or Unix seconds.
The answer is text, an object with text and calls, or a whole response of an endpoint. Lines of WorFBench
(`source`, `conversations`) are read as they are published, and so are datasets of other tools
(`evenkeel.release.kit.datasets`): the expected answer is the approved one.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields as fields_of
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError

from evenkeel.core.exchange import API_HEADERS
from evenkeel.core.pair import Answer
from evenkeel.core.records import from_plain
from evenkeel.core.text import escaped
from evenkeel.llm.answer import UnreadableAnswer, text_of, written
from evenkeel.release.kit.datasets import DatasetRow, json_lines, read_rows
from evenkeel.shadow.prompt import COMPLETIONS, api_of, api_of_answer
from evenkeel.stores.goldens import CHAT_COMPLETIONS, LONGEST_ID, Golden, GoldenError, is_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


# Members that are true of one call and say nothing about the answer.
_PASSING: Final = frozenset({"streamed", "cached_tokens", "cache_write_tokens", "reasoning_tokens"})
_ANSWER_FIELDS: Final = tuple(field.name for field in fields_of(Answer) if field.name not in _PASSING)
_SHAPES: Final = (
    'is neither text, nor an object with "text" or "tool_calls", nor a response with "choices", "output" '
    'or "content"'
)
_PATH: Final = re.compile(r"/[^\s\x00-\x1f\x7f]*")
_NAMELESS: Final = 'has a call without a "name"; write {"name": "…", "arguments": {…}}'
# Line ends to some readers; in JSON they can only stand inside a string, where an escape says the same.
_BREAKS: Final = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})
# Half a pair cannot be written as UTF-8; the escape of JSON keeps it.
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class _Line(Struct, kw_only=True):
    """The fields of a line, with their types."""

    id: str | int | None = None
    version: Annotated[int, Meta(ge=1, lt=2**31)] = 1
    route: str | None = None
    path: str | None = None
    request: dict[str, Any] | None = None
    messages: Annotated[list[dict[str, Any]], Meta(min_length=1)] | None = None
    prompt: Annotated[str, Meta(min_length=1)] | None = None
    headers: dict[str, str] | None = None
    answer: Any = None
    task: str | None = None
    cluster: str | None = None
    model: str | UnsetType | None = UNSET
    prompt_version: str | None = None
    approved_by: str | None = None
    approved_at: str | float | None = None
    note: str | None = None
    retired_by: str | None = None
    retired_at: str | float | None = None


def load_goldens(path: Path) -> tuple[Golden, ...]:
    """All goldens of a file, compressed by gzip or not, or of a dataset of another tool; at least one.

    Raises: GoldenError naming file, line and field; InputError for a file that cannot be read.
    """
    goldens = _goldens_of(read_rows(path))
    if not goldens:
        raise GoldenError(f'{path}: holds no goldens; write one JSON object a line, with an "answer"')
    return goldens


def read_goldens(lines: Iterable[str], where: str) -> tuple[Golden, ...]:
    """The goldens of lines, in their order; blank lines say nothing.

    Args:
        lines: with or without their ends; the first may begin with a byte order mark.
        where: names the file in errors.

    Raises: GoldenError naming `where`, line and field, also for two different goldens of the same id and
        version; InputError for a line that is no object.
    """
    return _goldens_of(json_lines(lines, where))


def _goldens_of(rows: Iterable[DatasetRow]) -> tuple[Golden, ...]:
    goldens: list[Golden] = []
    seen: dict[tuple[str, int], tuple[Golden, str]] = {}
    for row in rows:
        try:
            golden = _golden(_of_dataset(row, _of_worfbench(row.cells)))
        except GoldenError as error:
            raise GoldenError(f"{row.place}, {error}") from None
        except ValidationError as error:
            problem, _, path = str(error).partition(" - at `$.")
            raise GoldenError(f'{row.place}, field "{path.rstrip("`")}": {problem}') from error
        first, place = seen.setdefault((golden.id, golden.version), (golden, row.place))
        # Datasets hold rows twice: that says nothing new, and whoever uses goldens takes each id once.
        if golden != first:
            raise GoldenError(
                f'{row.place}, field "id": "{golden.id}" in version {golden.version} says something else on '
                f'{place.rpartition(", ")[2]}; give it another "id" or "version"'
            )
        goldens.append(golden)
    return tuple(goldens)


def _of_dataset(row: DatasetRow, cells: dict[str, Any]) -> dict[str, Any]:
    """Return a row of another tool's dataset as the fields of a line; others as they are."""
    prompt, expected = row.prompt, row.expected
    if "answer" in cells or prompt is None or expected is None:
        return cells
    shape = "prompt" if isinstance(prompt, str) else "messages" if isinstance(prompt, list) else "request"
    return {"id": cells.get("id", cells.get("custom_id")), shape: prompt, "answer": expected}


def _of_worfbench(cells: dict[str, Any]) -> dict[str, Any]:
    """A row of WorFBench as a golden: of its conversations, or with `gold_text`; any other row as it is."""
    turns = cells.get("conversations")
    if isinstance(turns, list) and len(turns) > 1 and all(isinstance(turn, dict) for turn in turns):
        asked: dict[str, Any] = {"messages": turns[:-1], "answer": turns[-1].get("content")}
    elif "gold_text" in cells:
        asked = {"prompt": cells.get("task") or None, "answer": cells["gold_text"]}
    else:
        return cells
    named, source = cells.get("id"), cells.get("source")
    # Ids are numbered within a source.
    name = named if named is None or source is None else f"{source}-{named}"
    return {**asked, "id": name, "task": "workflow"}


def _golden(cells: dict[str, Any]) -> Golden:
    """Read the golden of a line's fields.

    Raises: GoldenError or ValidationError, without the line's place.
    """
    unknown = sorted(cells.keys() - set(_Line.__struct_fields__))
    if unknown:
        raise GoldenError(f'field "{unknown[0]}": is unknown; known are {", ".join(_Line.__struct_fields__)}')
    line = from_plain(cells, _Line)
    answer = read_approved(line.answer)
    path = line.path or CHAT_COMPLETIONS
    if not _PATH.fullmatch(path):
        raise GoldenError(f'field "path": is not a path such as {CHAT_COMPLETIONS}')
    request = _request(line, path)
    # Other tools number their rows.
    name = str(line.id) if line.id is not None else ""
    if name and not is_id(name):
        raise GoldenError(f'field "id": is not a name; write at most {LONGEST_ID} characters on one line')
    headers = line.headers or {}
    for header in headers:
        if header not in API_HEADERS:
            raise GoldenError(f'field "headers": holds "{header}"; known are {", ".join(API_HEADERS)}')
    return Golden(
        id=name or default_id(request, answer),
        version=line.version,
        route=line.route or "default",
        path=path,
        request=request,
        headers=tuple(headers.items()),
        answer=answer,
        task=line.task or None,
        cluster=line.cluster or None,
        model=answer.model if isinstance(line.model, UnsetType) else line.model or None,
        prompt_version=line.prompt_version or None,
        approved_by=line.approved_by or "",
        approved_at=_seconds("approved_at", line.approved_at),
        note=line.note or "",
        retired_by=line.retired_by or None,
        retired_at=_seconds("retired_at", line.retired_at),
    )


def _request(line: _Line, path: str) -> str | None:
    """Return the body of the request that a line holds, in the form of the path's API; None without one."""
    asked = []
    for name in ("request", "messages", "prompt"):
        if getattr(line, name) is not None:
            asked.append(name)
    if len(asked) > 1:
        raise GoldenError(f'field "{asked[1]}": says the same as "{asked[0]}"; keep one of them')
    api = api_of(path) or COMPLETIONS
    if line.prompt is not None:
        return request_text(api.ask(line.prompt))
    if line.messages is not None:
        return request_text({"messages": line.messages})
    if line.request is None:
        return None
    if "messages" in api.prompt_members and not line.request.get("messages"):
        raise GoldenError(
            'field "request": holds no list of messages; write at least one such as '
            '{"role": "user", "content": "…"}'
        )
    return request_text(line.request)


def _seconds(name: str, value: str | float | None) -> float | None:
    """Return a time in Unix seconds."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
        if value is not None:
            # A number that is no time would break every page that shows it.
            datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise GoldenError(
            f'field "{name}": is not a time; write it as 2031-05-17T09:30:00Z or in Unix seconds'
        ) from error
    return value


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
        raise GoldenError(f'field "answer": {_SHAPES}')
    # Before plain fields: a response of an endpoint may have a member "text" as well.
    elif (api := api_of_answer(value)) is not None:
        reader = api.answer_reader()
        try:
            reader.whole(value)
            answer = reader.answer()
        except UnreadableAnswer as error:
            raise GoldenError(f'field "answer": is a response without an answer: {error.detail}') from error
        if not all(call.name for call in answer.tool_calls):
            raise GoldenError(f'field "answer": {_NAMELESS}')
    elif "text" in value or "tool_calls" in value:
        answer = _of_fields(value)
    else:
        raise GoldenError(f'field "answer": {_SHAPES}')
    if not answer.text and not answer.tool_calls:
        raise GoldenError('field "answer": is empty: no text and no call that others are compared with')
    return answer


def _of_fields(value: dict[str, Any]) -> Answer:
    unknown = sorted(value.keys() - set(_ANSWER_FIELDS))
    if unknown:
        raise GoldenError(
            f'field "answer": has an unknown field "{unknown[0]}"; known are {", ".join(_ANSWER_FIELDS)}'
        )
    calls = value.get("tool_calls") or []
    if isinstance(calls, list):
        calls = [_call(call) for call in calls]
    text = value.get("text")
    # Some servers send a text in parts.
    plain_text = text_of(text) if text is None or isinstance(text, list) else text
    return from_plain({**value, "text": plain_text, "tool_calls": calls}, Answer)


def _call(value: Any) -> Any:
    """Return the fields of a call, as OpenAI writes it (under "function") or plainly."""
    call = value.get("function", value) if isinstance(value, dict) else None
    if not isinstance(call, dict) or "name" not in call:
        raise GoldenError(f'field "answer": {_NAMELESS}')
    return {"name": call["name"], "arguments": written(call.get("arguments", "{}"))}


def written_answer(answer: Answer) -> Any:
    """A JSON value that `read_approved` reads as this answer: its text if there is nothing else."""
    content: dict[str, Any] = {"text": answer.text}
    if answer.tool_calls:
        calls = []
        for call in answer.tool_calls:
            calls.append({"name": call.name, "arguments": call.arguments})
        content["tool_calls"] = calls
    for name in _ANSWER_FIELDS[2:]:
        if getattr(answer, name) is not None:
            content[name] = getattr(answer, name)
    return content["text"] if len(content) == 1 else content


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


def _written_time(moment: float) -> str | float:
    """ISO 8601 where that gives the very same number back, else the number."""
    text = datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
    return text if datetime.fromisoformat(text).timestamp() == moment else moment
