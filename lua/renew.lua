-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- RENEW (T8): extends the lease; never shortens it, never creates anything.
-- KEYS: marker, lock.
-- ARGV: 1-5 as in lib/guard.lua; 6 token, 7 node of the sender, 8 ttl_ms (0: the record's),
--       9 keep (0 or 1).
-- Replies:
--   { 'renewed', now_ms, value }
--   { 'renew_limit', now_ms, value, '', fence }    nothing was changed
--   { 'held_by_other', now_ms, '', '', fence }
--   { 'not_held' | 'foreign_value', now_ms }
--   { 'STALE', ... } { 'CLOCK', now_ms }    lib/guard.lua

-- include: lib/guard.lua
-- include: lib/record.lua

local record, foreign, value = load()
if foreign then return { 'foreign_value', now } end
if not record or now >= record.lease_end_ms then return { 'not_held', now } end
if not find_token(record, ARGV[6]) then return { 'held_by_other', now, '', '', record.fence } end
if record.renew_max > 0 and record.renewals >= record.renew_max then
    return { 'renew_limit', now, value, '', record.fence }
end
if ARGV[8] ~= '0' then record.ttl_ms = tonumber(ARGV[8]) end
local wanted = now + record.ttl_ms
if record.hard_end_ms > 0 then wanted = math.min(wanted, record.hard_end_ms) end
record.lease_end_ms = math.max(record.lease_end_ms, wanted)
record.renewals = record.renewals + 1
return { 'renewed', now, store_as(record, ARGV[7], ARGV[9]) }
