-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Notes which resources are in use, and retires those that were not for long (A10).
-- KEYS: authority, rows, resources, uses.
-- ARGV: 1 how long a period is, in ms (0: none ends by this call); 2 in how many whole periods a
--       resource may be unused; 3- names.
-- Reply: lib/arbiter.lua; it adds { number of the period }.

-- include: lib/arbiter.lua

local length = tonumber(ARGV[1])
local counted = call('HMGET', KEYS[1], 'use_period', 'use_since')
local period = tonumber(counted[1] or 0)
local since = tonumber(counted[2] or 0)
if length > 0 then
    if period == 0 or now - since >= length then
        period = period + 1
        since = now
    end
    call('HSET', KEYS[1], 'use_period', period, 'use_since', math.min(since, now))
end
if period == 0 then return answer(1, { 0 }) end

local last = {}
local all = call('HGETALL', KEYS[4])
for i = 1, #all, 2 do last[all[i]] = all[i + 1] end
local used = {}
for i = 3, #ARGV do used[ARGV[i]] = true end
local has_changed = false
for _, name in ipairs(call('HKEYS', KEYS[3])) do
    local was = last[name]
    local is = was
    if used[name] or not was then
        is = tostring(period)
    elseif length > 0 and was ~= 'retired' and was + ARGV[2] < period then
        is = 'retired'
    end
    if is ~= was then
        call('HSET', KEYS[4], name, is)
        has_changed = has_changed or is == 'retired' or was == 'retired'
    end
    last[name] = nil
end
-- Of resources that are registered no more.
for name in pairs(last) do call('HDEL', KEYS[4], name) end
if has_changed then call('HINCRBY', KEYS[1], 'registry', 1) end
return answer(1, { period })
