"""How a gate decides: the error rates, and what counts as a regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Undecided = Literal["pass", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRules:
    """The statement that a verdict makes, and how sure it is."""

    alpha: float = 0.05
    """Probability, at most, of a regression being reported where no excess is above `tolerance`; over all
    measures together and at any time of looking. In (0, 1)."""
    beta: float = 0.05
    """Probability, at most, of settling on a pass where an excess is at or above `limit`. In (0, 1)."""
    tolerance: float = 0.0
    """Excess share of goldens that is no regression, in [0, 1)."""
    margin: float = 0.1
    """How much above the tolerance an excess must not be overlooked; `tolerance + margin` is below 1."""
    undecided: Undecided = "pass"
    """What it comes to if all goldens were asked and neither is settled."""
    most_unmeasured: float = 0.1
    """Share of goldens beyond which too many could not be measured for any verdict, in [0, 1]."""

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < 1:
                raise ValueError(f"{name} is a probability between 0 and 1, not {value:g}")
        if not 0 <= self.tolerance < 1:
            raise ValueError(f"the tolerance is a share from 0 to below 1, not {self.tolerance:g}")
        if not 0 < self.margin < 1 - self.tolerance:
            raise ValueError(
                f"the margin is a share above 0 that leaves tolerance + margin below 1, not {self.margin:g}"
            )
        if not 0 <= self.most_unmeasured <= 1:
            raise ValueError(f"the share that may fail is between 0 and 1, not {self.most_unmeasured:g}")

    @property
    def limit(self) -> float:
        """The excess from which on a pass would be an error."""
        return self.tolerance + self.margin
