-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- The health probe: a write, since PING succeeds on a server that refuses every lock.
-- KEYS: marker.
-- ARGV: 1-3 as in lib/guard.lua.
-- Replies:
--   { 'probed', now_ms, run_id as the marker has it, counter }
--   { 'STALE', ... } { 'CLOCK', now_ms }    lib/guard.lua

-- include: lib/guard.lua

call('HSET', KEYS[1], 'time', now_text)
return { 'probed', now_text, call('HGET', KEYS[1], 'run_id'), counter }
