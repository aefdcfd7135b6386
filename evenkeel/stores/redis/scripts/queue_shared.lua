local stream, ids, figures, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local payload_prefix, dead_kept, now = ARGV[1], tonumber(ARGV[2]), ARGV[3]

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
  redis.call('DEL', payload_prefix .. id)
  forget(id, entry, size)
  redis.call('XADD', dead, '*', 'id', id, 'reason', reason, 'at', now)
  while redis.call('XLEN', dead) > dead_kept do
    local oldest = redis.call('XRANGE', dead, '-', '+', 'COUNT', 1)[1]
    redis.call('XDEL', dead, oldest[1])
    redis.call('HINCRBY', figures, 'dead_dropped', 1)
  end
end

local function held_by(entry, consumer)
  return redis.call('XPENDING', stream, 'workers', entry, entry, 1, consumer)[1]
end
