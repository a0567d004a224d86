-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Checks that come before everything else, and write nothing. Needs KEYS[1] = marker and
-- ARGV[1..5] = epoch, nonce, counter_seen, expected_ms (0: unchecked), window_ms.
-- May end the script:
--   { 'STALE', epoch, nonce, counter }  the marker ('': absent) isn't the one that the caller means,
--                                       or its counter is used up
--   { 'CLOCK', now_ms }                 the server's clock isn't where it should be
-- Gives: now (Unix ms), epoch (number), nonce, counter (number).
local call, try = redis.call, redis.pcall
local marker = call('HMGET', KEYS[1], 'epoch', 'nonce', 'counter')
local nonce, counter = ARGV[2], tonumber(marker[3])
if marker[1] ~= ARGV[1] or marker[2] ~= nonce or not counter or counter < tonumber(ARGV[3])
    or counter >= 4294967295 then
    return { 'STALE', marker[1] or '', marker[2] or '', marker[3] or '' }
end
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if ARGV[4] ~= '0' and math.abs(now - ARGV[4]) > tonumber(ARGV[5]) then
    return { 'CLOCK', now }
end
local epoch = tonumber(ARGV[1])
