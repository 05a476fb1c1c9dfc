-- Lua counterpart of algorithm/cooldown.rs. States are { 7, blocked until, streak, timestamps of
-- failures ... }.
local cooldown = { uses_nothing_up = true }
algorithms[7] = cooldown

function cooldown.read(args, at)
  local after, within, block, factor, longest
  after, within, block, factor, longest, at = read('<ddddd', args, at)
  return { after = after, within = within, block = block, factor = factor, longest = longest }, at
end

-- Returns the length of the `streak`-th consecutive block.
local function length_of(limit, streak)
  local length = limit.block
  if limit.factor == 0 then
    return length
  end
  local times = 2
  while times <= streak and length < limit.longest do
    length, times = length * limit.factor, times + 1
  end
  return min(length, limit.longest)
end

-- Returns when a streak of blocks ends: as long after the last one as that lasted.
local function forget_at(limit, blocked_until, streak)
  return blocked_until + max(limit.within, length_of(limit, streak))
end

local function failed_in(limit, state)
  if not state or state[1] ~= 7 then
    return 0
  end
  return units_from(state, live_from(state, 4, limit.within))
end

local function is_blocked(state)
  return state and state[1] == 7 and state[2] > now
end

-- Returns a state of attempts.lua without its attempts.
local function without_attempts(state)
  local plain = { 7, state[2], state[3] }
  for place = 5 + 2 * state[4], #state do
    plain[#plain + 1] = state[place]
  end
  return plain
end

function cooldown.mend(limit, state)
  if not state then
    return nil
  end
  if state[1] == 9 then
    state = without_attempts(state)
  elseif state[1] ~= 7 then
    return { 7, now + limit.block, 0 }
  end
  local longest = max(limit.longest, limit.block)
  local newest = #state > 3 and state[#state - 1] or 0
  if state[2] > now + longest + CLOCK_SLACK or newest > now + CLOCK_SLACK then
    return { 7, now + limit.block, state[3] }
  end
  return state
end

function cooldown.judge(limit, state, take)
  if is_blocked(state) then
    return nil
  end
  return take.most
end

function cooldown.chargeable(limit, state, units)
  if is_blocked(state) then
    return 0
  end
  -- If the limit was lowered below the live failures, the next one blocks.
  return min(max(limit.after - failed_in(limit, state), 1), units)
end

function cooldown.charge(limit, state, units)
  local blocked_until, streak = 0, 0
  if state and state[1] == 7 then
    blocked_until, streak = state[2], state[3]
  else
    state = nil
  end
  if now >= forget_at(limit, blocked_until, streak) then
    streak = 0
  end
  local cooling = file_timestamps(state, 4, limit.within, units, { 7, blocked_until, streak })
  if units_from(cooling, 4) >= limit.after then
    streak = min(streak + 1, 4294967295)
    return { 7, now + length_of(limit, streak), streak }
  end
  return cooling
end

-- Failures are not refunded.
function cooldown.give_back(limit, state)
  return state
end

function cooldown.fresh_at(limit, state)
  local row = state[2]
  if limit.factor > 0 and state[3] > 0 then
    row = forget_at(limit, state[2], state[3])
  end
  return max(row, #state > 3 and state[#state - 1] + limit.within or 0)
end
