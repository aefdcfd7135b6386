-- KEYS 1 list, newest first; ARGV 1 body, 2 how many are kept
if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[1] then redis.call('LPUSH', KEYS[1], ARGV[1]) end
redis.call('LTRIM', KEYS[1], 0, ARGV[2] - 1)
