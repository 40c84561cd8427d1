local v = redis.call('GET', KEYS[1])
if (v or '') ~= ARGV[1] then return v end
SET(KEYS[1], ARGV[2], ARGV[3])
return {1}
