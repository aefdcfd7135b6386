-- 4 time to live of payloads in ms, 5 and 6 the bounds, 7 what a known id counts; then id, payload, ...
local most, most_bytes, known_counts = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local held = redis.call('HLEN', ids)
local used = tonumber(redis.call('HGET', figures, 'bytes') or '0')
local taken = 0
for i = 8, #ARGV, 2 do
  local id, payload = ARGV[i], ARGV[i + 1]
  if redis.call('HEXISTS', ids, id) == 1 then
    taken = taken + known_counts
  elseif held >= most or used >= most_bytes then
    break
  else
    local size = string.len(payload)
    redis.call('SET', payload_prefix .. id, payload, 'PX', ARGV[4])
    local entry = redis.call('XADD', stream, '*', 'id', id, 'at', now)
    redis.call('HSET', ids, id, entry .. ' ' .. size)
    redis.call('HINCRBY', figures, 'bytes', size)
    held, used, taken = held + 1, used + size, taken + 1
  end
end
return taken
