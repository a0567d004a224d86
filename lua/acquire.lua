-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- LOCK: grants, re-enters, adopts or refuses.
-- KEYS: marker, lock, bar of the request id.
-- ARGV: 1-5 as in lib/guard.lua; 6-18 as in lib/acquire.lua.
-- Replies (value: the record as JSON, see lib/record.lua):
--   { status, now_ms, value, left_ms, fence }    which are there: lib/acquire.lua
--   { 'STALE', ... } { 'CLOCK', now_ms }           lib/guard.lua

-- include: lib/guard.lua
-- include: lib/record.lua
-- include: lib/acquire.lua

local record, foreign = load()
local status, value, left, fence = acquire(record, foreign, call('GET', KEYS[3]), 6)
return { status, now, value, left, fence }
