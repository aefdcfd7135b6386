-- KEYS as above; ARGV 1 worker, 2 route, 3 tokens, 4 dollars that were set aside, 5 how long a day is kept,
--      6 how long a call is remembered; then kind, tokens, dollars, ...
if redis.call('EXISTS', KEYS[4]) == 1 then return 0 end
redis.call('SET', KEYS[4], '', 'EX', ARGV[6])
local field = ARGV[1] .. ' ' .. ARGV[2]
local own = redis.call('HGET', KEYS[2], field)
if own then
  local own_tokens, own_usd = string.match(own, '^(%S+) (%S+)$')
  local left = own_tokens - ARGV[3]
  local left_usd = own_usd - ARGV[4]
  if left <= 0 and left_usd < 1e-9 then
    redis.call('HDEL', KEYS[2], field)
  else
    redis.call('HSET', KEYS[2], field, string.format('%.0f %.17g', left, left_usd))
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
