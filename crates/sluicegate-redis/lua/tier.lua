-- The twin of limit/tier.rs: carries units over from the quota that a caller had.
local function carry_over(limit, from, state)
  if not state or state[1] ~= 1 and state[1] ~= 2 then
    return state
  end
  state = bucket.mend(from, state)
  local used, used_parts = used_of(from, state)
  -- Not what only the clock's slack adds, which of a quick quota may be millions.
  if is_more(used, used_parts, from.deepest, from.deepest_parts) then
    used, used_parts = from.deepest, from.deepest_parts
  end
  local units = min(units_covering(from, used, used_parts), limit.capacity)
  return bucket_state(limit, lasting(limit, units))
end
