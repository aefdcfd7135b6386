"""The tables of what certainty costs."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.cost.world import FALLS, QUIET
from benchmarks.kit import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.cost.bill import Bill, Tariff
    from benchmarks.cost.compare import Outcome

_MILLION: Final = 1_000_000
_PER: Final = 100_000
_NAMES: Final = (*(fall.name for fall in FALLS), QUIET.name)


class Ratio(NamedTuple):
    """What the adaptive plan takes as shares of what the uniform one does."""

    fall: str
    plain: float
    """Dollars at list price, each pair judged by itself."""
    lean: float
    """Dollars of the adaptive plan with all savings, over the uniform plan's at list price."""
    requests: float


def ratios(uniform: Sequence[Outcome], adaptive: Sequence[Outcome], tariff: Tariff) -> list[Ratio]:
    """By change, of the sums over all plays.

    A change that was not found counts as if it had been found at the end.
    """
    found = []
    for name in _NAMES:
        old, new = (_of(name, some) for some in (uniform, adaptive))
        if not (old and new):
            continue
        usd = sum(one.bill.plain_usd(tariff) for one in old) * len(new) / len(old)
        found.append(
            Ratio(
                name,
                sum(one.bill.plain_usd(tariff) for one in new) / usd,
                sum(one.bill.lean_usd(tariff) for one in new) / usd,
                mean(one.requests for one in new) / mean(one.requests for one in old),
            )
        )
    return found


def _of(fall: str, some: Iterable[Outcome]) -> list[Outcome]:
    return [one for one in some if one.fall == fall]


def changes(plans: Sequence[Sequence[Outcome]], tariff: Tariff) -> Table:
    """What each plan spent from the change until the alert, on average."""
    rows = []
    for name in _NAMES:
        for some in plans:
            those = _of(name, some)
            if not those:
                continue

            def average(of: Callable[[Bill], float], those: list[Outcome] = those) -> float:
                return mean(of(one.bill) for one in those)

            found = "–" if name == QUIET.name else f"{sum(one.found for one in those)} of {len(those)}"
            rows.append(
                (f"{name}: {those[0].plan}", found, round(mean(one.requests for one in those)),
                 round(average(lambda bill: bill.replays)), round(average(lambda bill: bill.judge_calls)),
                 average(lambda bill: bill.tokens / _MILLION), average(lambda bill: bill.plain_usd(tariff)),
                 average(lambda bill: bill.grouped_usd(tariff)), average(lambda bill: bill.lean_usd(tariff)))
            )  # fmt: skip
    heads = ("change: plan", "found", "requests", "replays", "judge calls", "million tokens", "dollars",
             "pairs judged together", "and tiers, caches")  # fmt: skip
    return Table("cost-changes", heads, tuple(rows), notes=(f"Means; {tariff.name}.",))


def shares(plans: Sequence[Sequence[Outcome]], tariffs: Sequence[Tariff]) -> Table:
    """Dollars and delays of the last plan as shares of the first one's."""
    by_tariff = [ratios(plans[0], plans[-1], tariff) for tariff in tariffs]
    rows: list[tuple[str, ...]] = []
    for place, one in enumerate(by_tariff[0]):
        cells = [f"{ratio:.0%}" for row in by_tariff for ratio in (row[place].plain, row[place].lean)]
        rows.append((one.fall, *cells, "–" if one.fall == QUIET.name else f"{one.requests:.2f} ×"))
    averages = [
        f"{mean(ratio):.0%}" for row in by_tariff for ratio in ([o.plain for o in row], [o.lean for o in row])
    ]
    delays = mean(one.requests for one in by_tariff[0] if one.fall != QUIET.name)
    rows.append(("**mean**", *averages, f"{delays:.2f} ×"))
    heads = [
        head
        for tariff in tariffs
        for head in (tariff.name.replace(", judged by ", " / "), "with all savings")
    ]
    return Table("cost-shares", ("change", *heads, "requests"), tuple(rows))


def quiet(plans: Sequence[Sequence[Outcome]], tariff: Tariff) -> Table:
    """The quiet phase, and how often each plan alerted where nothing had changed."""
    rows = []
    for some in plans:
        exchanges, alarms = (
            sum(getattr(one, name) for one in some) for name in ("quiet_exchanges", "false_alarms")
        )
        before = [one.before for one in {one.seed: one for one in some}.values()]
        rows.append(
            (some[0].plan, mean(one.exchanges for one in before), mean(one.replays for one in before),
             f"{mean(one.plain_usd(tariff) for one in before):.2f}", exchanges, alarms,
             f"{alarms / exchanges * _PER:.1f}")
        )  # fmt: skip
    heads = ("plan", "exchanges of the quiet phase", "replays", "dollars", "exchanges without a change",
             "false alarms", "in 100,000 exchanges")  # fmt: skip
    return Table("cost-quiet", heads, tuple(rows), digits=0)
