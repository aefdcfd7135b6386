"""Wiring of challengers: where candidates are asked, with which key, and those that the settings name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenkeel.core.challenge import Challenge
from evenkeel.core.endpoint import with_model
from evenkeel.metrics.judge.raters import PreferenceJudge
from evenkeel.proxy.routing import Upstream
from evenkeel.runtime import replays
from evenkeel.settings.routes import Credential
from evenkeel.shadow.challenger import ChallengeJudges, Challenger, ChallengeReplays
from evenkeel.shadow.original import api_headers, api_path
from evenkeel.shadow.quoted_replays import QuotedReplays
from evenkeel.shadow.replay import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from evenkeel.core.exchange import Exchange
    from evenkeel.runtime.instruments import Instruments
    from evenkeel.runtime.stores import Stores
    from evenkeel.settings import Settings
    from evenkeel.stores.challenges import ChallengeStore


def challenger(settings: Settings, stores: Stores, instruments: Instruments) -> Challenger:
    """Return the asker of candidates, for the routes of a worker."""
    replay_target = replays.replay_target(settings)
    prefixes = {}
    for route in settings.routes:
        prefixes[route.name] = route.match.prefix
    judge = instruments.judge

    def target(challenge: Challenge) -> Callable[[Exchange], Target]:
        def of_exchange(exchange: Exchange) -> Target:
            if not challenge.upstream:
                own = replay_target(exchange)
                return Target(
                    _naming(own.url, challenge.model), own.headers, own.unix_path, own.route, flex=False
                )
            upstream = Upstream.parse(challenge.upstream)
            path = replays.without_further_query(api_path(exchange, prefixes))
            key = Credential.read(challenge.key_env, challenge.key_header) if challenge.key_env else None
            headers = (*api_headers(exchange), *([(key.header, key.value)] if key else []))
            return Target(
                _naming(upstream.url(path), challenge.model), headers, upstream.unix_path, exchange.route
            )

        return of_exchange

    def replays_of(target_of: Callable[[Exchange], Target]) -> QuotedReplays:
        return QuotedReplays(
            instruments.replayer,
            instruments.prices,
            target_of,
            tally=instruments.tally,
            observer=instruments.spans.observer,
        )

    return Challenger(
        stores.challenges,
        ChallengeReplays(
            replays_of(replay_target), lambda challenge: replays_of(target(challenge)), instruments.prices
        ),
        ChallengeJudges(instruments.scorer, PreferenceJudge(judge) if judge is not None else None),
        instruments.ledger,
        sampling_rates={route.name: route.sampling_rate for route in settings.routes},
        keeps_texts=settings.storage.evidence > 0,
        tally=instruments.tally,
    )


def _naming(url: str, model: str) -> str:
    """Return a URL whose path names this model, if it names one at all."""
    return (with_model(url, model) if model else None) or url


def of_settings(settings: Settings) -> Iterable[Challenge]:
    """Yield the challengers that the settings name."""
    for route in settings.routes:
        named = route.challenger
        if named is not None:
            yield Challenge(
                route=route.name,
                model=named.model,
                upstream=named.upstream or "",
                key_env=named.key_env or "",
                prompt=_prompt(named.prompt) if named.prompt else "",
                share=named.share,
                worse=named.margin.worse,
                fragile=named.margin.fragile,
                from_settings=True,
            )


def _prompt(path: Path) -> str:
    # Loaded on demand: few workers have a prompt to read.
    from evenkeel.release.kit.arguments import read_text  # noqa: PLC0415

    return read_text(path).strip()


def follow_settings(settings: Settings, store: ChallengeStore, now: float) -> None:
    """Start the challengers that the settings name, and stop those that they no longer name.

    One that somebody stopped by hand stays stopped, for as long as the settings name it.
    """
    named = {}
    for challenge in of_settings(settings):
        named[challenge.id] = challenge
    for challenge in store.all():
        if challenge.from_settings and challenge.id not in named:
            # Should it come back, it is a new one.
            store.stop(replace(challenge, from_settings=False), now)
    for challenge in named.values():
        running = store.find(challenge.id)
        stopped_by_hand = running is not None and running.from_settings and running.stopped_at is not None
        if not stopped_by_hand:
            store.start(replace(challenge, started_at=now))
    store.prune(now)
