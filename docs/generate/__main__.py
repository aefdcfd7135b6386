"""Fill the blocks of all reference pages; run it as `python -m docs.generate` and commit what it writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from docs.generate import ROOT, command_line, data_plane, metrics, perturbations, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

REFERENCE: Final = ROOT / "docs" / "reference"
PAGES: Final[Mapping[str, Callable[[Sequence[str]], Mapping[str, str]]]] = {
    "command-line": command_line.blocks,
    "data-plane": data_plane.blocks,
    "metrics": metrics.blocks,
    "perturbations": perturbations.blocks,
    "settings": settings.blocks,
}
"""By page, the function that fills it: from the names of its blocks to their texts."""

_BLOCK: Final = re.compile(r"(<!-- generated: (?P<name>.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def current(page: Path) -> str:
    """Return a page with its blocks filled anew.

    Raises:
        KeyError: a block has a name that the page's function does not fill.
    """
    text = page.read_text(encoding="utf-8")
    texts = PAGES[page.stem]([match["name"] for match in _BLOCK.finditer(text)])
    return _BLOCK.sub(lambda match: f"{match[1]}\n{texts[match['name']].strip()}\n\n{match[3]}", text)


def main() -> None:
    """Write the pages."""
    for name in PAGES:
        page = REFERENCE / f"{name}.md"
        page.write_text(current(page), encoding="utf-8")


if __name__ == "__main__":
    main()
