-- KEYS 1 bodies, 2 hash id -> "bytes route", 3 ids of all routes by turn, 4 turns, 5 bytes held,
--      6 set of routes, 7 ids by the time they were kept
-- ARGV 1 prefix of the ids of a route, 2 kept of a route, 3 bytes kept, 4 now, 5 seconds kept
local prefix, per_route, most_bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local dropped = 0
local function drop(id)
  local size, route = string.match(redis.call('HGET', KEYS[2], id), '^(%d+) (.*)$')
  redis.call('HDEL', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
  redis.call('ZREM', KEYS[3], id)
  redis.call('ZREM', KEYS[7], id)
  redis.call('ZREM', prefix .. route, id)
  redis.call('DECRBY', KEYS[5], size)
  dropped = dropped + 1
end
local function prune()
  local before = tonumber(ARGV[4]) - tonumber(ARGV[5])
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[7], '-inf', before)) do drop(id) end
  for _, route in ipairs(redis.call('SMEMBERS', KEYS[6])) do
    local excess = redis.call('ZCARD', prefix .. route) - per_route
    if excess > 0 then
      for _, id in ipairs(redis.call('ZRANGE', prefix .. route, 0, excess - 1)) do drop(id) end
    end
  end
  while tonumber(redis.call('GET', KEYS[5]) or '0') > most_bytes do
    local oldest = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
    if not oldest then break end
    drop(oldest)
  end
end
