"""Goldens: exchanges whose answer a person has approved, as the measure of what comes later.

`golden` (one of them) ← `files` (JSON lines) and `store` (versions, in the embedded store).
"""

from metrics.goldens.golden import Golden, GoldenError

__all__ = ["Golden", "GoldenError"]
