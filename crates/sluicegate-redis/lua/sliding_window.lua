-- Lua counterpart of algorithm/sliding_window.rs. States are { 4, length of a block, index of the
-- newest, its count, the count of the one before, ... }.
local sliding_window = {}
algorithms[4] = sliding_window

function sliding_window.read(args, at)
  local amount, slices, block, tick, deepest
  amount, slices, block, tick, deepest, at = read('<ddddd', args, at)
  return {
    amount = amount,
    slices = slices,
    block = block,
    tick = tick,
    ticks = block / tick,
    deepest = deepest,
  },
    at
end

local function empty_blocks(limit)
  local blocks = { 4, limit.block, 0 }
  for back = 0, limit.slices do
    blocks[4 + back] = 0
  end
  return blocks
end

-- Makes `index` the newest block, in place, dropping blocks beyond the end.
local function advance(blocks, index)
  local shift = index - blocks[3]
  if shift <= 0 then
    return
  end
  for place = #blocks, 4, -1 do
    blocks[place] = place - shift >= 4 and blocks[place - shift] or 0
  end
  blocks[3] = index
end

-- Moves each count to the new block that holds the latest time it can be from.
local function refile(limit, old)
  local new, any = empty_blocks(limit), false
  local oldest = max(floor(now / limit.block) - limit.slices, 0)
  local length, newest = old[2], old[3]
  -- Starts with the oldest, so that blocks only move forward.
  for back = #old - 4, 0, -1 do
    local count = old[4 + back]
    if count > 0 then
      local start = max(newest - back, 0) * length
      local index = floor(min(start + length - 1, max(now, start)) / limit.block)
      if index >= oldest then
        advance(new, index)
        new[4], any = new[4] + count, true
      end
    end
  end
  return any and new or nil
end

-- Returns the weight of the counts now, in units times ticks.
local function weight_of(limit, state)
  if not state or state[1] ~= 4 then
    return 0
  end
  local newest = state[3]
  -- Time does not go back for a block that has begun.
  local micros = max(now, newest * limit.block)
  local current = floor(micros / limit.block)
  local elapsed = floor((micros - current * limit.block) / limit.tick)
  local shift, inside = current - newest, 0
  for back = shift, limit.slices - 1 do
    inside = inside + (state[4 + back - shift] or 0)
  end
  local oldest = shift <= limit.slices and state[4 + limit.slices - shift] or 0
  return inside * limit.ticks + oldest * (limit.ticks - elapsed)
end

-- Whole units that fit under `ceiling` on top of this weight.
local function room(limit, weight, ceiling)
  return floor(max(ceiling * limit.ticks - weight, 0) / limit.ticks)
end

-- Removes leading blocks that were refunded, in place: the newest block always has a count, because
-- it records the latest time.
local function go_back(blocks)
  local empty = 0
  while blocks[4 + empty] == 0 do
    empty = empty + 1
  end
  if not blocks[4 + empty] then
    return nil
  end
  if empty > 0 then
    local length = #blocks
    for place = 4, length do
      blocks[place] = place + empty <= length and blocks[place + empty] or 0
    end
    blocks[3] = blocks[3] - empty
  end
  return blocks
end

function sliding_window.mend(limit, state)
  if not state then
    return nil
  end
  if state[1] ~= 4 or state[2] * state[3] > now + CLOCK_SLACK then
    return sliding_window.charge(limit, nil, limit.amount)
  end
  -- Blocks of a changed quota are converted once.
  if state[2] ~= limit.block or #state ~= limit.slices + 4 then
    return refile(limit, state)
  end
  return state
end

function sliding_window.judge(limit, state, take, already)
  local weight = weight_of(limit, state)
  local asked = take.least + already
  if asked > limit.amount or weight + asked * limit.ticks > limit.amount * limit.ticks then
    return nil
  end
  return min(take.most, room(limit, weight, limit.amount) - already)
end

function sliding_window.chargeable(limit, state, units)
  return min(room(limit, weight_of(limit, state), limit.deepest), units)
end

function sliding_window.charge(limit, state, units)
  local blocks
  if state and state[1] == 4 then
    blocks = { unpack(state) }
  else
    blocks = empty_blocks(limit)
  end
  advance(blocks, floor(now / limit.block))
  blocks[4] = blocks[4] + units
  return blocks
end

function sliding_window.give_back(limit, state, receipt, units)
  if not state or state[1] ~= 4 then
    return state
  end
  local back = state[3] - floor(receipt.at / state[2])
  local count = back >= 0 and state[4 + back] or 0
  local given = min(units, count)
  if given == 0 then
    return state
  end
  local blocks = { unpack(state) }
  blocks[4 + back] = count - given
  return go_back(blocks)
end

function sliding_window.refund(limit, state, units)
  local current = floor(max(now, state[3] * limit.block) / limit.block)
  local blocks, left = { unpack(state) }, units
  -- Starts with the newest block, as far as blocks are in the window.
  for back = 0, limit.slices - (current - state[3]) do
    local given = min(left, blocks[4 + back])
    blocks[4 + back], left = blocks[4 + back] - given, left - given
  end
  if left == units then
    return state
  end
  return go_back(blocks)
end

function sliding_window.fresh_at(limit, state)
  return (state[3] + #state - 3) * state[2]
end
