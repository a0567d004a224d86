-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- LOCKINFO: what is there.
-- KEYS: marker, lock.
-- ARGV: 1-3 as in lib/guard.lua.
-- Replies:
--   { 'found', now_ms, value, '', fence }
--   { 'not_held' | 'foreign_value', now_ms }
--   { 'STALE', ... }    lib/guard.lua

-- include: lib/guard.lua

local lock = KEYS[2]

-- include: lib/value.lua
-- include: lib/record.lua

local value = try('GET', lock)
local record, foreign = understand(value)
if foreign then return { 'foreign_value', now_text } end
if not record then return { 'not_held', now_text } end
return { 'found', now_text, value, '', record.fence }
