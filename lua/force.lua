-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- FORCEUNLOCK (T9): ends the grant, whoever holds it.
-- KEYS: marker, lock, queue.
-- ARGV: 1-3 as in lib/guard.lua; 4 node of the sender, 5 fence ('': any): only that grant.
-- Replies:
--   { 'ended', now_ms, value, '', fence }    the record that ended
--   { 'nothing' | 'foreign_value', now_ms }
--   { 'STALE', ... }                           lib/guard.lua

-- include: lib/guard.lua

local lock, queue_key = KEYS[2], KEYS[3]

-- include: lib/value.lua
-- include: lib/record.lua

local value, queue = try('GET', lock), call('GET', queue_key)

-- include: lib/queue.lua

local record, foreign = understand(value)
if foreign then return { 'foreign_value', now_text } end
if not record or (ARGV[5] ~= '' and ARGV[5] ~= format('%d', record.fence)) then
    return { 'nothing', now_text }
end
call('DEL', lock)
tell('forced', record, record.node, ARGV[4])
offer(ARGV[4])
return { 'ended', now_text, value, '', record.fence }
