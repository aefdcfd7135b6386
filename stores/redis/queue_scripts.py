"""What the queue does on the Redis server, each as one atomic step.

`KEYS`: 1 the stream of exchanges that wait or are held, 2 the hash exchange id → "entry size", 3 the hash of
figures (`bytes`, `lease_ms`, counters), 4 the stream of dead letters. `ARGV` begins with 1 the prefix of
payloads, 2 that of dead payloads, 3 how many dead letters are kept, 4 Unix time in seconds.
Payloads are keys of their own, so that the server forgets them when their time is over.
"""

from __future__ import annotations

from typing import Final

GROUP: Final = "workers"
RELEASED_MS: Final = 10 * 365 * 86_400_000
"""Idle time of an entry that was given back: past any lease."""

_SHARED: Final = """
local stream, ids, figures, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local payload_prefix, dead_prefix, dead_kept, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

local function place(id)
  local known = redis.call('HGET', ids, id)
  if not known then return nil end
  return string.match(known, '^(%S+) (%d+)$')
end

local function forget(id, entry, size)
  redis.call('XACK', stream, 'workers', entry)
  redis.call('XDEL', stream, entry)
  redis.call('HDEL', ids, id)
  redis.call('HINCRBY', figures, 'bytes', -tonumber(size))
end

local function bury(id, entry, size, reason)
  if redis.call('EXISTS', payload_prefix .. id) == 1 then
    redis.call('RENAME', payload_prefix .. id, dead_prefix .. id)
  end
  forget(id, entry, size)
  redis.call('XADD', dead, '*', 'id', id, 'reason', reason, 'at', now)
  while redis.call('XLEN', dead) > dead_kept do
    local oldest = redis.call('XRANGE', dead, '-', '+', 'COUNT', 1)[1]
    redis.call('DEL', dead_prefix .. oldest[2][2])
    redis.call('XDEL', dead, oldest[1])
    redis.call('HINCRBY', figures, 'dead_dropped', 1)
  end
end

local function held_by(entry, consumer)
  return redis.call('XPENDING', stream, 'workers', entry, entry, 1, consumer)[1]
end
"""

PUT: Final = (
    _SHARED
    + """
-- 5 time to live of payloads in ms, 6 and 7 the bounds, 8 what a known id counts; then id, payload, ...
local most, most_bytes, known_counts = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local held = redis.call('HLEN', ids)
local used = tonumber(redis.call('HGET', figures, 'bytes') or '0')
local taken = 0
for i = 9, #ARGV, 2 do
  local id, payload = ARGV[i], ARGV[i + 1]
  if redis.call('HEXISTS', ids, id) == 1 then
    taken = taken + known_counts
  elseif held >= most or used >= most_bytes then
    break
  else
    local size = string.len(payload)
    redis.call('SET', payload_prefix .. id, payload, 'PX', ARGV[5])
    local entry = redis.call('XADD', stream, '*', 'id', id, 'at', now)
    redis.call('HSET', ids, id, entry .. ' ' .. size)
    redis.call('HINCRBY', figures, 'bytes', size)
    held, used, taken = held + 1, used + size, taken + 1
  end
end
return taken
"""
)

RESERVE: Final = (
    _SHARED
    + """
-- 5 name of the worker, 6 lease in ms, 7 how many
local consumer, lease_ms, limit = ARGV[5], ARGV[6], tonumber(ARGV[7])
if redis.call('HGET', figures, 'lease_ms') ~= lease_ms then
  redis.call('HSET', figures, 'lease_ms', lease_ms)
end

-- Somebody trimmed the stream: what still has its payload is queued again.
if redis.call('XLEN', stream) ~= redis.call('HLEN', ids) then
  local known = redis.call('HGETALL', ids)
  for i = 1, #known, 2 do
    local entry, size = string.match(known[i + 1], '^(%S+) (%d+)$')
    if #redis.call('XRANGE', stream, entry, entry) == 0 then
      if redis.call('EXISTS', payload_prefix .. known[i]) == 1 then
        redis.call('XACK', stream, 'workers', entry)
        local again = redis.call('XADD', stream, '*', 'id', known[i], 'at', now)
        redis.call('HSET', ids, known[i], again .. ' ' .. size)
        redis.call('HINCRBY', figures, 'requeued', 1)
      else
        bury(known[i], entry, size, 'trimmed')
      end
    end
  end
end

local found, cursor = {}, '0-0'
repeat
  local claimed = redis.call('XAUTOCLAIM', stream, 'workers', consumer, lease_ms, cursor,
                             'COUNT', limit - #found)
  cursor = claimed[1]
  for _, one in ipairs(claimed[2]) do found[#found + 1] = one end
until cursor == '0-0' or #found >= limit
if #found < limit then
  local fresh = redis.call('XREADGROUP', 'GROUP', 'workers', consumer, 'COUNT', limit - #found,
                           'STREAMS', stream, '>')
  if fresh then
    for _, one in ipairs(fresh[1][2]) do found[#found + 1] = one end
  end
end

local leases = {}
for _, one in ipairs(found) do
  local entry, id = one[1], one[2][2]
  local payload = redis.call('GET', payload_prefix .. id)
  if payload then
    local attempt = redis.call('XPENDING', stream, 'workers', entry, entry, 1)[1][4]
    leases[#leases + 1] = {id, attempt, payload}
  else
    local _, size = place(id)
    bury(id, entry, size or '0', 'expired')
  end
end
return leases
"""
)

EXTEND: Final = (
    _SHARED
    + """
-- 5 name of the worker; then ids. A lease that another worker has by now stays his.
for i = 6, #ARGV do
  local entry = place(ARGV[i])
  if entry and held_by(entry, ARGV[5]) then
    redis.call('XCLAIM', stream, 'workers', ARGV[5], 0, entry, 'JUSTID')
  end
end
"""
)

ACKNOWLEDGE: Final = (
    _SHARED
    + """
-- then ids
for i = 5, #ARGV do
  local entry, size = place(ARGV[i])
  if entry then
    forget(ARGV[i], entry, size)
    redis.call('DEL', payload_prefix .. ARGV[i])
  end
end
"""
)

RELEASE: Final = (
    _SHARED
    + """
-- 5 name of the worker, 6 idle time of what is given back; then ids
for i = 7, #ARGV do
  local entry = place(ARGV[i])
  local held = entry and held_by(entry, ARGV[5])
  if held and held[3] < tonumber(ARGV[6]) then
    redis.call('XCLAIM', stream, 'workers', ARGV[5], 0, entry, 'IDLE', ARGV[6],
               'RETRYCOUNT', held[4] - 1, 'JUSTID')
  end
end
"""
)

BURY: Final = (
    _SHARED
    + """
-- 5 id, 6 reason
local entry, size = place(ARGV[5])
if entry then bury(ARGV[5], entry, size, ARGV[6]) end
"""
)

LAG: Final = (
    _SHARED
    + """
local total = redis.call('XLEN', stream)
if total == 0 then return {0, 0, redis.call('XLEN', dead), ''} end
local lease_ms = tonumber(redis.call('HGET', figures, 'lease_ms') or '0')
local leased = 0
for _, one in ipairs(redis.call('XPENDING', stream, 'workers', '-', '+', total)) do
  if one[3] < lease_ms then leased = leased + 1 end
end
local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
return {total, leased, redis.call('XLEN', dead), oldest[2][4]}
"""
)
