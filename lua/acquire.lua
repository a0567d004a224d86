-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- LOCK: grants, re-enters, adopts or refuses.
-- KEYS: marker, lock, queue, bar of the request id.
-- ARGV: 1-3 as in lib/guard.lua; 4-7 as in lib/acquire.lua.
-- Replies (value: the record as JSON, see lib/value.lua):
--   granted now_ms fence          one string: tables are dear. The value is what ARGV says.
--   held now_ms left_ms fence
--   { status, now_ms, value, left_ms, fence }    which are there: lib/acquire.lua
--   { 'STALE', ... } { 'CLOCK', now_ms }         lib/guard.lua

-- include: lib/guard.lua
-- include: lib/grant.lua

-- A value of another kind than a string looks like none here, and grant() finds it.
local read = call('MGET', lock, KEYS[3], KEYS[4])
local value, queue, bar = read[1], read[2], read[3]
if not value and not bar and not queue and not string.find(ARGV[7], 'j', 1, true) then
    local fence = grant(4, true)
    if fence then return 'granted ' .. now_text .. ' ' .. fence end
end

-- Busy, seen without taking the record apart: it is ours, and neither this request's nor this
-- owner's. A name with anything escaped may be spelled otherwise there, and a hold whose request id
-- went over to another may have this attempt (T3, T4): then it is taken apart.
if value and not bar and string.sub(value, -#TAIL) == TAIL
    and not string.find(value, '"request":""', 1, true) then
    local owner, request = string.match(ARGV[5],
        '("owner":"[^"\\]*"),"holds":%[{"token":"[^"\\]*",("request":"[^"\\]*")')
    local is_placed = not string.find(ARGV[7], 'w', 1, true)
    if not is_placed and queue then
        local node = string.match(ARGV[5], ',"node":"([^"\\]*)","client":')
        -- The first may be late for what was reserved for it.
        local place = node and string.find(queue, ' ' .. node .. ' ', 14, true)
        is_placed = place and place > 14
    end
    if is_placed and owner and not string.find(value, request, 1, true)
        and (owner == '"owner":""' or not string.find(value, owner, 1, true)) then
        local fence, since, lease, delay = string.match(value,
            '^{"token":"[^"\\]*","fence":(%d+),"since_ms":(%d+),"lease_ms":(%d+),"delay_ms":(%d+),')
        local left = fence and since + lease + delay - now_text or 0
        if left > 0 then return 'held ' .. now_text .. ' ' .. left .. ' ' .. fence end
    end
end

-- include: lib/value.lua
-- include: lib/record.lua
-- include: lib/queue.lua
-- include: lib/acquire.lua

local record, foreign = understand(value or try('GET', lock))
local status, now_value, left, fence = acquire(record, foreign, bar, 4)
return { status, now_text, now_value, left, fence }
