-- KEYS 1 log, 2 notes by number; ARGV 1 offset, 2 limit
-- In one step, so that neither a note nor a verdict before it is passed over.
local after = '(' .. ARGV[1]
local found = {{}, redis.call('ZRANGEBYSCORE', KEYS[2], after, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])}
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], after .. '-0', '+', 'COUNT', ARGV[2])) do
  table.insert(found[1], entry[1])
  table.insert(found[1], entry[2][6])
end
return found
