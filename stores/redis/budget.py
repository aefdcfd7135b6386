"""The budgets of all workers together, on Redis."""

from __future__ import annotations

import os
import re
import secrets
from typing import TYPE_CHECKING, Final, cast

from evenkeel.core.budget import CostTracker, Spend, day_share_of
from evenkeel.stores.payloads import storable
from evenkeel.stores.redis.connection import Script, process_name, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.core.budget import Budget, Refused, SpendKind
    from evenkeel.stores.redis.connection import RedisStore, Value

_DAYS_KEPT_S: Final = 40 * 86_400
_REMEMBERED_S: Final = 300
"""A command that is sent again because its answer was lost is recognised for so long."""
_SILENT_S: Final = 900
"""What a worker has set aside is free again when it has neither reserved nor settled for so long: it is
dead. No trial takes that long."""

_SPLIT: Final = re.compile(r"tokens on (\w+) of (.*)", re.DOTALL)
"""The field of a route and a kind."""

_RESERVE: Final = """
-- KEYS 1 booked today, 2 set aside, 3 workers by time, 4 this call
-- ARGV 1 worker, 2 route, 3 tokens, 4 dollars, 5 when a worker is dead, 6 how long a call is remembered;
--      then of all routes, and of this one: tokens, dollars at most, and at most by now ('' = any)
local before = redis.call('GET', KEYS[4])
if before then return before end
local now = tonumber(redis.call('TIME')[1])
local dead = {}
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now - tonumber(ARGV[5]))) do
  dead[worker] = true
  redis.call('ZREM', KEYS[3], worker)
end
local tokens = {tonumber(redis.call('HGET', KEYS[1], 'tokens') or '0') + ARGV[3],
                tonumber(redis.call('HGET', KEYS[1], 'tokens of ' .. ARGV[2]) or '0') + ARGV[3]}
local usd = {tonumber(redis.call('HGET', KEYS[1], 'usd') or '0') + ARGV[4],
             tonumber(redis.call('HGET', KEYS[1], 'usd of ' .. ARGV[2]) or '0') + ARGV[4]}
local aside = redis.call('HGETALL', KEYS[2])
for i = 1, #aside, 2 do
  local worker, route = string.match(aside[i], '^(%S+) (.*)$')
  local held_tokens, held_usd = string.match(aside[i + 1], '^(%S+) (%S+)$')
  if dead[worker] then
    redis.call('HDEL', KEYS[2], aside[i])
  else
    tokens[1], usd[1] = tokens[1] + held_tokens, usd[1] + held_usd
    if route == ARGV[2] then tokens[2], usd[2] = tokens[2] + held_tokens, usd[2] + held_usd end
  end
end
local function passed(i, at)
  return (ARGV[at] ~= '' and tokens[i] > tonumber(ARGV[at]))
      or (ARGV[at + 1] ~= '' and usd[i] > tonumber(ARGV[at + 1]))
end
local answer = ''
for i = 1, 2 do
  local at = 7 + (i - 1) * 4
  if answer == '' and passed(i, at) then answer = 'budget' end
  if answer == '' and passed(i, at + 2) then answer = 'budget_pace' end
end
if answer == '' then
  local field = ARGV[1] .. ' ' .. ARGV[2]
  local own = redis.call('HGET', KEYS[2], field) or '0 0'
  local own_tokens, own_usd = string.match(own, '^(%S+) (%S+)$')
  redis.call('HSET', KEYS[2], field, string.format('%.0f %.17g', own_tokens + ARGV[3], own_usd + ARGV[4]))
  redis.call('ZADD', KEYS[3], now, ARGV[1])
end
redis.call('SET', KEYS[4], answer, 'EX', ARGV[6])
return answer
"""

_SETTLE: Final = """
-- KEYS as above; ARGV 1 worker, 2 route, 3 tokens, 4 dollars that were set aside, 5 how long a day is kept,
--      6 how long a call is remembered; then kind, tokens, dollars, ...
if redis.call('EXISTS', KEYS[4]) == 1 then return 0 end
redis.call('SET', KEYS[4], '', 'EX', ARGV[6])
local field = ARGV[1] .. ' ' .. ARGV[2]
local own = redis.call('HGET', KEYS[2], field)
if own then
  local own_tokens, own_usd = string.match(own, '^(%S+) (%S+)$')
  local left = own_tokens - ARGV[3]
  if left <= 0 then
    redis.call('HDEL', KEYS[2], field)
  else
    redis.call('HSET', KEYS[2], field, string.format('%.0f %.17g', left, own_usd - ARGV[4]))
  end
end
redis.call('ZADD', KEYS[3], redis.call('TIME')[1], ARGV[1])
for i = 7, #ARGV, 3 do
  for _, name in ipairs({'', ' of ' .. ARGV[2], ' on ' .. ARGV[i],
                          ' on ' .. ARGV[i] .. ' of ' .. ARGV[2]}) do
    redis.call('HINCRBY', KEYS[1], 'tokens' .. name, ARGV[i + 1])
    redis.call('HINCRBYFLOAT', KEYS[1], 'usd' .. name, ARGV[i + 2])
  end
  redis.call('EXPIRE', KEYS[1], ARGV[5])
end
return 1
"""


class RedisCostTracker(CostTracker):
    """`CostTracker` on Redis: however many workers there are, together they keep to the budgets.

    What one of them has set aside counts for all; what a dead one has set aside is freed after a quarter of
    an hour.
    """

    def __init__(
        self,
        store: RedisStore,
        budget: Budget,
        clock: Callable[[], float],
        routes: Mapping[str, Budget] | None = None,
    ) -> None:
        """Open the tracker; nothing is sent yet. Arguments as of `SqliteCostTracker`."""
        super().__init__(budget, clock, routes)
        self._store = store
        self._worker = f"{process_name(os.getpid())}:{secrets.token_hex(4)}"
        self._reserve = Script(store, _RESERVE)
        self._settle = Script(store, _SETTLE)

    def by_route_and_kind(self) -> dict[tuple[str, SpendKind], Spend]:
        """As `CostTracker.by_route_and_kind`."""
        found: dict[tuple[str, SpendKind], Spend] = {}
        fields = self._store.client.hgetall(self._key())
        for raw, tokens in fields.items():
            name = text(raw)
            # A kind is one word, so that what follows is the route, whatever it is called.
            match = _SPLIT.fullmatch(name)
            if match is not None:
                usd = fields.get(f"usd{name.removeprefix('tokens')}".encode(), 0.0)
                found[match[2], cast("SpendKind", match[1])] = Spend(int(tokens), float(usd))
        return dict(sorted(found.items()))

    def reserve(self, estimate: Spend, route: str) -> Refused | None:
        """As `CostTracker.reserve`."""
        share = day_share_of(self._clock())
        limits: list[Value] = []
        for budget in (self.budget, self._routes.get(route)):
            for most in (budget.limit(1.0), budget.paced_limit(share)) if budget else ((None, None),) * 2:
                limits += ("" if one is None else repr(one) for one in most)
        answer = self._reserve(
            self._keys(), self._worker, storable(route), *_plain(estimate), _SILENT_S, _REMEMBERED_S, *limits
        )
        return cast("Refused | None", text(answer) or None)

    def settle(self, estimate: Spend, route: str, spent: Mapping[SpendKind, Spend]) -> None:
        """As `CostTracker.settle`."""
        booked: list[Value] = []
        for kind, amount in spent.items():
            if any(amount):
                booked += (kind, *_plain(amount))
        self._settle(
            self._keys(),
            self._worker,
            storable(route),
            *_plain(estimate),
            _DAYS_KEPT_S,
            _REMEMBERED_S,
            *booked,
        )

    def _keys(self) -> tuple[str, str, str, str]:
        """Keys of one call, which has a name of its own so that it can be sent again."""
        aside, workers, call = (
            self._store.key("spend", name) for name in ("aside", "workers", f"call:{secrets.token_hex(8)}")
        )
        return self._key(), aside, workers, call

    def _key(self) -> str:
        return self._store.key("spend", self._day())


def _plain(amount: Spend) -> tuple[str, str]:
    return str(amount.tokens), repr(float(amount.usd))
