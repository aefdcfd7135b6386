"""Tables of spending and delays by plan."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.cost.bill import Bill
from benchmarks.cost.world import QUIET, REGRESSIONS
from benchmarks.kit import ResultTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.cost.bill import Tariff
    from benchmarks.cost.compare import ChangeOutcome

_MILLION: Final = 1_000_000
_PER: Final = 100_000


class Ratio(NamedTuple):
    """Spending and delays of the adaptive plan as shares of the uniform plan's."""

    regression: str
    plain: float
    """Share of the dollars at list price, with each pair judged by itself."""
    lean: float
    """Dollars of the adaptive plan with all savings, divided by the uniform plan's at list price."""
    requests: float


class Total(NamedTuple):
    """Sum of the outcomes of one change under one plan."""

    regression: str
    plan: str
    plays: int
    found: int
    requests: float
    bill: Bill


def totals(outcomes: Sequence[ChangeOutcome]) -> Iterator[Total]:
    """Yield the sums of one plan's outcomes by change, in the order of the changes."""
    for regression in (*REGRESSIONS, QUIET):
        plays = found = 0
        requests = 0.0
        bill = Bill()
        for outcome in outcomes:
            if outcome.regression == regression.name:
                plays += 1
                found += outcome.found
                requests += outcome.requests
                bill = bill.plus(outcome.bill)
        if plays:
            yield Total(regression.name, outcomes[0].plan, plays, found, requests, bill)


def ratios(
    uniform: Sequence[ChangeOutcome], adaptive: Sequence[ChangeOutcome], tariff: Tariff
) -> list[Ratio]:
    """Return the ratios of the sums over all plays, by change.

    A change that was not found counts as if it had been found at the end.
    """
    by_change = []
    for old, new in zip(totals(uniform), totals(adaptive), strict=True):
        usd = old.bill.plain_usd(tariff)
        plain = new.bill.plain_usd(tariff) / usd
        lean = new.bill.lean_usd(tariff) / usd
        by_change.append(Ratio(new.regression, plain, lean, new.requests / old.requests))
    return by_change


def changes(plans: Sequence[Sequence[ChangeOutcome]], tariff: Tariff) -> ResultTable:
    """Return each plan's mean spending from the change until the alert."""
    rows = []
    every = [list(totals(outcomes)) for outcomes in plans]
    for of_change in zip(*every, strict=True):
        for total in of_change:
            plays, bill = total.plays, total.bill
            found = "–" if total.regression == QUIET.name else f"{total.found} of {plays}"
            rows.append(
                (f"{total.regression}: {total.plan}", found, round(total.requests / plays),
                 round(bill.replays / plays), round(bill.judge_calls / plays),
                 bill.tokens / _MILLION / plays, bill.plain_usd(tariff) / plays,
                 bill.grouped_usd(tariff) / plays, bill.lean_usd(tariff) / plays)
            )  # fmt: skip
    heads = ("change: plan", "found", "requests", "replays", "judge calls", "million tokens", "dollars",
             "pairs judged together", "and tiers, caches")  # fmt: skip
    return ResultTable("cost-changes", heads, tuple(rows), notes=(f"Means; {tariff.name}.",))


def shares(plans: Sequence[Sequence[ChangeOutcome]], tariffs: Sequence[Tariff]) -> ResultTable:
    """Return dollars and delays of the last plan as shares of the first plan's."""
    heads = []
    by_tariff = []
    averages = []
    for tariff in tariffs:
        heads += [tariff.name.replace(", judged by ", " / "), "with all savings"]
        column = ratios(plans[0], plans[-1], tariff)
        by_tariff.append(column)
        averages.append(f"{mean(ratio.plain for ratio in column):.0%}")
        averages.append(f"{mean(ratio.lean for ratio in column):.0%}")
    rows: list[tuple[str, ...]] = []
    delays = []
    for row in zip(*by_tariff, strict=True):
        cells = []
        for ratio in row:
            cells += [f"{ratio.plain:.0%}", f"{ratio.lean:.0%}"]
        # Requests are the same at every tariff.
        first = row[0]
        if first.regression == QUIET.name:
            rows.append((first.regression, *cells, "–"))
        else:
            rows.append((first.regression, *cells, f"{first.requests:.2f} ×"))
            delays.append(first.requests)
    rows.append(("**mean**", *averages, f"{mean(delays):.2f} ×"))
    return ResultTable("cost-shares", ("change", *heads, "requests"), tuple(rows))


def quiet(plans: Sequence[Sequence[ChangeOutcome]], tariff: Tariff) -> ResultTable:
    """Return the cost of the quiet phase, and the false alarms of each plan."""
    rows = []
    for outcomes in plans:
        exchanges = sum(outcome.quiet_exchanges for outcome in outcomes)
        alarms = sum(outcome.false_alarms for outcome in outcomes)
        # All changes of a seed have the same quiet phase.
        by_seed = {outcome.seed: outcome.before for outcome in outcomes}
        before = Bill()
        for bill in by_seed.values():
            before = before.plus(bill)
        phases = len(by_seed)
        rows.append(
            (outcomes[0].plan, before.exchanges / phases, before.replays / phases,
             f"{before.plain_usd(tariff) / phases:.2f}", exchanges, alarms,
             f"{alarms / exchanges * _PER:.1f}")
        )  # fmt: skip
    heads = ("plan", "exchanges of the quiet phase", "replays", "dollars", "exchanges without a change",
             "false alarms", "in 100,000 exchanges")  # fmt: skip
    return ResultTable("cost-quiet", heads, tuple(rows), digits=0)
