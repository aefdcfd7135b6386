"""No proxy at all: what the load and the model do by themselves, which all others are held against."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from benchmarks.proxy.contenders.protocol import Door, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.proxy.contenders.protocol import Site


class Direct:
    """The model itself."""

    name = "direct"
    processes = 1

    @contextlib.contextmanager
    def start(self, site: Site) -> Iterator[Place]:
        """Nothing to start."""
        yield Place(None, (Door(self.name, site.upstream),), "")
