-- Pages: one string with the buckets of all keys whose digests begin with the same bits.
--
-- | byte | content |
-- |---|---|
-- | 1 | format: 1 narrow, 2 wide |
-- | 2-9 | until when the key is kept |
-- | 10-17 | the longest horizon of all entries when written: nothing is needed for longer |
-- | 18-21 | bytes of all entries after the last pruning |
-- | 22- | entries: a fingerprint of 8 letters, then the time at which the bucket is full |
--
-- A time is its microseconds in a narrow page; in a wide one those, its parts of a microsecond, and
-- parts to a microsecond. A key is kept for about twice as long as it is needed, so that most takes
-- change only one time; it is never kept beyond the horizon.
local pages = {}

-- Reads a key that was not declared. For a slot that is being migrated, the server may report that
-- the key is not here: then there is none.
local function look_up(key)
  local found = redis.pcall('MGET', key)
  if found.err and not find(found.err, 'non local key', 1, true) then
    error(found.err)
  end
  return found[1]
end

local function open_page(key, text)
  local format, lives, longest, pruned, entries = 1, 0, 0, 0, ''
  -- An invalid page will be overwritten.
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
    -- Whether it was changed, whether its expiry changed, and the patch if only one place changed.
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

local function find_in_page(page, fingerprint)
  local entries, size = page.entries, page.size
  local place = find(entries, fingerprint, 1, true)
  while place and (place - 1) % size ~= 0 do
    place = find(entries, fingerprint, place + 1, true)
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
    local fingerprint, full_at = read('<c8d', page.entries, place)
    wide[#wide + 1] = pack('<c8ddd', fingerprint, full_at, 0, 1)
  end
  page.entries, page.size, page.pruned = table.concat(wide), 32, page.pruned * 2
end

-- Drops recovered entries when the page has doubled, so that the amortised cost is constant.
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

local function put_in_page(page, fingerprint, state, horizon)
  local full_at, parts, counted_in = state[2], state[3] or 0, state[4] or 1
  if counted_in ~= 1 and page.size == 16 then
    widen(page)
    page.touched = true
  end
  local moment = page.size == 16 and pack('<d', full_at) or pack('<ddd', full_at, parts, counted_in)
  local place = find_in_page(page, fingerprint)
  if place then
    page.entries = sub(page.entries, 1, place + 7) .. moment .. sub(page.entries, place + page.size)
    if not page.touched then
      -- As long as this is the only change, only these bytes have to be written.
      page.patch, page.patch_at = moment, place + 28
    end
  else
    page.entries = page.entries .. fingerprint .. moment
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
      -- The clock was set back, so the key need not live longer than the horizon.
      page.lives = now + page.longest
    else
      page.lives = max(page.lives, lives)
    end
    page.renewed = true
  end
end

local function drop_from_page(page, fingerprint)
  local place = find_in_page(page, fingerprint)
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
