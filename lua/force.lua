-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- FORCEUNLOCK (T9): ends the grant, whoever holds it.
-- KEYS: marker, lock.
-- ARGV: 1-5 as in lib/guard.lua; 6 node of the sender, 7 fence ('' : any): only that grant.
-- Replies:
--   { 'ended', now_ms, value, '', fence }    the record that ended
--   { 'nothing' | 'foreign_value', now_ms }
--   { 'STALE', ... }                           lib/guard.lua

-- include: lib/guard.lua
-- include: lib/record.lua

local record, foreign, value = load()
if foreign then return { 'foreign_value', now } end
if not record or (ARGV[7] ~= '' and ARGV[7] ~= fence_text(record)) then
    return { 'nothing', now }
end
call('DEL', lock)
tell('forced', record, record.node, ARGV[6])
return { 'ended', now, value, '', record.fence }
