"""What the console shows besides estimates.

`Pipeline` is the replay plane at a glance, also for the readiness probe and the gauges; `settings_in_effect`
are the settings by section, with no credential among them; `document` is a page of the documentation;
`with_operations` adds these, judge, calibration, spend and dead letters to the sources of the console.
"""

from __future__ import annotations

import inspect
import logging
import os
import re
import sysconfig
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from evenkeel.console import (
    Amount,
    CalibrationInForce,
    JudgeSetup,
    PipelineView,
    SettingLine,
    SettingsSection,
    Share,
    Spending,
)
from evenkeel.core.budget import Budget, Spend
from evenkeel.llm.encodings import UnreadableBody, decode_body
from evenkeel.monitor.export.snapshots import coverage
from evenkeel.runtime import choices
from evenkeel.runtime.instruments import SWAP_SHARE
from evenkeel.runtime.replays import unavailable
from evenkeel.runtime.stores import budgets
from evenkeel.stores.counters import RouteFlow, Untried, merge, route_flows, untried

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo

    from evenkeel.console import ConsoleSources
    from evenkeel.core.budget import CostTracker, SpendKind
    from evenkeel.core.exchange import Exchange, ExchangeQueue
    from evenkeel.runtime.instruments import JudgeHealth
    from evenkeel.settings import Settings
    from evenkeel.stores.counters import CounterStore, Snapshot


_RUNBOOK: Final = re.compile(r"runbooks/[A-Za-z0-9]+")
_COMMENT: Final = re.compile(r"^<!--.*-->\n+", re.MULTILINE)
"""Marks of what is generated, which only readers of the source need."""
_DOCS: Final = (
    Path(__file__).resolve().parents[2] / "docs",  # in a checkout
    Path(sysconfig.get_path("data")) / "share" / "evenkeel" / "docs",  # installed
)


_VARIABLES: Final = "_env"
"""Settings whose names end so name the environment variable that holds a credential."""
_NAMES_OF_VARIABLES: Final = frozenset({"alerts.notify"})
"""Lists of such variables."""
_SECRET_PATHS: Final = frozenset({"alerts.webhook"})
"""Addresses that are credentials themselves: whoever knows the path may post there."""
_VALUES_HIDDEN: Final = frozenset({"routes.match.headers"})
"""Mappings whose values may be credentials, such as the header that selects a route."""
log = logging.getLogger("evenkeel")
_SHOWN_BYTES: Final = 1 << 20
"""Bodies that are larger once decoded are not shown."""
_PURPOSES: Final[tuple[SpendKind, ...]] = ("replay", "golden", "reference", "judge", "rewriter", "lost")


@lru_cache(maxsize=64)
def document(name: str) -> str | None:
    """A page of the documentation in Markdown: "settings", or "runbooks/NAME"; None if there is no such page.

    Both are installed with the code, so that the console can show them where there is no network.
    """
    if name == "settings" or _RUNBOOK.fullmatch(name):
        for folder in _DOCS:
            page = folder / (f"reference/{name}.md" if name == "settings" else f"{name}.md")
            if page.is_file():
                return _COMMENT.sub("", page.read_text(encoding="utf-8"))
    return None


def settings_in_effect(settings: Settings) -> tuple[SettingsSection, ...]:
    """Every section with its settings, in the order of the reference page.

    Of a credential there is only "set" or "not set": not even the name of its variable, in place of which
    somebody may have written the credential.
    """
    return tuple(_sections("", "", settings))


def _sections(shown: str, place: str, section: BaseModel) -> Iterator[SettingsSection]:
    """A section and those within it.

    Args:
        shown: its name with numbers, such as "routes[0]".
        place: the same without, as the reference page has it.
        section: its values.
    """
    lines: list[SettingLine] = []
    below: list[tuple[str, str, BaseModel]] = []
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        inside = list(_inside(name, value))
        if inside:
            below += [
                (f"{shown}.{own}".lstrip("."), f"{place}.{name}".lstrip("."), one) for own, one in inside
            ]
        else:
            lines.append(_line(name, f"{place}.{name}".lstrip("."), value, field))
    # Inherited: settings that were read from a file are of a subclass.
    meaning = _one_line((inspect.getdoc(type(section)) or "").split("\n\n")[0])
    yield SettingsSection(shown, meaning, _anchor(place), tuple(lines))
    for own, within, one in below:
        yield from _sections(own, within, one)


def _inside(name: str, value: object) -> Iterator[tuple[str, BaseModel]]:
    if isinstance(value, BaseModel):
        yield name, value
    elif isinstance(value, list):
        yield from (
            (f"{name}[{number}]", one) for number, one in enumerate(value) if isinstance(one, BaseModel)
        )
    elif isinstance(value, dict):
        yield from ((f"{name}.{key}", one) for key, one in value.items() if isinstance(one, BaseModel))


def _line(name: str, place: str, value: Any, field: FieldInfo) -> SettingLine:
    credential = name.endswith(_VARIABLES) or place in _NAMES_OF_VARIABLES | _SECRET_PATHS
    default = field.default if field.default_factory is None else None
    return SettingLine(
        name=name,
        value=_credential(place, value) if credential else _shown(place, value),
        default=default is not PydanticUndefined and value == default,
        meaning=_one_line(field.description or ""),
        credential=credential,
    )


def _credential(place: str, value: Any) -> str:
    if place in _NAMES_OF_VARIABLES:
        found = sum(bool(os.environ.get(variable)) for variable in value)
        return f"{found} of {len(value)} set" if value else "not set"
    known = bool(value) if place in _SECRET_PATHS else bool(value and os.environ.get(value))
    return "set" if known else "not set"


def _shown(place: str, value: Any) -> str:
    if value is None or value in ("", [], {}):
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(_shown(place, one) for one in value)
    if isinstance(value, dict):
        hidden = place in _VALUES_HIDDEN
        return ", ".join(f"{key}: {'set' if hidden else _shown(place, one)}" for key, one in value.items())
    return without_credentials(str(value))


def without_credentials(text: str) -> str:
    """An address without user, password and query; any other text as it is."""
    scheme, found, _ = text.partition("://")
    if not found or not scheme.isalnum():
        return text
    parts = urlsplit(text)
    if not (parts.query or parts.fragment or "@" in parts.netloc):
        return text
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _anchor(place: str) -> str:
    return place.replace(".", "").lower() or "top-level"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def with_operations(
    sources: ConsoleSources, settings: Settings, queue: ExchangeQueue, ledger: CostTracker
) -> ConsoleSources:
    """The sources, completed from the settings, the queue and the spend. Reads the calibration's file."""
    choices.perturbations(settings)  # publishes what the console calls them
    return replace(
        sources,
        spending=partial(spending, settings, ledger),
        dead_letters=queue.dead_letters,
        dead_exchange=partial(dead_exchange, queue),
        judge=judge_setup(settings),
        calibration=calibration(settings),
        settings=partial(settings_in_effect, settings),
        documents=document,
    )


def spending(settings: Settings, ledger: CostTracker) -> Spending:
    """The day's spend by route, by purpose, and by both. Blocks on the cost tracker."""
    limits = budgets(settings).routes
    routes = []
    for route in settings.routes:
        spent, own = ledger.today(route.name), limits.get(route.name, Budget())
        routes.append(Amount(route.name, spent.tokens, spent.usd, own.tokens_per_day, own.usd_per_day))
    purposes = [Amount(kind, *ledger.of_kind(kind)) for kind in _PURPOSES]
    if not purposes[-1].tokens:
        del purposes[-1]  # Processes are killed rarely.
    shares = [Share(route, kind, *spent) for (route, kind), spent in ledger.by_route_and_kind().items()]
    return Spending(tuple(routes), tuple(purposes), tuple(shares))


def dead_exchange(queue: ExchangeQueue, exchange_id: str) -> Exchange | None:
    """What is kept of an exchange that was given up, its bodies decoded as far as they can be."""
    found = queue.dead_exchange(exchange_id)
    if found is None:
        return None
    return replace(
        found,
        request_body=_readable(found.request_body, found.request_headers),
        response_body=_readable(found.response_body, found.response_headers),
    )


def judge_setup(settings: Settings) -> JudgeSetup | None:
    """The judge of the settings; None without one."""
    judge = settings.judge
    if judge is None:
        return None
    return JudgeSetup(
        model=judge.model,
        endpoint=without_credentials(judge.base_url),
        votes=judge.votes,
        swap_share=SWAP_SHARE,
        recheck_share=judge.recheck_share,
        audit_share=judge.audit_share,
        cascade=judge.cascade,
    )


def calibration(settings: Settings) -> CalibrationInForce | None:
    """The calibration of the settings; None without one, or if it no longer fits, which is logged."""
    try:
        found = choices.calibration(settings)
    except ValueError as error:
        log.warning("the console shows no calibration: %s", error)
        return None
    if found is None:
        return None
    return CalibrationInForce(str(settings.alerts.calibration or Path()), found)


def _readable(body: bytes, headers: tuple[tuple[str, str], ...]) -> bytes:
    try:
        return decode_body(dict(headers), body, _SHOWN_BYTES)
    except UnreadableBody as error:
        return f"({error.detail}; {len(body):,} bytes as sent)".encode()


def budget_notices(budget: Budget, spent: Spend) -> list[str]:
    """What to know once the day's budget is spent, or all of it but the reserve: little is measured then.

    Args:
        budget: Of all routes.
        spent: Of it today.
    """
    found = []
    for name, limit, amount, unit in (
        ("tokens_per_day", budget.tokens_per_day, spent.tokens, f"{budget.tokens_per_day or 0:,} tokens"),
        ("usd_per_day", budget.usd_per_day, spent.usd, f"{budget.usd_per_day or 0:,.2f} US dollars"),
    ):
        if limit is None or amount < _SPENT * (1 - budget.reserve) * limit:
            continue
        said = f"The day's budget of {unit} is spent"
        if amount >= _SPENT * limit:
            found.append(f"{said}; scoring pauses until midnight UTC. Raise budget.{name} to go on.")
        else:
            found.append(
                f"{said} but for the {budget.reserve:.0%} kept for changes; until "
                f"midnight UTC nothing is tried unless something changes. Raise budget.{name} to go on."
            )
    return found


_SPENT: Final = 0.99
"""Share of what is free: the rest is too little for another exchange."""


class Pipeline:
    """Reads queue, counters and budget each time it is asked."""

    def __init__(
        self,
        settings: Settings,
        counters: CounterStore,
        queue: ExchangeQueue,
        ledger: CostTracker,
        health: JudgeHealth,
    ) -> None:
        self._settings = settings
        self._counters = counters
        self._queue = queue
        self._ledger = ledger
        self._health = health
        self._unavailable = unavailable(settings)

    def snapshot(self) -> Snapshot:
        """Gauges of the moment."""
        lag = self._queue.lag()
        spent = self._ledger.today()
        gauges = {
            "queue_waiting": lag.waiting,
            "queue_leased": lag.leased,
            "queue_dead": lag.dead,
            "queue_oldest_seconds": lag.oldest_s,
            "spend_today_tokens": spent.tokens,
            "spend_today_usd": spent.usd,
        }
        budget = self._ledger.budget
        limits = {"tokens": budget.tokens_per_day, "usd": budget.usd_per_day}
        gauges |= {f"budget_{unit}_per_day": limit for unit, limit in limits.items() if limit is not None}
        # Requests are counted by data planes, verdicts by workers: only here the two come together.
        covered = coverage(merge(self._counters.read()))
        return {
            "counters": [],
            "gauges": [
                *([name, {}, number] for name, number in gauges.items()),
                *(
                    [f"spend_today_by_purpose_{unit}", {"route": route, "purpose": kind}, amount]
                    for (route, kind), spent in self._ledger.by_route_and_kind().items()
                    for unit, amount in spent._asdict().items()
                ),
                *(["sampling_coverage_ratio", {"route": route}, share] for route, share in covered.items()),
            ],
        }

    def view(self) -> PipelineView:
        """Everything the console shows of the pipeline."""
        settings = self._settings
        lag = self._queue.lag()
        spent = self._ledger.today()
        budget = self._ledger.budget
        notices = list(self._health.problems().values())
        if self._reload_refused():
            notices.append(
                "The settings were changed and refused: older ones are in force. The log says what is wrong; "
                "`evenkeel check-config` says whether it is put right."
            )
        notices += budget_notices(budget, spent)
        return PipelineView(
            base_url=settings.base_url(settings.routes[0]),
            routes=self._flows(),
            waiting=lag.waiting,
            leased=lag.leased,
            dead=lag.dead,
            oldest_s=lag.oldest_s,
            tokens_today=spent.tokens,
            usd_today=spent.usd,
            budget_tokens=budget.tokens_per_day,
            budget_usd=budget.usd_per_day,
            scorer="judge" if settings.judge else "metrics",
            judge=self._health.model,
            simulated=settings.simulated,
            minimum_trials=settings.alerts.min_trials,
            untried=self._untried(),
            notices=tuple(notices),
        )

    def _reload_refused(self) -> bool:
        gauges = [gauge for snapshot in self._counters.read() for gauge in snapshot.get("gauges", ())]
        return any(name == "settings_reload_success" and number == 0 for name, _, number in gauges)

    def _untried(self) -> tuple[Untried, ...]:
        """What can't run as things are set, then what did not apply, most frequent first."""
        never = [
            Untried(route, kind, reason, None)
            for route, kinds in self._unavailable.items()
            for kind, reason in kinds.items()
        ]
        return (*never, *untried(self._counters.read()))

    def _flows(self) -> tuple[RouteFlow, ...]:
        flows = route_flows(self._counters.read())
        return tuple(
            flows.get(route.name, RouteFlow(route.name, eligible=0, sampled=0, queued=0, scored=0))
            for route in self._settings.routes
        )
