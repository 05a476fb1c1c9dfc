-- Lua counterparts of algorithm/cooldown.rs for cooldowns that use reported successes.
--
-- 9: takes are attempts, which count as failures until they are reported or expire. States are
-- those of cooldown.lua; while there are attempts { 9, blocked until, streak, number of attempt
-- timestamps, those, timestamps of failures ... }.
local attempts = { charges_failures = true }
algorithms[9] = attempts

-- 10: as in cooldown.lua, but a success clears the failures.
local forgiving = {}
algorithms[10] = forgiving
for name, part in pairs(cooldown) do
  forgiving[name] = part
end

function attempts.read(args, at)
  local limit
  limit, at = cooldown.read(args, at)
  limit.pending, limit.forgives, at = read('<dd', args, at)
  return limit, at
end

local function is_cooling(state)
  return state and (state[1] == 7 or state[1] == 9)
end

-- Returns the positions of the first attempt and of the first failure.
local function places_of(state)
  if state[1] == 9 then
    return 5, 5 + 2 * state[4]
  end
  return 4, 4
end

local function copy_timestamps(state, first, last, into)
  for place = first, last do
    into[#into + 1] = state[place]
  end
  return into
end

-- Returns a state with these attempts and failures; nil if there is nothing to store.
local function cooling(blocked_until, streak, tried, failed)
  if #tried == 0 and #failed == 0 and blocked_until == 0 and streak == 0 then
    return nil
  end
  local state = { 7, blocked_until, streak }
  if #tried > 0 then
    state = copy_timestamps(tried, 1, #tried, { 9, blocked_until, streak, #tried / 2 })
  end
  return copy_timestamps(failed, 1, #failed, state)
end

-- Splits a state: blocked until, streak, timestamps of live attempts, timestamps of failures.
local function parts_of(limit, state)
  if not is_cooling(state) then
    return 0, 0, {}, {}
  end
  local first, failed = places_of(state)
  while first < failed and state[first] + limit.pending <= now do
    first = first + 2
  end
  return state[2], state[3], copy_timestamps(state, first, failed - 1, {}),
    copy_timestamps(state, failed, #state, {})
end

-- Takes units off the oldest of these timestamps.
local function strike_oldest(timestamps, units)
  local first = 1
  while timestamps[first] and timestamps[first + 1] <= units do
    units, first = units - timestamps[first + 1], first + 2
  end
  local left = copy_timestamps(timestamps, first, #timestamps, {})
  if left[2] then
    left[2] = left[2] - units
  end
  return left
end

function attempts.mend(limit, state)
  if state and state[1] == 9 then
    local _, failed = places_of(state)
    local longest = max(limit.longest, limit.block)
    local newest = max(state[failed - 2], #state >= failed and state[#state - 1] or 0)
    if state[2] > now + longest + CLOCK_SLACK or newest > now + CLOCK_SLACK then
      return { 7, now + limit.block, state[3] }
    end
    return state
  end
  return cooldown.mend(limit, state)
end

local function failed_among(limit, failed)
  return units_from(failed, live_from(failed, 1, limit.within))
end

function attempts.judge(limit, state, take, already)
  local blocked_until, _, tried, failed = parts_of(limit, state)
  local used = units_from(tried, 1) + failed_among(limit, failed)
  if blocked_until > now or used + take.least + already > limit.after then
    return nil
  end
  return min(take.most, limit.after - used - already)
end

function attempts.chargeable(limit, state, units)
  local blocked_until, _, _, failed = parts_of(limit, state)
  if blocked_until > now then
    return 0
  end
  return min(max(limit.after - failed_among(limit, failed), 1), units)
end

-- Records the units that a take was granted as attempts.
function attempts.charge_take(limit, state, units)
  local blocked_until, streak, tried, failed = parts_of(limit, state)
  return cooling(blocked_until, streak, file_timestamps(tried, 1, limit.pending, units, {}), failed)
end

function attempts.charge(limit, state, units)
  local blocked_until, streak, tried, failed = parts_of(limit, state)
  if now >= forget_at(limit, blocked_until, streak) then
    streak = 0
  end
  tried = strike_oldest(tried, units)
  failed = file_timestamps(failed, 1, limit.within, units, {})
  if units_from(failed, 1) >= limit.after then
    streak = min(streak + 1, 4294967295)
    blocked_until, failed = now + length_of(limit, streak), {}
  end
  return cooling(blocked_until, streak, tried, failed)
end

-- Removes an attempt that was not made after all.
function attempts.give_back(limit, state, receipt, units)
  if not state or state[1] ~= 9 or receipt.at + limit.pending <= now then
    return state
  end
  local first, failed = places_of(state)
  for place = first, failed - 1, 2 do
    if state[place] == receipt.at then
      local tried = copy_timestamps(state, first, failed - 1, {})
      local at = place - first + 1
      tried[at + 1] = tried[at + 1] - min(units, tried[at + 1])
      if tried[at + 1] == 0 then
        table.remove(tried, at)
        table.remove(tried, at)
      end
      return cooling(state[2], state[3], tried, copy_timestamps(state, failed, #state, {}))
    end
  end
  return state
end

-- A reported success.
function attempts.refund(limit, state, units)
  if not is_cooling(state) then
    return state
  end
  local blocked_until, streak, tried, failed = parts_of(limit, state)
  if limit.forgives == 1 then
    failed = {}
  end
  return cooling(blocked_until, streak, strike_oldest(tried, units), failed)
end

function forgiving.refund(limit, state)
  if not is_cooling(state) then
    return state
  end
  return cooling(state[2], state[3], {}, {})
end

-- An attempt counts as one at any cost; a receipt for nothing charges failures.
function attempts.settle(limit, state, receipt)
  if receipt.units == 0 then
    local units = attempts.chargeable(limit, state, receipt.actual)
    return units > 0 and attempts.charge(limit, state, units) or state, true
  end
  local ends = receipt.ends + (receipt.ends_parts > 0 and 1 or 0)
  if receipt.actual < receipt.units and now < ends then
    state = attempts.give_back(limit, state, receipt, receipt.units - receipt.actual)
  end
  return state, true
end

function attempts.fresh_at(limit, state)
  local first, failed = places_of(state)
  local row = state[2]
  if limit.factor > 0 and state[3] > 0 then
    row = forget_at(limit, state[2], state[3])
  end
  local tried = failed > first and state[failed - 2] + limit.pending or 0
  return max(row, tried, #state >= failed and state[#state - 1] + limit.within or 0)
end
