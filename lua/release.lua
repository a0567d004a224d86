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
-- include: lib/plain_release.lua

local read = ARGV[6] and call('MGET', lock, queue_key, KEYS[4]) or call('MGET', lock, queue_key)
local value, bar = read[1], read[3]
queue = read[2]
-- A hand-over comes before the queue, and takes its node out of it.
local is_undivided = not queue
if queue and ARGV[6] and ARGV[10] == '' then
    local node = string.match(ARGV[7], ',"node":"([^"\\]*)","client":')
    is_undivided = node and not string.find(queue, ' ' .. node .. ' ', 14, true)
end

-- The common case: ours, and nobody to be told; then a free lock for the waiter. A waiter's grant
-- doesn't overwrite the record: only a deletion works when memory is full, and what follows a write
-- is not refused.
if is_undivided and not bar and not (ARGV[9] and string.find(ARGV[9], 'j', 1, true))
    and is_plainly_ours(value, 4) then
    call('DEL', lock)
    if not ARGV[6] then return 'released ' .. now_text .. ' ' .. value end
    return 'handed ' .. now_text .. ' ' .. grant(6) .. ' ' .. value
end

-- include: lib/value.lua
-- include: lib/record.lua
-- include: lib/queue.lua
-- include: lib/acquire.lua
-- include: lib/release.lua

local sender = sender_of(4)
local reply, is_free, record, foreign = full_release(value, 4, sender)
local is_first = is_free and ARGV[6] and ARGV[10] == ''  -- the waiter's LOCK comes before the queue
if is_free and not is_first then offer(sender) end
if ARGV[6] then
    reply[6], reply[7], reply[8], reply[9] = acquire(record, foreign, bar, 6, is_first)
    if is_first and reply[6] ~= 'granted' then offer(sender) end
end
return reply
