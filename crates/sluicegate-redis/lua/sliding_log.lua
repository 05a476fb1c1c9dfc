-- Lua counterpart of algorithm/sliding_log.rs. States are { 5, timestamps ... }.
local sliding_log = {}
algorithms[5] = sliding_log

function sliding_log.read(args, at)
  local amount, window, deepest
  amount, window, deepest, at = read('<ddd', args, at)
  return { amount = amount, window = window, deepest = deepest }, at
end

local function used_in(limit, state)
  if not state or state[1] ~= 5 then
    return 0
  end
  return units_from(state, live_from(state, 2, limit.window))
end

function sliding_log.mend(limit, state)
  if not state then
    return nil
  end
  if state[1] ~= 5 or #state > 1 and state[#state - 1] > now + CLOCK_SLACK then
    return { 5, now, limit.amount }
  end
  return state
end

function sliding_log.judge(limit, state, take, already)
  local used = used_in(limit, state)
  local asked = take.least + already
  if asked > limit.amount or used + asked > limit.amount then
    return nil
  end
  return min(take.most, limit.amount - used - already)
end

function sliding_log.chargeable(limit, state, units)
  return min(max(limit.deepest - used_in(limit, state), 0), units)
end

function sliding_log.charge(limit, state, units)
  return file_timestamps(state and state[1] == 5 and state, 2, limit.window, units, { 5 })
end

function sliding_log.give_back(limit, state, receipt, units)
  if not state or state[1] ~= 5 or receipt.at + limit.window <= now then
    return state
  end
  local log, struck = { 5 }, false
  for place = 2, #state, 2 do
    local at, left = state[place], state[place + 1]
    if at == receipt.at then
      left, struck = left - min(units, left), true
    end
    if left > 0 then
      log[#log + 1] = at
      log[#log + 1] = left
    end
  end
  if not struck then
    return state
  end
  return #log > 1 and log or nil
end

-- Removes units from the newest live timestamp on.
function sliding_log.refund(limit, state, units)
  local live, last = live_from(state, 2, limit.window), #state
  if live > last then
    return state
  end
  while last > live and state[last] <= units do
    units, last = units - state[last], last - 2
  end
  local log = {}
  for place = 1, last do
    log[place] = state[place]
  end
  if last > live then
    log[last] = log[last] - units
  end
  return last > 1 and log or nil
end

function sliding_log.fresh_at(limit, state)
  return #state > 1 and state[#state - 1] + limit.window or 0
end
