-- KEYS 1 revision; ARGV 1 revision the caller saw, 2 documents put; then commands: number of words, words
if (redis.call('GET', KEYS[1]) or '0') ~= ARGV[1] then return 0 end
redis.call('INCRBY', KEYS[1], ARGV[2])
local at = 3
while at <= #ARGV do
  local last = at + tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, last))
  at = last + 1
end
return 1
