-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Nobody waits for the lock on that node any more (T12, T13).
-- KEYS: marker, lock, queue.
-- ARGV: 1-3 as in lib/guard.lua; 4 node.
-- Replies:
--   { 'undone', now_ms }     it was in the queue
--   { 'nothing', now_ms }
--   { 'STALE', ... }         lib/guard.lua

-- include: lib/guard.lua

local lock, queue_key = KEYS[2], KEYS[3]
local queue = call('GET', queue_key)

-- include: lib/queue.lua

local was_offered = first_in_queue() == ARGV[4] and reserved_ms() > 0
if not step_out(ARGV[4]) then return { 'nothing', now_text } end
if was_offered then offer(ARGV[4]) end
return { 'undone', now_text }
