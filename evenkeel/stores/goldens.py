"""Goldens: requests with the answers that somebody approved for them, in every version.

Each version says who approved it and who retired it; the audit log has every action on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.errors import UserError
from evenkeel.core.pair import Answer  # noqa: TC001 - read by msgspec
from evenkeel.core.text import UNWRITABLE
from evenkeel.stores.documents import Collection, sealed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.stores.documents import Change, Documents


CHAT_COMPLETIONS = "/v1/chat/completions"
_PLACE: Final = "golden"


class GoldenError(UserError, ValueError):
    """Failure to read, store or use a golden. The message says which, what is wrong and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """Approved exchange in one version. Credentials are never part of it."""

    id: str
    """Id that all versions share: the exchange's id, or the id in the golden's file."""
    version: int = 1
    """Version, from 1; it grows by one each time another answer is approved."""
    route: str = "default"
    path: str = CHAT_COMPLETIONS
    """Path of the API that it was asked through, without a route's prefix."""
    request: str | None = None
    """Body of the request, as JSON text; None where only the answer is known, which can be degraded and
    compared but not asked again."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers that the API needs for members of the request, such as "anthropic-beta"."""
    answer: Answer
    """The approved answer."""
    task: str | None = None
    cluster: str | None = None
    """Name shared by goldens whose answers change together; None = nearly equal prompts are a cluster."""
    model: str | None = None
    """Model that gave the answer, as the endpoint returned it."""
    prompt_version: str | None = None
    approved_by: str = ""
    """Name of the person who approved it, as they gave it; "" if the file does not say."""
    approved_at: float | None = None
    """Unix time in seconds; None if the file does not say."""
    note: str = ""
    retired_by: str | None = None
    retired_at: float | None = None
    """Unix time in seconds since which it is no longer used; None while it is."""

    @property
    def retired(self) -> bool:
        """True if the golden is no longer used."""
        return self.retired_at is not None


# Ids are parts of addresses.
LONGEST_ID = 200
# Ids that browsers take for folders, in any spelling.
_DOTS = frozenset({".", ".."})


@dataclass(frozen=True, slots=True)
class GoldenImport:
    """Result of an import."""

    added: int
    """Number of versions that are new."""
    known: int
    """Number of versions that existed already, unchanged."""


class GoldenStore:
    """Store of goldens by id and version. The newest version of an id is in use, unless it is retired.

    Calls block on storage. Several processes may use one store at a time.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        documents.open(_GOLDENS)

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
        check_approvable(golden, by)

        def work(change: Change) -> Golden:
            newest = self.find(golden.id)
            if newest is not None and says_the_same(newest, golden):
                return _in_use_again(change, newest)
            approved = replace(
                golden,
                version=newest.version + 1 if newest else 1,
                approved_by=by,
                approved_at=at,
                retired_by=None,
                retired_at=None,
            )
            return _put(change, approved)

        return self._documents.change(_GOLDENS, work)

    def retire(self, golden_id: str, *, by: str, at: float) -> Golden:
        """Take a golden out of use; its versions stay. Retiring it again changes nothing.

        Raises: GoldenError if there is none of this id.
        """

        def work(change: Change) -> Golden:
            newest = self._approvable(golden_id, by)
            if newest.retired_at is not None:
                return newest
            return _put(change, replace(newest, retired_by=by, retired_at=at))

        return self._documents.change(_GOLDENS, work)

    def unretire(self, golden_id: str, *, by: str) -> Golden:
        """Put a retired golden back into use; one that is in use stays as it is.

        Raises: GoldenError if there is none of this id.
        """
        return self._documents.change(
            _GOLDENS, lambda change: _in_use_again(change, self._approvable(golden_id, by))
        )

    def add(self, goldens: Sequence[Golden], *, by: str, at: float) -> GoldenImport:
        """Import goldens with the versions that they have: all of them, or none.

        A golden that does not say who approved it and when gets `by` and `at`.

        Raises: GoldenError naming the golden, if its id and version are there with something else, or if it
            could not be approved either.
        """

        def work(change: Change) -> GoldenImport:
            added: dict[tuple[str, int], Golden] = {}
            unchanged = 0
            for new_golden in goldens:
                golden = replace(
                    new_golden,
                    approved_by=new_golden.approved_by or by,
                    approved_at=at if new_golden.approved_at is None else new_golden.approved_at,
                )
                check_approvable(golden, golden.approved_by)
                name = golden.id, golden.version
                there = added.get(name) or self.find(*name)
                if there is None:
                    added[name] = _put(change, golden)
                elif says_the_same(there, golden):
                    unchanged += 1
                else:
                    newest = self.find(golden.id)
                    highest = newest.version if newest else 0
                    # Versions of this file are not in the store yet.
                    for golden_id, version in added:
                        if golden_id == golden.id:
                            highest = max(highest, version)
                    raise GoldenError(
                        f'"{golden.id}" is there in version {golden.version} with another request or answer; '
                        f'write "version": {highest + 1} to replace it, or give it another "id"; '
                        "nothing was imported"
                    )
            return GoldenImport(len(added), unchanged)

        return self._documents.change(_GOLDENS, work)

    def select(
        self,
        *,
        route: str | None = None,
        task: str | None = None,
        active: bool = True,
        limit: int | None = None,
    ) -> tuple[Golden, ...]:
        """Return goldens in their newest version, the last approved first; `active` ones are not retired."""
        newest: dict[str, Golden] = {}
        for golden in self._documents.select(_GOLDENS):
            if golden.id not in newest or golden.version > newest[golden.id].version:
                newest[golden.id] = golden
        chosen = []
        for golden in newest.values():
            fits = route in {None, golden.route} and task in {None, golden.task}
            if fits and not (active and golden.retired):
                chosen.append(golden)
        chosen.sort(key=lambda golden: golden.approved_at or 0.0, reverse=True)
        return tuple(chosen[:limit])

    def find(self, golden_id: str, version: int | None = None) -> Golden | None:
        """Return a golden; the newest version if none is given. None if there is no such golden."""
        if version is not None:
            return self._documents.find(_GOLDENS, golden_id, str(version))
        return max(self.history(golden_id), key=lambda golden: golden.version, default=None)

    def history(self, golden_id: str) -> tuple[Golden, ...]:
        """Return all versions of a golden, oldest first; none if the id is unknown."""
        versions = self._documents.history(_GOLDENS, golden_id)
        return tuple(sorted(versions, key=lambda golden: golden.version))

    def labels(self) -> tuple[tuple[str, str | None], ...]:
        """Return the pairs of route and task that have goldens, retired ones included, in order."""
        combinations = self._documents.values(_GOLDENS, "route", "task")
        pairs = []
        for route, task in combinations:
            pairs.append((str(route), None if task is None else str(task)))
        # A task may be None, which does not compare with a text.
        return tuple(sorted(pairs, key=lambda pair: (pair[0], pair[1] or "")))

    def _approvable(self, golden_id: str, by: str) -> Golden:
        newest = self.find(golden_id)
        if newest is None:
            raise unknown(golden_id)
        check_approvable(newest, by)
        return newest


def is_id(text: str) -> bool:
    """Return whether a text can be a golden's id.

    It must have 1 to 200 characters on one line, not all of them blank.
    """
    return (
        bool(text.strip()) and len(text) <= LONGEST_ID and text not in _DOTS and not UNWRITABLE.search(text)
    )


def check_approvable(golden: Golden, by: str) -> None:
    """Raise GoldenError unless a golden can be stored as approved by that person."""
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


def says_the_same(first: Golden, other: Golden) -> bool:
    """Return whether two goldens have the same request and the same approved answer.

    The model, the cost and the reason why the answer ended are not compared.
    """
    return (first.path, first.request, first.answer.text, first.answer.tool_calls) == (
        other.path,
        other.request,
        other.answer.text,
        other.answer.tool_calls,
    )


def unknown(golden_id: str) -> GoldenError:
    """Return the error about an id that does not exist."""
    return GoldenError(
        f'there is no golden "{golden_id}"; `evenkeel goldens list --all` shows those there are'
    )


def _in_use_again(change: Change, newest: Golden) -> Golden:
    if newest.retired_at is None:
        return newest
    return _put(change, replace(newest, retired_by=None, retired_at=None))


def _put(change: Change, golden: Golden) -> Golden:
    change.put(_GOLDENS, golden)
    return golden


_GOLDENS: Final = Collection(
    name="goldens",
    key=("id", "version"),
    fields=("route", "task"),
    body=sealed(Golden, _PLACE, lambda golden: golden.id),
)


def key_of(golden_id: str, version: int) -> str:
    """Return the key of a golden in a version: another approved answer is another measure."""
    return f"{golden_id}@{version}"
