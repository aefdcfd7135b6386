"""Proxy: what users feel. Requests, errors, added latency; and what of the traffic is sampled."""

from __future__ import annotations

from typing import Final

from grafana import scales, variables
from grafana.board import Board, Section, Shelf
from grafana.panels import Query, Words, lines, number, spread
from grafana.promql import RATE, increase, quantile, rate, series, share

_ROUTE: Final = 'route=~"$route"'
_FAILED: Final = 'status_class=~"5xx|aborted"'
_OK: Final = 'status_class="2xx"'
_REQUESTS: Final = "evenkeel_proxy_requests_total"
_OVERHEAD: Final = "evenkeel_proxy_overhead_seconds"
_FIRST_BYTE: Final = "evenkeel_proxy_first_byte_seconds"

_NUMBERS: Final = Shelf(
    4,
    (
        (
            4,
            number(
                Words(
                    "Requests", "Requests forwarded each second.", "no proxy scraped", runbook="EvenkeelDown"
                ),
                Query(rate(_REQUESTS, _ROUTE)),
                "reqps",
                trend=True,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Errors",
                    "Share of the requests in the shown time that ended with a 5xx status or were cut off. "
                    "Most come from the model endpoint itself.",
                    "no requests",
                    runbook="EvenkeelServerErrors",
                ),
                Query(share(increase(_REQUESTS, _ROUTE, _FAILED), increase(_REQUESTS, _ROUTE))),
                "percentunit",
                scales.ERRORS,
                decimals=2,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Latency added, 99 %",
                    "Time that forwarding itself adds: 99 of 100 requests wait less.",
                    "no requests",
                    runbook="EvenkeelProxyOverhead",
                ),
                Query(quantile(0.99, _OVERHEAD, _ROUTE)),
                "s",
                scales.OVERHEAD_S,
                trend=True,
            ),
        ),
        (
            4,
            number(
                Words("In flight", "Requests being forwarded now.", "no proxy scraped"),
                Query(f"sum({series('evenkeel_proxy_in_flight', _ROUTE)})"),
                "none",
                trend=True,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Sampled",
                    "Share of the eligible requests in the shown time that were chosen for replay.",
                    "no eligible requests",
                    runbook="EvenkeelPipelineStarved",
                ),
                Query(
                    share(
                        increase("evenkeel_exchanges_sampled_total", _ROUTE),
                        increase("evenkeel_exchanges_eligible_total", _ROUTE),
                    )
                ),
                "percentunit",
                decimals=1,
            ),
        ),
        (
            4,
            number(
                Words(
                    "Hand-off",
                    "Size of the sampled exchanges that wait in memory to be stored. Growing means a "
                    "slow disk.",
                    "no proxy scraped",
                    runbook="EvenkeelExchangesDropped",
                ),
                Query(f"sum({series('evenkeel_handoff_bytes')})"),
                "bytes",
                decimals=0,
                trend=True,
            ),
        ),
    ),
)

_BY_STATUS: Final = lines(
    Words(
        "Requests by status",
        "Requests a second by class of the status sent to the client; “aborted” did not arrive completely.",
        "no requests in this time",
        runbook="EvenkeelServerErrors",
    ),
    (Query(rate(_REQUESTS, _ROUTE, by="status_class"), "{{status_class}}"),),
    "reqps",
    stacked=True,
)
_BY_ROUTE: Final = lines(
    Words("Requests by route", "Requests a second.", "no requests in this time"),
    (Query(rate(_REQUESTS, _ROUTE, by="route"), "{{route}}"),),
    "reqps",
    stacked=True,
)
_ADDED: Final = lines(
    Words(
        "Latency added by forwarding",
        "Time spent inside the data plane: half, 95 and 99 of 100 requests wait less.",
        "no requests in this time",
        runbook="EvenkeelProxyOverhead",
    ),
    tuple(Query(quantile(order, _OVERHEAD, _ROUTE), f"{order:.0%}") for order in (0.5, 0.95, 0.99)),
    "s",
    limit=scales.OVERHEAD_S,
)
_FIRST: Final = lines(
    Words(
        "First byte of good answers",
        "Time from the request to the first byte of a 2xx answer: the model's own speed, mostly.",
        "no requests in this time",
        runbook="EvenkeelUpstreamErrors",
    ),
    tuple(Query(quantile(order, _FIRST_BYTE, _ROUTE, _OK), f"{order:.0%}") for order in (0.5, 0.95, 0.99)),
    "s",
)
_ADDED_SPREAD: Final = spread(
    Words(
        "Spread of the added latency",
        "Requests by the time that forwarding added, over time; the darker, the more.",
        "no requests in this time",
        runbook="EvenkeelProxyOverhead",
    ),
    Query(f"sum by (le) (increase({series(_OVERHEAD + '_bucket', _ROUTE, over=RATE)}))", "{{le}}"),
    "s",
)
_UPSTREAM: Final = lines(
    Words(
        "Failures of the upstream",
        "Requests that the upstream did not answer completely, in each step of the graph, by reason.",
        "none in this time",
        runbook="EvenkeelUpstreamErrors",
    ),
    (
        Query(
            increase("evenkeel_proxy_upstream_errors_total", _ROUTE, by="route, reason", over=RATE),
            "{{route}}: {{reason}}",
        ),
    ),
    "none",
    stacked=True,
)
_RESCUED: Final = lines(
    Words(
        "Rescued and abandoned",
        "In each step of the graph: requests sent again on a fresh connection, requests that went to "
        "the next upstream "
        "of their route, and clients that left before the answer was complete.",
        "no requests in this time",
        runbook="EvenkeelUpstreamErrors",
    ),
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
    Words(
        "Sampled share by route",
        "Of the eligible requests; it should stay at sampling_rate. More after a change: a burst of "
        "sampling.",
        "no eligible requests in this time",
    ),
    (
        Query(
            share(
                rate("evenkeel_exchanges_sampled_total", _ROUTE, by="route"),
                rate("evenkeel_exchanges_eligible_total", _ROUTE, by="route"),
            ),
            "{{route}}",
        ),
    ),
    "percentunit",
    top=1,
)
_DROPPED: Final = lines(
    Words(
        "Not sampled or dropped",
        "Chosen exchanges that did not reach the queue or were not scored, in each step of the "
        "graph, by reason.",
        "none in this time",
        runbook="EvenkeelExchangesDropped",
    ),
    (Query(increase("evenkeel_exchanges_skipped_total", _ROUTE, by="reason", over=RATE), "{{reason}}"),),
    "none",
    stacked=True,
)
_CONNECTIONS: Final = lines(
    Words(
        "Connections",
        "Connections a second accepted from clients, and closed because there were too many.",
        "no proxy scraped",
        runbook="EvenkeelConnectionsRefused",
    ),
    (
        Query(rate("evenkeel_proxy_connections_total"), "accepted"),
        Query(rate("evenkeel_proxy_connections_refused_total", by="reason"), "refused: {{reason}}"),
    ),
    "cps",
)
_IN_FLIGHT: Final = lines(
    Words("In flight by route", "Requests being forwarded.", "no proxy scraped"),
    (Query(f"sum by (route) ({series('evenkeel_proxy_in_flight', _ROUTE)})", "{{route}}"),),
    "none",
    stacked=True,
)
_VERSIONS: Final = number(
    Words("Targets up", "Processes of evenkeel that Prometheus can scrape.", "none", runbook="EvenkeelDown"),
    Query(f"sum({series('up')})"),
    "none",
    scales.UP,
)

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
                Shelf(9, ((8, _BY_STATUS), (8, _ADDED), (8, _FIRST))),
                Shelf(9, ((8, _UPSTREAM), (8, _SHARE), (8, _DROPPED))),
            )
        ),
        Section(
            (
                Shelf(8, ((12, _ADDED_SPREAD), (12, _RESCUED))),
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
