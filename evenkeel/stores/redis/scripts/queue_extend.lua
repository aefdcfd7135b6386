-- 4 name of the worker; then ids. A lease that another worker has by now stays his.
for i = 5, #ARGV do
  local entry = place(ARGV[i])
  if entry and held_by(entry, ARGV[4]) then
    redis.call('XCLAIM', stream, 'workers', ARGV[4], 0, entry, 'JUSTID')
  end
end
