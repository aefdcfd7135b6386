"""Proxy: what users feel. Requests, errors, added latency; and what of the traffic is sampled."""

from __future__ import annotations

from typing import Final

from grafana import scales, variables
from grafana.board import Board, Section, Shelf, shelf
from grafana.panels import Query, areas, lines, number, spread, words_of
from grafana.promql import RATE, increase, quantile, rate, series, share

_WORDS: Final = words_of("proxy")

_ROUTE: Final = 'route=~"$route"'
_FAILED: Final = 'status_class=~"5xx|aborted"'
_OK: Final = 'status_class="2xx"'
_REQUESTS: Final = "evenkeel_proxy_requests_total"
_OVERHEAD: Final = "evenkeel_proxy_overhead_seconds"
_FIRST_BYTE: Final = "evenkeel_proxy_first_byte_seconds"

_NUMBERS: Final = shelf(
    4,
    number(_WORDS["requests"], rate(_REQUESTS, _ROUTE), "reqps", trend=True),
    number(
        _WORDS["errors"],
        share(increase(_REQUESTS, _ROUTE, _FAILED), increase(_REQUESTS, _ROUTE)),
        "percentunit",
        scales.ERRORS,
        decimals=2,
    ),
    number(
        _WORDS["latency_added_99_percent"],
        quantile(0.99, _OVERHEAD, _ROUTE),
        "s",
        scales.OVERHEAD_S,
        trend=True,
    ),
    number(_WORDS["in_flight"], f"sum({series('evenkeel_proxy_in_flight', _ROUTE)})", "none", trend=True),
    number(
        _WORDS["sampled"],
        share(
            increase("evenkeel_exchanges_sampled_total", _ROUTE),
            increase("evenkeel_exchanges_eligible_total", _ROUTE),
        ),
        "percentunit",
        decimals=1,
    ),
    number(_WORDS["hand_off"], f"sum({series('evenkeel_handoff_bytes')})", "bytes", decimals=0, trend=True),
)

_BY_STATUS: Final = areas(
    _WORDS["requests_by_status"], "reqps", rate(_REQUESTS, _ROUTE, by="status_class"), "{{status_class}}"
)
_BY_ROUTE: Final = areas(
    _WORDS["requests_by_route"], "reqps", rate(_REQUESTS, _ROUTE, by="route"), "{{route}}"
)
_ADDED: Final = lines(
    _WORDS["latency_added_by_forwarding"],
    tuple(Query(quantile(order, _OVERHEAD, _ROUTE), f"{order:.0%}") for order in (0.5, 0.95, 0.99)),
    "s",
    limit=scales.OVERHEAD_S,
)
_FIRST: Final = lines(
    _WORDS["first_byte_of_good_answers"],
    tuple(Query(quantile(order, _FIRST_BYTE, _ROUTE, _OK), f"{order:.0%}") for order in (0.5, 0.95, 0.99)),
    "s",
)
_ADDED_SPREAD: Final = spread(
    _WORDS["spread_of_the_added_latency"],
    Query(f"sum by (le) (increase({series(_OVERHEAD + '_bucket', _ROUTE, over=RATE)}))", "{{le}}"),
    "s",
)
_UPSTREAM: Final = areas(
    _WORDS["failures_of_the_upstream"],
    "none",
    increase("evenkeel_proxy_upstream_errors_total", _ROUTE, by="route, reason", over=RATE),
    "{{route}}: {{reason}}",
)
_RESCUED: Final = lines(
    _WORDS["rescued_and_abandoned"],
    tuple(
        Query(increase(f"evenkeel_proxy_{name}_total", _ROUTE, over=RATE), title)
        for name, title in (
            ("retries", "sent again"),
            ("failovers", "next upstream"),
            ("disconnects", "client left"),
        )
    ),
    "none",
)
_SHARE: Final = lines(
    _WORDS["sampled_share_by_route"],
    Query(
        share(
            rate("evenkeel_exchanges_sampled_total", _ROUTE, by="route"),
            rate("evenkeel_exchanges_eligible_total", _ROUTE, by="route"),
        ),
        "{{route}}",
    ),
    "percentunit",
    top=1,
)
_DROPPED: Final = areas(
    _WORDS["not_sampled_or_dropped"],
    "none",
    increase("evenkeel_exchanges_skipped_total", _ROUTE, by="reason", over=RATE),
    "{{reason}}",
)
_CONNECTIONS: Final = lines(
    _WORDS["connections"],
    (
        Query(rate("evenkeel_proxy_connections_total"), "accepted"),
        Query(rate("evenkeel_proxy_connections_refused_total", by="reason"), "refused: {{reason}}"),
    ),
    "cps",
)
_IN_FLIGHT: Final = areas(
    _WORDS["in_flight_by_route"],
    "none",
    f"sum by (route) ({series('evenkeel_proxy_in_flight', _ROUTE)})",
    "{{route}}",
)
_VERSIONS: Final = number(_WORDS["targets_up"], f"sum({series('up')})", "none", scales.UP)

PROXY: Final = Board(
    uid="evenkeel-proxy",
    title="evenkeel: proxy",
    description=(
        "The forwarded path: requests, errors, latency that forwarding adds, and what of it is sampled."
    ),
    sections=(
        Section(
            (
                _NUMBERS,
                shelf(9, _BY_STATUS, _ADDED, _FIRST),
                shelf(9, _UPSTREAM, _SHARE, _DROPPED),
            )
        ),
        Section(
            (
                shelf(8, _ADDED_SPREAD, _RESCUED),
                Shelf(7, ((8, _BY_ROUTE), (6, _IN_FLIGHT), (6, _CONNECTIONS), (4, _VERSIONS))),
            ),
            "Details",
            collapsed=True,
        ),
    ),
    narrowed_by=(variables.routes(),),
    hours=6,
)
"""When users complain."""
