"""Which series there are: name, kind, help and labels of each.

An estimate that is None is absent, never 0 or NaN: a rule on it then has nothing to fire on. The
label `scorer` says who decided the ratings, and is on the estimates only: on a counter or an alert,
a change of scorer would look like a new series, that is a jump or a second alert.

What a rate looks back on: `evenkeel_<estimate>` everything since the cell began;
`evenkeel_window_<estimate>` the `window` "1h", "24h", "500" (trials) or "since_change";
`evenkeel_rollup_<estimate>` several cells, in one of those windows (500 exchanges) or "all".
Each has `_lower`, `_upper` and `_observations` beside it.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.cells import Estimate

CELL: Final = ("route", "model", "perturbation")
PLACE: Final = CELL[:2]
ROLLUP: Final = ("level", "route", "model", "category")


class Family(NamedTuple):
    """All series of one name."""

    name: str
    """With the prefix, without the `_total` of a counter."""
    kind: Literal["gauge", "counter"]
    help: str
    labels: tuple[str, ...]


class Sample(NamedTuple):
    """One series at one time."""

    labels: tuple[str, ...]
    """Values, in the order of the family's labels."""
    value: float


Samples: TypeAlias = list[list[Sample]]
"""For each family of a block, in its order."""


class Rate(NamedTuple):
    """An estimate that is exported as four gauges: value, interval and number of observations."""

    name: str
    field: str
    """Of the report."""
    what: str
    observed: str


_ROBUSTNESS = Rate(
    "robustness_score",
    "robustness",
    "One minus the rate of answers that shifted and changed in quality, in [0, 1]",
    "rated trials of which that is known",
)
_CONTENT = Rate(
    "content_delta", "content_delta", "Share of answers whose content shifted, in [0, 1]", "rated trials"
)
_QUALITY = tuple(
    Rate(
        name,
        name,
        f"Share of shifted answers that changed in quality{how}, in [0, 1]",
        "shifted trials with quality scores",
    )
    for name, how in (
        ("quality_delta", ""),
        ("quality_worse", ", only for the worse"),
        ("quality_better", ", only for the better"),
    )
)
_EXCESS = Rate(
    "excess",
    "excess",
    "Share of shifted answers minus that of identical resends of the same exchanges, in [-1, 1]",
    "pairs of a trial and the identical resend of its exchange",
)
NOISE_RATE = Rate(
    "noise_floor",
    "noise_floor",
    "Share of identical resends whose content shifted, in [0, 1]",
    "rated identical resends",
)
JUDGE_NOISE_RATE = Rate(
    "judge_noise_rate",
    "judge_noise",
    "Share of pairs that got another rating when they were judged again, in [0, 1]",
    "pairs judged again",
)
JUDGE_RATES = (
    JUDGE_NOISE_RATE,
    Rate(
        "judge_swap_consistency",
        "swap_consistency",
        "Share of pairs that got the same rating with their sides swapped, in [0, 1]",
        "pairs judged with their sides swapped",
    ),
    Rate(
        "cascade_agreement",
        "cascade_agreement",
        "Share of audited pairs to which the judge said what the cheap scores had decided, in [0, 1]",
        "audited pairs",
    ),
)
RATES = (_ROBUSTNESS, _CONTENT, *_QUALITY, _EXCESS)
WINDOWED = (_ROBUSTNESS, _CONTENT, _EXCESS)
ROLLED = (*RATES, NOISE_RATE, JUDGE_NOISE_RATE)
IN_WINDOW = "; in a window of the cell's trials"
OVER_CELLS = "; over several cells, mean over exchanges"


_LISTED: Final = tomllib.loads(files(__package__).joinpath("families.toml").read_text("utf-8"))


def listed(block: str) -> tuple[Family, ...]:
    """The families of a block that are no estimates, as `families.toml` has them."""
    return tuple(
        Family(one["name"], one["kind"], one["help"], tuple(one["labels"])) for one in _LISTED[block]
    )


def families(
    rates: Sequence[Rate], labels: tuple[str, ...], prefix: str = "", scope: str = ""
) -> list[Family]:
    """Four families for each rate: value, lower and upper end, observations.

    Args:
        rates: in the order in which `add` fills them.
        labels: of all of them.
        prefix: of their names, after the one that all names have.
        scope: what to say of them besides.
    """
    found = []
    for rate in rates:
        name, what = f"evenkeel_{prefix}{rate.name}", f"{rate.what}{scope}"
        observed = "exchanges" if prefix == "rollup_" else rate.observed
        found += [
            Family(name, "gauge", what, labels),
            Family(f"{name}_lower", "gauge", f"{what}: lower end of the interval", labels),
            Family(f"{name}_upper", "gauge", f"{what}: upper end of the interval", labels),
            Family(f"{name}_observations", "gauge", f"Number of {observed} behind {name}", labels),
        ]
    return found


def add(samples: Samples, first: int, labels: tuple[str, ...], estimate: Estimate | None) -> None:
    """Put an estimate into the four families from `first` on."""
    if estimate is not None:
        for place, value in enumerate(
            (estimate.value, estimate.lower, estimate.upper, estimate.n), start=first
        ):
            samples[place].append(Sample(labels, value))
