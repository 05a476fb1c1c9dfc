-- The end of every full script: decides the sets in order, then writes all changes.
local ADMITTED, REFUSED, STALE = 1, 0, 2
local cells = read_cells(ARGV[3])
local reply, answers = { ARGV[1], now }, 2
local args, at = ARGV[4], 1

while at <= #args do
  local independent, count, of_set
  independent, count, of_set, at = read('<BBB', args, at)
  answers = answers + 1
  local ruling, own, checks = answers, {}, {}
  for place = 1, of_set do
    local cell = cells[string.byte(args, at)]
    at, answers = at + 1, answers + 1
    own[place], reply[answers] = cell, encode_reply(cell)
  end
  local stale = false
  for index = 1, count do
    checks[index], at = read_check(args, at, own)
    stale = stale or is_stale(checks[index])
  end
  if stale then
    reply[ruling] = STALE
  else
    rescale(checks)
    local admitted
    if independent == 1 then
      admitted = decide_each(checks)
    else
      admitted = decide(checks, 1, count)
    end
    reply[ruling] = admitted and ADMITTED or REFUSED
  end
end

for _, cell in ipairs(cells) do
  if cell.changed then
    write_cell(cell)
  end
end
for _, page in pairs(pages) do
  if page.touched then
    save_page(page)
  end
end
-- Publishes the counters that were refunded, or charged unconditionally: the deny caches of other
-- nodes drop them, because they would refuse too much, or with waits that are too short.
for _, cell in ipairs(cells) do
  if cell.freed then
    local key = cell.page_key
    local opened = find(key, '{', 1, true)
    call('PUBLISH', sub(key, 1, opened - 1) .. 'freed', sub(key, opened + 1, -2) .. cell.who)
  end
end
return reply
