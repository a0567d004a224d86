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
-- include: lib/plain_acquire.lua

local read = call('MGET', lock, queue_key, KEYS[4])
queue = read[2]
local plain = plain_acquire(read[1], read[3], 4)
if plain then return plain end

-- include: lib/value.lua
-- include: lib/record.lua
-- include: lib/queue.lua
-- include: lib/acquire.lua

return full_acquire(read[1], read[3], 4)
