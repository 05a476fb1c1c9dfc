-- Lua counterpart of algorithm/bucket.rs. States are { 1, full_at } in whole microseconds, and { 2,
-- full_at, its parts, parts to a microsecond } in fractions.
local bucket = {}
algorithms[1] = bucket

function bucket.read(args, at)
  local capacity, parts, unit_parts, full, full_parts, deepest, deepest_parts, horizon, horizon_parts
  capacity, parts, unit_parts, full, full_parts, deepest, deepest_parts, horizon, horizon_parts, at =
    read('<ddddddddd', args, at)
  return {
    capacity = capacity,
    parts = parts,
    unit_parts = unit_parts,
    unit_micros = floor(unit_parts / parts),
    unit_rest = unit_parts % parts,
    full = full,
    full_parts = full_parts,
    deepest = deepest,
    deepest_parts = deepest_parts,
    horizon = horizon,
    horizon_parts = horizon_parts,
  },
    at
end

-- How long until the bucket is full.
local function used_of(limit, state)
  if not state then
    return 0, 0
  elseif state[1] == 1 then
    return state[2] > now and state[2] - now or 0, 0
  elseif state[1] == 2 then
    local micros, parts = adopt(limit, state[2], state[3], state[4])
    return minus(limit, micros, parts, now, 0)
  end
  return 0, 0
end

local function level_of(limit, used, used_parts, units)
  local length, rest = lasting(limit, units)
  return add(limit, used, used_parts, length, rest)
end

-- Returns the state of a bucket that is full after this time.
local function bucket_state(limit, level, level_parts)
  if level == 0 and level_parts == 0 then
    return nil
  end
  local full_at, parts = add(limit, now, 0, level, level_parts)
  if limit.parts == 1 then
    return { 1, full_at }
  end
  return { 2, full_at, parts, limit.parts }
end

-- Returns the grant of a take whose least fits: as much of the rest as there is room for.
local function grant(limit, used, used_parts, take, already)
  if take.most == take.least then
    return take.least
  end
  local free = units_in(limit, minus(limit, limit.full, limit.full_parts, used, used_parts))
  return min(max(free - already, 0), take.most)
end

function bucket.mend(limit, state)
  if not state then
    return nil
  end
  if state[1] == 1 or state[1] == 2 then
    local used, used_parts = used_of(limit, state)
    if not is_more(used, used_parts, limit.horizon, limit.horizon_parts) then
      return state
    end
  end
  return bucket_state(limit, limit.full, limit.full_parts)
end

function bucket.judge(limit, state, take, already)
  local asked = take.least + already
  if asked > limit.capacity then
    return nil
  end
  local used, used_parts = used_of(limit, state)
  local level, level_parts = level_of(limit, used, used_parts, asked)
  if not is_more(level, level_parts, limit.full, limit.full_parts) then
    return grant(limit, used, used_parts, take, already)
  end
  -- With enough patience the take may be admitted later: as a debt, up to the deepest one.
  if take.patience >= 0 then
    local wait = rounded_up(minus(limit, level, level_parts, limit.full, limit.full_parts))
    local longest = minus(limit, limit.deepest, limit.deepest_parts, limit.full, limit.full_parts)
    if wait <= min(take.patience, longest) then
      return take.least
    end
  end
  return nil
end

function bucket.chargeable(limit, state, units)
  local used, used_parts = used_of(limit, state)
  local room, rest = minus(limit, limit.deepest, limit.deepest_parts, used, used_parts)
  return min(units_in(limit, room, rest), units)
end

function bucket.charge(limit, state, units)
  local used, used_parts = used_of(limit, state)
  return bucket_state(limit, level_of(limit, used, used_parts, units))
end

function bucket.give_back(limit, state, receipt, units)
  local used, used_parts = used_of(limit, state)
  -- A charge is worth what cannot have refilled since: giving back more would mint units.
  local worth, worth_parts = adopt(limit, receipt.ends, receipt.ends_parts, receipt.counted_in)
  worth, worth_parts = minus(limit, worth, worth_parts, now, 0)
  local length, rest = lasting(limit, units)
  if is_more(worth, worth_parts, length, rest) then
    worth, worth_parts = length, rest
  end
  if used == 0 and used_parts == 0 or worth == 0 and worth_parts == 0 then
    return state
  end
  return bucket_state(limit, minus(limit, used, used_parts, worth, worth_parts))
end

function bucket.refund(limit, state, units)
  local used, used_parts = used_of(limit, state)
  if used == 0 and used_parts == 0 then
    return state
  end
  return bucket_state(limit, minus(limit, used, used_parts, lasting(limit, units)))
end
