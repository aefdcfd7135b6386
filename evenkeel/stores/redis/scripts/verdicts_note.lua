-- KEYS 1 ids of notes, 2 last number of the log, 3 notes by number
-- ARGV 1 id, 2 body, 3 how far behind the newest entry a note is kept, 0 = for good
if redis.call(ARGV[3] == '0' and 'SISMEMBER' or 'ZSCORE', KEYS[1], ARGV[1]) ~= (ARGV[3] == '0' and 0 or false) then
  return 0
end
local number = redis.call('INCR', KEYS[2])
redis.call('ZADD', KEYS[3], number, ARGV[2])
if ARGV[3] == '0' then
  redis.call('SADD', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], number, ARGV[1])
  local last = number - tonumber(ARGV[3])
  if last > 0 then
    redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', last)
    redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', last)
  end
end
return number
