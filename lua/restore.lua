-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- T11: puts a record back that a node kept while its store was replaced; in the place of one with a
-- lower fence, too.
-- KEYS: marker, lock, bars of the record's holds in their order.
-- ARGV: 1-3 as in lib/guard.lua; 4 the record as JSON: as in lib/value.lua, but with passed_ms (the
--       time since the grant) in place of since_ms, fence as text, and no epoch and nonce;
--       5 keep_fence (0 or 1).
-- Replies:
--   { 'restored', now_ms, value }    the record as it is now
--   { 'held', now_ms, '', left_ms, fence }
--   { 'not_held' | 'foreign_value', now_ms }    not_held: the record is over, or barred as a whole
--   { 'STALE', ... } { 'CLOCK', now_ms }        lib/guard.lua

-- include: lib/guard.lua

local lock = KEYS[2]

-- include: lib/value.lua
-- include: lib/record.lua

local wanted, holds = cjson.decode(ARGV[4]), {}
for i, hold in ipairs(wanted.holds) do
    -- T2: what was cancelled or undone does not come back with its record.
    local bar, attempts = call('GET', KEYS[2 + i]), {}
    for _, attempt in ipairs(hold.attempts) do
        local barred = bar and (bar == '*' or string.find(bar, ' ' .. attempt .. ' ', 1, true))
        if not barred then attempts[#attempts + 1] = attempt end
    end
    hold.attempts = attempts
    if #attempts > 0 then holds[#holds + 1] = hold end
end
wanted.holds = holds
if #holds == 0 or wanted.lease_ms + wanted.delay_ms <= wanted.passed_ms then
    return { 'not_held', now_text }
end
local value = try('GET', lock)
local record, foreign = understand(value)
if foreign then return { 'foreign_value', now_text } end
local ended
if record then
    for _, hold in ipairs(wanted.holds) do
        if find_token(record, hold.token) then return { 'restored', now_text, value } end
    end
    if tonumber(wanted.fence) <= tonumber(record.fence) then
        local left = record.lease_ms + record.delay_ms - record.passed_ms
        return { 'held', now_text, '', left, record.fence }
    end
    -- What is there had ended when the wanted grant was given: it was carried by mistake.
    ended = record
end

if ARGV[5] == '1' then
    local fence_counter = wanted.fence - BASE  -- of an earlier epoch: negative
    if fence_counter < 4294967296 and fence_counter > counter then
        call('HSET', KEYS[1], 'counter', format('%d', fence_counter))
    end
else
    wanted.fence = BASE + call('HINCRBY', KEYS[1], 'counter', '1')
    wanted.version = 1
end
wanted.since_ms = now - wanted.passed_ms
wanted.version = wanted.version - 1  -- store() counts it up
local restored = store(wanted)
if ended then tell('released', ended, ended.node, wanted.node) end
return { 'restored', now_text, restored }
