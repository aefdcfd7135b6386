"""Goldens: exchanges whose answer a person has approved, as the measure of what comes later.

`golden` (one of them) ← `files` (JSON lines, their answers by `approved_answer`) and `store` (versions and
who approved them; `sqlite_store` in the embedded store) ← `spread` (which exchanges to approve).
"""

from metrics.goldens.files import golden_lines, load_goldens, read_goldens
from metrics.goldens.golden import Golden, GoldenError
from metrics.goldens.sqlite_store import SqliteGoldens
from metrics.goldens.store import Deed, Entry, GoldenStore, Imported

__all__ = [
    "Deed",
    "Entry",
    "Golden",
    "GoldenError",
    "GoldenStore",
    "Imported",
    "SqliteGoldens",
    "golden_lines",
    "load_goldens",
    "read_goldens",
]
