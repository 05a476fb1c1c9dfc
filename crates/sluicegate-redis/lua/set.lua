-- Lua counterpart of decide.rs: decides any set, with full bookkeeping.
local TAKE, CHARGE, SETTLE, RENEW, RESCALE, RESET, REFUND = 1, 2, 3, 4, 5, 6, 8

-- Reads a check, as src/script/encode.rs writes it.
local function read_check(args, at, cells)
  local cell, remembered, shape, kind, limit, ask
  cell, remembered, shape, kind, at = read('<BBBB', args, at)
  local algorithm = algorithms[kind]
  limit, at = algorithm.read(args, at)
  ask, at = read('<B', args, at)
  local check = {
    cell = cells[cell],
    remembered = cells[remembered],
    alternative = shape == 1,
    algorithm = algorithm,
    limit = limit,
    ask = ask,
    least = 0,
    most = 0,
    patience = -1,
    granted = nil,
  }
  if ask == TAKE then
    check.least, check.most, check.patience, at = read('<ddd', args, at)
  elseif ask == CHARGE or ask == REFUND then
    check.units, at = read('<d', args, at)
  elseif ask == SETTLE or ask == RENEW then
    check.id, check.units, check.at, at = read('<c16dd', args, at)
    check.ends, check.ends_parts, check.counted_in, at = read('<ddd', args, at)
    check.lapses, check.actual, at = read('<dd', args, at)
  elseif ask == RESCALE then
    check.from, at = bucket.read(args, at)
    check.remembered_for, at = read('<d', args, at)
  end
  return check, at
end

local function is_stale(check)
  local limit = check.limit
  return limit.starts and (now < limit.starts or now >= limit.ends)
end

local function is_remembered(cell)
  local state = cell.state
  return state and state[1] == DONE and state[2] > now
end

local function write(cell, state, check)
  if state ~= cell.state then
    cell.state, cell.check, cell.changed = state, check, true
  end
end

-- Carries units over for callers that changed their tier, before any check is judged.
local function rescale(checks)
  for _, check in ipairs(checks) do
    if check.ask == RESCALE then
      if not is_remembered(check.remembered) then
        local cell = check.cell
        local state = carry_over(check.limit, check.from, cell.state)
        if state ~= cell.state then
          write(cell, state, check)
          cell.freed = true
        end
      end
      write(check.remembered, { DONE, now + check.remembered_for }, check)
    end
  end
end

-- Saves a cell for a rollback.
local function keep(cell, undo)
  local kept = { cell = cell, state = cell.state, check = cell.check, changed = cell.changed }
  undo[#undo + 1] = kept
end

-- Returns how many units may be charged unconditionally on top of those the set has staged.
local function chargeable_beside(check, units)
  -- Staged attempts are not failures.
  local staged = check.algorithm.charges_failures and 0 or check.cell.staged
  local all = check.algorithm.chargeable(check.limit, check.cell.state, units + staged)
  return max(all - staged, 0)
end

local function charge(check, units)
  local cell = check.cell
  write(cell, check.algorithm.charge(check.limit, cell.state, units), check)
end

-- Charges the grant of a take.
local function charge_take(check, units)
  local cell, algorithm = check.cell, check.algorithm
  local charged = algorithm.charge_take or algorithm.charge
  write(cell, charged(check.limit, cell.state, units), check)
end

-- Corrects a charge. Returns whether there was one to correct.
local function settle(check, undo, freed)
  local cell, remembered = check.cell, check.remembered
  if remembered and (is_remembered(remembered) or now >= check.lapses) then
    return false
  end
  keep(cell, undo)
  local before, algorithm = cell.state, check.algorithm
  if algorithm.settle then
    local state, found = algorithm.settle(check.limit, before, check, cell.staged)
    if not found then
      return false
    end
    write(cell, state, check)
  elseif check.actual > check.units then
    local more = chargeable_beside(check, check.actual - check.units)
    if more > 0 then
      charge(check, more)
    end
  elseif check.actual < check.units and now < check.ends + (check.ends_parts > 0 and 1 or 0) then
    write(cell, algorithm.give_back(check.limit, before, check, check.units - check.actual), check)
  end
  if cell.state ~= before then
    freed[#freed + 1] = cell
  end
  if remembered then
    keep(remembered, undo)
    write(remembered, { DONE, check.lapses }, check)
  end
  return true
end

-- Runs one check. Returns the grant, or nil if it refuses.
local function ask(check, undo, freed)
  local cell, algorithm, limit = check.cell, check.algorithm, check.limit
  -- The repair is kept, whether or not the set is admitted.
  write(cell, algorithm.mend(limit, cell.state), check)
  for _, kept in ipairs(undo) do
    if kept.cell == cell then
      local mended = algorithm.mend(limit, kept.state)
      if mended ~= kept.state then
        kept.state, kept.check, kept.changed = mended, check, true
      end
    end
  end
  local kind = check.ask
  if kind == TAKE then
    return algorithm.judge(limit, cell.state, check, cell.staged)
  elseif kind == CHARGE then
    keep(cell, undo)
    local units = chargeable_beside(check, check.units)
    if units > 0 then
      charge(check, units)
      freed[#freed + 1] = cell
    end
  elseif kind == REFUND then
    -- Slots and failures are not units that can be refunded without a receipt.
    local before = cell.state
    if algorithm.refund and before and check.units > 0 then
      keep(cell, undo)
      write(cell, algorithm.refund(limit, before, check.units), check)
      if cell.state ~= before then
        freed[#freed + 1] = cell
      end
    end
  elseif kind == SETTLE then
    if not settle(check, undo, freed) then
      return nil
    end
  elseif kind == RENEW then
    if not algorithm.renew then
      return nil
    end
    keep(cell, undo)
    local state, found = algorithm.renew(limit, cell.state, check)
    if not found then
      return nil
    end
    write(cell, state, check)
  elseif kind == RESET then
    keep(cell, undo)
    write(cell, nil, check)
    freed[#freed + 1] = cell
  end
  return 0
end

-- Decides the terms from `first` to `last`, all or nothing.
local function decide(checks, first, last)
  for index = first, last do
    checks[index].cell.staged = 0
  end
  local undo, freed, admitted = {}, {}, true
  local met = true
  for index = first, last do
    local check = checks[index]
    if index == first or not check.alternative then
      admitted = admitted and met
      met = false
    end
    if not met then
      local granted = ask(check, undo, freed)
      met = granted ~= nil
      if granted and check.ask == TAKE and not check.algorithm.uses_nothing_up then
        check.granted = granted
        check.cell.staged = check.cell.staged + granted
      end
    end
  end
  if admitted and met then
    for index = first, last do
      local granted = checks[index].granted
      if granted and granted > 0 then
        charge_take(checks[index], granted)
        if checks[index].patience >= 0 then
          -- The charge may exceed the free units, so caches have to drop the counter.
          checks[index].cell.freed = true
        end
      end
    end
    for _, cell in ipairs(freed) do
      cell.freed = true
    end
    return true
  end
  for index = #undo, 1, -1 do
    local kept = undo[index]
    kept.cell.state, kept.cell.check, kept.cell.changed = kept.state, kept.check, kept.changed
  end
  return false
end

-- Decides each term independently.
local function decide_each(checks)
  local admitted, first = true, 1
  for index = 1, #checks do
    if index == #checks or not checks[index + 1].alternative then
      admitted = decide(checks, first, index) and admitted
      first = index + 1
    end
  end
  return admitted
end
