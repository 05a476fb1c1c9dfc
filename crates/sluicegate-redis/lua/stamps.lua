-- The twin of algorithm/stamps.rs: times and units in turn at the end of a list, the oldest first.

-- Where the stamps begin that still count, in a list whose stamps begin at `first`.
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

-- Adds what still counts of `list`, and units at `now` or at the newest stamp if that is later.
local function file_stamps(list, first, window, units, into)
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
