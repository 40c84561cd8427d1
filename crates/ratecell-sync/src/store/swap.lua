local v = redis.call('GET', KEYS[1])
if (v or '') ~= ARGV[1] then return v end
if ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[2]) else SET(KEYS[1], ARGV[2], ARGV[3]) end
return {1}
