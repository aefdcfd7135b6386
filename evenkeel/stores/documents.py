"""Small documents: named collections of them in one store, implemented on SQLite and on Redis.

A `Collection` declares what its documents are called and how they are filtered, packed and bounded; a new one
is one declaration. Thin typed layers add rules and know nothing of storage: `monitor_state`, `budget`,
`counters`, `goldens`, `labels`, `references` and more.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeAlias, TypeVar

from evenkeel.core.records import from_json, to_json
from evenkeel.stores.sealing import check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.stores.sealing import Seal

Item = TypeVar("Item")
Result = TypeVar("Result")
Packed: TypeAlias = str | bytes
Field: TypeAlias = str | int | None

EVERYTHING: Final[Mapping[str, Field]] = MappingProxyType({})
"""Values of fields that all documents have."""
# The default of zlib.
_LEVEL: Final = 6


@dataclass(frozen=True, slots=True)
class DocumentBody(Generic[Item]):
    """Encoding of documents: a function that writes them and one that reads them."""

    pack: Callable[[Item, Seal], Packed]
    """Function that returns the stored form, in which texts that quote prompts or answers are sealed."""
    unpack: Callable[[Packed, Seal, tuple[str, ...]], Item]
    """Function that returns the document from its stored form and its key."""


def plain(kind: type[Item]) -> DocumentBody[Item]:
    """Return the body of documents that quote nothing: JSON."""
    return DocumentBody(
        lambda item, _seal: to_json(item), lambda packed, _seal, _key: from_json(packed, kind)
    )


def sealed(kind: type[Item], place: str, name_of: Callable[[Item], str]) -> DocumentBody[Item]:
    """Return the body of documents that quote prompts or answers: compressed, encrypted if there is a key.

    Args:
        kind: Class of the documents.
        place: What they are encrypted for.
        name_of: Returns the first part of a document's key, so that none is taken for another.
    """

    def pack(item: Item, seal: Seal) -> Packed:
        return seal.close(zlib.compress(to_json(item).encode(), _LEVEL), place)

    def unpack(packed: Packed, seal: Seal, key: tuple[str, ...]) -> Item:
        assert isinstance(packed, bytes)
        item = from_json(zlib.decompress(seal.open(packed, place)), kind)
        # Whoever can write to the store could put one document in the place of another.
        check_name(name_of(item), key[0], place)
        return item

    return DocumentBody(pack, unpack)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection(Generic[Item]):
    """Documents of one kind, in the order in which they were put."""

    name: str
    """Name of the table on SQLite, and part of the keys on Redis."""
    key: tuple[str, ...]
    """Attributes that name a document, as texts."""
    fields: tuple[str, ...] = ()
    """Names of the fields to filter by: attributes, unless `fields_of` returns other values."""
    fields_of: Callable[[Item], tuple[Field, ...]] | None = None
    body: DocumentBody[Item]

    group: str = ""
    """Collections of one group can be changed together; default: alone."""
    kept: int | None = None
    """Documents kept, the newest, give or take a hundredth; None = all."""
    kept_of: str = ""
    """Field by which `kept` is counted: so many documents are kept for each of its values."""

    def key_of(self, item: Item) -> tuple[str, ...]:
        """Return the name of a document."""
        return tuple(str(getattr(item, name)) for name in self.key)

    def values_of(self, item: Item) -> dict[str, Field]:
        """Return what a document is filtered by."""
        if self.fields_of is not None:
            return dict(zip(self.fields, self.fields_of(item), strict=True))
        return {name: getattr(item, name) for name in self.fields}


class Change(Protocol):
    """Writes within one transaction."""

    def put(self, collection: Collection[Item], item: Item) -> None:
        """Store a document as the newest; one of the same name is replaced."""
        ...

    def add(self, collection: Collection[Item], item: Item) -> bool:
        """Store a document. Return False, changing nothing, if one of its name exists."""
        ...

    def drop(self, collection: Collection[Any], *key: str) -> None:
        """Remove the documents whose name begins so, if there are any."""
        ...


class Documents(Protocol):
    """Collections of small documents. Calls block on storage; several processes may share a store."""

    seal: Seal
    """Encrypts prompts and answers."""
    remote: bool
    """True if bodies travel over a network, so that large ones should be compressed."""

    def open(self, *collections: Collection[Any]) -> None:
        """Make collections ready. Their typed layer does it once, before anything else."""
        ...

    def change(self, collection: Collection[Any], work: Callable[[Change], Result]) -> Result:
        """Read and write in one transaction: all of it, or nothing.

        Args:
            collection: what is written belongs to it, or to others of its group.
            work: reads from the store, writes to what it is given. It is called again if somebody else
                changed the group in between.

        Returns: what `work` returned.
        """
        ...

    def put(self, collection: Collection[Item], item: Item) -> None:
        """Store a document, as `Change.put`."""
        self.change(collection, lambda change: change.put(collection, item))

    def add(self, collection: Collection[Item], item: Item) -> bool:
        """Store a document, as `Change.add`."""
        return self.change(collection, lambda change: change.add(collection, item))

    def drop(self, collection: Collection[Any], *key: str) -> None:
        """Remove documents, as `Change.drop`."""
        self.change(collection, lambda change: change.drop(collection, *key))

    def find(self, collection: Collection[Item], *key: str) -> Item | None:
        """Return one document."""
        ...

    def history(self, collection: Collection[Item], *key: str) -> list[Item]:
        """Return all documents whose name begins so, in their order."""
        ...

    def select(
        self, collection: Collection[Item], where: Mapping[str, Field] = EVERYTHING, limit: int | None = None
    ) -> list[Item]:
        """Return documents, the last stored first.

        Args:
            collection: which.
            where: values of fields; those that are None match everything.
            limit: at most so many.
        """
        ...

    def values(self, collection: Collection[Any], *fields: str) -> set[tuple[Field, ...]]:
        """Return the combinations of fields that there are."""
        ...

    def revision(self, collection: Collection[Any]) -> int:
        """Return a number that grows with every document put; while it is the same, nothing is new."""
        ...
