-- KEYS 1 log, 2 notes by number, 3 sightings by number; ARGV 1 offset, 2 limit
-- In one step, so that no entry before another is passed over.
local after = '(' .. ARGV[1]
local found = {{}}
for _, notes in ipairs({KEYS[2], KEYS[3]}) do
  table.insert(found, redis.call('ZRANGEBYSCORE', notes, after, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2]))
end
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], after .. '-0', '+', 'COUNT', ARGV[2])) do
  table.insert(found[1], entry[1])
  table.insert(found[1], entry[2][6])
end
return found
