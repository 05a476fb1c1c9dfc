-- Reads the pages of plain sets, all in one slot.
local keys = KEYS
local pages = redis.call('MGET', unpack(keys))
