"""Other tools, each driven by its own command or interface in its own environment.

An adapter is a detector that takes the path of the Python interpreter of an environment in which the tool is
installed. Nothing of a tool is imported here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.upgrades.rivals.adwin import AdwinOnLength
from benchmarks.upgrades.rivals.cngx import Cngx
from benchmarks.upgrades.rivals.dedrift import Dedrift
from benchmarks.upgrades.rivals.driftbase import Driftbase
from benchmarks.upgrades.rivals.stillsane import Stillsane

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.upgrades.detectors import Detector

RIVALS: Final[Mapping[str, Callable[[str], Detector]]] = {
    "stillsane": Stillsane,
    "dedrift": Dedrift,
    "driftbase": Driftbase,
    "cngx": Cngx,
    "river": AdwinOnLength,
}
"""By the name under which each is installed."""
