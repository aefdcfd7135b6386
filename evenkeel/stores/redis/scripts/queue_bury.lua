-- 4 id, 5 reason
local entry, size = place(ARGV[4])
if entry then bury(ARGV[4], entry, size, ARGV[5]) end
