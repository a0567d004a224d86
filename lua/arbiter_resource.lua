-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Registers a resource, changes it or takes it out (A9).
-- KEYS: authority, rows, resources, uses.
-- ARGV: 1 name, 2 JSON of its settings ('': it is taken out), 3 the epoch that the record must show
--       ('': any).
-- Reply: lib/arbiter.lua; done is 0 if it shows another.

-- include: lib/arbiter.lua

if ARGV[3] ~= '' and fleet[1] ~= ARGV[3] then return answer(0) end
call('HINCRBY', KEYS[1], 'registry', 1)
if ARGV[2] == '' then
    call('HDEL', KEYS[3], ARGV[1])
else
    call('HSET', KEYS[3], ARGV[1], ARGV[2])
end
local period = call('HGET', KEYS[1], 'use_period')
if ARGV[2] == '' or not period then
    call('HDEL', KEYS[4], ARGV[1])
else
    call('HSET', KEYS[4], ARGV[1], period)
end
return answer(1)
