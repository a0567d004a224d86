-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Puts carried locks and bars there before their epoch opens, as they are.
-- KEYS: marker, locks, bars.
-- ARGV: 1-2 epoch and nonce that the marker must have; 3 number of locks; 4 how a record of this
--       epoch and nonce ends;
--       for each lock: fence, version, what comes before since_ms in its value, the time since its
--       grant, what comes after since_ms, what is left of lease and delay;
--       for each bar: what is left of it.
-- Replies:
--   { 'loaded', number of locks in whose place is something that isn't latchd's: it stays }
--   { 'STALE', epoch, nonce, counter }    the marker's; nothing was written

-- include: lib/value.lua

local call, try = redis.call, redis.pcall
local marker = call('HMGET', KEYS[1], 'epoch', 'nonce', 'counter')
if marker[1] ~= ARGV[1] or marker[2] ~= ARGV[2] then
    return { 'STALE', marker[1] or '', marker[2] or '', marker[3] or '' }
end
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local locks, tail = tonumber(ARGV[3]), ARGV[4]

-- Whether the record may be put where `value` is. One of this very opening that is newer stays: it
-- came with other claims.
local function gives_way(value, fence, version)
    if not value then return true end
    if type(value) == 'table' then return false end
    local record = parse(value)
    if not record then return false end
    if string.sub(value, -#tail) ~= tail then return true end
    return record.fence < fence or (record.fence == fence and record.version <= version)
end

local foreign = 0
for i = 1, locks do
    local at, key = 5 + (i - 1) * 6, KEYS[1 + i]
    local value = try('GET', key)
    if gives_way(value, tonumber(ARGV[at]), tonumber(ARGV[at + 1])) then
        call('SET', key, ARGV[at + 2] .. string.format('%d', now - ARGV[at + 3]) .. ARGV[at + 4],
            'PX', ARGV[at + 5])
    elseif type(value) == 'table' or not parse(value) then
        foreign = foreign + 1
    end
end
for i = 1, #KEYS - 1 - locks do
    local key, left = KEYS[1 + locks + i], tonumber(ARGV[4 + locks * 6 + i])
    call('SET', key, '*', 'PX', math.max(left, call('PTTL', key)))
end
return { 'loaded', foreign }
