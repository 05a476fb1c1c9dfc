-- Pages: the buckets of all whose digest begins with the same bits, in one string.
--
-- | byte | what |
-- |---|---|
-- | 1 | format: 1 narrow, 2 wide |
-- | 2-9 | until when the key is kept |
-- | 10-17 | the longest horizon that an entry was written with: nothing is needed for longer |
-- | 18-21 | bytes of all entries after the last pruning |
-- | 22- | entries: 8 letters that tell whose and of which limit, then the moment of a bucket |
--
-- A moment is its microseconds in a narrow page, and in a wide one those, its parts of a
-- microsecond, and parts to a microsecond. A key is kept for about twice as long as it is needed,
-- so that most takes change nothing but one moment; it is never kept beyond the horizon.
local pages = {}

-- What is under a key that was not named beforehand. Of a slot that is on its way to another server, it
-- may be said that the key is not here: then it is not.
local function look_up(key)
  local found = redis.pcall('MGET', key)
  if found.err and not find(found.err, 'non local key', 1, true) then
    error(found.err)
  end
  return found[1]
end

local function open_page(key, text)
  local format, lives, longest, pruned, entries = 1, 0, 0, 0, ''
  -- What is no page of ours will be written over.
  if text and #text % 16 == 5 and #text >= 37 and read('<B', text) <= 2 then
    format, lives, longest, pruned = read('<BddI4', text)
    entries = sub(text, 22)
  end
  local page = {
    key = key,
    size = format * 16,
    lives = lives,
    longest = longest,
    pruned = pruned,
    entries = entries,
    -- Whether it was changed, whether it is kept for longer, and where if only in one place.
    touched = false,
    renewed = false,
    patch = nil,
    patch_at = nil,
  }
  pages[key] = page
  return page
end

local function page_at(key)
  return pages[key] or open_page(key, look_up(key))
end

local function find_in_page(page, who)
  local entries, size = page.entries, page.size
  local place = find(entries, who, 1, true)
  while place and (place - 1) % size ~= 0 do
    place = find(entries, who, place + 1, true)
  end
  return place
end

local function read_entry(page, place)
  if page.size == 16 then
    return { 1, (read('<d', page.entries, place + 8)) }
  end
  local full_at, parts, counted_in = read('<ddd', page.entries, place + 8)
  if counted_in == 1 then
    return { 1, full_at }
  end
  return { 2, full_at, parts, counted_in }
end

local function widen(page)
  local wide = {}
  for place = 1, #page.entries, 16 do
    local who, full_at = read('<c8d', page.entries, place)
    wide[#wide + 1] = pack('<c8ddd', who, full_at, 0, 1)
  end
  page.entries, page.size, page.pruned = table.concat(wide), 32, page.pruned * 2
end

-- Drops entries that have recovered, once they may be half of them all: so each pays for itself.
local function prune(page)
  local entries, size = page.entries, page.size
  if #entries < 32 * size or #entries < 2 * page.pruned then
    return
  end
  local kept = {}
  for place = 1, #entries, size do
    local recovered = read('<d', entries, place + 8)
    if size == 32 and read('<d', entries, place + 16) > 0 then
      recovered = recovered + 1
    end
    if recovered > now then
      kept[#kept + 1] = sub(entries, place, place + size - 1)
    end
  end
  page.entries = table.concat(kept)
  page.pruned = #page.entries
end

local function put_in_page(page, who, state, horizon)
  local full_at, parts, counted_in = state[2], state[3] or 0, state[4] or 1
  if counted_in ~= 1 and page.size == 16 then
    widen(page)
    page.touched = true
  end
  local moment = page.size == 16 and pack('<d', full_at) or pack('<ddd', full_at, parts, counted_in)
  local place = find_in_page(page, who)
  if place then
    page.entries = sub(page.entries, 1, place + 7) .. moment .. sub(page.entries, place + page.size)
    if not page.touched then
      -- As long as this is all, only these bytes have to be sent.
      page.patch, page.patch_at = moment, place + 28
    end
  else
    page.entries = page.entries .. who .. moment
    prune(page)
  end
  if page.touched or not place then
    page.patch = nil
  end
  page.touched = true
  local recovered = parts > 0 and full_at + 1 or full_at
  if recovered > page.lives or page.lives - now > page.longest or horizon > page.longest then
    local lives = now + min(2 * (recovered - now) + 1000000, horizon)
    page.longest = max(page.longest, horizon)
    if page.lives - now > page.longest then
      -- The clock has been set back: nothing is needed for as long as that.
      page.lives = now + page.longest
    else
      page.lives = max(page.lives, lives)
    end
    page.renewed = true
  end
end

local function drop_from_page(page, who)
  local place = find_in_page(page, who)
  if place then
    page.entries = sub(page.entries, 1, place - 1) .. sub(page.entries, place + page.size)
    page.touched, page.patch = true, nil
  end
end

local function save_page(page)
  if page.entries == '' then
    call('DEL', page.key)
  elseif page.patch and not page.renewed then
    call('SETRANGE', page.key, page.patch_at, page.patch)
  else
    local header = pack('<BddI4', page.size / 16, page.lives, page.longest, page.pruned)
    if page.renewed then
      local kept = math.ceil((page.lives - now) / 1000) + extra
      call('SET', page.key, header .. page.entries, 'PX', kept)
    else
      call('SET', page.key, header .. page.entries, 'KEEPTTL')
    end
  end
end
