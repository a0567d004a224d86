-- SPDX-FileCopyrightText: 2026 The latchd authors
-- SPDX-License-Identifier: Apache-2.0
--
-- What a node hands over for an epoch, in parts (A4).
-- KEYS: authority, rows, claims.
-- ARGV: 1 epoch, 2 incarnation, 3 whether this is the first part, 4 whether it is the last (0, 1),
--       5 JSON of the claims ('': none), 6-7 beat and JSON of the row.
-- Reply: lib/arbiter.lua; done is 0 if the record's epoch is another.

-- include: lib/arbiter.lua
-- include: lib/arbiter_row.lua

if fleet[1] ~= ARGV[1] then return answer(0) end
local number = call('HINCRBY', KEYS[1], 'claims', 1)
local prefix = ARGV[1] .. ':' .. ARGV[2] .. ':'
if ARGV[3] == '1' then
    for _, part in ipairs(call('HKEYS', KEYS[3])) do
        if string.sub(part, 1, #prefix) == prefix then call('HDEL', KEYS[3], part) end
    end
end
if ARGV[5] ~= '' then call('HSET', KEYS[3], prefix .. number, now .. ' ' .. ARGV[5]) end
if ARGV[4] == '1' then put_row(ARGV[2], ARGV[1], ARGV[6], ARGV[7]) end
return answer(1)
