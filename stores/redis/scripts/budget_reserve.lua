-- KEYS 1 booked today, 2 set aside, 3 workers by time, 4 this call; then what is booked on later days,
--      which counts too: the clock was set back
-- ARGV 1 worker, 2 route, 3 tokens, 4 dollars, 5 when a worker is dead, 6 how long a call is remembered;
--      7 to 14 of all routes, and of this one: tokens, dollars at most, and at most by now ('' = any);
--      15 when what a dead worker set aside counts no more, 16 how long a day is kept
local before = redis.call('GET', KEYS[4])
if before then return before end
local now = tonumber(redis.call('TIME')[1])
local dead = {}
local silent = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now - tonumber(ARGV[5]), 'WITHSCORES')
for i = 1, #silent, 2 do
  dead[silent[i]] = tonumber(silent[i + 1])
  redis.call('ZREM', KEYS[3], silent[i])
end
local latest = KEYS[1]
for i = 5, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then latest = KEYS[i] end
end
local tokens, usd = {ARGV[3] + 0, ARGV[3] + 0}, {ARGV[4] + 0, ARGV[4] + 0}
local aside = redis.call('HGETALL', KEYS[2])
for i = 1, #aside, 2 do
  local worker, route = string.match(aside[i], '^(%S+) (.*)$')
  local held_tokens, held_usd = string.match(aside[i + 1], '^(%S+) (%S+)$')
  if not dead[worker] then
    tokens[1], usd[1] = tokens[1] + held_tokens, usd[1] + held_usd
    if route == ARGV[2] then tokens[2], usd[2] = tokens[2] + held_tokens, usd[2] + held_usd end
  else
    redis.call('HDEL', KEYS[2], aside[i])
    if dead[worker] >= now - tonumber(ARGV[15]) then
      for _, name in ipairs({'', ' of ' .. route, ' on lost', ' on lost of ' .. route}) do
        redis.call('HINCRBY', latest, 'tokens' .. name, held_tokens)
        redis.call('HINCRBYFLOAT', latest, 'usd' .. name, held_usd)
      end
      redis.call('EXPIRE', latest, ARGV[16])
    end
  end
end
for i = 1, #KEYS do
  if i == 1 or i > 4 then
    local found = redis.call('HMGET', KEYS[i], 'tokens', 'tokens of ' .. ARGV[2], 'usd', 'usd of ' .. ARGV[2])
    tokens[1], tokens[2] = tokens[1] + (found[1] or 0), tokens[2] + (found[2] or 0)
    usd[1], usd[2] = usd[1] + (found[3] or 0), usd[2] + (found[4] or 0)
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
