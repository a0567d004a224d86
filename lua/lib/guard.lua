-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Checks that come before everything else, and write nothing.
-- Needs, before the script's text: EPOCH (text), NONCE, BASE (epoch * 2^32) and TAIL (how a record
-- of this epoch and nonce ends); KEYS[1] = marker; ARGV[1] = counter_seen, ARGV[2], ARGV[3] = from
-- and until when the server's clock is where it should be (13 digits of Unix ms; '' and '~': any).
-- May end the script:
--   { 'STALE', epoch, nonce, counter }  the marker ('': absent) isn't the one that the caller means,
--                                       or its counter is used up
--   { 'CLOCK', now_ms }                 the server's clock isn't where it should be
-- Gives: now_text (13 digits of Unix ms), counter (number).
--
-- Turning numbers into text is the dearest thing that a script can do, so what is only passed on
-- stays text.
local call, try = redis.call, redis.pcall
local marker = call('HMGET', KEYS[1], 'epoch', 'nonce', 'counter')
local counter = tonumber(marker[3])
if marker[1] ~= EPOCH or marker[2] ~= NONCE or not counter or counter < tonumber(ARGV[1])
    or counter >= 4294967295 then
    return { 'STALE', marker[1] or '', marker[2] or '', marker[3] or '' }
end
local clock = call('TIME')
local now_text = clock[1] .. string.sub('00000' .. clock[2], -6, -4)
if now_text < ARGV[2] or now_text > ARGV[3] then
    return { 'CLOCK', now_text }
end
