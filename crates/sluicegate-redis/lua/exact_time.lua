-- Lua counterpart of exact_time.rs: a number of whole microseconds and one of parts. Numbers
-- are doubles, so products above 2^53 need long division.
local EXACT, LONGEST = 9007199254740992, 4503599627370496

-- Returns the quotient and remainder of a * b / c, exactly. `c` is at most 2^52.
local function divide_product(a, b, c)
  local product = a * b
  if product < EXACT then
    local quotient = floor(product / c)
    return quotient, product - quotient * c
  end
  local quotient, left, rest = a * floor(b / c), 0, b % c
  -- Bit by bit of `a`, from the highest on.
  local more, bit = 0, LONGEST
  while bit >= 1 do
    more, left = more * 2, left * 2
    if left >= c then
      more, left = more + 1, left - c
    end
    if a >= bit then
      a, left = a - bit, left + rest
      if left >= c then
        more, left = more + 1, left - c
      end
    end
    bit = bit / 2
  end
  return quotient + more, left
end

-- Returns how long `units` last. Beyond the longest time the exact value does not matter.
local function lasting(limit, units)
  local micros = units * limit.unit_micros
  if micros > LONGEST then
    return LONGEST, 0
  end
  if limit.parts == 1 then
    return micros, 0
  end
  local more, parts = divide_product(units, limit.unit_rest, limit.parts)
  return micros + more, parts
end

local function add(limit, a, a_parts, b, b_parts)
  local parts = a_parts + b_parts
  if parts >= limit.parts then
    return a + b + 1, parts - limit.parts
  end
  return a + b, parts
end

-- Returns `a - b`, or zero if `b` is larger.
local function minus(limit, a, a_parts, b, b_parts)
  if a < b or a == b and a_parts <= b_parts then
    return 0, 0
  elseif a_parts >= b_parts then
    return a - b, a_parts - b_parts
  end
  return a - b - 1, a_parts + limit.parts - b_parts
end

local function is_more(a, a_parts, b, b_parts)
  return a > b or a == b and a_parts > b_parts
end

-- Rounds up to whole microseconds.
local function rounded_up(micros, parts)
  return parts > 0 and micros + 1 or micros
end

-- Returns how many whole units last at most this time. The first quotient may be a few units off.
local function units_in(limit, micros, parts)
  if limit.parts == 1 then
    return floor(micros / limit.unit_parts)
  end
  local units = floor((micros + parts / limit.parts) * limit.parts / limit.unit_parts)
  local length, rest = lasting(limit, units)
  while is_more(length, rest, micros, parts) do
    units = units - 1
    length, rest = lasting(limit, units)
  end
  length, rest = lasting(limit, units + 1)
  while not is_more(length, rest, micros, parts) do
    units = units + 1
    length, rest = lasting(limit, units + 1)
  end
  return units
end

-- Returns how many whole units last at least this time.
local function units_covering(limit, micros, parts)
  local units = units_in(limit, micros, parts)
  local length, rest = lasting(limit, units)
  return is_more(micros, parts, length, rest) and units + 1 or units
end

-- Converts a time to other parts, rounding up.
local function adopt(limit, micros, parts, counted_in)
  if counted_in == limit.parts or parts == 0 then
    return micros, parts
  end
  local adopted, left = divide_product(parts, limit.parts, counted_in)
  if left > 0 then
    adopted = adopted + 1
  end
  if adopted >= limit.parts then
    return micros + 1, 0
  end
  return micros, adopted
end

-- Whether two times in different parts are equal.
local function is_same(a, a_parts, counted_in, b, b_parts, other_counted_in)
  if a ~= b then
    return false
  end
  local parts, left = divide_product(a_parts, other_counted_in, counted_in)
  return parts == b_parts and left == 0
end
