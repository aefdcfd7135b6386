-- KEYS 1 ids of notes, 2 last number of the log, 3 notes by number; ARGV 1 id, 2 body
if redis.call('SADD', KEYS[1], ARGV[1]) == 0 then return 0 end
local number = redis.call('INCR', KEYS[2])
redis.call('ZADD', KEYS[3], number, ARGV[2])
return number
