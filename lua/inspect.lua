-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- LOCKINFO: what is there.
-- KEYS: marker, lock.
-- ARGV: 1-5 as in lib/guard.lua.
-- Replies:
--   { 'found', now_ms, value, '', fence }
--   { 'not_held' | 'foreign_value', now_ms }
--   { 'STALE', ... }    lib/guard.lua

-- include: lib/guard.lua
-- include: lib/record.lua

local record, foreign, value = load()
if foreign then return { 'foreign_value', now } end
if not record then return { 'not_held', now } end
return { 'found', now, value, '', record.fence }
