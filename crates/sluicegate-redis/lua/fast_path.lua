-- The fast path. Decides plain sets: takes that all have to admit, from buckets of whole
-- microseconds. Nearly every call consists of plain sets, so this is one piece of code without
-- functions: creating those would cost more than deciding. Answers equal those of the full script;
-- page.lua documents pages. The preceding part has defined the `keys` and read their `pages`.
local pack, read, call = struct.pack, struct.unpack, redis.call
local find, sub, byte = string.find, string.sub, string.byte
local asked, now, extra = ARGV[3], ARGV[2], 3600000
if now == '' then
  local time = call('TIME')
  now, extra = time[1] * 1000000 + time[2], 0
else
  now = tonumber(now)
end
-- Preallocated for the usual size: growing a table costs more than one check.
local reply, answers = { ARGV[1], now, nil, nil, nil, nil, nil, nil }, 2
local at, last = 1, #asked
-- Judged checks that wait for the last one of their set.
local waiting
-- An empty page.
local EMPTY = '\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'

while at <= last do
  local left, admitted = 0, true
  answers = answers + 1
  local ruling = answers
  repeat
    local index, more, shared, fingerprint, unit, full, horizon, least, most, behind =
      read('<BBBc8ddddd', asked, at)
    at = behind

    -- The state of the counter.
    local page, full_at, place, format = pages[index], 0, nil, nil
    if page then
      format = byte(page)
      if #page % 16 ~= 5 or #page < 37 or format > 2 then
        -- Not a valid page: it will be overwritten.
        page, pages[index] = false, false
      end
    end
    if page then
      place = find(page, fingerprint, 22, true)
      while place and (place - 22) % (format * 16) ~= 0 do
        place = find(page, fingerprint, place + 1, true)
      end
      if place and format == 1 then
        full_at = read('<d', page, place + 8)
      elseif place then
        local _, parts
        full_at, _, parts = read('<ddd', page, place + 8)
        if parts ~= 1 then
          -- Written by a quota that counts in fractions.
          admitted = nil
        end
      end
    end
    if page == nil then
      -- The page could not be read: a call for this set alone will return the error.
      admitted = nil
    elseif not place then
      -- Another algorithm may have a state under a key of its own. For a slot that is being
      -- migrated, the server may report that the key is not here: then there is none.
      local found = redis.pcall('EXISTS', keys[index] .. '.' .. fingerprint)
      if found == 1 then
        admitted = nil
      elseif found ~= 0 and not find(found.err, 'non local key', 1, true) then
        return found
      end
    end
    answers = answers + 1
    reply[answers] = full_at

    -- Repair and judge: computes the times to write if the set is refused, and if it is admitted.
    local used, mended = full_at - now, false
    if used < 0 then
      used = 0
    elseif used > horizon then
      used, mended = full, now + full
    end
    local charged, level = mended, used + least * unit
    if level > full then
      admitted = admitted and false
    else
      if most > least then
        local granted = (full - used - (full - used) % unit) / unit
        level = used + (granted < most and granted or most) * unit
      end
      if level > used then
        charged = now + level
      end
    end

    if more > 0 or left > 0 then
      if not waiting then
        -- Preallocated for four checks.
        waiting = { nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
          nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil }
      end
      waiting[left + 1], waiting[left + 2], waiting[left + 3], waiting[left + 4] =
        index, shared, fingerprint, horizon
      waiting[left + 5], waiting[left + 6], waiting[left + 7] = place or false, mended, charged
      left = left + 7
    end

    if more == 0 then
      -- All checks of the set are judged; they are written in order, each page once.
      reply[ruling] = admitted and 1 or admitted == false and 0 or 3
      local turn = 7
      if left > 0 then
        index, shared, fingerprint, horizon = waiting[1], waiting[2], waiting[3], waiting[4]
        place, mended, charged = waiting[5], waiting[6], waiting[7]
      end
      -- The current page: until when it is kept, and either a patch of it or a full rewrite.
      local until_now, longest, patch, patch_at, whole, renewed
      page = nil
      while admitted ~= nil do
        local moment = mended
        if admitted then
          moment = charged
        end
        if moment then
          if page == nil then
            page, patch, whole, renewed = pages[index], nil, false, false
            if page then
              format, until_now, longest = read('<Bdd', page)
            else
              page, format, until_now, longest = EMPTY, 1, 0, 0
            end
          end
          if moment > until_now or until_now - now > longest or horizon > longest then
            local lives = 2 * (moment - now) + 1000000
            lives = now + (lives < horizon and lives or horizon)
            longest = horizon > longest and horizon or longest
            if until_now - now > longest then
              -- The clock was set back, so the key need not live longer than the horizon.
              until_now = now + longest
            elseif lives > until_now then
              until_now = lives
            end
            renewed = true
          end
          local entry = format == 1 and pack('<d', moment) or pack('<ddd', moment, 0, 1)
          if place and not (whole or renewed) then
            if patch and patch_at + #patch == place then
              -- Entries of one subject are adjacent, so one patch covers them.
              patch = patch .. fingerprint .. entry
            else
              if patch then
                call('SETRANGE', keys[index], patch_at - 1, patch)
                page = sub(page, 1, patch_at - 1) .. patch .. sub(page, patch_at + #patch)
              end
              patch, patch_at = entry, place + 8
            end
          else
            if patch then
              page = sub(page, 1, patch_at - 1) .. patch .. sub(page, patch_at + #patch)
              patch = nil
            end
            if place then
              page = sub(page, 1, place + 7) .. entry .. sub(page, place + format * 16)
            else
              page = page .. fingerprint .. entry
            end
            whole = true
          end
        end

        local following = turn < left and waiting[turn + 1]
        if page and following ~= index then
          if whole then
            local pruned, size = read('<I4', page, 18), format * 16
            if #page >= 32 * size + 21 and #page >= 2 * pruned + 21 then
              -- The page has doubled: drop recovered entries.
              local kept, count = { '' }, 1
              for from = 22, #page, size do
                local recovered = read('<d', page, from + 8)
                if size == 32 and read('<d', page, from + 16) > 0 then
                  recovered = recovered + 1
                end
                if recovered > now then
                  count = count + 1
                  kept[count] = sub(page, from, from + size - 1)
                end
              end
              pruned = (count - 1) * size
              kept[1] = pack('<BddI4', format, until_now, longest, pruned)
              page = table.concat(kept)
            else
              page = pack('<BddI4', format, until_now, longest, pruned) .. sub(page, 22)
            end
            if renewed then
              call('SET', keys[index], page, 'PX', math.ceil((until_now - now) / 1000) + extra)
            else
              call('SET', keys[index], page, 'KEEPTTL')
            end
          else
            call('SETRANGE', keys[index], patch_at - 1, patch)
            if shared == 1 then
              page = sub(page, 1, patch_at - 1) .. patch .. sub(page, patch_at + #patch)
            end
          end
          pages[index], page = page, nil
        end
        if not following then
          break
        end
        index, shared, fingerprint, horizon =
          following, waiting[turn + 2], waiting[turn + 3], waiting[turn + 4]
        place, mended, charged = waiting[turn + 5], waiting[turn + 6], waiting[turn + 7]
        turn = turn + 7
      end
    end
  until more == 0
end
return reply
