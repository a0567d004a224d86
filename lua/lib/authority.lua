-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- What is recorded, at one instant. Gives the function that ends each of the authority's scripts.
-- KEYS: record, marker.
-- Reply: { done (0 or 1), now_ms, { uuid, epoch, state, nonce, run_id, replid, replid2, reason },
--          { uuid, epoch, nonce, run_id, counter } }    nil for each field that is absent
local call = redis.call
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function answer(done)
    return { done, now,
        call('HMGET', KEYS[1], 'uuid', 'epoch', 'state', 'nonce', 'run_id', 'replid', 'replid2',
            'reason'),
        call('HMGET', KEYS[2], 'uuid', 'epoch', 'nonce', 'run_id', 'counter') }
end

-- Whether a hash has these values in these fields; without an epoch: whether there is no such key.
local function is_as_expected(key, fields, values)
    if values[1] == '' then return call('EXISTS', key) == 0 end
    local found = call('HMGET', key, unpack(fields))
    for i = 1, #fields do
        if found[i] ~= values[i] then return false end
    end
    return true
end
