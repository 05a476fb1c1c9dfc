-- Registers a node as alive. Returns the time, the number of nodes, and whether it was known.
--
-- KEYS[1]  the nodes, by the time of their last heartbeat
-- ARGV[1]  the node
-- ARGV[2]  how many milliseconds a node counts as alive after a heartbeat
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ttl = tonumber(ARGV[2])
local known = redis.call('ZSCORE', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[1], now, ARGV[1])
-- Also removes times in the future, which are left over when the clock is set back.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%.0f', now - ttl))
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now + ttl), '+inf')
redis.call('PEXPIRE', KEYS[1], ttl)
local nodes = redis.call('ZCARD', KEYS[1])
return { tonumber(time[1]) * 1000000 + tonumber(time[2]), nodes, known and 1 or 0 }
