-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- RENEW (T8): extends the lease; never shortens it, never creates anything.
-- KEYS: marker, lock.
-- ARGV: 1-3 as in lib/guard.lua; 4 token, 5 node of the sender, 6 ttl_ms (0: the record's),
--       7 keep (0 or 1); 8 the attempt that stands for the hold from now on, or ''.
-- Replies:
--   { 'renewed', now_ms, value }
--   { 'renew_limit', now_ms, value, '', fence }    nothing was changed
--   { 'held_by_other' | 'holds_full', now_ms, '', '', fence }
--   { 'not_held' | 'foreign_value', now_ms }
--   { 'STALE', ... } { 'CLOCK', now_ms }    lib/guard.lua

-- include: lib/guard.lua

local lock = KEYS[2]

-- include: lib/value.lua
-- include: lib/record.lua

local value = try('GET', lock)
local record, foreign = understand(value)
if foreign then return { 'foreign_value', now_text } end
if not record or record.passed_ms >= record.lease_ms then return { 'not_held', now_text } end
local index = find_token(record, ARGV[4])
if not index then return { 'held_by_other', now_text, '', '', record.fence } end
local attempts, stands = record.holds[index].attempts, ARGV[8]
for _, one in ipairs(attempts) do
    if one == stands then stands = '' end
end
if stands ~= '' and #attempts >= 16 then
    return { 'holds_full', now_text, '', '', record.fence }
end
if record.renew_max > 0 and record.renewals >= record.renew_max then
    return { 'renew_limit', now_text, value, '', record.fence }
end
if stands ~= '' then attempts[#attempts + 1] = stands end
extend(record, ARGV[6] == '0' and record.ttl_ms or tonumber(ARGV[6]))
record.renewals = record.renewals + 1
return { 'renewed', now_text, store_as(record, ARGV[5], ARGV[7] == '1' and ARGV[4]) }
