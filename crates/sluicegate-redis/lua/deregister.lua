-- Removes a node that stops from the list of nodes, and notifies the others.
--
-- KEYS[1]  the nodes, by the time of their last heartbeat
-- ARGV[1]  the node
-- ARGV[2]  the channel that nodes listen to
-- ARGV[3]  the message
local known = redis.call('ZSCORE', KEYS[1], ARGV[1])
if known then
  -- Removed by its score, with the commands of heartbeats, so that no further permission is needed.
  redis.call('ZADD', KEYS[1], 0, ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', 0)
  redis.call('PUBLISH', ARGV[2], ARGV[3])
end
return known and 1 or 0
