-- Cells: where the state of a counter is found, and where it goes.
--
-- Buckets are in pages. Any other state is under a key of its own, a list in MessagePack that
-- begins with its kind: those of the algorithms, and { 8, until } for something that was done once.
-- Times are microseconds since 1970. Names of keys are as src/twin/naming.rs says.
local BUCKET, FRACTIONS, DONE = 1, 2, 8

-- What is no state is one that no algorithm knows: to a counter, that is "exhausted now".
local function read_state(text)
  local fine, state = pcall(cmsgpack.unpack, text)
  if fine and type(state) == 'table' and type(state[1]) == 'number' then
    return state, text
  end
  return { DONE, 0 }, nil
end

local function own_key(page_key, who)
  return page_key .. '.' .. who
end

local function page_key(own)
  return sub(own, 1, find(own, '}', 1, true))
end

local function look_in_page(cell, page)
  local place = find_in_page(page, cell.who)
  if place then
    cell.state, cell.page = read_entry(page, place), page
  end
  return place
end

local function look_at_own(cell, text)
  if text then
    cell.state, cell.text = read_state(text)
    cell.own_is_there = true
  end
end

-- The cells of the call: each is looked for where its limit keeps it, and where one that had its
-- name before may have left it.
local function read_cells(records)
  local cells, values = {}, call('MGET', unpack(KEYS))
  for at = 1, #records, 10 do
    local index, home, who = read('<BBc8', records, at)
    local key = KEYS[index]
    local cell = {
      who = who,
      state = nil,
      -- The check that changed it last, and how much the set at hand has staged here.
      check = nil,
      changed = false,
      freed = false,
      staged = 0,
      -- Where it was found: in a page, or under a key of its own with this text in it.
      page = nil,
      page_key = nil,
      key = nil,
      own_is_there = false,
      text = nil,
      found = nil,
    }
    if home == 1 then
      cell.page_key = key
      if not look_in_page(cell, pages[key] or open_page(key, values[index])) then
        look_at_own(cell, look_up(own_key(key, who)))
      end
    elseif home == 2 then
      look_at_own(cell, values[index])
      cell.page_key = page_key(key)
      if not cell.own_is_there then
        look_in_page(cell, page_at(cell.page_key))
      end
    else
      cell.key = key
      look_at_own(cell, values[index])
    end
    cell.found = cell.state
    cells[#cells + 1] = cell
  end
  return cells
end

-- A state as it is told: 0 for vacant, the moment of a bucket in whole microseconds, or the list.
local function told(cell)
  local state = cell.state
  if not state then
    return 0
  elseif state[1] == BUCKET then
    return state[2]
  elseif state == cell.found and cell.text then
    return cell.text
  end
  return cmsgpack.pack(state)
end

local function write_own(key, state, fresh_at)
  -- A second more: the server's own idea of now may lie behind the time it tells.
  local kept = max(math.ceil((fresh_at - now) / 1000), 0) + 1000 + extra
  call('SET', key, cmsgpack.pack(state), 'PX', kept)
end

-- Writes the state of a cell that changed, and takes it away from where it was.
local function write_cell(cell)
  local state = cell.state
  if cell.key then
    if state then
      write_own(cell.key, state, state[2])
    else
      call('DEL', cell.key)
    end
    return
  end
  local limit = cell.check.limit
  local in_page = state and (state[1] == BUCKET or state[1] == FRACTIONS)
  if in_page then
    local page = cell.page or page_at(cell.page_key)
    local horizon = limit.horizon + (limit.horizon_parts > 0 and 1 or 0)
    put_in_page(page, cell.who, state, horizon)
  elseif cell.page then
    drop_from_page(cell.page, cell.who)
  end
  if state and not in_page then
    local fresh_at = cell.check.algorithm.fresh_at(limit, state)
    write_own(own_key(cell.page_key, cell.who), state, fresh_at)
  elseif cell.own_is_there then
    call('DEL', own_key(cell.page_key, cell.who))
  end
end
