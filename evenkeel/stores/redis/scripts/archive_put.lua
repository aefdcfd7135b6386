-- 6 id, 7 route, 8 body
if redis.call('HSETNX', KEYS[1], ARGV[6], ARGV[8]) == 0 then return 0 end
local size, turn = string.len(ARGV[8]), redis.call('INCR', KEYS[4])
redis.call('HSET', KEYS[2], ARGV[6], size .. ' ' .. ARGV[7])
redis.call('ZADD', KEYS[3], turn, ARGV[6])
redis.call('ZADD', KEYS[7], ARGV[4], ARGV[6])
redis.call('ZADD', prefix .. ARGV[7], turn, ARGV[6])
redis.call('SADD', KEYS[6], ARGV[7])
redis.call('INCRBY', KEYS[5], size)
prune()
return 1
