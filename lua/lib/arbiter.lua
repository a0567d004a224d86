-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- The fleet's record at one instant; docs/arbiter.md. Gives `fleet` (epoch, state, nonce, opened;
-- false where absent) and the function that ends each of the arbiter's scripts.
-- KEYS: 1 authority, 2 rows.
-- Reply: { done (0 or 1), now_ms, { fleet, placement, since_ms, registry version, last change of
--          the basis }, { incarnation, row, ... }, what the script adds }    nil for each field
--          that is absent
local call = redis.call
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local fleet = call('HMGET', KEYS[1], 'epoch', 'state', 'nonce', 'opened')

local function answer(done, more)
    return { done, now,
        call('HMGET', KEYS[1], 'fleet', 'placement', 'since', 'registry', 'basis'),
        call('HGETALL', KEYS[2]), more or {} }
end
