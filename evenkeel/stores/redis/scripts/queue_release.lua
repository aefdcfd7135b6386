-- 5 name of the worker, 6 idle time of what is given back; then ids
for i = 7, #ARGV do
  local entry = place(ARGV[i])
  local held = entry and held_by(entry, ARGV[5])
  if held and held[3] < tonumber(ARGV[6]) then
    redis.call('XCLAIM', stream, 'workers', ARGV[5], 0, entry, 'IDLE', ARGV[6],
               'RETRYCOUNT', held[4] - 1, 'JUSTID')
  end
end
