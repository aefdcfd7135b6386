-- 4 name of the worker, 5 lease in ms, 6 how many
local consumer, lease_ms, limit = ARGV[4], ARGV[5], tonumber(ARGV[6])
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
