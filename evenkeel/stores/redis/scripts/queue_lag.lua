local total = redis.call('XLEN', stream)
if total == 0 then return {0, 0, redis.call('XLEN', dead), ''} end
local lease_ms = tonumber(redis.call('HGET', figures, 'lease_ms') or '0')
local leased = 0
for _, one in ipairs(redis.call('XPENDING', stream, 'workers', '-', '+', total)) do
  if one[3] < lease_ms then leased = leased + 1 end
end
local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
return {total, leased, redis.call('XLEN', dead), oldest[2][4]}
