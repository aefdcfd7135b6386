"""Write the generated parts of `docs/reference`: `python -m docs.generate`.

A page is written by hand but for its blocks, each between `<!-- generated: NAME -->` and `<!-- end -->`;
these are filled from the code, the Prometheus rules and the Helm chart.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
"""The checkout."""


def one_line(text: str) -> str:
    """Return a text without line breaks and without more than one space in a row."""
    return " ".join(text.split())
