-- KEYS 1 booked today, 2 set aside, 3 workers by time, 4 this call
-- ARGV 1 worker, 2 route, 3 tokens, 4 dollars, 5 when a worker is dead, 6 how long a call is remembered,
--      7 when what a dead worker set aside counts no more, 8 how long a day is kept,
--      9 and 10 what a route beyond its share leaves to others: of what they have not used, of all at most;
--      11 how many limits; of each: 1 of all routes or 2 of this one, what it refuses with, tokens, dollars
--      ('' = any); then, if this route has to leave something to others: tokens, dollars that are free, and
--      the other routes
local before = redis.call('GET', KEYS[4])
if before then return before end
local now = tonumber(redis.call('TIME')[1])
local dead = {}
local silent = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now - tonumber(ARGV[5]), 'WITHSCORES')
for i = 1, #silent, 2 do
  dead[silent[i]] = tonumber(silent[i + 1])
  redis.call('ZREM', KEYS[3], silent[i])
end
local tokens, usd = {ARGV[3] + 0, ARGV[3] + 0}, {ARGV[4] + 0, ARGV[4] + 0}
local of = {}
local aside = redis.call('HGETALL', KEYS[2])
for i = 1, #aside, 2 do
  local worker, route = string.match(aside[i], '^(%S+) (.*)$')
  local held_tokens, held_usd = string.match(aside[i + 1], '^(%S+) (%S+)$')
  if not dead[worker] then
    tokens[1], usd[1] = tokens[1] + held_tokens, usd[1] + held_usd
    local one = of[route] or {0, 0}
    of[route] = {one[1] + held_tokens, one[2] + held_usd}
    if route == ARGV[2] then tokens[2], usd[2] = tokens[2] + held_tokens, usd[2] + held_usd end
  else
    redis.call('HDEL', KEYS[2], aside[i])
    if dead[worker] >= now - tonumber(ARGV[7]) then
      for _, name in ipairs({'', ' of ' .. route, ' on lost', ' on lost of ' .. route}) do
        redis.call('HINCRBY', KEYS[1], 'tokens' .. name, held_tokens)
        redis.call('HINCRBYFLOAT', KEYS[1], 'usd' .. name, held_usd)
      end
      redis.call('EXPIRE', KEYS[1], ARGV[8])
    end
  end
end
local found = redis.call('HMGET', KEYS[1], 'tokens', 'tokens of ' .. ARGV[2], 'usd', 'usd of ' .. ARGV[2])
tokens[1], tokens[2] = tokens[1] + (found[1] or 0), tokens[2] + (found[2] or 0)
usd[1], usd[2] = usd[1] + (found[3] or 0), usd[2] + (found[4] or 0)
local answer = ''
local at = 12
for _ = 1, tonumber(ARGV[11]) do
  local whose = tonumber(ARGV[at])
  if answer == '' and ((ARGV[at + 2] ~= '' and tokens[whose] > tonumber(ARGV[at + 2]))
      or (ARGV[at + 3] ~= '' and usd[whose] > tonumber(ARGV[at + 3]))) then
    answer = ARGV[at + 1]
  end
  at = at + 4
end
local others = #ARGV - at - 1
local function beyond(place, taken, name)
  local most = tonumber(ARGV[at + place - 1])
  local part = most and most / (others + 1)
  if not most or taken[2] <= part then return false end
  local unused = 0
  for i = at + 2, #ARGV do
    local used = of[ARGV[i]] and of[ARGV[i]][place] or 0
    used = used + (redis.call('HGET', KEYS[1], name .. ' of ' .. ARGV[i]) or 0)
    unused = unused + math.max(0, part - used)
  end
  return taken[1] > most - math.min(tonumber(ARGV[9]) * unused, tonumber(ARGV[10]) * most)
end
if answer == '' and others > 0 and (beyond(1, tokens, 'tokens') or beyond(2, usd, 'usd')) then
  answer = 'budget_share'
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
