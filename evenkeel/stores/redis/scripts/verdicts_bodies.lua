-- KEYS 1 log, 2 list of numbers; ARGV 1 first, 2 last place in the list
local bodies = {}
for _, number in ipairs(redis.call('LRANGE', KEYS[2], ARGV[1], ARGV[2])) do
  local entry = redis.call('XRANGE', KEYS[1], number .. '-0', number .. '-0')[1]
  if entry then bodies[#bodies + 1] = entry[2][6] end
end
return bodies
