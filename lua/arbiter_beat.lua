-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- A node's heartbeat (A2).
-- KEYS: authority, rows.
-- ARGV: 1-4 incarnation, acked, beat and JSON of the row; 5 the incarnation that it replaces, or ''.
-- Reply: lib/arbiter.lua.

-- include: lib/arbiter.lua
-- include: lib/arbiter_row.lua

if ARGV[5] ~= '' and ARGV[5] ~= ARGV[1] then call('HDEL', KEYS[2], ARGV[5]) end
put_row(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
return answer(1)
