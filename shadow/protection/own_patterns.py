"""Patterns of the operator's own, matched by RE2, which takes linear time whatever the pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkeel.shadow.protection.detector import Found, ProtectionError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_MEMORY_BYTES = 8 << 20


class OwnPattern:
    """Values of one kind, by a pattern in RE2's syntax."""

    def __init__(self, kind: str, written: str) -> None:
        """Compile it.

        Args:
            kind: Names the placeholder and the counter, in snake case.
            written: The pattern; what stands for the value is its first group if it has one.

        Raises: ProtectionError if it is no such pattern, finds nothing in particular, or RE2 is missing.
        """
        self.kind = kind
        self._look = _compiled(kind, written)
        if self._look.search("") is not None:
            raise ProtectionError(f"the pattern of {kind} finds empty text; make it ask for something")
        self._group = 1 if self._look.groups else 0

    def find(self, text: str) -> Iterator[Found]:
        """As `Detector.find`."""
        for match in self._look.finditer(text):
            start, end = match.span(self._group)
            if end > start:
                yield Found(start, end, self.kind)


def _compiled(kind: str, written: str) -> Any:
    try:
        import re2  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ProtectionError(
            "patterns of your own need the extra `redaction`: pip install 'evenkeel[redaction]'"
        ) from error
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY_BYTES
    try:
        return re2.compile(written, options)
    except re2.error as error:
        said = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise ProtectionError(
            f"the pattern of {kind} is not one of RE2 ({said}), which knows no lookaround and no references"
        ) from error
