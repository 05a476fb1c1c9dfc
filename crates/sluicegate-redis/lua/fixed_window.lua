-- Lua counterpart of algorithm/fixed_window.rs. States are { 3, start, end, count }.
local fixed_window = {}
algorithms[3] = fixed_window

function fixed_window.read(args, at)
  local amount, deepest, starts, ends
  amount, deepest, starts, ends, at = read('<dddd', args, at)
  return { amount = amount, deepest = deepest, starts = starts, ends = ends }, at
end

-- Returns the current window, or one that starts in the future, because time does not go back.
local function window_of(limit, state)
  if state and state[1] == 3 and state[3] > now then
    return state[2], state[3], state[4]
  end
  return limit.starts, limit.ends, 0
end

function fixed_window.mend(limit, state)
  if not state then
    return nil
  end
  local count = limit.amount
  if state[1] == 3 then
    local starts, ends = state[2], state[3]
    if starts <= now + CLOCK_SLACK then
      local other = starts ~= limit.starts or ends ~= limit.ends
      if not (starts <= now and now < ends and other) then
        return state
      end
      -- A period that was changed under load keeps the count.
      count = state[4]
    end
  end
  return { 3, limit.starts, limit.ends, count }
end

function fixed_window.judge(limit, state, take, already)
  local _, _, count = window_of(limit, state)
  local asked = take.least + already
  if asked > limit.amount or count + asked > limit.amount then
    return nil
  end
  return min(take.most, limit.amount - count - already)
end

function fixed_window.chargeable(limit, state, units)
  local _, _, count = window_of(limit, state)
  return min(max(limit.deepest - count, 0), units)
end

function fixed_window.charge(limit, state, units)
  local starts, ends, count = window_of(limit, state)
  return { 3, starts, ends, count + units }
end

-- Refunds only into the window that was charged, while it lasts.
function fixed_window.give_back(limit, state, receipt, units)
  if not state or state[1] ~= 3 then
    return state
  end
  if receipt.at < state[2] or receipt.at >= state[3] then
    return state
  end
  return fixed_window.refund(limit, state, units)
end

function fixed_window.refund(limit, state, units)
  local starts, ends, count = state[2], state[3], state[4]
  if ends <= now then
    return state
  end
  count = count - min(units, count)
  return count > 0 and { 3, starts, ends, count } or nil
end

function fixed_window.fresh_at(limit, state)
  return state[3]
end
