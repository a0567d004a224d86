-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Compare-and-set of the marker: begins an epoch in this store, or ends one. Sent again it finds
-- its own doing and changes nothing.
-- KEYS: marker.
-- ARGV: 1-2 epoch ('': no marker) and nonce that are expected;
--       3-7 uuid, epoch, nonce, run_id, counter of the new one; 8 run_id of the process that is
--       meant (a connection through a proxy may lead to another).
-- Reply: { done (0 or 1), 1 if this is that process else 0, { uuid, epoch, nonce, run_id,
--          counter } as they are now }    nil for each field that is absent

local call = redis.call

local function fields()
    return call('HMGET', KEYS[1], 'uuid', 'epoch', 'nonce', 'run_id', 'counter')
end

local found = fields()
if not string.find(call('INFO', 'server'), '\nrun_id:' .. ARGV[8] .. '\r\n', 1, true) then
    return { 0, 0, found }
end
if found[2] == ARGV[4] and found[3] == ARGV[5] then return { 1, 1, found } end
if ARGV[1] == '' then
    if call('EXISTS', KEYS[1]) == 1 then return { 0, 1, found } end
elseif found[2] ~= ARGV[1] or found[3] ~= ARGV[2] then
    return { 0, 1, found }
end
local clock = call('TIME')
call('HSET', KEYS[1], 'uuid', ARGV[3], 'epoch', ARGV[4], 'nonce', ARGV[5], 'run_id', ARGV[6],
    'counter', ARGV[7], 'time', clock[1] * 1000 + math.floor(clock[2] / 1000))
return { 1, 1, fields() }
