-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- UNLOCK (T7), and in the same step an attempt of the next waiter (hand-over).
-- KEYS: marker, lock, queue[, bar of the waiter's request id].
-- ARGV: 1-3 as in lib/guard.lua; 4 {"token":"...",  5 ,"node":"...","client":  of the sender: as
--       they stand in the value of a lock that has this token first, and this node;
--       [6-9 the waiter's LOCK as in lib/acquire.lua; 10 'y': it yields to the queue, else ''].
-- Replies:
--   released now_ms value, handed now_ms fence value    one string: released, and granted to the
--                                                       waiter. The new value is what ARGV says.
--   { status, now_ms, value, '', fence[, status, value, left_ms, fence] }
--     released         value: the record that ended
--     hold_removed     value: the record as it is now
--     not_held | held_by_other (with fence) | foreign_value
--     the second four  what came of the waiter's LOCK, as in lib/acquire.lua
--   { 'STALE', ... } { 'CLOCK', now_ms }    lib/guard.lua

-- include: lib/guard.lua
-- include: lib/grant.lua

local read = ARGV[6] and call('MGET', lock, KEYS[3], KEYS[4]) or call('MGET', lock, KEYS[3])
local value, queue, bar = read[1], read[2], read[3]
-- A hand-over comes before the queue, and takes its node out of it.
local is_undivided = not queue
if queue and ARGV[6] and ARGV[10] == '' then
    local node = string.match(ARGV[7], ',"node":"([^"\\]*)","client":')
    is_undivided = node and not string.find(queue, ' ' .. node .. ' ', 14, true)
end

-- The common case, seen without taking the record apart: ours, live, of one hold with this token,
-- and nobody to be told; then a free lock for the waiter. A waiter's grant doesn't overwrite the
-- record: only a deletion works when memory is full, and what follows a write is not refused.
if value and is_undivided and string.sub(value, 1, #ARGV[4]) == ARGV[4]
    and string.sub(value, -#TAIL) == TAIL and not string.find(value, '},{', 1, true)
    and string.find(value, ARGV[5], 1, true) and not bar
    and not (ARGV[9] and string.find(ARGV[9], 'j', 1, true)) then
    local since, lease, delay = string.match(value,
        '^"fence":%d+,"since_ms":(%d+),"lease_ms":(%d+),"delay_ms":(%d+),', #ARGV[4] + 1)
    if since and since + lease + delay - now_text > 0 then
        call('DEL', lock)
        if not ARGV[6] then return 'released ' .. now_text .. ' ' .. value end
        return 'handed ' .. now_text .. ' ' .. grant(6) .. ' ' .. value
    end
end

-- include: lib/value.lua
-- include: lib/record.lua
-- include: lib/queue.lua
-- include: lib/acquire.lua

local record, foreign = understand(value or try('GET', lock))
local sender = cjson.decode('{"x":0' .. ARGV[5] .. '0}').node
local reply
local is_first = false  -- the waiter's LOCK comes before the queue
if foreign then
    reply = { 'foreign_value', now_text, '', '', '' }
else
    local index = record and find_token(record, cjson.decode(ARGV[4] .. '"x":0}').token)
    if index then
        local is_free, now_value = take_out(record, value, index, sender)
        reply = { is_free and 'released' or 'hold_removed', now_text, now_value, '', '' }
        if is_free then
            record = nil
            is_first = ARGV[6] and ARGV[10] == ''
            if not is_first then offer(sender) end
        end
    elseif record and record.passed_ms < record.lease_ms then
        reply = { 'held_by_other', now_text, '', '', record.fence }
    else
        reply = { 'not_held', now_text, '', '', '' }
    end
end
if ARGV[6] then
    reply[6], reply[7], reply[8], reply[9] = acquire(record, foreign, bar, 6, is_first)
    if is_first and reply[6] ~= 'granted' then offer(sender) end
end
return reply
