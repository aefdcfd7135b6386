-- then ids
for i = 4, #ARGV do
  local entry, size = place(ARGV[i])
  if entry then
    forget(ARGV[i], entry, size)
    redis.call('DEL', payload_prefix .. ARGV[i])
  end
end
