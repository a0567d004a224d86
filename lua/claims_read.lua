-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- What is behind the keys of one scanned page, once its epoch was ended (marker_set.lua).
-- KEYS: marker, any number of locks and bars.
-- ARGV: 1-2 epoch and nonce that ended it.
-- Replies:
--   { 'read', now_ms, for each key: value (nil: none, or not a string), what is left of it in ms }
--   { 'STALE', epoch, nonce, counter }    the marker's

local call, try = redis.call, redis.pcall
local marker = call('HMGET', KEYS[1], 'epoch', 'nonce', 'counter')
if marker[1] ~= ARGV[1] or marker[2] ~= ARGV[2] then
    return { 'STALE', marker[1] or '', marker[2] or '', marker[3] or '' }
end
local clock = call('TIME')
local reply = { 'read', clock[1] .. string.sub('00000' .. clock[2], -6, -4) }
for i = 2, #KEYS do
    local value = try('GET', KEYS[i])
    reply[#reply + 1] = type(value) == 'string' and value or false
    reply[#reply + 1] = call('PTTL', KEYS[i])
end
return reply
