-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- T11: puts a record back that a node kept while its store was replaced.
-- KEYS: marker, lock.
-- ARGV: 1-5 as in lib/guard.lua; 6 the record as JSON: the fields of lib/record.lua, but with
--       what is left in place of instants: left_ms, hard_left_ms (null: no hard end), age_ms, and
--       adopt_left_ms in each hold; fence as a string; 7 keep_fence (0 or 1).
-- Replies:
--   { 'restored', now_ms, value }    the record as it is now
--   { 'held', now_ms, '', left_ms, fence }
--   { 'not_held' | 'foreign_value', now_ms }    not_held: the record is over
--   { 'STALE', ... } { 'CLOCK', now_ms }          lib/guard.lua

-- include: lib/guard.lua
-- include: lib/record.lua

local wanted = cjson.decode(ARGV[6])
if wanted.left_ms + wanted.delay_ms <= 0 then return { 'not_held', now } end
local record, foreign, value = load()
if foreign then return { 'foreign_value', now } end
if record then
    for _, hold in ipairs(wanted.holds) do
        if find_token(record, hold.token) then return { 'restored', now, value } end
    end
    return { 'held', now, '', record.lease_end_ms + record.delay_ms - now, record.fence }
end

if ARGV[7] == '1' then
    local fence_epoch = math.floor(wanted.fence / 4294967296)
    local fence_counter = wanted.fence - fence_epoch * 4294967296
    if fence_epoch == epoch and fence_counter > counter then
        call('HSET', KEYS[1], 'counter', string.format('%.0f', fence_counter))
    end
else
    wanted.fence = epoch * 4294967296 + call('HINCRBY', KEYS[1], 'counter', 1)
    wanted.version = 1
end
for _, hold in ipairs(wanted.holds) do
    hold.adopt_until_ms = now + hold.adopt_left_ms
end
wanted.lease_end_ms = now + wanted.left_ms
wanted.hard_end_ms = wanted.hard_left_ms == cjson.null and 0 or now + wanted.hard_left_ms
wanted.since_ms = now - wanted.age_ms
wanted.version = wanted.version - 1  -- store() counts it up
return { 'restored', now, store(wanted) }
