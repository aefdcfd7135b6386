-- KEYS 1 head, 2 parts, 3 events, 4 their order, 5 those not delivered, 6 incidents, 7 their offsets,
--      8 their order
-- ARGV 1 commit the caller went out from, 2 new offset, 3 state, 4 whole, 5 prefix of trends,
--      6 points kept, 7 events kept; then three numbers, 11 this commit,
--      12 number of incidents, 13 incidents kept, and so many parts (name, body), events (id, body),
--      points (cell, body), incidents (id, offset, body)
local there = redis.call('HGET', KEYS[1], 'commit') or ''
if there ~= ARGV[1] then return there == ARGV[11] and 1 or 0 end
redis.call('HSET', KEYS[1], 'offset', ARGV[2], 'state', ARGV[3], 'commit', ARGV[11])
if ARGV[4] == '1' then redis.call('DEL', KEYS[2]) end
local at = 14
for _ = 1, tonumber(ARGV[8]) do
  redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1])
  at = at + 2
end
for _ = 1, tonumber(ARGV[9]) do
  if redis.call('HSET', KEYS[3], ARGV[at], ARGV[at + 1]) == 1 then
    redis.call('RPUSH', KEYS[4], ARGV[at])
    redis.call('RPUSH', KEYS[5], ARGV[at])
  end
  at = at + 2
end
while redis.call('LLEN', KEYS[4]) > tonumber(ARGV[7]) do
  local oldest = redis.call('LPOP', KEYS[4])
  redis.call('HDEL', KEYS[3], oldest)
  redis.call('LREM', KEYS[5], 1, oldest)
end
for _ = 1, tonumber(ARGV[10]) do
  redis.call('RPUSH', ARGV[5] .. ARGV[at], ARGV[at + 1])
  redis.call('LTRIM', ARGV[5] .. ARGV[at], -tonumber(ARGV[6]), -1)
  at = at + 2
end
for _ = 1, tonumber(ARGV[12]) do
  local known = redis.call('HGET', KEYS[7], ARGV[at])
  if not known then redis.call('RPUSH', KEYS[8], ARGV[at]) end
  if not known or tonumber(ARGV[at + 1]) >= tonumber(known) then
    redis.call('HSET', KEYS[7], ARGV[at], ARGV[at + 1])
    redis.call('HSET', KEYS[6], ARGV[at], ARGV[at + 2])
  end
  at = at + 3
end
while redis.call('LLEN', KEYS[8]) > tonumber(ARGV[13]) do
  local oldest = redis.call('LPOP', KEYS[8])
  redis.call('HDEL', KEYS[6], oldest)
  redis.call('HDEL', KEYS[7], oldest)
end
return 1
