-- KEYS 1 log, 2 hash verdict id -> number, 3 last number, 4 ids that have evidence, 5 figures
-- ARGV 1 prefix, 2 verdict id, 3 exchange id, 4 route, 5 kind, 6 body, 7 evidence or '', 8 its time to live,
--      9 pieces of evidence kept, 10 verdicts kept, 11 length of the lists
local log, ids, prefix = KEYS[1], KEYS[2], ARGV[1]
if redis.call('HEXISTS', ids, ARGV[2]) == 1 then return 0 end
local number = redis.call('INCR', KEYS[3])
redis.call('XADD', log, number .. '-0', 'id', ARGV[2], 'exchange', ARGV[3], 'body', ARGV[6])
redis.call('HSET', ids, ARGV[2], number)
redis.call('RPUSH', prefix .. 'verdicts-of:' .. ARGV[3], number)
for _, list in ipairs({'route:' .. ARGV[4], 'cell:' .. ARGV[4] .. ' ' .. ARGV[5]}) do
  redis.call('LPUSH', prefix .. 'latest-' .. list, number)
  redis.call('LTRIM', prefix .. 'latest-' .. list, 0, tonumber(ARGV[11]) - 1)
end
if ARGV[7] ~= '' then
  redis.call('SET', prefix .. 'evidence:' .. ARGV[2], ARGV[7], 'PX', ARGV[8])
  redis.call('RPUSH', KEYS[4], ARGV[2])
  while redis.call('LLEN', KEYS[4]) > tonumber(ARGV[9]) do
    redis.call('DEL', prefix .. 'evidence:' .. redis.call('LPOP', KEYS[4]))
  end
end
local excess = redis.call('XLEN', log) - tonumber(ARGV[10])
if excess > 0 then
  for _, old in ipairs(redis.call('XRANGE', log, '-', '+', 'COUNT', excess)) do
    redis.call('HDEL', ids, old[2][2])
    redis.call('DEL', prefix .. 'verdicts-of:' .. old[2][4])
    redis.call('XDEL', log, old[1])
    redis.call('HINCRBY', KEYS[5], 'verdicts_trimmed', 1)
  end
end
return number
