-- Lua counterpart of algorithm/timestamps.rs: alternating times and units at the end of a list,
-- oldest first.

-- Returns the first live timestamp, in a list whose timestamps begin at `first`.
local function live_from(list, first, window)
  while list[first] and list[first] + window <= now do
    first = first + 2
  end
  return first
end

local function units_from(list, first)
  local units = 0
  for place = first + 1, #list, 2 do
    units = units + list[place]
  end
  return units
end

-- Adds the live timestamps of `list`, and units at `now` or at the newest timestamp if that is
-- later.
local function file_timestamps(list, first, window, units, into)
  local count = #into
  if list then
    for place = live_from(list, first, window), #list do
      count = count + 1
      into[count] = list[place]
    end
  end
  if count >= first and into[count - 1] >= now then
    into[count] = into[count] + units
  else
    into[count + 1], into[count + 2] = now, units
  end
  return into
end
