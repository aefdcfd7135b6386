-- 4 name of the worker, 5 idle time of what is given back; then ids
for i = 6, #ARGV do
  local entry = place(ARGV[i])
  local held = entry and held_by(entry, ARGV[4])
  if held and held[3] < tonumber(ARGV[5]) then
    redis.call('XCLAIM', stream, 'workers', ARGV[4], 0, entry, 'IDLE', ARGV[5],
               'RETRYCOUNT', held[4] - 1, 'JUSTID')
  end
end
