-- The start of every full script: shared functions, and the time of the decision. States are lists
-- as documented in states.lua, or nil where vacant. They are never modified, only replaced, so that
-- a saved one can be restored.
local pack, read, find, sub = struct.pack, struct.unpack, string.find, string.sub
local call, floor, min, max = redis.call, math.floor, math.min, math.max
-- The tolerated difference of two readings of one clock.
local CLOCK_SLACK = 1000000
-- A test clock says nothing about how long a key is needed, so an hour is added.
local now, extra = tonumber(ARGV[2]), 3600000
if not now then
  local time = call('TIME')
  now, extra = time[1] * 1000000 + time[2], 0
end
-- The algorithms by the number that a check uses.
local algorithms = {}
