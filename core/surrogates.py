r"""Lone surrogates: half characters that JSON can carry as escapes and that UTF-8 has no bytes for."""

from __future__ import annotations

import re
from typing import Final

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def well_formed(text: str) -> str:
    r"""`text` as UTF-8 can hold it.

    Two halves that belong together become their character: servers that cut a stream anywhere send
    `"\ud83d"` and `"\ude00"` in two events. A lone one becomes U+FFFD.
    """
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
