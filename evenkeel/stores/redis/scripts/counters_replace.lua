-- KEYS 1 snapshots, 2 times
-- ARGV 1 source, 2 its snapshot as it was read, 3 total before, 4 total now, 5 the total's name
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
if (redis.call('HGET', KEYS[1], ARGV[5]) or '') ~= ARGV[3] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], ARGV[5], ARGV[4])
return 1
