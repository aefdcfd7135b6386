"""Reads material out of a prompt in which it stands between tagged markers.

So do evenkeel's own prompts to judges and rewriters: `<<<BEGIN label tag>>>` … `<<<END label tag>>>`,
where the tag occurs nowhere in the material. The first marker comes before all material, so its tag is
the true one, whatever markers the material imitates.
"""

from __future__ import annotations

import re
from typing import Final

_FIRST: Final = re.compile(r"^<<<BEGIN [^\n]+ ([0-9a-f]{16})>>>$", re.MULTILINE)


def marked_texts(prompt: str) -> dict[str, str]:
    """The texts between markers by their labels, in order; empty if there are none."""
    first = _FIRST.search(prompt)
    if first is None:
        return {}
    block = re.compile(
        rf"^<<<BEGIN ([^\n]+) {first[1]}>>>\n(.*?)\n<<<END \1 {first[1]}>>>$", re.MULTILINE | re.DOTALL
    )
    return {match[1]: match[2] for match in block.finditer(prompt)}
