"""Pages of the documentation that the console can show where there is no network: reference and runbooks."""

from __future__ import annotations

import re
import sysconfig
from functools import lru_cache
from pathlib import Path
from typing import Final

_RUNBOOK: Final = re.compile(r"runbooks/([A-Za-z0-9]+)")
_FOLDERS: Final = (
    Path(__file__).parents[2] / "docs" / "runbooks",  # in a checkout
    Path(sysconfig.get_path("data")) / "share" / "evenkeel" / "docs" / "runbooks",  # installed
)


@lru_cache(maxsize=64)
def document(name: str) -> str | None:
    """A page in Markdown: "settings", or "runbooks/NAME"; None if there is none of that name."""
    if name == "settings":
        # Brings every perturbation, which the console needs for nothing else.
        from evenkeel.reference.pages import settings_page  # noqa: PLC0415

        return settings_page()
    found = _RUNBOOK.fullmatch(name)
    if found is None:
        return None
    for folder in _FOLDERS:
        page = folder / f"{found[1]}.md"
        if page.is_file():
            return page.read_text(encoding="utf-8")
    return None
