-- Lua counterpart of limit/rescale.rs: carries units over from the caller's previous quota.
local function carry_over(limit, from, state)
  if not state or state[1] ~= 1 and state[1] ~= 2 then
    return state
  end
  state = bucket.mend(from, state)
  local used, used_parts = used_of(from, state)
  -- Without the clock slack, which for a fast quota may be millions of units.
  if is_more(used, used_parts, from.deepest, from.deepest_parts) then
    used, used_parts = from.deepest, from.deepest_parts
  end
  local units = min(units_covering(from, used, used_parts), limit.capacity)
  return bucket_state(limit, lasting(limit, units))
end
