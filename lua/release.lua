-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- UNLOCK (T7), and in the same step an attempt of the next waiter (hand-over).
-- KEYS: marker, lock[, bar of the waiter's request id].
-- ARGV: 1-5 as in lib/guard.lua; 6 token, 7 node of the sender[, 8-20 the waiter's LOCK as in
--       lib/acquire.lua].
-- Replies:
--   { status, now_ms, value, '', fence[, status, value, left_ms, fence] }
--     released         value: the record that ended
--     hold_removed     value: the record as it is now
--     not_held | held_by_other (with fence) | foreign_value
--     the second four  what came of the waiter's LOCK, as in lib/acquire.lua
--   { 'STALE', ... } { 'CLOCK', now_ms }    lib/guard.lua

-- include: lib/guard.lua
-- include: lib/record.lua
-- include: lib/acquire.lua

local record, foreign, value = load()
local bar = ARGV[8] and call('GET', KEYS[3])
local reply
if foreign then
    reply = { 'foreign_value', now, '', '', '' }
else
    local index = record and find_token(record, ARGV[6])
    if index then
        -- A waiter's grant doesn't overwrite the record: only a deletion works when memory is
        -- full, and what follows a write is not refused any more.
        local is_free, now_value = take_out(record, value, index, ARGV[7])
        reply = { is_free and 'released' or 'hold_removed', now, now_value, '', '' }
        if is_free then record = nil end
    elseif record and now < record.lease_end_ms then
        reply = { 'held_by_other', now, '', '', record.fence }
    else
        reply = { 'not_held', now, '', '', '' }
    end
end
if ARGV[8] then
    reply[6], reply[7], reply[8], reply[9] = acquire(record, foreign, bar, 8)
end
return reply
