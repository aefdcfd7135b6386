"""Small documents: named collections of them in one store, implemented on SQLite and on Redis.

A `Collection` says how its documents are named, packed, filtered and bounded, and where each implementation
keeps them: tables and keys are those that the first release wrote, so its stores are read as they are.
Thin typed layers add serialisation and rules and know nothing of storage: `goldens`, `labels`, `audit_log`,
`changes`, `bursts`, `templates` and `references`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from evenkeel.stores.sealing import Seal

Item = TypeVar("Item")
Result = TypeVar("Result")
Body: TypeAlias = str | bytes
Field: TypeAlias = str | int | None

Layout = Literal["hash", "keys", "list", "newest", "indexed", "ordered"]
"""How Redis keeps a collection:

- `hash`: one hash, name → body.
- `keys`: a key for each document; it may expire.
- `list`: a list for each name, or one for all of them.
- `newest`: a hash of the newest versions, and for each name a list of all versions.
- `indexed`: a hash of all versions, and one with the fields of each.
- `ordered`: a hash, and the order in which documents were put, of all and within a field.
"""


def _nothing(_item: Any) -> tuple[()]:
    return ()


def _first(_item: Any) -> int:
    return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection(Generic[Item]):
    """Documents of one kind."""

    schema: tuple[str, ...]
    """Statements that make its tables; the first makes `table`."""
    table: str
    key: tuple[str, ...] = ()
    """Columns that name a document."""
    versioned: bool = False
    """Whether a document is kept in every version, in the column `version`."""
    fields: tuple[str, ...] = ()
    """Columns to filter by. Those of an `indexed` collection end with a flag."""
    columns: tuple[str, ...] = ("body",)
    """Column with the body. Of several, each holds one of the values of a list in JSON."""

    tag: str
    """Of the keys on Redis."""
    layout: Layout
    name: str = ""
    """Names the keys of a `hash`, `keys`, `list` or `ordered` collection; {} is the document's name."""
    revision: str = ""
    """Names the key that grows with every change; "" where nobody asks for it."""
    expires_s: int | None = None
    """Lifetime of `keys`."""

    kept: int | None = None
    """Documents kept, the newest; None = all."""
    kept_of: str = ""
    """A field, if so many are kept of each of its values."""

    pack: Callable[[Item, Seal], Body]
    """What is stored of a document, sealed as far as it quotes prompts or answers."""
    unpack: Callable[[Body, Seal, tuple[str, ...]], Item]
    """The document, given its body and its name; the name is given by `find`, and for `hash` collections."""
    key_of: Callable[[Item], tuple[str, ...]] = _nothing
    version_of: Callable[[Item], int] = _first
    fields_of: Callable[[Item], tuple[Field, ...]] = _nothing
    recency: Callable[[Item], Any] | None = None
    """Sorts the documents of a `newest` collection, which Redis keeps in no order: the newest first."""


class Change(Protocol):
    """What one transaction writes."""

    def put(self, collection: Collection[Item], item: Item) -> None:
        """Store a document; one of the same name, and version, is replaced."""
        ...

    def add(self, collection: Collection[Item], item: Item) -> object:
        """Store a document unless one of its name is there."""
        ...

    def drop(self, collection: Collection[Any], *key: str) -> None:
        """Remove a document if it is there. For `indexed` collections."""
        ...


class Documents(Protocol):
    """Collections of small documents. Calls block on storage; several processes may share a store."""

    seal: Seal
    """Encrypts prompts and answers."""
    remote: bool
    """Whether bodies travel, so that large ones should be compressed."""

    def open(self, *collections: Collection[Any]) -> None:
        """Make collections ready. Their typed layer does it once, before anything else."""
        ...

    def change(self, collection: Collection[Any], work: Callable[[Change], Result]) -> Result:
        """Read and write in one transaction: all of it, or nothing.

        Args:
            collection: has a revision. What is written belongs to it, or to others of its tag.
            work: reads from the store, writes to what it is given. It is called again if somebody else
                changed the collection in between.

        Returns: what `work` returned.
        """
        ...

    def put(self, collection: Collection[Item], item: Item) -> None:
        """Store a document; one of the same name is replaced."""
        ...

    def add(self, collection: Collection[Item], item: Item) -> bool:
        """Store a document; False, changing nothing, if one of its name is there. For `hash` and `keys`."""
        ...

    def drop(self, collection: Collection[Any], *key: str) -> None:
        """Remove a document if it is there, in all versions. For `hash`, `keys` and `indexed`."""
        ...

    def find(self, collection: Collection[Item], *key: str, version: int | None = None) -> Item | None:
        """One document, in its newest version if none is given."""
        ...

    def history(self, collection: Collection[Item], *key: str) -> list[Item]:
        """All documents and versions whose name begins so, in the order in which they were stored."""
        ...

    def select(
        self, collection: Collection[Item], where: Mapping[str, Field] = ..., limit: int | None = None
    ) -> list[Item]:
        """Documents in their newest version, the last stored first.

        Args:
            collection: which. Not a `hash` or `keys`.
            where: values of fields; those that are None match everything.
            limit: at most so many.
        """
        ...

    def known(
        self, collection: Collection[Any], names: Iterable[str], where: Mapping[str, Field] = ...
    ) -> frozenset[str]:
        """Which of these are the first part of the name of a document that `select` would give."""
        ...

    def values(self, collection: Collection[Any], *fields: str) -> set[tuple[Field, ...]]:
        """Combinations of fields that there are, in any version. For `indexed` collections."""
        ...

    def revision(self, collection: Collection[Any]) -> int:
        """A number that grows with every change: what was read stays true as long as it is the same."""
        ...
