#!lua flags=allow-cross-slot-keys
-- Reads the pages of plain sets in several slots of one server of a cluster. Declared keys would
-- have to be in one slot, so these are arguments. The page of a slot that the server does not have,
-- or not all of, cannot be read: it stays nil, and nothing of its set is written.
local keys, pages = { unpack(ARGV, 4) }, {}
for index = 1, #keys do
  local found = redis.pcall('MGET', keys[index])
  if not found.err then
    pages[index] = found[1]
  end
end
