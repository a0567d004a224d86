-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- CANCEL (T9): ends what the request id was granted, and bars it on every node.
-- KEYS: marker, lock, bar of the request id.
-- ARGV: 1-5 as in lib/guard.lua; 6 request, 7 node of the sender, 8 bar_ms.
-- Replies:
--   { 'ended', now_ms, value }    the record as it is now, or as it was at its end
--   { 'nothing', now_ms }
--   { 'STALE', ... }                lib/guard.lua

-- include: lib/guard.lua
-- include: lib/record.lua
-- include: lib/bar.lua

local record, _, value = load()
put_bar(call('GET', KEYS[3]), '*', ARGV[8])
local index, reply = record and find_request(record, ARGV[6]), { 'nothing', now }
if index then
    local _, left = take_out(record, value, index, ARGV[7])
    reply = { 'ended', now, left }
end
try('PUBLISH', string.sub(KEYS[1], 1, -7) .. 'nodes', 'cancelled 0 ' .. lock .. ' ' .. ARGV[6])
return reply
