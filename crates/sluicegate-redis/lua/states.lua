-- Cells: how states of counters are read and written.
--
-- Buckets are in pages. Any other state is under a key of its own, a list in MessagePack that
-- begins with its kind: those of the algorithms, and { 8, until } for an idempotency record. Times
-- are microseconds since 1970. src/script/key_space.rs defines the names of keys.
local BUCKET, FRACTIONS, DONE = 1, 2, 8

-- An invalid state becomes one that no algorithm knows, which counts as exhausted now.
local function read_state(text)
  local fine, state = pcall(cmsgpack.unpack, text)
  if fine and type(state) == 'table' and type(state[1]) == 'number' then
    return state, text
  end
  return { DONE, 0 }, nil
end

local function own_key(page_key, fingerprint)
  return page_key .. '.' .. fingerprint
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

-- Reads the cells of the call: each from its location, or from the one where a previous limit of
-- the same name may have stored it.
local function read_cells(records)
  local cells, values = {}, call('MGET', unpack(KEYS))
  for at = 1, #records, 10 do
    local index, home, fingerprint = read('<BBc8', records, at)
    local key = KEYS[index]
    local cell = {
      who = fingerprint,
      state = nil,
      -- The check that changed it last, and the units that the current set has staged here.
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
        look_at_own(cell, look_up(own_key(key, fingerprint)))
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

-- Returns the encoding for the reply: 0 for vacant, microseconds for a bucket of those, or the
-- list.
local function encode_reply(cell)
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
  -- A second more, because the server's expiry clock may lag behind its TIME.
  local kept = max(math.ceil((fresh_at - now) / 1000), 0) + 1000 + extra
  call('SET', key, cmsgpack.pack(state), 'PX', kept)
end

-- Writes the state of a changed cell, and removes it from its previous location.
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
