-- Decides plain sets: takes that all have to admit, from buckets of whole microseconds.
-- What nearly every call is, so it is one piece of code without a function in it: making those
-- would cost more than deciding. Answers are those of the full script; pages are as page.lua says.
local pack, read, call = struct.pack, struct.unpack, redis.call
local find, sub, byte = string.find, string.sub, string.byte
local keys, asked, now, extra = KEYS, ARGV[3], ARGV[2], 3600000
if now == '' then
  local time = call('TIME')
  now, extra = time[1] * 1000000 + time[2], 0
else
  now = tonumber(now)
end
local pages = call('MGET', unpack(keys))
-- With room for what is usual: a table that grows costs more than one check.
local reply, answers = { ARGV[1], now, nil, nil, nil, nil, nil, nil }, 2
local at, last = 1, #asked
-- Checks that wait for the last one of their set.
local waiting

while at <= last do
  local left, admitted = 0, true
  answers = answers + 1
  local ruling = answers
  repeat
    local index, more, shared, who, unit, full, horizon, least, most, behind =
      read('<BBBc8ddddd', asked, at)
    at = behind

    -- What is known of the counter.
    local page, full_at, place, format = pages[index], 0, nil, nil
    if page then
      format = byte(page)
      if #page % 16 ~= 5 or #page < 37 or format > 2 then
        -- Not ours: it will be written over.
        page, pages[index] = false, false
      end
    end
    if page then
      place = find(page, who, 22, true)
      while place and (place - 22) % (format * 16) ~= 0 do
        place = find(page, who, place + 1, true)
      end
      if place and format == 1 then
        full_at = read('<d', page, place + 8)
      elseif place then
        local _, parts
        full_at, _, parts = read('<ddd', page, place + 8)
        if parts ~= 1 then
          -- Left behind by a quota that counts in fractions.
          admitted = nil
        end
      end
    end
    if not place then
      -- Perhaps another algorithm has left it in a place of its own.
      local key = keys[index]
      local tag = find(key, '}', 1, true)
      if call('EXISTS', sub(key, 1, tag) .. '.' .. who .. sub(key, tag + 1)) == 1 then
        admitted = nil
      end
    end
    answers = answers + 1
    reply[answers] = full_at

    -- Mend, and judge: the moments to write if the set is refused, and if it is admitted.
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

    if more > 0 then
      if not waiting then
        -- With room for three.
        waiting = { nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
          nil, nil, nil, nil, nil }
      end
      waiting[left + 1], waiting[left + 2], waiting[left + 3], waiting[left + 4] =
        index, shared, who, horizon
      waiting[left + 5], waiting[left + 6], waiting[left + 7] = place or false, mended, charged
      left = left + 7
    else
      -- The last of its set: it is written, and so are those that have been waiting for it.
      reply[ruling] = admitted and 1 or admitted == false and 0 or 3
      while admitted ~= nil do
        local moment = admitted and charged or mended
        if moment then
          page = pages[index]
          local until_now, longest, sound
          if page then
            until_now, longest = read('<dd', page, 2)
            sound = moment <= until_now and until_now - now <= longest and horizon <= longest
          end
          if sound and place then
            local entry = format == 1 and pack('<d', moment) or pack('<ddd', moment, 0, 1)
            -- Numbers are slow to write; most pages have few entries.
            local offset = place == 22 and '29' or place == 38 and '45' or place + 7
            call('SETRANGE', keys[index], offset, entry)
            if shared == 1 then
              page = sub(page, 1, place + 7) .. entry .. sub(page, place + format * 16)
            end
          else
            local lives = 2 * (moment - now) + 1000000
            lives = now + (lives < horizon and lives or horizon)
            if not page then
              page = pack('<BddI4c8d', 1, lives, horizon, 0, who, moment)
              call('SET', keys[index], page, 'PX', math.ceil((lives - now) / 1000) + extra)
            else
              local pruned = read('<I4', page, 18)
              local entry = format == 1 and pack('<d', moment) or pack('<ddd', moment, 0, 1)
              if place then
                page = sub(page, 22, place + 7) .. entry .. sub(page, place + format * 16)
              else
                page = sub(page, 22) .. who .. entry
                local size = format * 16
                if #page >= 32 * size and #page >= 2 * pruned then
                  -- Twice as long as it was: those that have recovered go.
                  local kept, count = {}, 0
                  for from = 1, #page, size do
                    local recovered = read('<d', page, from + 8)
                    if size == 32 and read('<d', page, from + 16) > 0 then
                      recovered = recovered + 1
                    end
                    if recovered > now then
                      count = count + 1
                      kept[count] = sub(page, from, from + size - 1)
                    end
                  end
                  page, pruned = table.concat(kept), count * size
                end
              end
              longest = horizon > longest and horizon or longest
              if sound then
                page = pack('<BddI4', format, until_now, longest, pruned) .. page
                call('SET', keys[index], page, 'KEEPTTL')
              else
                if until_now - now > longest then
                  -- The clock has been set back: nothing is needed for as long as that.
                  lives = now + longest
                elseif until_now > lives then
                  lives = until_now
                end
                page = pack('<BddI4', format, lives, longest, pruned) .. page
                call('SET', keys[index], page, 'PX', math.ceil((lives - now) / 1000) + extra)
              end
            end
          end
          pages[index] = page
        end
        if left == 0 then
          break
        end
        left = left - 7
        index, shared, who, horizon =
          waiting[left + 1], waiting[left + 2], waiting[left + 3], waiting[left + 4]
        place, mended, charged = waiting[left + 5], waiting[left + 6], waiting[left + 7]
        format = pages[index] and byte(pages[index])
      end
    end
  until more == 0
end
return reply
