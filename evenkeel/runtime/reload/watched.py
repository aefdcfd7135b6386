"""A file that somebody may edit."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class WatchedFile:
    """Tells when a file has become another and is at rest again.

    An editor writes in steps: a change counts when two looks in a row have seen the same. Content is
    compared, a few kilobytes each time: a file that was only touched has not changed, and one that was
    replaced within the resolution of the file system's clock, or through a symbolic link as in Kubernetes,
    has.
    """

    def __init__(self, path: Path | None) -> None:
        """Args: path: the file as it has just been read; None = there is none, and it never changes."""
        self._path = path
        self._taken = self._seen = self._content()

    def look(self) -> bool:
        """Whether there is a change to be taken. Blocks on the file."""
        now = self._content()
        settled = now == self._seen and now != self._taken
        self._seen = now
        if settled:
            self._taken = now
        return settled

    def taken(self) -> None:
        """The file is being read for another reason: what it holds now is no news later."""
        self._taken = self._seen = self._content()

    def _content(self) -> str:
        """Names the content; "" for a file that cannot be read."""
        if self._path is None:
            return ""
        try:
            return hashlib.sha256(self._path.read_bytes()).hexdigest()
        except OSError:
            return ""
