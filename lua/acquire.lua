-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- LOCK: grants, re-enters, adopts or refuses.
-- KEYS: marker, lock, bar of the request id.
-- ARGV: 1-3 as in lib/guard.lua; 4-7 as in lib/acquire.lua.
-- Replies (value: the record as JSON, see lib/value.lua):
--   { status, now_ms, value, left_ms, fence }    which are there: lib/acquire.lua
--   { 'STALE', ... } { 'CLOCK', now_ms }         lib/guard.lua

-- include: lib/guard.lua
-- include: lib/grant.lua

local value, bar = try('GET', lock), call('GET', KEYS[3])
if not value and not bar and (ARGV[7] == '' or ARGV[7] == 'k') then
    return { 'granted', now_text, grant(4) }
end

-- Busy, seen without taking the record apart: it is ours, and neither this request's nor this
-- owner's. A name with anything escaped may be spelled otherwise there: then it is taken apart.
if type(value) == 'string' and not bar and string.sub(value, -#TAIL) == TAIL then
    local owner, request = string.match(ARGV[5],
        '("owner":"[^"\\]*"),"holds":%[{"token":"[^"\\]*",("request":"[^"\\]*")')
    if owner and not string.find(value, request, 1, true)
        and (owner == '"owner":""' or not string.find(value, owner, 1, true)) then
        local fence, since, lease, delay = string.match(value,
            '^{"token":"[^"\\]*","fence":(%d+),"since_ms":(%d+),"lease_ms":(%d+),"delay_ms":(%d+),')
        local left = fence and since + lease + delay - now_text or 0
        if left > 0 then return { 'held', now_text, '', left, fence } end
    end
end

-- include: lib/value.lua
-- include: lib/record.lua
-- include: lib/acquire.lua

local record, foreign = understand(value)
local status, now_value, left, fence = acquire(record, foreign, bar, 4)
return { status, now_text, now_value, left, fence }
