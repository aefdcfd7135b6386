"""Numbers in their units, short, as Grafana writes them."""

from __future__ import annotations

from math import isfinite, isnan
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TIMES: Final = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "µs"))
_BYTES: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_THOUSANDS: Final = ((1e9, " Bil"), (1e6, " Mil"), (1e3, " K"))
_PLAIN_BELOW: Final = 1000
"""Numbers below are written with three digits, which are read at a glance; others without a fraction."""


def written(number: float, unit: str, decimals: int | None = None) -> str:
    """A number with its unit; "NaN" and "∞" for what is none."""
    if not isfinite(number):
        return "NaN" if isnan(number) else "∞"
    return _WRITERS.get(unit, _digits)(number, decimals)


def _scaled(number: float, steps: tuple[tuple[float, str], ...], decimals: int | None, rest: str = "") -> str:
    for size, name in steps:
        if abs(number) >= size:
            space = "" if name.startswith(" ") else " "
            return f"{_digits(number / size, decimals)}{space}{name}"
    return f"{_digits(number, decimals)}{rest}"


def _digits(number: float, decimals: int | None) -> str:
    if decimals is not None:
        return f"{number:.{decimals}f}"
    text = f"{number:.3g}" if abs(number) < _PLAIN_BELOW else f"{number:.0f}"
    return f"{float(text):g}" if "e" not in text else text


def _per_second(what: str) -> Callable[[float, int | None], str]:
    return lambda number, decimals: f"{_scaled(number, _THOUSANDS, decimals)} {what}/s"


_WRITERS: Final[Mapping[str, Callable[[float, int | None], str]]] = {
    "percentunit": lambda number, decimals: f"{_digits(number * 100, decimals)}%",
    "currencyUSD": lambda number, decimals: f"${_digits(number, decimals)}",
    "locale": lambda number, decimals: f"{number:,.{decimals or 0}f}",
    "s": lambda number, decimals: _scaled(number, _TIMES, decimals, " s"),
    "bytes": lambda number, decimals: _scaled(number, _BYTES, decimals, " B"),
    "short": lambda number, decimals: _scaled(number, _THOUSANDS, decimals),
    "reqps": _per_second("req"),
    "cps": _per_second("c"),
    "ops": _per_second("ops"),
}
