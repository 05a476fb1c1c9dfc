-- Lua counterpart of algorithm/queue.rs: a bucket with one place more than may wait.
local queue = {}
algorithms[2] = queue
queue.read, queue.mend, queue.chargeable = bucket.read, bucket.mend, bucket.chargeable
queue.charge, queue.refund = bucket.charge, bucket.refund

function queue.judge(limit, state, take, already)
  local used, used_parts = used_of(limit, state)
  local asked = take.least + already
  -- The staged units of its own set come before it, now and on every retry.
  local at_best = rounded_up(lasting(limit, already))
  if asked > limit.capacity or take.patience >= 0 and at_best > take.patience then
    return nil
  end
  local delay = rounded_up(level_of(limit, used, used_parts, already))
  if take.patience >= 0 and delay > take.patience then
    return nil
  end
  local level, level_parts = level_of(limit, used, used_parts, asked)
  if is_more(level, level_parts, limit.full, limit.full_parts) then
    return nil
  end
  return grant(limit, used, used_parts, take, already)
end

-- Only the last place in the queue can be released.
function queue.give_back(limit, state, receipt, units)
  local last = false
  if state and state[1] == 1 then
    last = is_same(state[2], 0, 1, receipt.ends, receipt.ends_parts, receipt.counted_in)
  elseif state and state[1] == 2 then
    last =
      is_same(state[2], state[3], state[4], receipt.ends, receipt.ends_parts, receipt.counted_in)
  end
  if last then
    return bucket.give_back(limit, state, receipt, units)
  end
  return state
end
