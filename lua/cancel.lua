-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- CANCEL (T9): ends what the request id was granted, and bars it on every node.
-- KEYS: marker, lock, queue, bar of the request id.
-- ARGV: 1-3 as in lib/guard.lua; 4 request, 5 node of the sender, 6 bar_ms.
-- Replies:
--   { 'ended', now_ms, value }    the record as it is now, or as it was at its end
--   { 'nothing', now_ms }
--   { 'STALE', ... }                lib/guard.lua

-- include: lib/guard.lua

local lock, queue_key = KEYS[2], KEYS[3]

-- include: lib/value.lua
-- include: lib/record.lua
-- include: lib/bar.lua

local value, queue = try('GET', lock), call('GET', queue_key)

-- include: lib/queue.lua

local record = understand(value)
put_bar(call('GET', KEYS[4]), '*', ARGV[6])
local index, reply = record and find_request(record, ARGV[4]), { 'nothing', now_text }
if index then
    local is_free, left = take_out(record, value, index, ARGV[5])
    if is_free then offer(ARGV[5]) end
    reply = { 'ended', now_text, left }
end
try('PUBLISH', string.sub(KEYS[1], 1, -7) .. 'nodes', 'cancelled 0 ' .. lock .. ' ' .. ARGV[4])
return reply
