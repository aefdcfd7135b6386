"""Goldens: requests with the answers that somebody approved for them, in every version."""

from __future__ import annotations

import dataclasses
import json
import re
import zlib
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from evenkeel.core.pair import Answer, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenkeel.stores.sealing import Seal


CHAT_COMPLETIONS = "/v1/chat/completions"


class GoldenError(ValueError):
    """A golden cannot be read, stored or used. The message says which, what is wrong and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """One approved exchange in one version. Credentials are never part of it."""

    id: str
    """Names it in all versions: the exchange's id, or what its file says."""
    version: int = 1
    """1, and one more each time another answer is approved for it."""
    route: str = "default"
    path: str = CHAT_COMPLETIONS
    """Path of the API that it was asked through, without a route's prefix."""
    request: str | None = None
    """Body of the request, as JSON text; None where only the answer is known, which can be degraded and
    compared but not asked again."""
    answer: Answer
    """The approved answer."""
    task: str | None = None
    model: str | None = None
    """Which model gave the answer, as the endpoint returned it."""
    prompt_version: str | None = None
    approved_by: str = ""
    """Who approved it, as they call themselves; "" if the file does not say."""
    approved_at: float | None = None
    """Unix time in seconds; None if the file does not say."""
    note: str = ""
    retired_by: str | None = None
    retired_at: float | None = None
    """Unix time in seconds since when it is no longer used; None while it is."""


LONGEST_ID = 200
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls, line ends, overrides of the writing direction, and what has no UTF-8."""
_DOTS = frozenset({".", ".."})
"""Browsers take these for folders, in any spelling."""


class Deed(StrEnum):
    """What somebody did to a golden."""

    APPROVED = "approved"
    IMPORTED = "imported"
    RETIRED = "retired"
    UNRETIRED = "unretired"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the audit trail. Entries are only ever added."""

    golden_id: str
    version: int
    deed: Deed
    by: str
    """Who did it, as they call themselves."""
    at: float
    """Unix time in seconds."""
    model: str | None = None
    """Which model had given the answer in question."""
    prompt_version: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did."""

    added: int
    """Versions that are new."""
    known: int
    """Versions that were there already, the same."""


class GoldenStore(Protocol):
    """Goldens by id and version. The newest version of an id is the one in use, unless it is retired.

    Calls block on storage. Several processes may use one store at a time.
    """

    def approve(self, golden: Golden, *, by: str, at: float) -> Golden:
        """Put a golden into use.

        The version is given by the store: 1 for a new id, the next one where the id is there with another
        request, answer or path. The same again changes nothing, but for putting a retired golden back into
        use.

        Args:
            golden: what is approved; its `version`, `approved_…` and `retired_…` are not looked at.
            by: who approves.
            at: Unix time in seconds.

        Returns: the golden as it is in the store now.
        Raises: GoldenError for an id or a name that cannot be used, or an answer that says nothing.
        """
        ...

    def retire(self, golden_id: str, *, by: str, at: float) -> Golden:
        """Take a golden out of use; its versions stay. Retiring it again changes nothing.

        Raises: GoldenError if there is none of this id.
        """
        ...

    def unretire(self, golden_id: str, *, by: str, at: float) -> Golden:
        """Put a retired golden back into use; one that is in use stays as it is.

        Raises: GoldenError if there is none of this id.
        """
        ...

    def add(self, goldens: Sequence[Golden], *, by: str, at: float) -> Imported:
        """Import goldens with the versions that they have: all of them, or none.

        A golden that does not say who approved it and when gets `by` and `at`.

        Raises: GoldenError naming the golden, if its id and version are there with something else, or if it
            could not be approved either.
        """
        ...

    def select(
        self,
        *,
        route: str | None = None,
        task: str | None = None,
        active: bool = True,
        limit: int | None = None,
    ) -> tuple[Golden, ...]:
        """Goldens in their newest version, the last approved first.

        Args:
            route: only of this route.
            task: only of this task.
            active: only those that are not retired.
            limit: at most so many.
        """
        ...

    def find(self, golden_id: str, version: int | None = None) -> Golden | None:
        """One golden, in its newest version if none is given."""
        ...

    def history(self, golden_id: str) -> tuple[Golden, ...]:
        """All versions of a golden, oldest first; none if the id is unknown."""
        ...

    def trail(self, golden_id: str) -> tuple[Entry, ...]:
        """What was done to a golden, oldest first."""
        ...

    def labels(self) -> tuple[tuple[str, str | None], ...]:
        """Which pairs of route and task there are goldens of, retired ones included, in order."""
        ...

    def known_ids(self, ids: Iterable[str]) -> frozenset[str]:
        """Which of these are ids of goldens, retired ones included."""
        ...


def is_id(text: str) -> bool:
    """Whether a golden can be named so: 1 to 200 characters on one line, not all of them blank."""
    return (
        bool(text.strip()) and len(text) <= LONGEST_ID and text not in _DOTS and not _UNWRITABLE.search(text)
    )


def check_approvable(golden: Golden, by: str) -> None:
    """Raise GoldenError unless a golden can be stored on somebody's word."""
    if not is_id(golden.id):
        raise GoldenError(
            f"a golden cannot be named {golden.id[:60]!r}; take 1 to {LONGEST_ID} characters on one line"
        )
    if not is_id(by):
        raise GoldenError(f"{by[:60]!r} is no name of somebody who approves; say who you are")
    if not golden.answer.text and not golden.answer.tool_calls:
        raise GoldenError(
            f'the answer of "{golden.id}" is empty: there is no text and no call that later answers could be '
            "compared with; approve another exchange"
        )


def says_the_same(one: Golden, other: Golden) -> bool:
    """Whether two goldens ask the same and approve the same answer.

    Who answered, at what cost and why the answer ended is not looked at.
    """
    return (one.path, one.request, one.answer.text, one.answer.tool_calls) == (
        other.path,
        other.request,
        other.answer.text,
        other.answer.tool_calls,
    )


def unknown(golden_id: str) -> GoldenError:
    """The error about an id that is not there."""
    return GoldenError(
        f'there is no golden "{golden_id}"; `evenkeel goldens list --all` shows those there are'
    )


def as_imported(golden: Golden, *, by: str, at: float) -> Golden:
    """A golden out of a file as it is stored; who approved it and when is filled in where it does not say.

    Raises: GoldenError if it could not be approved either.
    """
    check_approvable(golden, golden.approved_by or by)
    return replace(
        golden,
        approved_by=golden.approved_by or by,
        approved_at=golden.approved_at if golden.approved_at is not None else at,
    )


def already_there(golden: Golden, highest: int) -> GoldenError:
    """What to say of an imported golden whose version is there with something else.

    Args:
        golden: The one that is imported.
        highest: The highest version of its id, of those imported with it too.
    """
    return GoldenError(
        f'"{golden.id}" is there in version {golden.version} with another request or answer; '
        f'write "version": {highest + 1} to replace it, or give it another "id"; nothing was imported'
    )


_PLACE = "golden"


def pack_golden(golden: Golden, seal: Seal) -> bytes:
    """The whole golden, encrypted if there is a key."""
    return seal.close(zlib.compress(json.dumps(asdict(golden)).encode(), 6), _PLACE)


def unpack_golden(packed: bytes, seal: Seal) -> Golden:
    """What `pack_golden` made. Raises: SealError if it cannot be opened."""
    raw: dict[str, Any] = json.loads(zlib.decompress(seal.open(packed, _PLACE)))
    answer = raw.pop("answer")
    answer["tool_calls"] = tuple(ToolCall(**call) for call in answer["tool_calls"])
    # A later version of the program may have added fields; one that goes back leaves them aside.
    known = {field.name for field in dataclasses.fields(Golden)}
    return Golden(answer=Answer(**answer), **{name: raw[name] for name in raw if name in known})


def key_of(golden_id: str, version: int) -> str:
    """Names a golden in a version: another approved answer is another measure."""
    return f"{golden_id}@{version}"
