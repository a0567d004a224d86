-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Undo (T9): takes one attempt out, the hold with its last attempt, the lock with its last hold.
-- KEYS: marker, lock, queue, bar of the request id.
-- ARGV: 1-3 as in lib/guard.lua; 4 request, 5 attempt, 6 node of the sender, 7 tombstone_ms (0:
--       none): how long the attempt, should it come yet, is refused.
-- Replies:
--   { 'undone', now_ms, value }    the record as it is now, or as it was at its end
--   { 'hold_removed', now_ms, value }    its hold is out, others are left: the record as it is now
--   { 'nothing', now_ms }
--   { 'STALE', ... }                 lib/guard.lua

-- include: lib/guard.lua

local lock, queue_key = KEYS[2], KEYS[3]

-- include: lib/value.lua
-- include: lib/record.lua
-- include: lib/bar.lua

local value, queue = try('GET', lock), call('GET', queue_key)

-- include: lib/queue.lua

local record = understand(value)
if ARGV[7] ~= '0' then
    local former = call('GET', KEYS[4])
    put_bar(former, former == '*' and '*' or (former or ' ') .. ARGV[5] .. ' ', ARGV[7])
end
local index, place
if record then index, place = find_attempt(record, ARGV[5]) end
if not index then return { 'nothing', now_text } end
local attempts = record.holds[index].attempts
table.remove(attempts, place)
if #attempts > 0 then return { 'undone', now_text, store(record) } end
local is_free, left = take_out(record, value, index, ARGV[6])
if not is_free then return { 'hold_removed', now_text, left } end
offer(ARGV[6])
return { 'undone', now_text, left }
