"""The verdict log on Redis: a stream whose entries are numbered without gaps."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

from metrics.stores.protocols import LoggedVerdict
from metrics.stores.redis.connection import Script, as_key, text
from metrics.verdict import Verdict, evidence_from_json, evidence_to_json

if TYPE_CHECKING:
    from metrics.stores.redis.connection import RedisStore
    from metrics.verdict import Evidence

_VERDICTS_KEPT: Final = 500_000
_EVIDENCE_KEPT: Final = 20_000
_EVIDENCE_S: Final = 30 * 86_400.0
_LISTED: Final = 5_000
"""Verdicts of one route, kind or cell that `latest` can give."""

_APPEND: Final = """
-- KEYS 1 log, 2 hash verdict id -> number, 3 last number, 4 ids that have evidence, 5 figures
-- ARGV 1 prefix, 2 verdict id, 3 exchange id, 4 route, 5 kind, 6 body, 7 evidence or '', 8 its time to live,
--      9 pieces of evidence kept, 10 verdicts kept, 11 length of the lists
local log, ids, prefix = KEYS[1], KEYS[2], ARGV[1]
if redis.call('HEXISTS', ids, ARGV[2]) == 1 then return 0 end
local number = redis.call('INCR', KEYS[3])
redis.call('XADD', log, number .. '-0', 'id', ARGV[2], 'exchange', ARGV[3], 'body', ARGV[6])
redis.call('HSET', ids, ARGV[2], number)
redis.call('RPUSH', prefix .. 'verdicts-of:' .. ARGV[3], number)
for _, list in ipairs({'route:' .. ARGV[4], 'kind:' .. ARGV[5], 'cell:' .. ARGV[4] .. ' ' .. ARGV[5]}) do
  redis.call('LPUSH', prefix .. 'latest-' .. list, number)
  redis.call('LTRIM', prefix .. 'latest-' .. list, 0, tonumber(ARGV[11]) - 1)
end
if ARGV[7] ~= '' then
  redis.call('SET', prefix .. 'evidence:' .. ARGV[2], ARGV[7], 'PX', ARGV[8])
  redis.call('RPUSH', KEYS[4], ARGV[2])
  while redis.call('LLEN', KEYS[4]) > tonumber(ARGV[9]) do
    redis.call('DEL', prefix .. 'evidence:' .. redis.call('LPOP', KEYS[4]))
  end
end
local excess = redis.call('XLEN', log) - tonumber(ARGV[10])
if excess > 0 then
  for _, old in ipairs(redis.call('XRANGE', log, '-', '+', 'COUNT', excess)) do
    redis.call('HDEL', ids, old[2][2])
    redis.call('DEL', prefix .. 'verdicts-of:' .. old[2][4])
    redis.call('XDEL', log, old[1])
    redis.call('HINCRBY', KEYS[5], 'verdicts_trimmed', 1)
  end
end
return number
"""

_BODIES: Final = """
-- KEYS 1 log, 2 list of numbers; ARGV 1 first, 2 last place in the list
local bodies = {}
for _, number in ipairs(redis.call('LRANGE', KEYS[2], ARGV[1], ARGV[2])) do
  local entry = redis.call('XRANGE', KEYS[1], number .. '-0', number .. '-0')[1]
  if entry then bodies[#bodies + 1] = entry[2][6] end
end
return bodies
"""


class RedisVerdictLog:
    """`VerdictLog` on a Redis stream. An offset is the number of an entry: they have no gaps.

    A verdict, its place in the lists that are searched, and its evidence are stored in one step. The newest
    `kept` verdicts are there to be read; those trimmed are counted. A monitor that is behind by more has lost
    some, which it sees from a gap in the offsets.
    """

    def __init__(
        self,
        store: RedisStore,
        *,
        kept: int = _VERDICTS_KEPT,
        evidence_kept: int = _EVIDENCE_KEPT,
        evidence_s: float = _EVIDENCE_S,
    ) -> None:
        """Open the log; nothing is sent yet.

        Args:
            store: the Redis.
            kept: verdicts kept, the newest.
            evidence_kept: pieces of evidence kept, the newest.
            evidence_s: and how long.
        """
        self._store = store
        self._bounds = (round(evidence_s * 1000), evidence_kept, kept, _LISTED)
        self._prefix = store.key("main", "")
        self._log, *others = (
            store.key("main", name) for name in ("log", "log-ids", "log-last", "evidence", "log-figures")
        )
        self._keys = (self._log, *others)
        self._ids, self._figures = others[0], others[3]
        self._append = Script(store, _APPEND)
        self._bodies = Script(store, _BODIES)

    def append(self, verdict: Verdict, evidence: Evidence | None) -> bool:
        """Store a verdict and its evidence in one step; False if the id is there already."""
        packed = zlib.compress(evidence_to_json(evidence).encode()) if evidence else b""
        number = self._append(
            self._keys,
            self._prefix,
            verdict.id,
            verdict.exchange_id,
            verdict.route,
            verdict.perturbation,
            verdict.to_json(),
            packed,
            *self._bounds,
        )
        return int(number) > 0

    def of_exchange(self, exchange_id: str) -> list[Verdict]:
        """Verdicts already logged for an exchange, oldest first."""
        return self._listed(f"verdicts-of:{as_key(exchange_id)}", -1)

    def read_after(self, offset: int, limit: int) -> list[LoggedVerdict]:
        """Up to `limit` verdicts after `offset`, in log order."""
        rows = self._store.client.xrange(self._log, min=f"({offset}-0", count=limit)
        return [
            LoggedVerdict(int(text(place).partition("-")[0]), Verdict.from_json(fields[b"body"].decode()))
            for place, fields in rows
        ]

    def latest(
        self, limit: int, *, route: str | None = None, perturbation: str | None = None
    ) -> list[Verdict]:
        """The newest verdicts, newest first; at most 5,000 of a route or a kind."""
        if limit <= 0:
            return []
        if route is None and perturbation is None:
            rows = self._store.client.xrevrange(self._log, count=limit)
            return [Verdict.from_json(fields[b"body"].decode()) for _, fields in rows]
        if route is not None and perturbation is not None:
            name = f"latest-cell:{route} {perturbation}"
        else:
            name = f"latest-route:{route}" if route is not None else f"latest-kind:{perturbation}"
        return self._listed(as_key(name), limit - 1)

    def find(self, verdict_id: str) -> Verdict | None:
        """The verdict with this id."""
        number = self._store.client.hget(self._ids, as_key(verdict_id))
        if number is None:
            return None
        place = f"{text(number)}-0"
        rows = self._store.client.xrange(self._log, min=place, max=place)
        return Verdict.from_json(rows[0][1][b"body"].decode()) if rows else None

    def evidence(self, verdict_id: str) -> Evidence | None:
        """Prompts and answers behind a verdict; None once they are no longer kept."""
        packed = self._store.client.get(f"{self._prefix}evidence:{as_key(verdict_id)}")
        return evidence_from_json(zlib.decompress(packed).decode()) if packed else None

    def trimmed(self) -> int:
        """How many verdicts are no longer kept."""
        return int(self._store.client.hget(self._figures, "verdicts_trimmed") or 0)

    def _listed(self, name: str, last: int) -> list[Verdict]:
        bodies = self._bodies((self._log, f"{self._prefix}{name}"), 0, last)
        return [Verdict.from_json(body.decode()) for body in bodies]
