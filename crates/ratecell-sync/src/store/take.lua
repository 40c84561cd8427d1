local a, k, H = ARGV[1], KEYS[1], 4294967296
local n = (#a - 25) / 25
local v = redis.call('GET', k)
if v and (#v ~= 8 * n + 1 or string.byte(v) ~= string.byte(a)) then return v end
local mh, ml, lh, ll, sh, sl = struct.unpack('>I4I4I4I4I4I4', a, 2)
local least, room, his, los, units = lh * H + ll, H * H, {}, {}, {}
for i = 1, n do
  local fh, fl, ch, cl, uh, ul, raises = struct.unpack('>I4I4I4I4I4I4B', a, 25 * i + 1)
  local h, l = 0, 0
  if v then h, l = struct.unpack('>I4I4', v, 8 * i - 6) end
  if h < fh or h == fh and l < fl then
    if raises == 0 then return v end
    h, l = fh, fl
  end
  local u = uh * H + ul
  room = math.min(room, math.floor(((ch - h) * H + (cl - l)) / u))
  his[i], los[i], units[i] = h, l, u
end
if room < least then return v end
local taken = math.max(1, math.min(mh * H + ml, math.max(least, math.floor(room / (sh * H + sl)))))
local words = {a:sub(1, 1)}
for i = 1, n do
  local added = taken * units[i]
  local h, l = his[i] + math.floor(added / H), los[i] + added % H
  if l >= H then h, l = h + 1, l - H end
  words[i + 1] = struct.pack('>I4I4', h, l)
end
v = table.concat(words)
SET(k, v, ARGV[2])
return {taken, v}
