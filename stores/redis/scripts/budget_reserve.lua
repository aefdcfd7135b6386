-- KEYS 1 booked today, 2 set aside, 3 workers by time, 4 this call
-- ARGV 1 worker, 2 route, 3 tokens, 4 dollars, 5 when a worker is dead, 6 how long a call is remembered;
--      then of all routes, and of this one: tokens, dollars at most, and at most by now ('' = any)
local before = redis.call('GET', KEYS[4])
if before then return before end
local now = tonumber(redis.call('TIME')[1])
local dead = {}
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now - tonumber(ARGV[5]))) do
  dead[worker] = true
  redis.call('ZREM', KEYS[3], worker)
end
local tokens = {tonumber(redis.call('HGET', KEYS[1], 'tokens') or '0') + ARGV[3],
                tonumber(redis.call('HGET', KEYS[1], 'tokens of ' .. ARGV[2]) or '0') + ARGV[3]}
local usd = {tonumber(redis.call('HGET', KEYS[1], 'usd') or '0') + ARGV[4],
             tonumber(redis.call('HGET', KEYS[1], 'usd of ' .. ARGV[2]) or '0') + ARGV[4]}
local aside = redis.call('HGETALL', KEYS[2])
for i = 1, #aside, 2 do
  local worker, route = string.match(aside[i], '^(%S+) (.*)$')
  local held_tokens, held_usd = string.match(aside[i + 1], '^(%S+) (%S+)$')
  if dead[worker] then
    redis.call('HDEL', KEYS[2], aside[i])
  else
    tokens[1], usd[1] = tokens[1] + held_tokens, usd[1] + held_usd
    if route == ARGV[2] then tokens[2], usd[2] = tokens[2] + held_tokens, usd[2] + held_usd end
  end
end
local function passed(i, at)
  return (ARGV[at] ~= '' and tokens[i] > tonumber(ARGV[at]))
      or (ARGV[at + 1] ~= '' and usd[i] > tonumber(ARGV[at + 1]))
end
local answer = ''
for i = 1, 2 do
  local at = 7 + (i - 1) * 4
  if answer == '' and passed(i, at) then answer = 'budget' end
  if answer == '' and passed(i, at + 2) then answer = 'budget_pace' end
end
if answer == '' then
  local field = ARGV[1] .. ' ' .. ARGV[2]
  local own = redis.call('HGET', KEYS[2], field) or '0 0'
  local own_tokens, own_usd = string.match(own, '^(%S+) (%S+)$')
  redis.call('HSET', KEYS[2], field, string.format('%.0f %.17g', own_tokens + ARGV[3], own_usd + ARGV[4]))
  redis.call('ZADD', KEYS[3], now, ARGV[1])
end
redis.call('SET', KEYS[4], answer, 'EX', ARGV[6])
return answer
