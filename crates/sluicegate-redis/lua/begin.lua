-- What every full script begins with: its tools, and the time it decides at.
-- States are lists as states.lua says, or nil where vacant. They are never changed, only replaced:
-- so whoever keeps one can put it back.
local pack, read, find, sub = struct.pack, struct.unpack, string.find, string.sub
local call, floor, min, max = redis.call, math.floor, math.min, math.max
-- How far two readings of one clock may lie apart without one of them being wrong.
local CLOCK_SLACK = 1000000
-- Where time is driven, it says nothing about how long a key is needed: an hour more.
local now, extra = tonumber(ARGV[2]), 3600000
if not now then
  local time = call('TIME')
  now, extra = time[1] * 1000000 + time[2], 0
end
-- Each by the number that a check names it with.
local algorithms = {}
