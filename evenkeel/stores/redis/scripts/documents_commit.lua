-- KEYS 1 revision, 2 this commit
-- ARGV 1 revision the caller saw, 2 documents put, 3 seconds for which this commit is remembered;
--      then commands: number of words, words
if redis.call('EXISTS', KEYS[2]) == 1 then return 1 end
if (redis.call('GET', KEYS[1]) or '0') ~= ARGV[1] then return 0 end
redis.call('INCRBY', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], '', 'EX', ARGV[3])
local at = 4
while at <= #ARGV do
  local last = at + tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, last))
  at = last + 1
end
return 1
