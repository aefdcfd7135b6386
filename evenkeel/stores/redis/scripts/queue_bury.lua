-- 5 id, 6 reason
local entry, size = place(ARGV[5])
if entry then bury(ARGV[5], entry, size, ARGV[6]) end
