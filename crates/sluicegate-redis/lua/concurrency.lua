-- Lua counterpart of algorithm/concurrency.rs. States are { 6, end of a lease, units, id, ... },
-- ordered by the end of the lease.
local concurrency = {}
algorithms[6] = concurrency

function concurrency.read(args, at)
  local slots, lease, id
  slots, lease, id, at = read('<ddc16', args, at)
  return { slots = slots, lease = lease, id = id }, at
end

-- Returns the units of live leases.
local function held_in(state)
  local units = 0
  if state and state[1] == 6 then
    for place = 2, #state, 3 do
      if state[place] > now then
        units = units + state[place + 1]
      end
    end
  end
  return units
end

-- Returns the position of a holder with a live lease.
local function holder_of(state, receipt)
  if state and state[1] == 6 then
    for place = 2, #state, 3 do
      if state[place + 2] == receipt.id and state[place] > now then
        return place
      end
    end
  end
end

-- Returns the live leases without the one at `gone`, and with one more if it has units.
local function with_holder(state, gone, expires, units, id)
  local holders, count = { 6 }, 1
  local function file(lease, held, holder)
    holders[count + 1], holders[count + 2], holders[count + 3] = lease, held, holder
    count = count + 3
  end
  local filed = units == 0
  for place = 2, state and state[1] == 6 and #state or 0, 3 do
    if state[place] > now and place ~= gone then
      if not filed and state[place] > expires then
        file(expires, units, id)
        filed = true
      end
      file(state[place], state[place + 1], state[place + 2])
    end
  end
  if not filed then
    file(expires, units, id)
  end
  return count > 1 and holders or nil
end

function concurrency.mend(limit, state)
  if not state then
    return nil
  end
  local longest = now + limit.lease
  if state[1] ~= 6 then
    return with_holder(nil, nil, longest, limit.slots, limit.id)
  end
  if #state == 1 or state[#state - 2] <= longest + CLOCK_SLACK then
    return state
  end
  local holders = { 6 }
  for place = 2, #state, 3 do
    holders[place] = min(state[place], longest)
    holders[place + 1], holders[place + 2] = state[place + 1], state[place + 2]
  end
  return holders
end

function concurrency.judge(limit, state, take, already)
  local used = held_in(state)
  local asked = take.least + already
  if asked > limit.slots or used + asked > limit.slots then
    return nil
  end
  return min(take.most, limit.slots - used - already)
end

-- Holders never have more than twice the slots, even after settlements.
function concurrency.chargeable(limit, state, units)
  return min(max(limit.slots * 2 - held_in(state), 0), units)
end

function concurrency.charge(limit, state, units)
  return with_holder(state, nil, now + limit.lease, units, limit.id)
end

-- Changes a live hold to `actual` slots; none releases it. Also returns whether it was live.
function concurrency.settle(limit, state, receipt, staged)
  local place = holder_of(state, receipt)
  if not place then
    return state, false
  end
  local room = max(limit.slots * 2 - held_in(state) - staged, 0)
  local units = min(receipt.actual, state[place + 1] + room)
  return with_holder(state, place, state[place], units, receipt.id), true
end

-- Extends the lease of a live hold.
function concurrency.renew(limit, state, receipt)
  local place = holder_of(state, receipt)
  if not place then
    return state, false
  end
  return with_holder(state, place, now + limit.lease, state[place + 1], receipt.id), true
end

function concurrency.fresh_at(limit, state)
  return #state > 1 and state[#state - 2] or 0
end
